"""What is in directories, as scandir and walk of os have it."""
import os
import stat as modes


class DirEntry:
    """A name in a directory, as os.DirEntry is one."""

    def __init__(self, volume, directory, name, ino, kind):
        self._volume, self._ino, self._kind = volume, ino, kind
        self.name = name
        self.path = os.path.join(directory, name)

    def inode(self):
        """The inode's number."""
        return self._ino

    def is_symlink(self):
        """Whether it is a symbolic link."""
        return modes.S_ISLNK(self._kind)

    def is_dir(self, *, follow_symlinks=True):
        """Whether it is a directory, or a symbolic link to one."""
        return self._is(modes.S_ISDIR, follow_symlinks)

    def is_file(self, *, follow_symlinks=True):
        """Whether it is a regular file, or a symbolic link to one."""
        return self._is(modes.S_ISREG, follow_symlinks)

    def _is(self, asked, follow):
        if not (follow and self.is_symlink()):
            return asked(self._kind)
        return self._volume._mode_is(self.path, asked)

    def stat(self, *, follow_symlinks=True):
        """The attributes of the file."""
        return self._volume.stat(self.path, follow_symlinks=follow_symlinks)

    def __fspath__(self):
        return self.path

    def __repr__(self):
        return f"<ordofs.DirEntry {self.name!r}>"


class Scan:
    """What scandir returns: an iterator that is also a context."""

    def __init__(self, entries):
        self._entries = iter(entries)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._entries)

    def close(self):
        """Ends it."""
        self._entries = iter(())

    def __enter__(self):
        return self

    def __exit__(self, *_why):
        self.close()


def walk(volume, top, topdown, onerror, followlinks):
    """As os.walk; a list and no calls upon calls, so that a tree may be as deep as it likes."""
    left = [os.fspath(top)]
    while left:
        here = left.pop()
        if isinstance(here, tuple):
            yield here
            continue
        try:
            entries = list(volume.scandir(here))
        except OSError as error:
            if onerror is not None:
                onerror(error)
            continue
        links = {entry.name for entry in entries if entry.is_symlink()}
        directories, files = [], []
        for entry in entries:
            (directories if _is_directory(entry) else files).append(entry.name)
        if topdown:
            yield here, directories, files
        else:
            left.append((here, directories, files))
        # The caller may have changed the list. The first is taken first, from the end.
        for name in reversed(directories):
            if followlinks or name not in links:
                left.append(os.path.join(here, name))


def _is_directory(entry):
    try:
        return entry.is_dir()
    except OSError:
        # What a link leads to cannot be read: the link is there all the same.
        return False
