//! Where a volume is: a file or a device, and perhaps a partition in it.
//!
//! `disk.img`, `disk.img@p2`, `disk.img@s1a`, `disk.img@gpt:LABEL`; with `--offset`, the bytes from there on. A disk
//! with partitions of which only one holds a volume needs no suffix.

use crate::found::{self, Found};
use crate::{NoVolume, OpenError};
use ordo_disk::{Block, Disk, DiskOff, FileOptions, ReadPart, Slice, Tag};
use ordo_ondisk::partition::{self, Partition, Select, Table};
use ordo_ondisk::superblock::SBLOCKSIZE;
use ordo_ondisk::superblock::search::{self, Copy};
use ordo_ondisk::{ByteOff, Superblock};
use ordo_rt::Rt;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A place that may hold a volume, as the user specifies it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageSpec {
    /// The file or device.
    pub path: PathBuf,
    /// The partition after `@`.
    pub part: Option<Select>,
    /// Where the volume starts, in bytes.
    pub offset: Option<u64>,
    /// Not the volume as it is, but this snapshot of it: a path in it, or a name in `/.snap`. It can only be read.
    pub snapshot: Option<String>,
}

impl ImageSpec {
    /// Parses a place. The suffix after the last `@` is a partition, unless a file with the whole name exists.
    ///
    /// # Errors
    /// `BadSpec` for a suffix that names no partition.
    pub fn parse(text: &Path) -> Result<ImageSpec, OpenError> {
        let whole = ImageSpec { path: text.to_owned(), part: None, offset: None, snapshot: None };
        let (Some(name), false) = (text.to_str(), text.exists()) else { return Ok(whole) };
        match name.rsplit_once('@') {
            None => Ok(whole),
            Some((path, suffix)) => {
                let part = suffix.parse::<Select>().map_err(|error| OpenError::BadSpec(error.to_string()))?;
                Ok(ImageSpec { path: path.into(), part: Some(part), offset: None, snapshot: None })
            }
        }
    }
}

impl std::fmt::Display for ImageSpec {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.path.display())?;
        self.part.as_ref().map_or(Ok(()), |part| write!(f, "@{part}"))
    }
}

/// A disk that holds a volume, and the volume's superblock.
pub struct Located {
    /// The volume's own disk: the image, or a window on it.
    pub disk: Rc<dyn Disk>,
    /// The format, and the superblock.
    pub found: Found,
    /// Where its log is, if that is not a file of the volume.
    pub log: Option<ordo_disk::LogHome>,
    /// The claim by which this volume may be written to, if it was made with this value: who uses it gives it back.
    pub claim: Option<ordo_disk::fence::Claim>,
}

/// Opens the image that `spec` names, or the part of it, whatever it contains.
///
/// # Errors
/// When the file cannot be opened or is in use, or when there is no such partition.
pub fn open(rt: &Rt, spec: &ImageSpec, options: &FileOptions) -> Result<Rc<dyn Disk>, OpenError> {
    if let Some(offset) = spec.offset.filter(|offset| !offset.is_multiple_of(512)) {
        // Carvers count bytes, not sectors: the file itself opens at any byte, a slice of a disk does not.
        return Ok(ordo_disk::open(rt, &spec.path, &FileOptions { offset, ..options.clone() })?);
    }
    let disk = ordo_disk::open(rt, &spec.path, options)?;
    match (spec.offset, &spec.part) {
        (Some(offset), _) => {
            let rest = disk.info().size.saturating_sub(offset);
            Ok(Rc::new(Slice::new(disk, offset, rest)?))
        }
        (None, None) => Ok(disk),
        (None, Some(wanted)) => {
            let table = partitions(rt, &disk)?;
            let part = partition::select(&table, wanted).map_err(|error| OpenError::BadSpec(error.to_string()))?;
            window(disk, part)
        }
    }
}

/// Opens the image and finds the volume in it.
///
/// # Errors
/// When the file cannot be opened or is in use, when there is no such partition, or no volume.
pub fn locate(rt: &Rt, spec: &ImageSpec, options: FileOptions) -> Result<Located, OpenError> {
    let disk = open(rt, spec, &options)?;
    let located = find_in(rt, &disk, spec, found::find).map_err(|error| instead(rt, spec, &disk, error))?;
    as_it_was(rt, located, spec)
}

/// The volume, or the snapshot of it that is wanted.
fn as_it_was(rt: &Rt, located: Located, spec: &ImageSpec) -> Result<Located, OpenError> {
    match &spec.snapshot {
        Some(name) => crate::snapshot::locate_snapshot(rt, &located, name.as_bytes()),
        None => Ok(located),
    }
}

/// As [`locate`]; if no primary superblock can be used, a backup describes the volume. For inspecting or repairing a
/// damaged volume.
///
/// # Errors
/// As [`locate`].
pub fn locate_damaged(rt: &Rt, spec: &ImageSpec, options: FileOptions) -> Result<Located, OpenError> {
    let disk = open(rt, spec, &options)?;
    match find_in(rt, &disk, spec, found::find) {
        Err(OpenError::NotFound(why)) => {
            find_in(rt, &disk, spec, found::find_backup).map_err(|_| instead(rt, spec, &disk, OpenError::NotFound(why)))
        }
        found => as_it_was(rt, found?, spec),
    }
}

/// If no volume was found: the error that says what is there instead, if that is known.
pub(crate) fn instead(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, error: OpenError) -> OpenError {
    let OpenError::NotFound(search::NotFound::Nothing { .. }) = &error else { return error };
    let table = partitions(rt, disk).unwrap_or_default();
    NoVolume::of(rt, spec, disk, &table).map_or(error, OpenError::NoVolume)
}

/// Finds the volume that begins with the first byte of `disk`.
///
/// # Errors
/// `NotFound`.
pub fn locate_on(rt: &Rt, disk: Rc<dyn Disk>) -> Result<Located, OpenError> {
    find(rt, disk, found::find)
}

/// The same UFS volume, after its superblock was written. Only the superblock's location is taken from `located`.
///
/// # Errors
/// When it cannot be read, or is not valid.
pub(crate) async fn located_again(located: Located) -> Result<Located, OpenError> {
    let Located { disk, found, log, claim } = located;
    let found = superblock_at(&disk, found.ufs()?.superblock.at).await?.into();
    Ok(Located { disk, found, log, claim })
}

/// The superblock at this place, which must be a primary one.
pub(crate) async fn superblock_at(disk: &Rc<dyn Disk>, at: ByteOff) -> Result<search::Found, OpenError> {
    let sector = u64::from(disk.info().sector);
    let start = at.0 - at.0 % sector;
    let end = (at.0 + SBLOCKSIZE as u64).next_multiple_of(sector).min(disk.info().size);
    let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::of(ordo_disk::Kind::Superblock) };
    let parts = disk.read(DiskOff(start), vec![part]).await?;
    let bytes: Vec<u8> =
        parts.iter().flat_map(|part| part.block.iter().copied()).skip((at.0 - start) as usize).collect();
    let superblock = Superblock::decode(&bytes, at).map_err(ordo_vfs::Error::corrupt)?;
    Ok(search::Found { superblock, copy: Copy::Primary })
}

pub(crate) type Search = fn(&mut search::ReadAt<'_>, u64) -> Result<Found, search::NotFound>;

fn find_in(rt: &Rt, disk: &Rc<dyn Disk>, spec: &ImageSpec, search: Search) -> Result<Located, OpenError> {
    match find(rt, disk.clone(), search) {
        Err(error) if spec.offset.is_none() && spec.part.is_none() => only_partition(rt, disk, search, error),
        found => found,
    }
}

fn window(disk: Rc<dyn Disk>, part: &Partition) -> Result<Rc<dyn Disk>, OpenError> {
    Ok(Rc::new(Slice::new(disk, part.start, part.len)?))
}

/// The one partition that holds a volume. Those that begin at the same byte name one volume: partition `a` at the start
/// of its slice, and the slice. Of these it is the smallest that holds all of it, so that growing stops where the next
/// partition begins.
fn only_partition(rt: &Rt, disk: &Rc<dyn Disk>, search: Search, no_volume: OpenError) -> Result<Located, OpenError> {
    let table = partitions(rt, disk)?;
    let mut volumes: Vec<(&Partition, Located)> = Vec::new();
    for part in &table.partitions {
        let Ok(located) = find(rt, window(disk.clone(), part)?, search) else { continue };
        let size = located.found.volume_bytes();
        // Shorter is better down to the volume's end, and longer below it.
        let order = |part: &Partition| (part.len < size, part.len.abs_diff(size));
        match volumes.iter_mut().find(|(other, _)| other.start == part.start) {
            None => volumes.push((part, located)),
            Some(known) if order(part) < order(known.0) => *known = (part, located),
            Some(_) => {}
        }
    }
    if volumes.len() > 1 {
        let names: Vec<_> = volumes.iter().map(|(part, _)| format!("@{}", part.name)).collect();
        return Err(OpenError::SeveralVolumes(names.join(", ")));
    }
    volumes.pop().map_or(Err(no_volume), |(_, located)| Ok(located))
}

/// The byte of the image at which the volume begins that [`locate`] finds.
///
/// # Errors
/// As [`locate`].
pub fn begins_at(rt: &Rt, spec: &ImageSpec) -> Result<u64, OpenError> {
    if let Some(offset) = spec.offset {
        return Ok(offset);
    }
    let disk = ordo_disk::open(rt, &spec.path, &FileOptions { read_only: true, ..FileOptions::default() })?;
    if spec.part.is_none() && find(rt, disk.clone(), found::find).is_ok() {
        return Ok(0);
    }
    let table = partitions(rt, &disk)?;
    if let Some(wanted) = &spec.part {
        let part = partition::select(&table, wanted).map_err(|error| OpenError::BadSpec(error.to_string()))?;
        return Ok(part.start);
    }
    let has_volume =
        |part: &&Partition| window(disk.clone(), part).and_then(|disk| find(rt, disk, found::find)).is_ok();
    Ok(table.partitions.iter().find(has_volume).map_or(0, |part| part.start))
}

/// The partitions of a disk; none if it has no table.
///
/// # Errors
/// When the disk cannot be read.
pub fn partitions(rt: &Rt, disk: &Rc<dyn Disk>) -> Result<Table, OpenError> {
    let info = disk.info();
    partition::scan(&mut |at, bytes: &mut [u8]| read_bytes(rt, disk, at, bytes), info.size, u64::from(info.sector))
        .map_err(|error| OpenError::BadSpec(format!("the partition table cannot be read: {error}")))
}

pub(crate) fn find(rt: &Rt, disk: Rc<dyn Disk>, search: Search) -> Result<Located, OpenError> {
    let size = disk.info().size;
    let found = search(&mut |at: ByteOff, bytes: &mut [u8]| read_bytes(rt, &disk, at.0, bytes), size)?;
    Ok(Located { disk, found, log: None, claim: None })
}

/// Reads any bytes, regardless of the disk's sector size.
pub(crate) fn read_bytes(rt: &Rt, disk: &Rc<dyn Disk>, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    let sector = u64::from(disk.info().sector);
    let start = at - at % sector;
    let end = (at + bytes.len() as u64).next_multiple_of(sector);
    let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::default() };
    let parts = rt.block_on(disk.read(DiskOff(start), vec![part])).map_err(io::Error::other)?;
    bytes.copy_from_slice(&parts[0].block[(at - start) as usize..][..bytes.len()]);
    Ok(())
}
