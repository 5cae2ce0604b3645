#!/usr/bin/env python3
"""Programs that people run, on OrdoFS mounts beside other file systems: alternating runs, medians.

    cargo build --profile dist && benches/programs.py [--runs N] [--dir DIR] [--on NAME,...] [--only PROGRAM,...] [--json]

As root, with /dev/fuse. Each file system has an image of its own in DIR, so all are on the same disk: OrdoFS under softupdates,
wafs (group commit, the default) and block-journal; ext4 and xfs on loop devices; fuse2fs and fuse-ufs, where they are installed;
and, if it is built, bare: the server of `cargo build --profile dist -p ordo-model --examples` that keeps all in memory, the least that
a server on this transport takes.
Each program runs once on each of them before the first one runs again, in an empty directory, and ends with what makes it durable.
What is not installed is left out, and said so. With --json: what `ordo report` draws.

git      clone of this repository without hard links; status of the clone
archive  tar of its files eight times over is unpacked, packed again, copied with rsync, and removed
build    make of 120 small files of C
sqlite   one row in each transaction, synchronous=FULL: one connection, and eight at once
pgbench  four clients, four seconds (only softupdates and ext4 unless --on names others)
pip      an installation of pip from the wheel that comes with Python
"""

import argparse
import contextlib
import ensurepip
import importlib.util
import json
import os
import pathlib
import platform
import shlex
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent
ORDO = os.environ.get("ORDO", str(TREE / "target/dist/ordo"))
BARE = os.environ.get("BARE", str(TREE / "target/dist/examples/bare"))
SIZE = 4 << 30


def run(*args, **more):
    return subprocess.run([str(arg) for arg in args], check=True, capture_output=True, text=True, **more)


class System:
    """A file system: an image, and how it is mounted."""

    def __init__(self, name, work):
        self.name, self.image, self.mount = name, f"{work}/{name}.img", f"{work}/{name}"
        os.mkdir(self.mount)

    def up(self):
        kind = self.name
        if kind in ("ext4", "xfs", "fuse2fs"):
            with open(self.image, "wb") as image:
                image.truncate(SIZE)
        if kind in ("ext4", "fuse2fs"):
            run("mkfs.ext4", "-q", "-F", self.image)
        if kind == "xfs":
            run("mkfs.xfs", "-q", self.image)
        if kind in ("ext4", "xfs"):
            run("mount", "-o", "loop", self.image, self.mount)
        elif kind == "bare":
            # Stays in the foreground: it ends when it is unmounted.
            server = subprocess.Popen([BARE, self.mount, self.image], stderr=subprocess.DEVNULL)
            while not os.path.ismount(self.mount):
                if server.poll() is not None:
                    sys.exit(f"{BARE} cannot be mounted")
                time.sleep(0.05)
        elif kind == "fuse2fs":
            run("fuse2fs", "-o", "fakeroot", self.image, self.mount)
        elif kind == "fuse-ufs":
            run(ORDO, "mkfs", "--size", str(SIZE), self.image)
            run("fuse-ufs", self.image, self.mount)
        else:
            run(ORDO, "mkfs", "--size", str(SIZE), self.image)
            if kind in ("wafs", "block-journal"):
                run(ORDO, "tune", "-o", "log=on", self.image)
            run(ORDO, "mount", "-o", f"scheme={kind},allow_other", self.image, self.mount)

    def down(self):
        # A program that has ended may hold its directory for a moment.
        for _ in range(50):
            if not os.path.ismount(self.mount) or subprocess.run(["umount", self.mount], capture_output=True).returncode == 0:
                return
            time.sleep(0.2)
        print(f"{self.mount} is still in use, and stays mounted", file=sys.stderr)


ORDO_SCHEMES = ("softupdates", "wafs", "block-journal")
OTHERS = {"bare": BARE, "ext4": "mkfs.ext4", "xfs": "mkfs.xfs", "fuse2fs": "fuse2fs", "fuse-ufs": "fuse-ufs"}


class Programs:
    """Each method is a generator of (what, number): seconds, or a rate if `what` ends with `/s`."""

    def __init__(self, work):
        self.work = work
        self.archive = f"{work}/tree.tar"
        run("git", "-C", TREE, "archive", "-o", f"{work}/once.tar", "HEAD")
        once = f"{work}/once"
        for copy in range(8):
            os.makedirs(f"{once}/{copy}")
            run("tar", "-xf", f"{work}/once.tar", "-C", f"{once}/{copy}")
        run("tar", "-cf", self.archive, "-C", once, ".")
        shutil.rmtree(once)

    @staticmethod
    def timed(*args, **more):
        """Seconds of a program, and of making what it wrote durable where it wrote."""
        where = more.get("cwd")
        start = time.monotonic()
        run(*args, **more)
        run("sync", "-f", where)
        return time.monotonic() - start

    def git(self, at):
        yield "git clone", self.timed("git", "-c", "gc.auto=0", "clone", "-q", "--no-hardlinks", TREE, "clone", cwd=at)
        yield "git status", self.timed("git", "-C", "clone", "status", "--short", cwd=at)

    def archive_(self, at):
        os.mkdir(f"{at}/tree")
        yield "tar, unpack", self.timed("tar", "-xf", self.archive, "-C", "tree", cwd=at)
        yield "tar, pack", self.timed("tar", "-cf", "packed.tar", "tree", cwd=at)
        if shutil.which("rsync"):
            yield "rsync", self.timed("rsync", "-a", "tree/", "copy/", cwd=at)
        yield "rm -r", self.timed("rm", "-r", "tree", cwd=at)

    def build(self, at):
        for n in range(120):
            with open(f"{at}/f{n}.c", "w") as source:
                source.write(f"#include <stdio.h>\n#include <stdlib.h>\nint f{n}(int x) {{ printf(\"%d\", x); return x * {n}; }}\n")
        with open(f"{at}/main.c", "w") as main:
            main.write("int main(void) { return 0; }\n")
        with open(f"{at}/Makefile", "w") as make:
            make.write("all: $(patsubst %.c,%.o,$(wildcard *.c))\n\tcc -o all $^\n%.o: %.c\n\tcc -c -o $@ $<\n")
        run("sync", "-f", at)
        yield "make", self.timed("make", "-s", "-j", os.cpu_count(), cwd=at)

    def sqlite(self, at):
        for mode in ("delete", "wal"):
            for connections in (1, 8):
                yield f"sqlite {mode}, {connections}/s", self.transactions(f"{at}/{mode}-{connections}", mode, connections)

    @staticmethod
    def transactions(path, mode, connections, seconds=1.5):
        base = sqlite3.connect(path, isolation_level=None, timeout=60)
        base.executescript(f"pragma journal_mode={mode}; create table t(id integer primary key, x blob);")
        done, end = [0] * connections, time.monotonic() + seconds

        def work(n):
            one = sqlite3.connect(path, isolation_level=None, timeout=60)
            one.execute("pragma synchronous=full")
            while time.monotonic() < end:
                one.execute("insert into t(x) values(?)", (os.urandom(100),))
                done[n] += 1

        threads = [threading.Thread(target=work, args=(n,)) for n in range(connections)]
        start = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(done) / (time.monotonic() - start)

    def pgbench(self, at):
        bin = pathlib.Path(os.path.realpath(shutil.which("initdb"))).parent
        host = tempfile.mkdtemp(dir=self.work)
        for path in (at, host):
            shutil.chown(path, "postgres", "postgres")
        user = {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": host}
        run(bin / "initdb", "-D", f"{at}/data", "-U", "postgres", "-A", "trust", **user)
        options = f"-k {host} -c listen_addresses="
        control = [bin / "pg_ctl", "-D", f"{at}/data", "-w", "-l", f"{host}/log"]
        run(*control, "-o", options, "start", **user)
        try:
            there = ["-h", host, "-U", "postgres", "postgres"]
            run(bin / "pgbench", "-i", "-s", "5", "-q", *there, **user)
            said = run(bin / "pgbench", "-c", "4", "-T", "4", *there, **user).stdout
        finally:
            run(*control, "-m", "fast", "stop", **user)
        yield "pgbench/s", float(said.split("tps = ")[1].split()[0])

    def pip(self, at):
        wheel = next((pathlib.Path(ensurepip.__file__).parent / "_bundled").glob("pip-*.whl"))
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--target", "site", wheel]
        yield "pip install", self.timed(*install, cwd=at)

    def of(self, name):
        return getattr(self, {"archive": "archive_"}.get(name, name))

    names = ("git", "archive", "build", "sqlite", "pgbench", "pip")

    @staticmethod
    def why_not(name):
        needs = {"git": "git", "build": "cc", "pgbench": "initdb"}.get(name)
        if needs and not shutil.which(needs):
            return f"{needs} is not installed"
        if name == "pip" and importlib.util.find_spec("pip") is None:
            return "pip is not installed"
        return None


def measure(programs, systems, chosen, runs):
    """Of each number a list for each system."""
    numbers = {}
    for name in chosen:
        for round_ in range(runs):
            # The first of a round is another one each time.
            turn = round_ % len(systems)
            for system in systems[turn:] + systems[:turn]:
                at = tempfile.mkdtemp(dir=system.mount)
                os.chmod(at, 0o755)
                try:
                    for what, number in programs.of(name)(at):
                        numbers.setdefault(what, {}).setdefault(system.name, []).append(number)
                except (subprocess.CalledProcessError, OSError, sqlite3.Error) as error:
                    why = getattr(error, "stderr", None) or error
                    print(f"{name} on {system.name}: {str(why).strip()[-200:]}", file=sys.stderr)
                shutil.rmtree(at, ignore_errors=True)
                run("sync", "-f", system.mount)
    return numbers


def shown(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.2f}"


def table(numbers, names):
    """Medians; of OrdoFS' first scheme also how fast it is beside ext4."""
    first = names[0]
    yield "| | " + " | ".join(names) + f" | {first} beside ext4 |"
    yield "| --- |" + " ---: |" * (len(names) + 1)
    for what, by in numbers.items():
        middle = {name: statistics.median(by[name]) for name in names if by.get(name)}
        ratio = ""
        if first in middle and "ext4" in middle:
            fast, slow = (middle[first], middle["ext4"]) if what.endswith("/s") else (middle["ext4"], middle[first])
            ratio = f"{fast / slow:.2f}"
        unit = "" if what.endswith("/s") else ", s"
        yield f"| {what}{unit} | " + " | ".join(shown(middle[n]) if n in middle else "-" for n in names) + f" | {ratio} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--dir", default=os.environ.get("TMPDIR", "/var/tmp"))
    parser.add_argument("--on", help="file systems, between commas")
    parser.add_argument("--only", help="programs, between commas")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    there = list(ORDO_SCHEMES) + [name for name, needs in OTHERS.items() if shutil.which(needs, path=os.environ["PATH"] + ":/usr/sbin:/sbin")]
    names = asked.on.split(",") if asked.on else there
    chosen = asked.only.split(",") if asked.only else list(Programs.names)
    for name in sorted(set(OTHERS) - set(there)):
        print(f"{name} is not installed: left out", file=sys.stderr)
    with contextlib.ExitStack() as stack:
        work = tempfile.mkdtemp(prefix="ordo-programs.", dir=asked.dir)
        stack.callback(shutil.rmtree, work, ignore_errors=True)
        os.chmod(work, 0o755)
        programs, systems = Programs(work), [System(name, work) for name in names]
        for system in systems:
            stack.callback(system.down)
            system.up()
        numbers = {}
        for name in chosen:
            if why := Programs.why_not(name):
                print(f"{name}: left out, {why}", file=sys.stderr)
                continue
            few = [one for one in systems if asked.on or name != "pgbench" or one.name in ("softupdates", "ext4")]
            numbers.update(measure(programs, few, [name], asked.runs))
    machine = f"{os.cpu_count()} CPUs, Linux {platform.release()}, load {os.getloadavg()[0]:.1f}"
    if asked.json:
        rows = [{"what": what, "medians": {name: statistics.median(got) for name, got in by.items()}} for what, by in numbers.items()]
        print(json.dumps({"programs": rows, "systems": names, "machine": machine, "runs": asked.runs,
                          "made": {"command": shlex.join(sys.argv), "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), "machine": machine}}, indent=1))
    else:
        print(f"{machine}; {asked.runs} alternating runs, medians\n")
        print("\n".join(table(numbers, names)))


if __name__ == "__main__":
    main()
