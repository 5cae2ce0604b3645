//! Open files.

use super::{FileTimes, Metadata, Volume, caller};
use crate::Fs;
use crate::path::Held;
use ordo_vfs::{FileSystem, Mode, NodeId, Refusal, Result, SetAttr};
use std::cell::Cell;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// The most bytes that one call of the file system moves.
const PIECE: usize = 1 << 20;

/// An open file. It stays readable when its name is removed; its space is freed when it is closed.
///
/// ```
/// # use ordofs::{NewVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// # NewVolume::new(16 << 20).create(&image)?;
/// # let volume = Volume::open(&image)?.mount()?;
/// use std::io::{Read, Seek, SeekFrom, Write};
/// let mut file = volume.create("/poem")?;
/// file.write_all(b"so much depends upon")?;
/// file.sync_all()?;
/// file.seek(SeekFrom::Start(8))?;
/// let mut rest = String::new();
/// volume.open_file("/poem")?.read_to_string(&mut rest)?;
/// assert_eq!(rest.len() as u64, file.metadata()?.len());
/// # drop(file);
/// # volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct File<'v> {
    volume: &'v Volume,
    held: Held<Fs>,
    reads: bool,
    writes: bool,
    append: bool,
    at: Cell<u64>,
}

/// How a file was opened, and what keeps it open.
pub(super) struct Parts {
    pub(super) held: Held<Fs>,
    pub(super) reads: bool,
    pub(super) writes: bool,
    pub(super) append: bool,
}

impl<'v> File<'v> {
    pub(super) fn new(volume: &'v Volume, held: Held<Fs>, reads: bool, writes: bool, append: bool) -> File<'v> {
        File { volume, held, reads, writes, append, at: Cell::new(0) }
    }

    pub(super) fn of(volume: &'v Volume, parts: Parts) -> File<'v> {
        let Parts { held, reads, writes, append } = parts;
        File::new(volume, held, reads, writes, append)
    }

    pub(super) fn into_parts(self) -> Parts {
        let File { held, reads, writes, append, .. } = self;
        Parts { held, reads, writes, append }
    }

    fn fs(&self) -> &Fs {
        self.held.fs()
    }

    pub(super) fn node(&self) -> NodeId {
        self.held.node()
    }

    fn wait<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        self.volume.rt.block_on(call)
    }

    fn may(&self, allowed: bool) -> Result<()> {
        if allowed { Ok(()) } else { Err(Refusal::Denied.into()) }
    }

    /// The current attributes.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub fn metadata(&self) -> Result<Metadata> {
        self.wait(self.fs().getattr(self.node())).map(Metadata::new)
    }

    /// Reads up to `len` bytes from `offset`; fewer only at the end of the file. The file's position does not change.
    ///
    /// # Errors
    /// `Denied` if it was not opened for reading; `IsDirectory`, `Io`, `Corrupt`.
    pub fn read_at(&self, offset: u64, len: u32) -> Result<Vec<u8>> {
        self.may(self.reads)?;
        Ok(self.wait(self.fs().read(self.node(), offset, len))?.concat())
    }

    /// Writes all of `data` at `offset`; the file's position does not change.
    ///
    /// # Errors
    /// `Denied` if it was not opened for writing; `NoSpace`, `TooBig`, `Io`. A part may be written then.
    pub fn write_at(&self, offset: u64, data: &[u8]) -> Result<()> {
        self.may(self.writes)?;
        let who = caller();
        let mut done = 0;
        while done < data.len() {
            let piece = &data[done..data.len().min(done + PIECE)];
            let at = offset.checked_add(done as u64).ok_or(Refusal::TooBig)?;
            done += self.wait(self.fs().write(&who, self.node(), at, piece))? as usize;
        }
        Ok(())
    }

    /// Truncates the file, or extends it with a hole.
    ///
    /// # Errors
    /// `Denied` if it was not opened for writing; `TooBig`, `Io`.
    pub fn set_len(&self, len: u64) -> Result<()> {
        self.may(self.writes)?;
        self.set(&SetAttr { size: Some(len), ..SetAttr::default() })
    }

    /// Sets the permission bits.
    ///
    /// # Errors
    /// As [`Volume::set_attributes`].
    pub fn set_permissions(&self, mode: Mode) -> Result<()> {
        self.set(&SetAttr { mode: Some(mode), ..SetAttr::default() })
    }

    /// Sets times.
    ///
    /// # Errors
    /// As [`Volume::set_attributes`].
    pub fn set_times(&self, times: FileTimes) -> Result<()> {
        self.set(&times.into())
    }

    fn set(&self, set: &SetAttr) -> Result<()> {
        self.wait(self.fs().setattr(self.node(), set)).map(drop)
    }

    /// Makes everything that was written durable; for a directory its names.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_all(&self) -> Result<()> {
        self.wait(self.fs().fsync(self.node(), false))
    }

    /// The same, without times.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_data(&self) -> Result<()> {
        self.wait(self.fs().fsync(self.node(), true))
    }
}

impl Read for &File<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.may(self.reads)?;
        let len = into.len().min(PIECE) as u32;
        let segments = self.wait(self.fs().read(self.node(), self.at.get(), len))?;
        let mut done = 0;
        for segment in segments {
            into[done..done + segment.len()].copy_from_slice(&segment);
            done += segment.len();
        }
        self.at.set(self.at.get() + done as u64);
        Ok(done)
    }
}

impl Write for &File<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        if self.append {
            self.at.set(self.metadata()?.len());
        }
        let data = &data[..data.len().min(PIECE)];
        self.may(self.writes)?;
        let done =
            if data.is_empty() { 0 } else { self.wait(self.fs().write(&caller(), self.node(), self.at.get(), data))? };
        self.at.set(self.at.get() + u64::from(done));
        Ok(done as usize)
    }

    /// Nothing is buffered here; [`File::sync_all`] makes it durable.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for &File<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, by) = match to {
            SeekFrom::Start(at) => (at, 0),
            SeekFrom::Current(by) => (self.at.get(), by),
            SeekFrom::End(by) => (self.metadata()?.len(), by),
        };
        self.at.set(base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?);
        Ok(self.at.get())
    }
}

impl Read for File<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }
}

impl Write for File<'_> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        (&*self).write(data)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for File<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        (&*self).seek(to)
    }
}
