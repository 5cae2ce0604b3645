"""Processes: a fork is answered, a program that ends leaves clean volumes, and what fails at its end is told."""
import errno
import gc
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time

import ordofs

image = pathlib.Path(sys.argv[1])


def clean():
    """The volume is marked clean; where ORDO names the program, it finds nothing wrong, either."""
    with open(image, "rb") as disk:
        disk.seek(65536 + 209)
        assert disk.read(1) == b"\x01", "fs_clean"
    if "ORDO" in os.environ:
        subprocess.run([os.environ["ORDO"], "fsck", "-n", str(image)], check=True, stdout=subprocess.DEVNULL)


def answer(call, *arguments):
    try:
        call(*arguments)
    except OSError as error:
        return error.errno
    return 0


def in_child(work):
    """The exit status of work, in a child of fork that may take 20 s; it ends as a program does."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        sys.exit(work())
    for _ in range(2000):
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, 9)
    raise AssertionError("the child waits for ever")


def each_call():
    volume_calls = [
        (volume.listdir, "/"), (volume.stat, "/"), (volume.exists, "/"), (volume.read, "/kept"),
        (volume.write, "/child", b"x"), (volume.mkdir, "/child"), (volume.open, "/kept"), (volume.open, "/child", "w"),
        (volume.statvfs, "/"), (volume.sync,), (volume.scandir, "/"), (volume.isdir, "/"), (volume.utime, "/kept"),
        (volume.close,),
    ]
    file_calls = [(raw.read,), (raw.write, b"x"), (raw.seek, 0), (raw.tell,), (raw.truncate, 0), (raw.fsync,)]
    for call, *arguments in file_calls + volume_calls:
        if answer(call, *arguments) != errno.ENOTCONN:
            print(call, arguments, "is not answered with ENOTCONN", flush=True)
            return 1
    if answer(ordofs.open, image) != errno.EBUSY:
        print("the child opens what its parent has open", flush=True)
        return 1
    raw.close()
    return 0


ordofs.create(image, 32 << 20)
volume = ordofs.open(image)
volume.write("/kept", b"kept")
raw = volume.open("/kept", "r+b")
text = volume.open("/text", "w")
text.write("once\n")
assert in_child(each_call) == 0

# Threads that write while the process forks: their locks are in the child as they were, and hold up nobody.
ends = threading.Event()


def busy():
    with volume.open("/busy", "w+b") as file:
        while not ends.is_set():
            file.write(b"x" * 100_000)
            file.seek(0)
            shared.write(b"y")


with volume.open("/shared", "wb") as shared:
    threads = [threading.Thread(target=busy) for _ in range(3)]
    [thread.start() for thread in threads]
    for _ in range(10):
        assert in_child(lambda: answer(shared.write, b"z") != errno.ENOTCONN) == 0
    ends.set()
    [thread.join() for thread in threads]
assert set(volume.read("/shared")) == set(b"y")
volume.remove("/busy")


# multiprocessing: children that use a volume of their parent, and end.
def work(_):
    return answer(volume.read, "/kept")


with multiprocessing.get_context("fork").Pool(2) as pool:
    assert pool.map(work, range(4)) == [errno.ENOTCONN] * 4
assert volume.read("/kept") == b"kept"
for one in (volume, raw, text):
    try:
        pickle.dumps(one)
    except TypeError as error:
        assert one is not volume or "one process" in str(error), error
        continue
    raise AssertionError(f"{one} is pickled")


# A child that leaves the block of its parent.
with volume:
    assert in_child(lambda: 7) == 7
    child = os.fork()
    if child == 0:
        sys.exit(3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert "text" in volume.listdir("/")

# No child has closed it or written to it, nor does one keep it locked that lives longer.
assert volume.closed
clean()
lives = os.fork()
if lives == 0:
    time.sleep(60)
    os._exit(0)
with ordofs.open(image) as volume:
    assert volume.read("/text") == b"once\n" and not volume.exists("/child")
    lives_too = os.fork()
    if lives_too == 0:
        time.sleep(60)
        os._exit(0)
with ordofs.open(image) as volume:
    pass
for child in (lives, lives_too):
    os.kill(child, 9)
    os.waitpid(child, 0)
clean()


# Who ends without close leaves the volume clean all the same, with what buffers had.
def program(*lines, code=0):
    text = "\n".join(["import ordofs, sys, threading", "volume = ordofs.open(sys.argv[1])", *lines])
    ran = subprocess.run([sys.executable, "-c", text, str(image)], capture_output=True, text=True)
    assert ran.returncode == code, (text, ran)
    clean()
    return ran.stderr


assert program("volume.write('/last', b'word')") == ""
assert program("file = volume.open('/buffered', 'w'); file.write('word'); del volume") == ""
daemon = "threading.Thread(target=lambda file: threading.Event().wait(), args=(file,), daemon=True).start()"
assert program("file = volume.open('/daemon', 'w'); file.write('word'); del volume", daemon, "del file") == ""
assert program("volume.write('/left', b'word'); sys.exit(5)", code=5) == ""
assert program("import os", "volume.write('/forked', b'word'); os.fork() and os.wait()") == ""
assert "ZeroDivisionError" in program("volume.write('/raised', b'word'); 1 / 0", code=1)
assert program("threading.Thread(target=volume.write, args=('/thread', b'word')).start()") == ""
much = "much = volume.statvfs().f_bfree * volume.statvfs().f_frsize + (16 << 20)"
told = program(much, "file = volume.open('/full', 'wb', much * 2)", "file.write(bytes(much))")
assert "no space left on the volume: '/full'" in told, told
with ordofs.open(image) as volume:
    for name in ("last", "buffered", "daemon", "left", "raised", "thread", "forked"):
        assert volume.read("/" + name) == b"word", name

# Who forgets a volume unmounts it.
volume = ordofs.open(image)
file = volume.open("/forgotten", "wb")
file.write(b"word")
del volume
gc.collect()
assert answer(ordofs.open, image) == errno.EBUSY
del file
gc.collect()
clean()
print("processes are answered")
