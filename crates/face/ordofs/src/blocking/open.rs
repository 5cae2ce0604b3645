//! How a file is opened.

use super::{File, Volume, bytes, caller};
use crate::Fs;
use crate::path::{Held, parent, resolve};
use ordo_vfs::{Error, FileSystem, Kind, Mode, Refusal, Result, SetAttr};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The most dangling symbolic links that are followed to create a file.
const MAX_LINKS: usize = 40;

/// How a file is opened, with the options of [`std::fs::OpenOptions`].
///
/// ```
/// # use ordofs::{NewVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// # NewVolume::new(16 << 20).create(&image)?;
/// # let volume = Volume::open(&image)?.mount()?;
/// use ordofs::OpenOptions;
/// use std::io::Write;
/// for line in ["first", "second"] {
///     let mut log = OpenOptions::new().append(true).create(true).open(&volume, "/log")?;
///     writeln!(log, "{line}")?;
/// }
/// assert_eq!(volume.read_to_string("/log")?, "first\nsecond\n");
/// # volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct OpenOptions {
    read: bool,
    write: bool,
    append: bool,
    truncate: bool,
    create: bool,
    create_new: bool,
    mode: Mode,
}

impl Default for OpenOptions {
    fn default() -> OpenOptions {
        OpenOptions::new()
    }
}

impl OpenOptions {
    /// No options yet; a new file gets the mode 0644.
    pub fn new() -> OpenOptions {
        let (read, write, append, truncate, create, create_new) = (false, false, false, false, false, false);
        OpenOptions { read, write, append, truncate, create, create_new, mode: Mode::new(0o644) }
    }

    /// Opens for reading.
    pub fn read(&mut self, read: bool) -> &mut OpenOptions {
        self.read = read;
        self
    }

    /// Opens for writing.
    pub fn write(&mut self, write: bool) -> &mut OpenOptions {
        self.write = write;
        self
    }

    /// Opens for writing, always at the end.
    pub fn append(&mut self, append: bool) -> &mut OpenOptions {
        self.append = append;
        self
    }

    /// Truncates the file; needs [`OpenOptions::write`].
    pub fn truncate(&mut self, truncate: bool) -> &mut OpenOptions {
        self.truncate = truncate;
        self
    }

    /// Creates the file if it does not exist; needs writing or appending.
    pub fn create(&mut self, create: bool) -> &mut OpenOptions {
        self.create = create;
        self
    }

    /// Creates the file, and fails if the name exists, even as a symbolic link.
    pub fn create_new(&mut self, create_new: bool) -> &mut OpenOptions {
        self.create_new = create_new;
        self
    }

    /// Permission bits of a new file.
    pub fn mode(&mut self, mode: Mode) -> &mut OpenOptions {
        self.mode = mode;
        self
    }

    /// Opens the file.
    ///
    /// # Errors
    /// `Invalid` for contradictory options; `Exists` with `create_new`; `IsDirectory` for writing; `ReadOnly`;
    /// `NoSpace`; as [`Volume::metadata`] for the path.
    pub fn open<'v>(&self, volume: &'v Volume, path: impl AsRef<Path>) -> Result<File<'v>> {
        let writes = self.write || self.append;
        let makes = self.create || self.create_new;
        let contradiction = self.truncate && (!self.write || self.append) && !self.create_new || makes && !writes;
        if contradiction || !(self.read || writes) {
            return Err(Refusal::Invalid.into());
        }
        if writes && volume.is_read_only() {
            return Err(Refusal::ReadOnly.into());
        }
        let path = bytes(path.as_ref());
        let held = volume.rt.block_on(async {
            let held = if self.create_new { self.make(volume, path).await? } else { self.find(volume, path).await? };
            match held.attr().kind {
                Kind::Directory if writes => return Err(Error::from(Refusal::IsDirectory)),
                Kind::Regular if self.truncate && held.attr().size > 0 => {
                    let empty = SetAttr { size: Some(0), ..SetAttr::default() };
                    volume.fs().setattr(held.node(), &empty).await?;
                }
                _ => {}
            }
            Ok(held)
        })?;
        Ok(File::new(volume, held, self.read, writes, self.append))
    }

    async fn make(&self, volume: &Volume, path: &[u8]) -> Result<Held<Fs>> {
        let (dir, name) = parent(volume.fs(), path).await?;
        let entry = volume.fs().mknod(&caller(), dir.node(), name, Kind::Regular, self.mode, 0).await?;
        Ok(Held::new(volume.fs(), entry))
    }

    /// Finds the file, or creates it if that was requested; dangling symbolic links are followed.
    async fn find(&self, volume: &Volume, path: &[u8]) -> Result<Held<Fs>> {
        let mut path = path.to_vec();
        for _ in 0..MAX_LINKS {
            match resolve(volume.fs(), &path, true).await {
                Err(Error::Refused(Refusal::NotFound)) if self.create => {}
                found => return found,
            }
            match self.make(volume, &path).await {
                Err(Error::Refused(Refusal::Exists)) => {}
                made => return made,
            }
            // The name exists, but is a dangling symbolic link.
            let link = resolve(volume.fs(), &path, false).await?;
            let target = volume.fs().readlink(link.node()).await?;
            let above = Path::new(OsStr::from_bytes(&path)).parent().unwrap_or(Path::new(""));
            path = bytes(&above.join(OsStr::from_bytes(&target))).to_vec();
        }
        Err(Refusal::Invalid.into())
    }
}

impl Volume {
    /// Opens a file for reading; use [`OpenOptions`] for other modes.
    ///
    /// # Errors
    /// As [`Volume::metadata`].
    pub fn open_file(&self, path: impl AsRef<Path>) -> Result<File<'_>> {
        OpenOptions::new().read(true).open(self, path)
    }

    /// Opens a file for writing: creates it, or truncates an existing one.
    ///
    /// # Errors
    /// See [`OpenOptions::open`].
    pub fn create(&self, path: impl AsRef<Path>) -> Result<File<'_>> {
        OpenOptions::new().write(true).create(true).truncate(true).open(self, path)
    }
}
