"""What programs of Python expect of files: those of io, on a volume."""
import csv
import errno
import gzip
import io
import json
import mmap
import os
import pathlib
import pickle
import shutil
import sys
import tarfile
import zipfile
from array import array

import ordofs

image = pathlib.Path(sys.argv[1])
ordofs.create(image, 64 << 20)
assert ordofs.__version__.count(".") == 2
volume = ordofs.open(image)


def refused(kind, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kind as error:
        return error
    raise AssertionError(f"{call} with {arguments} is not refused")


# Bytes: a raw file of io, with lines, and what is built on it.
with volume.open("/lines", "wb") as file:
    assert isinstance(file, io.RawIOBase) and file.writable() and not file.readable() and file.seekable()
    assert (file.name, file.mode, file.isatty(), file.closed) == ("/lines", "wb", False, False)
    file.writelines([b"one\n", bytearray(b"two\n"), memoryview(b"three")])
    refused(io.UnsupportedOperation, file.read)
    refused(io.UnsupportedOperation, file.readline)
    refused(io.UnsupportedOperation, file.fileno)
with volume.open("/lines") as file:
    assert file.readline() == b"one\n" and list(file) == [b"two\n", b"three"] and file.readline() == b""
    assert file.seek(0) == 0 and file.readline(2) == b"on" and file.readline(0) == b"" and file.readline(9) == b"e\n"
    assert file.seek(0) == 0 and file.readlines() == [b"one\n", b"two\n", b"three"]
    buffer = bytearray(5)
    assert file.seek(4) == 4 and file.readinto(buffer) == 5 and buffer == b"two\nt"
    assert io.BufferedReader(file).read(3) == b"hre"
    refused(io.UnsupportedOperation, volume.open("/lines").write, b"x")
    refused(io.UnsupportedOperation, volume.open("/lines").truncate, 0)
assert file.closed
for call in (file.read, file.readline, file.tell, file.fsync, file.stat, file.readable, file.flush, file.__enter__):
    refused(ValueError, call)
long = b"x" * 100_000 + b"\n" + b"y" * 70_000 + b"\nz"
volume.write("/long", long)
with volume.open("/long") as file:
    assert list(file) == long.splitlines(keepends=True)

# Any buffer is written, of any kind of numbers; text and numbers are none.
numbers = array("i", range(1000))
with volume.open("/numbers", "w+b") as file:
    assert file.write(numbers) == 4000 == file.tell()
    assert file.write(memoryview(numbers)[::2]) == 2000
    assert file.pwrite(memoryview(b"ab"), 0) == 2
    again = array("i", bytes(4000))
    assert file.seek(0) == 0 and file.readinto(again) == 4000 and again[1:] == numbers[1:]
    assert file.read() == array("i", range(0, 1000, 2)).tobytes()
    with mmap.mmap(-1, 4096) as mapped:
        mapped[:3] = b"map"
        assert file.write(mapped) == 4096
    refused(TypeError, file.write, "text")
    refused(TypeError, file.write, 7)
    refused(TypeError, file.readinto, b"read only")
    assert file.tell() == 10096 == file.seek(0, os.SEEK_END)
    assert file.truncate(10) == 10 and file.tell() == 10096 and file.stat().st_size == 10
    assert file.seek(5) == 5 and file.truncate() == 5 and file.stat().st_size == 5
    refused(ValueError, file.truncate, -1)
    refused(ValueError, file.seek, -1)
    refused(OSError, file.seek, -6, os.SEEK_CUR)
    refused(ValueError, file.seek, 0, 9)
volume.write("/numbers", numbers)
assert volume.read("/numbers") == numbers.tobytes()
refused(TypeError, volume.write, "/numbers", "text")

# The same script on a file of the host and on one of the volume: the same answers.
def script(opener, path):
    for mode, kwargs in (
        ("w", {"encoding": "utf-8", "newline": "\r\n"}),
        ("a", {"encoding": "utf-8"}),
        ("r+", {"encoding": "utf-8", "newline": ""}),
        ("a", {"encoding": "utf-16"}),
        ("wt", {"encoding": "utf-16"}),
        ("at", {"encoding": "utf-16", "buffering": 1}),
        ("w+", {"encoding": "latin-1", "errors": "replace", "buffering": 16}),
        ("a+", {"encoding": "latin-1", "errors": "replace", "newline": "\n"}),
    ):
        with opener(path, mode, **kwargs) as file:
            yield file.mode, file.encoding, file.tell(), file.write("schl\u00fcssel\u20ac\n"), file.write("z\n\n")
            file.flush()
            if file.readable():
                yield file.seek(0), file.readline(), file.newlines, file.read()
            yield file.tell(), file.truncate()
        with opener(path, "rb", buffering=4096) as file:
            yield type(file), file.readline(), file.peek(1)[:1], file.read1(3), file.read(), file.tell()
        for newline in (None, "", "\n", "\r\n"):
            with opener(path, encoding="latin-1", newline=newline, mode="r") as file:
                yield list(file)
    for mode in ("w+b", "r+b", "a+b"):
        with opener(path, mode, buffering=64) as file:
            yield file.tell(), file.write(bytes(range(200))), file.seek(-20, 2), file.read(7)
            yield file.write(b"mid"), file.tell()
            yield file.seek(0), file.read(), file.truncate(150), file.seek(0, 2)
    with opener(path, "xb", buffering=64):
        pass


def answers(opener, path):
    given = []
    try:
        for answer in script(opener, path):
            given.append(answer)
    except OSError as error:
        given.append((type(error), error.errno, os.fspath(error.filename) == os.fspath(path)))
    return given


theirs = answers(open, image.parent / (image.name + ".text"))
ours = answers(volume.open, "/script")
assert len(theirs) > 60 and theirs[-1] == (FileExistsError, errno.EEXIST, True)
for one, other in zip(theirs, ours):
    assert one == other, (one, other)
assert len(theirs) == len(ours)

# Modes, and what does not go with them.
for mode in ("", "b", "rw", "rr", "r++", "rbt", "U", "r ", "rbb"):
    refused(ValueError, volume.open, "/lines", mode)
for mode in ("br", "tr", "r+t", "+rb"):
    volume.open("/lines", mode).close()
refused(ValueError, volume.open, "/lines", "r", 0)
refused(ValueError, volume.open, "/lines", "rb", encoding="utf-8")
refused(LookupError, volume.open, "/lines", "r", encoding="none")
assert volume.open("/mode", "xb", permissions=0o600).stat().st_mode == 0o100600

# What others build on files.
with volume.open("/table", "w", encoding="utf-8", newline="") as file:
    csv.writer(file).writerows([["schl\u00fcssel", 1], ["z", 2]])
with volume.open("/table", "r", encoding="utf-8", newline="") as file:
    assert list(csv.reader(file)) == [["schl\u00fcssel", "1"], ["z", "2"]]
with volume.open("/json", "w") as file:
    json.dump({"a": [1]}, file)
assert json.load(volume.open("/json", "r")) == {"a": [1]}
with volume.open("/both", "w+b", buffering=4096) as file:
    pickle.dump({"a": 1}, file)
    file.seek(0)
    assert pickle.load(file) == {"a": 1}
with volume.open("/a.zip", "w+b") as file:
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr("x", b"y" * 10_000)
    assert zipfile.ZipFile(file).read("x") == b"y" * 10_000
with volume.open("/a.tar.gz", "wb") as file, tarfile.open(fileobj=file, mode="w:gz") as packed:
    packed.add(__file__, "me")
with volume.open("/a.tar.gz") as file, tarfile.open(fileobj=file) as packed:
    assert packed.getnames() == ["me"] and packed.extractfile("me").read() == pathlib.Path(__file__).read_bytes()
with gzip.open(volume.open("/a.gz", "wb"), "wt") as file:
    file.write("packed")
assert gzip.open(volume.open("/a.gz"), "rt").read() == "packed"
with open(__file__, "rb") as source, volume.open("/copy", "wb") as target:
    shutil.copyfileobj(source, target)
assert volume.read("/copy") == pathlib.Path(__file__).read_bytes()

# Buffers that are open when the volume is closed are written; a failure of that is told.
left = [volume.open(f"/left{i}", mode, **more) for i, (mode, more) in enumerate(
    [("w", {}), ("wb", {"buffering": 4096}), ("w+b", {"buffering": 4096}), ("a", {"encoding": "utf-8"})])]
for file in left:
    file.write("late" if isinstance(file, io.TextIOBase) else b"late")
detached = volume.open("/detached", "w").detach()
volume.close()
volume.close()
volume = ordofs.open(image)
assert [volume.read(f"/left{i}") for i in range(4)] == [b"late"] * 4
free = volume.statvfs().f_bavail * volume.statvfs().f_frsize
file = volume.open("/full", "wb", buffering=free * 2)
file.write(bytes(free + (16 << 20)))
assert refused(OSError, volume.close).errno == errno.ENOSPC
assert volume.closed
print("all files are as Python expects them")
