"""Volumes of UFS and LFS in image files and on disks, without a mount.

The methods of a Volume are called as those of os, and a file is as one of io: what takes either takes these. An error
is an OSError with errno and path. After a fork only the parent can use a volume: in the child each call is an error.
"""
import atexit
import os
import traceback
import weakref

from . import _ordofs
from ._calls import Calls
from ._directories import DirEntry
from ._files import File, opened
from ._ordofs import Stat, __version__, create

__all__ = ["DirEntry", "File", "Stat", "Volume", "create", "open", "__version__"]

# Those of this process that are not closed, by their ids.
_open_volumes = weakref.WeakValueDictionary()

# A child of fork has the objects and not the volumes.
os.register_at_fork(after_in_child=_open_volumes.clear)


@atexit.register
def _close_all():
    """A program that ends without close leaves its volumes clean all the same, and what cannot be written is told."""
    for reference in _open_volumes.valuerefs():
        volume = reference()
        try:
            if volume is not None:
                volume.close()
        except Exception:
            traceback.print_exc()


def open(image, options=""):
    """Opens the volume in a file, a device or a partition ("disk.img@p2").

    The options are those of ordo mount -o, as "ro,scheme=sync,cache=64M".
    """
    return Volume(image, options)


class Volume(Calls, _ordofs.Volume):
    """An open volume. In a with statement everything is written at its end, and the volume is clean."""

    def __init__(self, image, options=""):
        super().__init__()
        self._process = os.getpid()
        self._buffers = weakref.WeakValueDictionary()
        _open_volumes[id(self)] = self

    def open(self, path, mode="rb", buffering=-1, encoding=None, errors=None, newline=None, *, permissions=0o644):
        """Opens a file as the open of Python does: bytes if mode has a b, as without a mode, and text if not.

        For bytes it is a File, which is unbuffered, or with buffering a buffer of so many bytes over one. permissions
        are those of a file that is made.
        """
        file, buffers = opened(self, path, mode, buffering, encoding, errors, newline, permissions)
        for buffer in buffers:
            self._buffers[id(buffer)] = buffer
        return file

    def close(self):
        """Writes everything, the buffers of open files too, and closes the volume; twice does no harm."""
        failed = None
        if self._process == os.getpid() and not self.closed:
            # What lies upon others comes first: it was made last.
            for reference in reversed(self._buffers.valuerefs()):
                try:
                    buffer = reference()
                    if buffer is not None:
                        buffer.flush()
                except ValueError:
                    # It is closed, or the program has detached it.
                    pass
                except OSError as error:
                    failed = failed or error
        super().close()
        if failed:
            raise failed

    def __enter__(self):
        if self.closed:
            raise ValueError("operation on a closed volume")
        return self

    def __exit__(self, *_why):
        # A child that leaves the block of its parent leaves the volume to it.
        if self._process == os.getpid():
            self.close()

    def __reduce__(self):
        raise TypeError("a volume belongs to one process: open it where it is used, one after the other")
