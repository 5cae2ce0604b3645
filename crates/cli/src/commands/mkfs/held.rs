//! What the place of a new volume holds already, and who uses it.

use crate::image;
use crate::messages::Messages;
use anyhow::{anyhow, bail};
use ordo_ondisk::partition::Select;
use ordofs::disk::Disk;
use ordofs::rt::Rt;
use ordofs::{ContentsKind, ImageSpec, OpenError, Signature, locate_on, partitions};
use std::path::Path;
use std::rc::Rc;

/// The signatures of the place itself. The disk label that lists a lettered partition may lie in that partition, but
/// belongs to the disk: it is neither reported nor wiped.
pub(super) fn carried(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>) -> anyhow::Result<Vec<Signature>> {
    let mut found = ordofs::contents(rt, disk).map_err(|error| image::open_error(&spec.path, error))?;
    if matches!(spec.part, Some(Select::Lettered { .. })) {
        found.retain(|found| found.kind != ContentsKind::Table);
    }
    Ok(found)
}

/// Wipes what was there.
pub(super) fn wipe(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, found: &[Signature]) -> anyhow::Result<()> {
    let notices = Messages::of(spec, false).listener_once();
    ordofs::cleared(rt, disk, found, "ordo mkfs", &notices).map_err(|error| image::open_error(&spec.path, error))
}

/// Refuses a place that contains something, and says what that is and how to overwrite it.
pub(super) fn ask(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, found: &[Signature]) -> anyhow::Result<()> {
    let is_ours = |found: &Signature| matches!(found.kind, ContentsKind::Ufs | ContentsKind::Lfs);
    let ours = found.iter().find(|found| is_ours(found)).map(|found| found.kind);
    if ours.is_some() || locate_on(rt, disk.clone()).is_ok() {
        let what = if ours == Some(ContentsKind::Lfs) { "an LFS" } else { "a UFS volume" };
        bail!("{spec}: holds {what} already; look at it with ordo info, or give --force to overwrite it");
    }
    let Some(first) = found.first() else { return Ok(()) };
    let parts = match first.kind {
        ContentsKind::Table => partitions(rt, disk).map(|table| table.partitions).unwrap_or_default(),
        _ => Vec::new(),
    };
    match parts.first().filter(|_| spec.part.is_none()) {
        Some(part) => bail!(
            "{spec}: has a {} with partitions; name one ({spec}@{}), or give --force to overwrite them all",
            first.name,
            part.name
        ),
        None => bail!("{spec}: holds something already: {}; give --force to overwrite it", first.name),
    }
}

/// The error of a place whose contents are not overwritten unasked; `instead` says what to do.
pub(super) fn refused(spec: &ImageSpec, error: OpenError, instead: &str) -> anyhow::Error {
    match error {
        OpenError::Exists { what, .. } => anyhow!("{spec}: exists and is not empty{what}; {instead}"),
        error => image::open_error(&spec.path, error),
    }
}

/// How the system uses a file or a device, as far as it reports that: a mount, swap, another device on top of it. An
/// OrdoFS mount is not among these: its lock makes the open fail, even with `--force`.
pub(super) fn used_by(path: &Path) -> Option<String> {
    let path = path.canonicalize().ok()?;
    let is_path = |name: &str| name.starts_with('/') && Path::new(name).canonicalize().is_ok_and(|name| name == path);
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    for line in mounts.lines() {
        let mut fields = line.split(' ');
        let (source, dir, kind) = (fields.next()?, fields.next()?, fields.next()?);
        if !kind.starts_with("fuse") && is_path(source) {
            return Some(format!("it is mounted at {dir}"));
        }
    }
    let swaps = std::fs::read_to_string("/proc/swaps").unwrap_or_default();
    if swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(is_path) {
        return Some("the system swaps to it".into());
    }
    let named = |entry: std::fs::DirEntry| entry.file_name().into_string().ok();
    let holders = Path::new("/sys/class/block").join(path.file_name()?).join("holders");
    if let Some(holder) = std::fs::read_dir(holders).ok().and_then(|mut holders| named(holders.next()?.ok()?)) {
        return Some(format!("/dev/{holder} lies on it"));
    }
    let mut disks = std::fs::read_dir("/sys/block").ok()?.flatten();
    let on_file = disks.find(|disk| {
        let file = std::fs::read_to_string(disk.path().join("loop/backing_file")).unwrap_or_default();
        is_path(file.trim_end_matches('\n'))
    });
    Some(format!("/dev/{} lies on it", named(on_file?)?))
}
