//! An open file of a volume that threads share.
//!
//! F1. The file itself stays on the volume's thread, in a table; a handle has its number. What crosses threads is that
//!     number, the bytes and the result.
//! F2. The position belongs to the handle, and is locked while a call moves it: two threads that read from one handle
//!     get different bytes, as with a descriptor of POSIX. In a child of fork it may be locked for ever, and is left
//!     alone.
//! F3. A handle that is dropped closes its file. Files that are open when the volume is unmounted are closed before,
//!     and calls on their handles are errors. A file's handle is one of the volume's, too: it keeps it mounted.

use super::{File, Metadata, OpenOptions, SharedVolume};
use ordo_vfs::Refusal;
use std::io::{self, SeekFrom, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// An open file of a [`SharedVolume`]; usable from several threads.
///
/// ```
/// use ordofs::{NewVolume, OpenOptions, SharedVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// # NewVolume::new(16 << 20).create(&image)?;
/// let volume = SharedVolume::start(move || Volume::open(&image)?.mount())?;
/// let mut options = OpenOptions::new();
/// let file = volume.open_file("/log", options.read(true).write(true).create(true))?;
/// file.write(b"so much depends upon")?;
/// file.sync_all()?;
/// std::thread::scope(|scope| {
///     scope.spawn(|| assert_eq!(file.read_at(8, 7).unwrap(), b"depends"));
/// });
/// drop(file);
/// volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedFile {
    volume: SharedVolume,
    number: u64,
    append: bool,
    at: Mutex<u64>,
}

impl SharedVolume {
    /// Opens a file; it stays open until the handle is dropped.
    ///
    /// # Errors
    /// Those of [`OpenOptions::open`]; `NotConnected` if the volume was unmounted.
    pub fn open_file(&self, path: impl AsRef<Path>, options: &OpenOptions) -> io::Result<SharedFile> {
        let (path, options) = (path.as_ref().to_owned(), options.clone());
        let opened = self.call_with_files(move |volume, files| {
            let parts = options.open(volume, path)?.into_parts();
            Ok((parts.append, files.keep(parts)))
        });
        let (append, number) = opened.wait()?;
        Ok(SharedFile { volume: self.clone(), number, append, at: Mutex::new(0) })
    }
}

impl SharedFile {
    /// The position, locked (F2).
    fn position(&self) -> io::Result<MutexGuard<'_, u64>> {
        self.volume.is_here()?;
        Ok(self.at.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn call<T: Send + 'static>(&self, work: impl FnOnce(&File<'_>) -> io::Result<T> + Send + 'static) -> io::Result<T> {
        let number = self.number;
        self.volume.call_with_files(move |volume, files| files.with(volume, number, work)).wait()
    }

    /// The current attributes.
    ///
    /// # Errors
    /// As [`File::metadata`].
    pub fn metadata(&self) -> io::Result<Metadata> {
        self.call(|file| Ok(file.metadata()?))
    }

    /// Reads up to `len` bytes from `offset`; fewer only at the end of the file. The position does not change.
    ///
    /// # Errors
    /// As [`File::read_at`].
    pub fn read_at(&self, offset: u64, len: u32) -> io::Result<Vec<u8>> {
        self.call(move |file| Ok(file.read_at(offset, len)?))
    }

    /// Writes all of `data` at `offset`; the position does not change.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let data = data.to_vec();
        self.call(move |file| Ok(file.write_at(offset, &data)?))
    }

    /// Reads up to `len` bytes from the position, and moves it.
    ///
    /// # Errors
    /// As [`File::read_at`].
    pub fn read(&self, len: u32) -> io::Result<Vec<u8>> {
        let mut at = self.position()?;
        let bytes = self.read_at(*at, len)?;
        *at += bytes.len() as u64;
        Ok(bytes)
    }

    /// Writes all of `data` at the position, or at the end of a file that was opened for appending, and moves the
    /// position behind it.
    ///
    /// # Errors
    /// As [`File::write_at`].
    pub fn write(&self, data: &[u8]) -> io::Result<()> {
        let mut at = self.position()?;
        let bytes = data.to_vec();
        if self.append {
            // In one call: between a look at the length and the write another thread's bytes could come.
            *at = self.call(move |mut file| {
                file.write_all(&bytes)?;
                Ok(file.metadata()?.len())
            })?;
            return Ok(());
        }
        self.write_at(*at, data)?;
        *at += data.len() as u64;
        Ok(())
    }

    /// Moves the position, and returns it.
    ///
    /// # Errors
    /// `InvalidInput` for a place before the beginning.
    pub fn seek(&self, to: SeekFrom) -> io::Result<u64> {
        let mut at = self.position()?;
        let (base, by) = match to {
            SeekFrom::Start(place) => (place, 0),
            SeekFrom::Current(by) => (*at, by),
            SeekFrom::End(by) => (self.metadata()?.len(), by),
        };
        // As POSIX: a place is at most the largest length that a file may have.
        let place = base.checked_add_signed(by).filter(|place| i64::try_from(*place).is_ok());
        *at = place.ok_or_else(|| io::Error::from(ordo_vfs::Error::from(Refusal::Invalid)))?;
        Ok(*at)
    }

    /// Truncates the file, or extends it with a hole.
    ///
    /// # Errors
    /// As [`File::set_len`].
    pub fn set_len(&self, len: u64) -> io::Result<()> {
        self.call(move |file| Ok(file.set_len(len)?))
    }

    /// Makes everything that was written durable.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_all(&self) -> io::Result<()> {
        self.call(|file| Ok(file.sync_all()?))
    }

    /// The same, without times.
    ///
    /// # Errors
    /// `Io`.
    pub fn sync_data(&self) -> io::Result<()> {
        self.call(|file| Ok(file.sync_data()?))
    }
}

impl Drop for SharedFile {
    fn drop(&mut self) {
        let number = self.number;
        // It runs even if nobody waits for it; an unmounted volume has closed the file.
        let _closing = self.volume.call_with_files(move |_, files| {
            files.close(number);
            Ok(())
        });
    }
}
