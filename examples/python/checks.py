"""What the module promises: files as Python has them, errors with their errno, threads that do not wait for a call."""
import errno
import io
import os
import pathlib
import sys
import threading

import ordofs

image = pathlib.Path(sys.argv[1])


def refused(kind, number, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        assert getattr(error, "errno", None) == number, (call, error, error.errno)
        return error
    raise AssertionError(f"{call} with {arguments} is not refused")


missing = refused(FileNotFoundError, errno.ENOENT, ordofs.open, image)
assert str(missing) == f"[Errno 2] No such file or directory: {str(image)!r}", missing
refused(ValueError, None, ordofs.create, image, 16 << 20, "ext4")
ordofs.create(image, 16 << 20)
refused(FileExistsError, errno.EEXIST, ordofs.create, image, 32 << 20)
refused(FileExistsError, errno.EEXIST, ordofs.create, image, 32 << 20, "lfs")
ordofs.create(image, 32 << 20, overwrite=True)
refused(ValueError, None, ordofs.open, image, "fast")
volume = ordofs.open(image, "scheme=softupdates")
refused(OSError, errno.EBUSY, ordofs.open, image)

# Errors have the path, and the classes of Python.
assert refused(FileNotFoundError, errno.ENOENT, volume.read, "/none").filename == "/none"
volume.mkdir("/d", 0o700)
refused(FileExistsError, errno.EEXIST, volume.mkdir, "/d")
refused(IsADirectoryError, errno.EISDIR, volume.write, "/d", b"x")
refused(NotADirectoryError, errno.ENOTDIR, volume.listdir, volume.write("/f", b"x") or "/f")
assert volume.stat("/d").st_mode == 0o040700

# Names that are no text come back as they were.
odd = os.fsdecode(b"/d/\xff\xfe")
volume.write(odd, b"odd")
assert [os.fsencode(name) for name in volume.listdir("/d")] == [b"\xff\xfe"] and volume.read(odd) == b"odd"
volume.remove(odd)

# Files: the modes of open, the position, reads beyond the end, large contents, other byte strings.
big = bytes(range(256)) * 20_000
with volume.open("/big", "xb") as file:
    assert file.write(bytearray(big)) == len(big) and file.tell() == len(big)
    refused(io.UnsupportedOperation, None, file.read)
refused(FileExistsError, errno.EEXIST, volume.open, "/big", "xb")
with volume.open("/big", "r+b") as file:
    assert file.read() == big and file.read(5) == b"" and file.pread(3, 255) == big[255:258]
    assert file.seek(-2, 2) == len(big) - 2 and file.read() == big[-2:]
    assert file.pwrite(b"XY", 1) == 2 and file.pread(4, 0) == b"\x00XY\x03"
    assert file.truncate(10) == 10 and file.stat().st_size == 10
    refused(ValueError, None, file.seek, -1)
    refused(OSError, errno.EINVAL, file.seek, -len(big) - 1, 1)
with volume.open("/log", "ab") as file:
    file.write(b"one ")
with volume.open(pathlib.PurePosixPath("/log"), "a+b") as file:
    file.write(b"two")
    file.fdatasync()
assert volume.read("/log") == b"one two"
assert file.closed
refused(ValueError, None, file.read)
for mode in ("rbt", "", "rwb", "rbb", "w++", "rtt"):
    refused(ValueError, None, volume.open, "/log", mode)

# Links, and what is left when names go.
volume.link("/log", "/second")
assert volume.stat("/log").st_nlink == 2
with volume.open("/log") as file:
    volume.remove("/log")
    volume.remove("/second")
    assert file.read() == b"one two" and not volume.exists("/log")
volume.symlink("big", "/link")
assert os.fspath(volume.readlink("/link")) == "big" and volume.read("/link") == volume.read("/big")

# Many threads on one volume and one file: each line whole.
def work(name):
    for count in range(50):
        shared.write(f"{name} {count}\n".encode())


with volume.open("/lines", "ab") as shared:
    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
lines = volume.read("/lines").decode().splitlines()
assert sorted(lines) == sorted(f"{name} {count}" for name in "abcd" for count in range(50))

# Closed under an open file.
file = volume.open("/big")
volume.fsync("/")
volume.sync()
volume.close()
volume.close()
refused(OSError, errno.ENOTCONN, file.read)
file.close()
refused(ValueError, None, volume.listdir)
with ordofs.open(image, "ro") as volume:
    refused(OSError, errno.EROFS, volume.mkdir, "/new")
    assert len(volume.read("/lines").splitlines()) == 200
print("all checks hold")
