//! Finding the volume that a user names: in the image or in its only partition that holds one, or in a snapshot.

use crate::claim::{Writer, claimed, writer};
use crate::contents::told;
use crate::found;
use crate::image::{ImageSpec, open, partitions, window};
use crate::located::{Located, Search, find};
use crate::snapshot::locate_snapshot;
use crate::{Notices, OpenError};
use ordo_disk::{Disk, FileOptions, NbdDisk};
use ordo_ondisk::partition::{self, Partition};
use ordo_ondisk::superblock::search;
use ordo_rt::Rt;
use std::io::ErrorKind;
use std::rc::Rc;

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
        Some(name) => locate_snapshot(rt, &located, name.as_bytes()),
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
    told::no_volume(rt, spec, disk, &table).map_or(error, OpenError::NoVolume)
}

fn find_in(rt: &Rt, disk: &Rc<dyn Disk>, spec: &ImageSpec, search: Search) -> Result<Located, OpenError> {
    match find(rt, disk.clone(), search) {
        Err(error) if spec.offset.is_none() && spec.part.is_none() => only_partition(rt, disk, search, error),
        found => found,
    }
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

/// Opens a volume, claims it, and finds it. With `damaged` a backup of its superblock is enough.
///
/// # Errors
/// As [`locate`], and as [`claimed`].
pub fn locate_to_write(
    rt: &Rt,
    spec: &ImageSpec,
    options: &FileOptions,
    doing: &str,
    notices: &Notices,
    damaged: bool,
) -> Result<Located, OpenError> {
    let located = located_direct(rt, spec, options, damaged)?;
    rt.block_on(claimed(rt, located, doing, notices))
}

/// Opens and finds a volume, past the page cache if its record is on (claim-3).
pub(crate) fn located_direct(
    rt: &Rt,
    spec: &ImageSpec,
    options: &FileOptions,
    damaged: bool,
) -> Result<Located, OpenError> {
    let locate = if damaged { locate_damaged } else { locate };
    let located = locate(rt, spec, options.clone())?;
    if options.direct || options.read_only || NbdDisk::is_url(&spec.path) || writer(rt, &located)? == Writer::Off {
        return Ok(located);
    }
    drop(located);
    match locate(rt, spec, FileOptions { direct: true, ..options.clone() }) {
        Err(OpenError::Disk(ordo_disk::OpenError::Io { source, .. })) if source.kind() == ErrorKind::InvalidInput => {
            locate(rt, spec, options.clone())
        }
        located => located,
    }
}
