"""Open files, as those of io."""
import io
import os


class File(io.RawIOBase):
    """An open file of a volume, for bytes and unbuffered: each write is a call of the volume."""

    def __init__(self, volume, file, name, mode):
        super().__init__()
        # The volume stays open as long as one of its files is used.
        self._volume, self._file, self._name, self._mode = volume, file, name, mode

    @property
    def name(self):
        """The path by which it was opened."""
        return self._name

    @property
    def mode(self):
        """The mode by which it was opened, with a b."""
        return self._mode

    def readable(self):
        """Whether it was opened for reading."""
        self._check()
        return "r" in self._mode or "+" in self._mode

    def writable(self):
        """Whether it was opened for writing."""
        self._check()
        return self._mode != "rb"

    def seekable(self):
        """It is: each file of a volume has a position."""
        self._check()
        return True

    def _check(self):
        if self.closed:
            raise ValueError("I/O operation on closed file")

    def _reads(self):
        if not self.readable():
            raise io.UnsupportedOperation("not open for reading")
        return self._file

    def _writes(self):
        if not self.writable():
            raise io.UnsupportedOperation("not open for writing")
        return self._file

    def read(self, size=-1):
        """Reads up to size bytes from the position; without size all that is left."""
        return self._reads().read(-1 if size is None else size)

    def readall(self):
        """Reads all that is left."""
        return self.read()

    def readinto(self, buffer):
        """Reads as many bytes as fit into buffer; returns how many came."""
        with memoryview(buffer) as whole, whole.cast("B") as view:
            data = self.read(len(view))
            view[: len(data)] = data
        return len(data)

    def readline(self, size=-1):
        """Reads up to the end of a line, or up to size bytes of it."""
        # That of io takes one byte with each call.
        most, line = -1 if size is None else size, bytearray()
        while most < 0 or len(line) < most:
            wanted = io.DEFAULT_BUFFER_SIZE
            piece = self.read(wanted if most < 0 else min(wanted, most - len(line)))
            end = piece.find(b"\n") + 1
            line += piece[: end or len(piece)]
            if end:
                self.seek(end - len(piece), os.SEEK_CUR)
            if end or not piece:
                break
        return bytes(line)

    def write(self, data):
        """Writes all of data, any buffer, at the position; returns how many bytes it has."""
        return self._writes().write(as_bytes(data))

    def pread(self, size, offset):
        """Reads up to size bytes from offset; the position does not change."""
        return self._reads().pread(size, offset)

    def pwrite(self, data, offset):
        """Writes all of data at offset; the position does not change."""
        return self._writes().pwrite(as_bytes(data), offset)

    def seek(self, offset, whence=os.SEEK_SET):
        """Moves the position; whence is 0 (from the beginning), 1 (from the position) or 2 (from the end)."""
        self._check()
        return self._file.seek(offset, whence)

    def tell(self):
        """The position."""
        self._check()
        return self._file.tell()

    def truncate(self, size=None):
        """Truncates the file to size, or extends it with a hole; without size to the position."""
        return self._writes().truncate(size)

    def fsync(self):
        """Makes everything that was written durable."""
        self._check()
        self._file.fsync()

    def fdatasync(self):
        """The same, without times."""
        self._check()
        self._file.fdatasync()

    def stat(self):
        """The attributes of the file."""
        self._check()
        return self._file.stat()

    def close(self):
        """Closes it; twice does no harm."""
        if not self.closed:
            super().close()
            self._file.close()

    def __repr__(self):
        return f"<ordofs.File {self.name!r} mode={self._mode!r}{', closed' if self.closed else ''}>"


def as_bytes(data):
    """Any buffer as bytes; numbers and text are none."""
    return data if isinstance(data, (bytes, bytearray)) else bytes(memoryview(data))


def _binary(mode):
    """The mode of the file below: one of r, w, a and x, perhaps a plus, and a b. And whether text was asked for."""
    kind = "".join(letter for letter in mode if letter in "rwax")
    if len(kind) != 1 or len(set(mode)) != len(mode) or not set(mode) <= set("rwax+bt") or {"b", "t"} <= set(mode):
        raise ValueError(f"mode {mode!r}: must be one of r, w, a and x, perhaps +, and b for bytes or t for text")
    return kind + ("+" if "+" in mode else "") + "b", "b" not in mode


def opened(volume, path, mode, buffering, encoding, errors, newline, permissions):
    """The file that Volume.open returns, and the buffers over it, the lowest first."""
    kind, text = _binary(mode)
    if not text and not (encoding is errors is newline is None):
        raise ValueError("encoding, errors and newline are for text")
    if text and buffering == 0:
        raise ValueError("text cannot be unbuffered")
    file = File(volume, volume._open(path, kind, permissions), os.fspath(path), kind)
    try:
        if kind[0] == "a":
            file.seek(0, os.SEEK_END)
        if not text and buffering in (-1, 0):
            return file, []
        size = buffering if buffering > 1 else io.DEFAULT_BUFFER_SIZE
        if "+" in kind:
            buffered = io.BufferedRandom(file, size)
        elif kind == "rb":
            buffered = io.BufferedReader(file, size)
        else:
            buffered = io.BufferedWriter(file, size)
        if not text:
            return buffered, [buffered]
        wrapped = io.TextIOWrapper(buffered, encoding, errors, newline, line_buffering=buffering == 1)
        wrapped.mode = mode
        return wrapped, [buffered, wrapped]
    except BaseException:
        file.close()
        raise
