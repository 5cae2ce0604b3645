//! Making a new volume.
//!
//! E0. What exists is not overwritten unasked, by one rule for every caller, of Rust, C, Python and the command line: a
//!     file that holds anything but zeroes, and a device with the signature of anything. A symbolic link is what it
//!     leads to. What may be lost is said by another call, [`NewVolume::overwrite`].
//! E1. The superblocks of a log-structured volume are written last, when the log that they lead to is durable. Those of
//!     an older volume are wiped first: a crash in between would leave one that leads into the new log.

use crate::contents::{self, ContentsKind, Signature};
use crate::{Notices, OpenError};
use ordo_disk::{Block, Disk, DiskError, DiskOff, Existing, Kind, Tag, WritePart};
use ordo_ondisk::lfs::newfs::{Initial, initial};
use ordo_ondisk::lfs::{NewfsOptions, Version};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{ByteOff, Format};
use ordo_rt::{OwnRt, Rt};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A volume that is about to be made.
///
/// ```
/// use ordofs::NewVolume;
/// use ordofs::ondisk::Format;
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewVolume::new(64 << 20)
///     .with(|shape| {
///         shape.format = Format::Ufs1;
///         (shape.bsize, shape.fsize) = (8192, 1024);
///         shape.label = "home".into();
///     })
///     .create(&image)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewVolume {
    /// All parameters of its shape.
    pub params: NewfsParams,
}

impl NewVolume {
    /// A UFS2 volume of `size` bytes with FreeBSD's defaults.
    pub fn new(size: u64) -> NewVolume {
        NewVolume { params: NewfsParams::new(Format::Ufs2, size) }
    }

    /// Changes parameters of its shape.
    pub fn with(mut self, change: impl FnOnce(&mut NewfsParams)) -> NewVolume {
        change(&mut self.params);
        self
    }

    /// Makes the volume in a file, which gets the volume's size, or on a device. What exists is not overwritten.
    ///
    /// # Errors
    /// [`OpenError::Exists`] if the file is there and holds anything but zeroes, or the device has something on it.
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.make(image.as_ref(), Existing::Refuse)
    }

    /// As [`NewVolume::create`], and what was there is lost.
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn overwrite(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.make(image.as_ref(), Existing::Overwrite)
    }

    fn make(&self, image: &Path, existing: Existing) -> Result<(), OpenError> {
        self.params.superblock().map_err(ordo_ffs::NewfsError::from)?;
        let rt = OwnRt::real_time();
        let (disk, zeroed) = place(&rt, image, self.params.volume_bytes, existing)?;
        self.create_on(&rt, disk, zeroed)
    }

    /// Makes the volume on a disk. `zeroed`: every byte of the disk is zero, so zeroes need not be written.
    ///
    /// # Errors
    /// When the shape is impossible, or the disk fails.
    pub fn create_on(&self, rt: &Rt, disk: Rc<dyn Disk>, zeroed: bool) -> Result<(), OpenError> {
        rt.block_on(ordo_ffs::newfs(rt, disk, &self.params, zeroed))?;
        Ok(())
    }
}

/// A log-structured volume that is about to be made.
///
/// ```
/// use ordofs::NewLfs;
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewLfs::new(64 << 20).with(|of| of.segment = Some(256 << 10)).create(&image)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewLfs {
    /// All parameters of its shape.
    pub options: NewfsOptions,
}

impl NewLfs {
    /// A volume of `size` bytes of NetBSD's version 2, with blocks of 8 KiB and fragments of 1 KiB.
    pub fn new(size: u64) -> NewLfs {
        let usual = NewfsOptions::new(Version::V2, size);
        NewLfs { options: NewfsOptions { block: Some(8192), fragment: Some(1024), ..usual } }
    }

    /// Changes parameters of its shape.
    pub fn with(mut self, change: impl FnOnce(&mut NewfsOptions)) -> NewLfs {
        change(&mut self.options);
        self
    }

    /// As [`NewVolume::create`].
    ///
    /// # Errors
    /// [`OpenError::Exists`]; when the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.make(image.as_ref(), Existing::Refuse)
    }

    /// As [`NewVolume::overwrite`].
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn overwrite(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.make(image.as_ref(), Existing::Overwrite)
    }

    fn make(&self, image: &Path, existing: Existing) -> Result<(), OpenError> {
        self.options.superblock()?;
        let rt = OwnRt::real_time();
        let (disk, _) = place(&rt, image, self.options.device_bytes, existing)?;
        self.create_on(&rt, disk)
    }

    /// Makes the volume on a disk, whatever it holds: what the log does not lead to is not read.
    ///
    /// # Errors
    /// When the shape is impossible, or the disk fails.
    pub fn create_on(&self, rt: &Rt, disk: Rc<dyn Disk>) -> Result<(), OpenError> {
        let new = initial(&self.options)?;
        let (info, fragment) = (disk.info(), new.superblock.fields.fsize);
        if self.options.device_bytes > info.size {
            return Err(OpenError::TooLarge { volume: self.options.device_bytes, disk: info.size });
        }
        if new.superblock.version == Version::V1 && new.superblock.geometry().unit < info.sector {
            return Err(OpenError::SmallUnit(info.sector));
        }
        if fragment < info.sector {
            return Err(OpenError::SmallFragments { fragment, sector: info.sector });
        }
        let mut old = contents::contents(rt, &disk)?;
        old.retain(|found| matches!(found.kind, ContentsKind::Ufs | ContentsKind::Lfs | ContentsKind::Bsd));
        contents::wipe(rt, &disk, &old)?;
        Ok(rt.block_on(write(&*disk, &new))?)
    }
}

/// Writes the log, and then what leads to it (E1).
async fn write(disk: &dyn Disk, new: &Initial) -> Result<(), DiskError> {
    put(disk, &new.psegs, Kind::Data).await?;
    disk.flush().await?;
    put(disk, &new.superblocks, Kind::Superblock).await?;
    disk.flush().await
}

async fn put(disk: &dyn Disk, all: &[(ByteOff, Vec<u8>)], kind: Kind) -> Result<(), DiskError> {
    for (at, bytes) in all {
        let part = WritePart { image: Block::copy_of(bytes).image(), tag: Tag::of(kind) };
        disk.write(DiskOff(at.0), vec![part], false).await?;
    }
    Ok(())
}

/// The disk for a new volume at a path (E0); `true` if every byte of it is zero.
fn place(rt: &Rt, path: &Path, size: u64, existing: Existing) -> Result<(Rc<dyn Disk>, bool), OpenError> {
    let (disk, zeroed) = ordo_disk::new_file(rt, path, size, existing).map_err(|error| match error {
        ordo_disk::OpenError::Exists { path } => exists(path),
        error => error.into(),
    })?;
    let disk: Rc<dyn Disk> = Rc::new(disk);
    if !zeroed {
        let found = contents::contents(rt, &disk)?;
        match (existing, found.first()) {
            (Existing::Refuse, Some(first)) => {
                return Err(OpenError::Exists { path: path.to_owned(), what: format!(" ({})", first.name) });
            }
            _ => cleared(rt, &disk, &found, "a new volume", &Notices::default())?,
        }
    }
    Ok((disk, zeroed))
}

/// Refuses a file that holds anything but zeroes (E0). A file that is not there is none.
///
/// # Errors
/// [`OpenError::Exists`]; when the file cannot be read.
pub fn refuse_existing(path: &Path) -> Result<(), OpenError> {
    let failed = |source| ordo_disk::OpenError::Io { path: path.to_owned(), source };
    match std::fs::File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error).into()),
        Ok(file) if ordo_disk::is_blank(&file).map_err(failed)? => Ok(()),
        Ok(_) => Err(exists(path.to_owned())),
    }
}

/// What is said of a file that holds something.
fn exists(path: PathBuf) -> OpenError {
    let found = std::fs::File::open(&path).and_then(|file| contents::of_file(&file));
    // What cannot be read has no name, and is there all the same.
    let name = found.ok().and_then(|(_, found, _)| found.first().map(|first| first.name));
    OpenError::Exists { path, what: name.map_or_else(String::new, |name| format!(" ({name})")) }
}

/// Wipes what a disk holds, so that something else can be made there. If the record of a writer is on, the old volume
/// is claimed for that by `program`, since another machine may have it mounted; the record goes with it, before
/// anything is made: that may have something in its place.
///
/// # Errors
/// When the disk fails, or the old volume has another writer.
pub fn cleared(
    rt: &Rt,
    disk: &Rc<dyn Disk>,
    found: &[Signature],
    program: &str,
    notices: &Notices,
) -> Result<(), OpenError> {
    let Some(claim) = crate::claim::claim_disk(rt, disk, program, notices)? else {
        return contents::wipe(rt, disk, found);
    };
    let fenced: Rc<dyn Disk> = Rc::new(claim.fence(disk.clone()));
    contents::wipe(rt, &fenced, found)?;
    Ok(rt.block_on(claim.remove())?)
}
