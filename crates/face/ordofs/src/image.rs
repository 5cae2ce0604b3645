//! Where a volume is: a file or a device, and perhaps a partition in it.
//!
//! `disk.img`, `disk.img@p2`, `disk.img@s1a`, `disk.img@gpt:LABEL`; with `--offset`, the bytes from there on. A disk
//! with partitions of which only one holds a volume needs no suffix.

use crate::OpenError;
use crate::sectors::read_bytes;
use ordo_disk::{Disk, FileOptions, Slice};
use ordo_ondisk::partition::{self, Partition, Select, Table};
use ordo_rt::Rt;
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

/// The bytes of a partition, as a disk.
pub(crate) fn window(disk: Rc<dyn Disk>, part: &Partition) -> Result<Rc<dyn Disk>, OpenError> {
    Ok(Rc::new(Slice::new(disk, part.start, part.len)?))
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
