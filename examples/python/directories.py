"""What programs of Python expect of directories and names: the calls of os, on a volume."""
import errno
import io
import os
import pathlib
import stat
import sys

import ordofs

image = pathlib.Path(sys.argv[1])
ordofs.create(os.fsencode(image), 32 << 20)
volume = ordofs.open(image)


def refused(kind, number, call, *arguments, **more):
    try:
        call(*arguments, **more)
    except kind as error:
        assert getattr(error, "errno", None) == number, (call, error)
        return error
    raise AssertionError(f"{call} with {arguments} is not refused")


# Directories that are made with those above them.
volume.makedirs("/a/b/c", 0o700)
assert [stat.S_IMODE(volume.stat(path).st_mode) for path in ("/a", "/a/b", "/a/b/c")] == [0o755, 0o755, 0o700]
volume.makedirs("/a/b/c", exist_ok=True)
volume.makedirs("/", exist_ok=True)
volume.makedirs(b"/bytes//of/a/path/")
volume.makedirs(pathlib.PurePosixPath("/from/pathlib"))
volume.makedirs("no/slash/first")
assert volume.isdir("/bytes/of/a/path") and volume.isdir("/from/pathlib") and volume.isdir("/no/slash/first")
refused(FileExistsError, errno.EEXIST, volume.makedirs, "/a/b")
volume.write("/a/f", memoryview(b"one"))
refused(FileExistsError, errno.EEXIST, volume.makedirs, "/a/f", exist_ok=True)
refused(NotADirectoryError, errno.ENOTDIR, volume.makedirs, "/a/f/x/y")
volume.write("/a/b/g", io.BytesIO(b"two!").getbuffer())
volume.symlink("b", "/a/link")
volume.symlink("nowhere", "/a/b/c/dangling")
volume.symlink("loop", "/a/b/c/loop")

# scandir: an iterator and a context.
seen = {entry.name: (entry.is_dir(), entry.is_file(), entry.is_symlink(), entry.path) for entry in volume.scandir("/a")}
assert seen == {
    "b": (True, False, False, "/a/b"),
    "f": (False, True, False, "/a/f"),
    "link": (True, False, True, "/a/link"),
}, seen
with volume.scandir("/a") as entries:
    first = next(entries)
    assert isinstance(first, os.PathLike) and os.fspath(first) == first.path
    assert first.inode() == first.stat(follow_symlinks=False).st_ino == volume.lstat(first).st_ino
assert list(entries) == []
refused(FileNotFoundError, errno.ENOENT, volume.scandir, "/none")
assert {entry.name: entry.path for entry in volume.scandir(b"/a")}[b"f"] == b"/a/f"
link = {entry.name: entry for entry in volume.scandir("/a")}["link"]
assert not link.is_dir(follow_symlinks=False) and stat.S_ISLNK(link.stat(follow_symlinks=False).st_mode)
broken = {entry.name: entry for entry in volume.scandir("/a/b/c")}
assert not any(entry.is_dir() or entry.is_file() for entry in broken.values())
refused(FileNotFoundError, errno.ENOENT, broken["dangling"].stat)
refused(OSError, errno.ELOOP, broken["loop"].stat)

# walk, against that of os on a copy of the tree.
copy = image.parent / (image.name + ".tree")
(copy / "a/b/c").mkdir(parents=True)
(copy / "a/f").touch()
(copy / "a/b/g").touch()
(copy / "a/link").symlink_to("b")
(copy / "a/b/c/dangling").symlink_to("nowhere")
(copy / "a/b/c/loop").symlink_to("loop")


def order(walked, above):
    return sorted((os.path.relpath(top, above), sorted(dirs), sorted(files)) for top, dirs, files in walked)


for options in ({}, {"topdown": False}, {"followlinks": True}, {"topdown": False, "followlinks": True}):
    ours, theirs = volume.walk("/a", **options), os.walk(copy / "a", **options)
    assert order(ours, "/a") == order(theirs, copy / "a"), options
walked = list(volume.walk())
assert [top for top, *_ in walked if top.count("/") == 1][1:] == ["/" + name for name in walked[0][1]]
depth = [len(pathlib.PurePath(top).parts) for top, *_ in volume.walk("/a")]
assert depth[0] == 2 and depth == sorted(depth)
assert [top for top, *_ in volume.walk("/a", topdown=False)] == ["/a/b/c", "/a/b", "/a"]
pruned = []
for top, dirs, _ in volume.walk("/a"):
    pruned.append(top)
    dirs[:] = [name for name in dirs if name != "b"]
assert pruned == ["/a"]
told = []
assert list(volume.walk("/none")) == [] == list(volume.walk("/none", onerror=told.append))
assert told[0].errno == errno.ENOENT and told[0].filename == "/none"
assert {name for _, dirs, files in volume.walk(b"/a") for name in dirs + files} >= {b"b", b"c", b"f", b"g"}
path = "/deep"
for _ in range(1200):
    volume.mkdir(path)
    path = "d" if len(path) > 900 else path + "/d"
    if path == "d":
        break
assert sum(1 for _ in volume.walk("/deep")) > 400

# What a path is.
assert volume.isdir("/a") and volume.isdir("/a/link") and not volume.isdir("/a/f") and not volume.isdir("/none")
assert volume.isfile("/a/f") and not any(volume.isfile(path) for path in ("/a", "/a/f/x", "/none", "/x" + "x" * 300))
assert volume.islink("/a/link") and not volume.islink("/a/b") and not volume.islink("/none")
assert volume.exists("/a/link") and not volume.exists("/a/b/c/dangling")
assert volume.listdir(b"/a") == [os.fsencode(name) for name in volume.listdir("/a")]
assert volume.readlink("/a/link") == "b" and volume.readlink(b"/a/link") == b"b"
assert volume.stat("/a/b") == volume.stat("/a/link") != volume.lstat("/a/link")
for call in (volume.stat, volume.read, volume.mkdir, volume.listdir):
    refused(ValueError, None, call, "/a\0b")
    refused(TypeError, None, call, 7)

# Times, as those of os on a file of the host.
host = copy / "a/f"
for times in ((7.5, 8), (0, 0), (-1.5, -0.25), (1_700_000_000.123, 2**31 + 5)):
    volume.utime("/a/f", times)
    os.utime(host, times)
    ours, theirs = volume.stat("/a/f"), host.stat()
    assert abs(ours.st_atime_ns - theirs.st_atime_ns) < 300 and abs(ours.st_mtime_ns - theirs.st_mtime_ns) < 300, times
    assert ours.st_mtime == ours.st_mtime_ns / 1e9
volume.utime("/a/f", ns=(1_500_000_000, -2_000_000_001))
assert (volume.stat("/a/f").st_atime_ns, volume.stat("/a/f").st_mtime_ns) == (1_500_000_000, -2_000_000_001)
before = volume.stat("/a/b")
volume.utime("/a/link", ns=(1, 2), follow_symlinks=False)
assert volume.lstat("/a/link").st_mtime_ns == 2 and volume.stat("/a/b") == before
volume.utime("/a/link", ns=(3, 4))
assert volume.lstat("/a/link").st_mtime_ns == 2 and volume.stat("/a/b").st_mtime_ns == 4
volume.utime("/a/f")
assert abs(volume.stat("/a/f").st_mtime - host.stat().st_ctime) < 600
refused(ValueError, None, volume.utime, "/a/f", (1, 2), ns=(1, 2))
refused(ValueError, None, volume.utime, "/a/f", ns=(1, 2, 3))
refused(ValueError, None, volume.utime, "/a/f", ns=(10**30, 0))
refused(FileNotFoundError, errno.ENOENT, volume.utime, "/none")

# Owners, lengths, names.
volume.chown("/a/f", 1000, -1)
volume.chown("/a/f", -1, 2000)
assert (volume.stat("/a/f").st_uid, volume.stat("/a/f").st_gid) == (1000, 2000)
volume.chown("/a/link", 3000, 3000, follow_symlinks=False)
assert volume.lstat("/a/link").st_uid == 3000 and volume.stat("/a/b").st_uid == 0
for wrong in (-2, 2**32):
    refused(ValueError, None, volume.chown, "/a/f", wrong, 0)
volume.symlink("f", "/a/to-f")
volume.truncate("/a/to-f", 2)
assert volume.read("/a/f") == b"on" and volume.readlink("/a/to-f") == "f"
volume.truncate("/a/f", 5)
assert volume.read("/a/f") == b"on\0\0\0"
refused(ValueError, None, volume.truncate, "/a/f", -1)
refused(IsADirectoryError, errno.EISDIR, volume.truncate, "/a", 1)
volume.replace("/a/f", "/a/new")
volume.unlink("/a/new")
assert not volume.exists("/a/new")
error = refused(FileNotFoundError, errno.ENOENT, volume.rename, "/a/none", "/a/other")
assert (error.filename, error.filename2) == ("/a/none", "/a/other"), error
error = refused(FileExistsError, errno.EEXIST, volume.link, "/a/b/g", "/a/b/g")
assert (error.filename, error.filename2) == ("/a/b/g", "/a/b/g")

# Extended attributes.
volume.setxattr("/a/b/g", "user.note", b"kept")
volume.setxattr("/a/b/g", b"user.buffer", memoryview(b"view"), os.XATTR_CREATE)
assert sorted(volume.listxattr("/a/b/g")) == ["user.buffer", "user.note"] and volume.listxattr() == []
assert volume.getxattr("/a/b/g", "user.note") == b"kept" and volume.getxattr(b"/a/b/g", b"user.buffer") == b"view"
refused(FileExistsError, errno.EEXIST, volume.setxattr, "/a/b/g", "user.note", b"", os.XATTR_CREATE)
volume.setxattr("/a/b/g", "user.note", bytearray(b"anew"), flags=os.XATTR_REPLACE)
assert volume.getxattr("/a/b/g", "user.note") == b"anew"
volume.removexattr("/a/b/g", "user.note")
refused(OSError, errno.ENODATA, volume.getxattr, "/a/b/g", "user.note")
refused(OSError, errno.ENODATA, volume.removexattr, "/a/b/g", "user.note")
refused(OSError, errno.ENODATA, volume.setxattr, "/a/b/g", "user.note", b"", os.XATTR_REPLACE)
refused(OSError, errno.EINVAL, volume.setxattr, "/a/b/g", "user.note", b"", 3)

# Space.
space = volume.statvfs("/")
assert 0 < space.f_bavail <= space.f_bfree < space.f_blocks and space.f_namemax == 255, space
assert space.f_blocks * space.f_frsize <= 32 << 20 and 0 < space.f_ffree < space.f_files and space.f_flag == 0
volume.write("/large", bytes(4 << 20))
volume.sync()
assert space.f_bfree - volume.statvfs("/").f_bfree >= (4 << 20) // space.f_frsize
refused(FileNotFoundError, errno.ENOENT, volume.statvfs, "/none")
volume.close()
with ordofs.open(image, "ro") as volume:
    assert volume.statvfs().f_flag & os.ST_RDONLY
print("directories and names are as Python expects them")
