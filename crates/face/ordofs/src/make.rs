//! Making a new volume.
//!
//! E1. The superblocks of a log-structured volume are written last, when the log that they lead to is durable. Those of
//!     an older volume are wiped first: a crash in between would leave one that leads into the new log.

use crate::OpenError;
use crate::contents::{self, Kind};
use ordo_disk::{Block, Disk, DiskError, DiskOff, FileDisk, FileOptions, Kind as What, Tag, WritePart};
use ordo_ondisk::lfs::newfs::{Initial, initial};
use ordo_ondisk::lfs::{NewfsOptions, Version};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{ByteOff, Format};
use ordo_rt::Rt;
use std::path::Path;
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

    /// Makes the volume in a file, which is created or resized to the volume's size. What was there is lost.
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.params.superblock().map_err(ordo_ffs::NewfsError::from)?;
        let rt = Rt::real_time();
        let (disk, zeroed) = new_file(&rt, image.as_ref(), self.params.volume_bytes)?;
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
/// use ordofs::NewLog;
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewLog::new(64 << 20).with(|of| of.segment = Some(256 << 10)).create(&image)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct NewLog {
    /// All parameters of its shape.
    pub options: NewfsOptions,
}

impl NewLog {
    /// A volume of `size` bytes of NetBSD's version 2, with blocks of 8 KiB and fragments of 1 KiB.
    pub fn new(size: u64) -> NewLog {
        let usual = NewfsOptions::new(Version::V2, size);
        NewLog { options: NewfsOptions { block: Some(8192), fragment: Some(1024), ..usual } }
    }

    /// Changes parameters of its shape.
    pub fn with(mut self, change: impl FnOnce(&mut NewfsOptions)) -> NewLog {
        change(&mut self.options);
        self
    }

    /// As [`NewVolume::create`].
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.options.superblock()?;
        let rt = Rt::real_time();
        let (disk, _) = new_file(&rt, image.as_ref(), self.options.device_bytes)?;
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
        old.retain(|found| matches!(found.kind, Kind::Ufs | Kind::Lfs | Kind::Bsd));
        contents::wipe(rt, &disk, &old)?;
        Ok(rt.block_on(write(&*disk, &new))?)
    }
}

/// Writes the log, and then what leads to it (E1).
async fn write(disk: &dyn Disk, new: &Initial) -> Result<(), DiskError> {
    put(disk, &new.psegs, What::Data).await?;
    disk.flush().await?;
    put(disk, &new.superblocks, What::Superblock).await?;
    disk.flush().await
}

async fn put(disk: &dyn Disk, all: &[(ByteOff, Vec<u8>)], kind: What) -> Result<(), DiskError> {
    for (at, bytes) in all {
        let part = WritePart { image: Block::copy_of(bytes).image(), tag: Tag::of(kind) };
        disk.write(DiskOff(at.0), vec![part], false).await?;
    }
    Ok(())
}

/// The file for a new volume, created or emptied; `true` if every byte of it is zero. A device keeps its old contents.
fn new_file(rt: &Rt, path: &Path, size: u64) -> Result<(Rc<dyn Disk>, bool), OpenError> {
    let failed = |error| OpenError::Create(path.to_owned(), error);
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(path).map_err(failed)?;
    let found = file.metadata().map_err(failed)?;
    if found.is_file() {
        if found.len() > 0 {
            // Refuses a file that is in use, before it is truncated.
            drop(FileDisk::open(rt, path, &FileOptions::default())?);
        }
        file.set_len(0).and_then(|()| file.set_len(size)).map_err(failed)?;
    }
    Ok((Rc::new(FileDisk::open(rt, path, &FileOptions::default())?), found.is_file()))
}
