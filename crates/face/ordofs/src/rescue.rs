//! A damaged volume, opened to read whatever can be read of it.
//!
//! E1. The image is opened for reading only, and nothing is written to it: a log that waits is replayed in memory, so
//!     that what is read is what a mount would show; and while the map of an active journal counts, it is read through
//!     that.
//! E2. The primary superblock is tried first, then the backups at their standard places, then every superblock that is
//!     anywhere on the disk.

use crate::active::verified_by;
use crate::disk_bytes::DiskBytes;
use crate::found;
use crate::image::{ImageSpec, open, partitions};
use crate::locate::{begins_at, instead};
use crate::located::{Located, Search, find};
use crate::{Notices, OpenError, journal};
use ordo_disk::{Disk, FileOptions, Slice};
use ordo_ondisk::superblock::search::{self, Copy};
use ordo_ondisk::{Cgx, Superblock};
use ordo_rescue::{Hit, Marked, Source, Volume};
use ordo_rt::Rt;
use std::ops::Range;
use std::rc::Rc;

/// Which superblock describes a damaged volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Described {
    /// The primary.
    Primary,
    /// The primary, whose check hash is wrong; a copy agrees with it.
    Unproven,
    /// The backup of a group.
    Backup(Cgx),
    /// A copy that was found by a search of the whole disk, at this byte of it.
    Searched(u64),
}

/// A damaged UFS volume. See the module's invariants.
pub struct Damaged {
    /// What reads it.
    pub volume: Volume,
    /// Its superblock.
    pub superblock: Superblock,
    /// Where that comes from.
    pub described: Described,
    /// A log waited, and was replayed in memory; or why it was not.
    pub replayed: Option<Result<(), String>>,
    /// Bytes of the volume that the image lacks at its end.
    pub cut: u64,
}

/// A part of the image in which a volume may begin, and the byte of the image at which it does.
struct Candidate {
    disk: Rc<dyn Disk>,
    begins: u64,
}

/// Opens the UFS volume at a place, however damaged. `bad` are ranges of the image that are not to be trusted.
///
/// # Errors
/// When the image cannot be opened, or no superblock is found in all of it.
pub fn open_damaged(rt: &Rt, spec: &ImageSpec, bad: &[Range<u64>], notices: &Notices) -> Result<Damaged, OpenError> {
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let disk = open(rt, spec, &options)?;
    let (located, begins, described) = located(rt, spec, disk)?;
    let as_it_lies = located.disk.clone();
    let (located, not_replayed) = rt.block_on(journal::as_if_replayed(rt, located, notices))?;
    let superblock = located.found.ufs()?.superblock.clone();
    let replayed = match not_replayed {
        Some(why) => Some(Err(why.to_string())),
        None => (!Rc::ptr_eq(&located.disk, &as_it_lies)).then_some(Ok(())),
    };
    let disk = verified_by(rt, located.disk, &superblock, notices)?;
    let shifted = |range: &Range<u64>| range.start.saturating_sub(begins)..range.end.saturating_sub(begins);
    let source = DiskBytes::new(rt, disk);
    let cut = superblock.volume_bytes().saturating_sub(source.size());
    let volume = Volume::new(Box::new(Marked::new(source, bad.iter().map(shifted).collect())), &superblock);
    Ok(Damaged { volume, superblock, described, replayed, cut })
}

/// The volume, by the first superblock that can be used.
fn located(rt: &Rt, spec: &ImageSpec, disk: Rc<dyn Disk>) -> Result<(Located, u64, Described), OpenError> {
    let candidates = candidates(rt, spec, &disk)?;
    let searches: [Search; 2] = [found::find, found::find_backup];
    let mut first_failure = None;
    for search in searches {
        for candidate in &candidates {
            match find(rt, candidate.disk.clone(), search) {
                Ok(located) => {
                    let described = match located.found.ufs()?.copy {
                        Copy::Primary => Described::Primary,
                        Copy::Unproven => Described::Unproven,
                        Copy::Backup(c) => Described::Backup(c),
                    };
                    return Ok((located, candidate.begins, described));
                }
                Err(error) => drop(first_failure.get_or_insert(error)),
            }
        }
    }
    let begins = candidates.first().map_or(0, |candidate| candidate.begins);
    let source = DiskBytes::new(rt, disk.clone());
    let hits = ordo_rescue::scan(&source, &mut |_| true);
    match searched(rt, spec, &disk, hits)? {
        Some((located, at, copy)) => Ok((located, begins.saturating_add(at), Described::Searched(copy))),
        None => Err(instead(
            rt,
            spec,
            &disk,
            first_failure.unwrap_or(search::NotFound::Nothing { volume_bytes: source.size() }.into()),
        )),
    }
}

/// The volume among those that a search has found, its first byte and that of its superblock.
fn searched(
    rt: &Rt,
    spec: &ImageSpec,
    disk: &Rc<dyn Disk>,
    hits: Vec<Hit>,
) -> Result<Option<(Located, u64, u64)>, OpenError> {
    let mut volumes: Vec<Hit> = hits.into_iter().filter(|hit| hit.superblock.is_some()).collect();
    // The place that was named, or the only one.
    let chosen = match volumes.iter().position(|hit| hit.offset == 0) {
        Some(first) => Some(volumes.swap_remove(first)),
        None if volumes.len() > 1 => {
            let places: Vec<_> = volumes.iter().map(|hit| format!("--offset {}", hit.offset)).collect();
            return Err(OpenError::SeveralVolumes(places.join(", ")));
        }
        None => volumes.pop(),
    };
    let Some(hit) = chosen else { return Ok(None) };
    let Some(superblock) = hit.superblock else { return Ok(None) };
    let at = hit.copies.first().copied().unwrap_or(hit.offset);
    let sector = u64::from(disk.info().sector.max(1));
    let window: Rc<dyn Disk> = match hit.offset.is_multiple_of(sector) {
        true => Rc::new(Slice::new(disk.clone(), hit.offset, disk.info().size - hit.offset)?),
        false => {
            let offset = Some(spec.offset.unwrap_or(0).saturating_add(hit.offset));
            let spec = ImageSpec { offset, part: None, ..spec.clone() };
            open(rt, &spec, &FileOptions { read_only: true, ..FileOptions::default() })?
        }
    };
    let found = search::FoundUfs { superblock: *superblock, copy: Copy::Backup(Cgx(0)) }.into();
    Ok(Some((Located { disk: window, found, log: None, claim: None }, hit.offset, at)))
}

/// Where the volume may begin: at the place that was named; otherwise also in each partition.
fn candidates(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>) -> Result<Vec<Candidate>, OpenError> {
    let begins = match (spec.offset, &spec.part) {
        (None, Some(_)) => begins_at(rt, spec)?,
        (offset, _) => offset.unwrap_or(0),
    };
    let mut candidates = vec![Candidate { disk: disk.clone(), begins }];
    if spec.offset.is_none() && spec.part.is_none() {
        // A damaged table hides nothing but itself.
        let table = partitions(rt, disk).map(|table| table.partitions).unwrap_or_default();
        let window = |part: &ordo_ondisk::partition::Partition| {
            let slice: Rc<dyn Disk> = Rc::new(Slice::new(disk.clone(), part.start, part.len).ok()?);
            Some(Candidate { disk: slice, begins: part.start })
        };
        candidates.extend(table.iter().filter_map(window));
    }
    Ok(candidates)
}
