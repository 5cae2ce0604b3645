#!/usr/bin/env python3
"""Readers beside a long call: how long one read of 4 KiB takes that the server has in its cache, alone and while another process
keeps the server busy. The reads are direct, so each of them is a request to the server.

    cargo build --profile dist && benches/beside.py [--dir DIR] [--on SCHEME,...]

As root, with /dev/fuse. One Markdown table: median, 99th percentile and longest read in microseconds, and how long the call took.
"""

import argparse
import mmap
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

TREE = pathlib.Path(__file__).resolve().parent.parent
ORDO = os.environ.get("ORDO", str(TREE / "target/dist/ordo"))
MIB = 1 << 20

WRITE = "import os; f = os.open('big', os.O_CREAT | os.O_RDWR); b = os.urandom(1 << 20); [os.write(f, b) for _ in range(1024)]"
FILL = "import os; os.mkdir('many'); [open(f'many/{i}', 'w').close() for i in range(2000)]"
CALLS = [
    ("write of 1 GiB", WRITE),
    ("fsync of what is left of it", "import os; os.fsync(os.open('big', os.O_RDWR))"),
    ("cold read of it", "open('/proc/sys/vm/drop_caches', 'w').write('1')\nwith open('big', 'rb') as f:\n while f.read(1 << 20): pass"),
    ("copy_file_range of 512 MiB", "import os; a = os.open('big', os.O_RDONLY); b = os.open('copy', os.O_CREAT | os.O_WRONLY)\n"
     "left = 512 << 20\nwhile left: left -= os.copy_file_range(a, b, left)"),
    ("fallocate of 1 GiB", "import os; os.posix_fallocate(os.open('space', os.O_CREAT | os.O_RDWR), 0, 1 << 30)"),
    ("truncate of 1 GiB to nothing", "import os; os.truncate('big', 0)"),
    ("unlink of 512 MiB", "import os; os.unlink('copy')"),
    ("2,000 creates", FILL),
    ("sync after them", "import os; os.sync()"),
    ("listing with stat of 2,000 names", "import os; [e.stat() for e in os.scandir('many')]"),
    ("2,000 unlinks", "import os; [os.unlink(f'many/{i}') for i in range(2000)]"),
]


class Reader(threading.Thread):
    """Reads blocks of a file of 1 MiB by turns until it is stopped."""

    def __init__(self, path):
        super().__init__()
        self.file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        self.stopped, self.times = False, []

    def run(self):
        block, at = mmap.mmap(-1, 4096), 0
        while not self.stopped:
            start = time.perf_counter_ns()
            os.preadv(self.file, [block], at)
            self.times.append((time.perf_counter_ns() - start) / 1000)
            at = (at + 4096) % MIB
        os.close(self.file)


def measured(mount, program):
    """The times of the reads while `program` ran in `mount`, and how long it ran, in seconds; it starts once and is then told."""
    with subprocess.Popen([sys.executable, "-c", "input()\n" + program], cwd=mount, stdin=subprocess.PIPE) as child:
        time.sleep(0.2)
        reader = Reader(f"{mount}/read")
        reader.start()
        start = time.perf_counter()
        child.communicate(b"\n")
        took = time.perf_counter() - start
        reader.stopped = True
        reader.join()
        if child.returncode:
            sys.exit(f"{program}: failed")
    return sorted(reader.times), took


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--on", default="softupdates,wafs")
    args = parser.parse_args()
    print(f"Machine: {os.cpu_count()} CPUs, Linux {os.uname().release}, load {os.getloadavg()[0]:.2f}\n")
    print("| scheme | beside | median | 99 in 100 | longest | the call, ms |\n| --- | --- | ---: | ---: | ---: | ---: |")
    for scheme in args.on.split(","):
        with tempfile.TemporaryDirectory(dir=args.dir) as work:
            image, mount = f"{work}/v.img", f"{work}/m"
            os.mkdir(mount)
            subprocess.run([ORDO, "mkfs", "--size", "4G", "--log-size", "64M", image], check=True, stdout=subprocess.DEVNULL)
            subprocess.run([ORDO, "mount", "-o", f"scheme={scheme}", image, mount], check=True)
            try:
                with open(f"{mount}/read", "wb") as file:
                    file.write(os.urandom(MIB))
                    os.fsync(file.fileno())
                for name, program in [("nothing", "import time; time.sleep(1)"), *CALLS]:
                    times, took = measured(mount, program)
                    at = lambda part: times[min(int(len(times) * part), len(times) - 1)]
                    print(f"| {scheme} | {name} | {at(0.5):,.0f} | {at(0.99):,.0f} | {times[-1]:,.0f} | {took * 1000:,.0f} |", flush=True)
            finally:
                subprocess.run([ORDO, "umount", mount], check=True)


if __name__ == "__main__":
    main()
