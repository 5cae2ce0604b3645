//! Making a new volume.
//!
//! E0. What exists is not overwritten unasked, by one rule for every caller, of Rust, C, Python and the command line: a
//!     file that holds anything but zeroes, and a device with the signature of anything. A symbolic link is what it
//!     leads to. What may be lost is said by another call, [`Newfs::overwrite`].
//! E1. The superblocks of a log-structured volume are written last, when the log that they lead to is durable, and the
//!     first one when the others are: a mount looks for it, and a crash before it would leave a volume without copies.
//!     What an older volume of any kind is known by is wiped, durably, before the first byte of the new one: a crash in
//!     between would leave an old superblock that leads into new contents.
//! E2. The shape is computed once, before anything is opened ([`Format::plan`]), and whether it fits is asked before
//!     anything is wiped ([`Plan::fits`]): a volume that is impossible costs nothing that is there.

use crate::contents::{self, ContentsKind, Signature};
use crate::{Notices, OpenError};
use ordo_disk::{Block, Disk, DiskError, DiskInfo, DiskOff, Existing, Kind, Tag, WritePart};
use ordo_ondisk::lfs::newfs::{Initial, initial};
use ordo_ondisk::lfs::{NewfsOptions, Version};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::{MAGIC_AT, SBLOCKSIZE};
use ordo_ondisk::{ByteOff, Cgx, Superblock};
use ordo_rt::{OwnRt, Rng, Rt};
use std::io::ErrorKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A format, by the parameters that a volume of it is made with.
pub trait Format {
    /// Computes the shape of the volume, and checks that it is possible.
    ///
    /// # Errors
    /// The parameter that makes the volume impossible.
    fn plan(&self) -> Result<Plan, OpenError>;
}

impl Format for NewfsParams {
    fn plan(&self) -> Result<Plan, OpenError> {
        let superblock = self.superblock().map_err(ordo_ffs::NewfsError::from)?;
        Ok(Plan { bytes: self.volume_bytes, seed: None, of: Planned::Ufs(Box::new(superblock)) })
    }
}

impl Format for NewfsOptions {
    fn plan(&self) -> Result<Plan, OpenError> {
        Ok(Plan { bytes: self.device_bytes, seed: None, of: Planned::Lfs(Box::new(initial(self)?)) })
    }
}

/// A volume that is about to be made, with the parameters of its format.
#[derive(Debug, Clone)]
pub struct Newfs<F> {
    /// All parameters of its shape.
    pub params: F,
}

/// A UFS volume that is about to be made.
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
pub type NewVolume = Newfs<NewfsParams>;

/// A log-structured volume that is about to be made.
///
/// ```
/// use ordofs::NewLfs;
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// NewLfs::new(64 << 20).with(|of| of.segment = Some(256 << 10)).create(&image)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type NewLfs = Newfs<NewfsOptions>;

impl NewVolume {
    /// A UFS2 volume of `size` bytes with FreeBSD's defaults.
    pub fn new(size: u64) -> NewVolume {
        Newfs { params: NewfsParams::new(ordo_ondisk::Format::Ufs2, size) }
    }
}

impl NewLfs {
    /// A volume of `size` bytes of NetBSD's version 2, with blocks of 8 KiB and fragments of 1 KiB.
    pub fn new(size: u64) -> NewLfs {
        let usual = NewfsOptions::new(Version::V2, size);
        Newfs { params: NewfsOptions { block: Some(8192), fragment: Some(1024), ..usual } }
    }
}

impl<F: Format> Newfs<F> {
    /// Changes parameters of its shape.
    pub fn with(mut self, change: impl FnOnce(&mut F)) -> Newfs<F> {
        change(&mut self.params);
        self
    }

    /// Computes its shape.
    ///
    /// # Errors
    /// When it is impossible.
    pub fn plan(&self) -> Result<Plan, OpenError> {
        self.params.plan()
    }

    /// Makes the volume in a file, which gets the volume's size, or on a device. What exists is not overwritten.
    ///
    /// # Errors
    /// [`OpenError::Exists`] if the file is there and holds anything but zeroes, or the device has something on it.
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn create(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.plan()?.create(image.as_ref(), Existing::Refuse)
    }

    /// As [`Newfs::create`], and what was there is lost.
    ///
    /// # Errors
    /// When the file cannot be made or is in use, or the shape is impossible.
    pub fn overwrite(&self, image: impl AsRef<Path>) -> Result<(), OpenError> {
        self.plan()?.create(image.as_ref(), Existing::Overwrite)
    }

    /// Makes the volume on a disk. `zeroed`: every byte of the disk is zero, so zeroes need not be written.
    ///
    /// # Errors
    /// When the shape is impossible, or the disk fails.
    pub fn create_on(&self, rt: &Rt, disk: Rc<dyn Disk>, zeroed: bool) -> Result<(), OpenError> {
        self.plan()?.write(rt, disk, zeroed)
    }
}

/// A volume whose shape is computed.
#[derive(Debug)]
pub struct Plan {
    bytes: u64,
    seed: Option<u64>,
    of: Planned,
}

#[derive(Debug)]
enum Planned {
    Ufs(Box<Superblock>),
    Lfs(Box<Initial>),
}

impl Plan {
    /// The random numbers in the volume come from a seed, and not from the executor.
    #[must_use]
    pub fn seeded(self, seed: u64) -> Plan {
        Plan { seed: Some(seed), ..self }
    }

    /// Bytes of the device that it is made for.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The superblock of a UFS volume.
    pub fn ufs(&self) -> Option<&Superblock> {
        match &self.of {
            Planned::Ufs(superblock) => Some(superblock),
            Planned::Lfs(_) => None,
        }
    }

    /// Where its superblocks lie, which lead to all the rest; of the copies in the groups, what they are known by. That
    /// which a mount looks for is the last: what has it is complete.
    pub fn superblocks(&self) -> Vec<Range<u64>> {
        match &self.of {
            Planned::Ufs(sb) => {
                let g = sb.geometry();
                let copies = (0..g.ncg).map(|c| g.byte(g.cgsblock(Cgx(c))).0 + MAGIC_AT as u64);
                let primary = sb.at.0..sb.at.0 + SBLOCKSIZE as u64;
                copies.map(|at| at..at + 4).chain(std::iter::once(primary)).collect()
            }
            Planned::Lfs(new) => {
                let place = |(at, bytes): &(ByteOff, Vec<u8>)| at.0..at.0 + bytes.len() as u64;
                new.superblocks.iter().rev().map(place).collect()
            }
        }
    }

    /// Whether the volume can lie on such a disk; to be asked before what is there is wiped (E2).
    ///
    /// # Errors
    /// The disk is too small, or its sectors are too large for the volume's units.
    pub fn fits(&self, disk: &DiskInfo) -> Result<(), OpenError> {
        let new = match &self.of {
            Planned::Ufs(superblock) => return Ok(ordo_ffs::fits(superblock, disk)?),
            Planned::Lfs(new) => &new.superblock,
        };
        let fragment = new.fields.fsize;
        if self.bytes > disk.size {
            return Err(OpenError::TooLarge { volume: self.bytes, disk: disk.size });
        }
        if new.version == Version::V1 && new.geometry().unit < disk.sector {
            return Err(OpenError::SmallUnit(disk.sector));
        }
        if fragment < disk.sector {
            return Err(OpenError::SmallFragments { fragment, sector: disk.sector });
        }
        Ok(())
    }

    /// Makes the volume at a path (E0).
    ///
    /// # Errors
    /// As [`Newfs::create`].
    pub fn create(&self, image: &Path, existing: Existing) -> Result<(), OpenError> {
        let rt = OwnRt::real_time();
        let (disk, zeroed) = place(&rt, image, self, existing)?;
        self.write(&rt, disk, zeroed)
    }

    /// Makes the volume on a disk. `zeroed`: every byte of the disk is zero, so zeroes need not be written.
    ///
    /// # Errors
    /// When it does not fit there, or the disk fails.
    pub fn write(&self, rt: &Rt, disk: Rc<dyn Disk>, zeroed: bool) -> Result<(), OpenError> {
        self.fits(&disk.info())?;
        if !zeroed {
            let mut old = contents::contents(rt, &disk)?;
            old.retain(|found| matches!(found.kind, ContentsKind::Ufs | ContentsKind::Lfs | ContentsKind::Bsd));
            contents::wipe(rt, &disk, &old)?;
        }
        let new = match &self.of {
            Planned::Ufs(superblock) => {
                let rng = self.seed.map_or_else(|| rt.rng(), |seed| Rng::new(seed).fork());
                rt.block_on(ordo_ffs::newfs(rt, disk, (**superblock).clone(), rng, zeroed))?;
                return Ok(());
            }
            Planned::Lfs(new) => new,
        };
        Ok(rt.block_on(write(&*disk, new))?)
    }
}

/// Writes the log, and then what leads to it (E1).
async fn write(disk: &dyn Disk, new: &Initial) -> Result<(), DiskError> {
    put(disk, &new.psegs, Kind::Data).await?;
    disk.flush().await?;
    let (first, copies) = new.superblocks.split_at(1);
    put(disk, copies, Kind::Superblock).await?;
    disk.flush().await?;
    put(disk, first, Kind::Superblock).await?;
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
fn place(rt: &Rt, path: &Path, plan: &Plan, existing: Existing) -> Result<(Rc<dyn Disk>, bool), OpenError> {
    let (disk, zeroed) = ordo_disk::new_file(rt, path, plan.bytes, existing).map_err(|error| match error {
        ordo_disk::OpenError::Exists { path } => exists(path),
        error => error.into(),
    })?;
    let disk: Rc<dyn Disk> = Rc::new(disk);
    if !zeroed {
        plan.fits(&disk.info())?;
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
