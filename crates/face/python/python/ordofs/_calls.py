"""The calls by path, as os and os.path have them, over those of the native module."""
import errno
import os
import stat as modes
import time

from ._directories import DirEntry, Scan, walk
from ._files import as_bytes

# Nothing has such a path; other errors do not say that.
_NOT_THERE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


class Calls:
    """What a Volume has beside the calls that are native as they are."""

    def write(self, path, data):
        """Replaces the contents of a file by any buffer, and makes the file if it is not there."""
        super().write(path, as_bytes(data))

    def listdir(self, path="/"):
        """The names in a directory, in the order in which they are stored; bytes for a path of bytes."""
        return [_as(path, name) for name in super().listdir(path)]

    def readlink(self, path):
        """The target of a symbolic link; bytes for a path of bytes."""
        return _as(path, super().readlink(path))

    def scandir(self, path="/"):
        """The entries of a directory, as os.scandir has them; of the moment of the call."""
        directory = os.fspath(path)
        entries = self._scan(path)
        return Scan([DirEntry(self, directory, _as(path, name), ino, kind) for name, ino, kind in entries])

    def walk(self, top="/", topdown=True, onerror=None, followlinks=False):
        """Directories with what is in them, as os.walk has them."""
        return walk(self, top, topdown, onerror, followlinks)

    def makedirs(self, name, mode=0o755, exist_ok=False):
        """Makes a directory, and those above it that are missing; mode is that of the last one."""
        path = os.fsdecode(name).rstrip("/") or "/"
        missing = [path]
        while os.path.dirname(missing[-1]).strip("/") and not self.exists(os.path.dirname(missing[-1])):
            missing.append(os.path.dirname(missing[-1]).rstrip("/"))
        for above in reversed(missing[1:]):
            try:
                self.mkdir(above)
            except FileExistsError:
                # Another thread has made it meanwhile.
                pass
        try:
            self.mkdir(path, mode)
        except OSError:
            if not (exist_ok and self.isdir(path)):
                raise

    def _mode_is(self, path, asked, follow_symlinks=True):
        try:
            return asked(self.stat(path, follow_symlinks=follow_symlinks).st_mode)
        except OSError as error:
            if error.errno in _NOT_THERE:
                return False
            raise

    def lstat(self, path):
        """The attributes of a file, of a symbolic link itself."""
        return self.stat(path, follow_symlinks=False)

    def isdir(self, path):
        """Whether it is a directory, or a symbolic link to one."""
        return self._mode_is(path, modes.S_ISDIR)

    def isfile(self, path):
        """Whether it is a regular file, or a symbolic link to one."""
        return self._mode_is(path, modes.S_ISREG)

    def islink(self, path):
        """Whether it is a symbolic link."""
        return self._mode_is(path, modes.S_ISLNK, follow_symlinks=False)

    def unlink(self, path):
        """Removes a name that is not a directory."""
        self.remove(path)

    def replace(self, old, new):
        """Renames; what the new name named before is replaced."""
        self.rename(old, new)

    def utime(self, path, times=None, *, ns=None, follow_symlinks=True):
        """Sets the times of the last read and change, as os.utime does; to now without any."""
        if times is not None and ns is not None:
            raise ValueError("either times or ns")
        if times is not None:
            ns = [int(seconds) * 10**9 + round((seconds - int(seconds)) * 10**9) for seconds in times]
        if ns is None:
            ns = [time.time_ns()] * 2
        accessed, changed = ns
        self._utime(path, accessed, changed, follow_symlinks)

    def setxattr(self, path, attribute, value, flags=0):
        """Sets an extended attribute; flags are 0, os.XATTR_CREATE or os.XATTR_REPLACE."""
        self._setxattr(path, attribute, as_bytes(value), flags)

    def statvfs(self, path="/"):
        """The space of the volume, as os.statvfs has it."""
        self.stat(path)
        return os.statvfs_result(self._statvfs())


def _as(path, name):
    """A name as text, or as bytes where the path was bytes."""
    return os.fsencode(name) if isinstance(os.fspath(path), bytes) else name
