//! What the place of a new volume holds already, and who uses it.

use crate::image;
use crate::messages::Messages;
use anyhow::{Context, bail};
use ordo_ondisk::partition::Select;
use ordofs::disk::{Disk, FileOptions};
use ordofs::rt::Rt;
use ordofs::{ContentsKind, ImageSpec, Signature, locate_on, partitions};
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

/// Bytes of one read in the search for non-zero bytes.
const ZEROES: usize = 1 << 20;

/// The signatures of the place itself. The disk label that lists a lettered partition may lie in that partition, but
/// belongs to the disk: it is neither reported nor wiped.
pub(super) fn carried(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>) -> anyhow::Result<Vec<Signature>> {
    let mut found = ordofs::contents(rt, disk).map_err(|error| image::open_error(&spec.path, error))?;
    if matches!(spec.part, Some(Select::Lettered { .. })) {
        found.retain(|found| found.kind != ContentsKind::Table);
    }
    Ok(found)
}

/// Wipes what was there. If the record of a writer is on, the old volume is claimed for that, since another machine may
/// have it mounted; the record goes with it, before the new volume is made: that may have something in its place.
pub(super) fn wipe(rt: &Rt, spec: &ImageSpec, disk: &Rc<dyn Disk>, found: &[Signature]) -> anyhow::Result<()> {
    let open_error = |error| image::open_error(&spec.path, error);
    let notices = Messages::of(spec, false).listener_once();
    let Some(claim) = ordofs::claim_disk(rt, disk, "ordo mkfs", &notices).map_err(open_error)? else {
        return ordofs::wipe(rt, disk, found).map_err(open_error);
    };
    let fenced: Rc<dyn Disk> = Rc::new(claim.fence(disk.clone()));
    ordofs::wipe(rt, &fenced, found).map_err(open_error)?;
    rt.block_on(claim.remove()).context("the record of the old volume's writer cannot be removed")
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

/// Refuses to truncate a non-empty file: with `--size` all of its contents are lost. A file of zeroes counts as empty.
/// `instead` says what to do.
pub(super) fn ask_of_file(spec: &ImageSpec, instead: &str) -> anyhow::Result<()> {
    let what = match File::open(&spec.path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| spec.to_string()),
        Ok(file) if holds_only_zeroes(&file).with_context(|| spec.to_string())? => return Ok(()),
        Ok(_) => {
            let rt = Rt::real_time();
            let options = FileOptions { read_only: true, ..FileOptions::default() };
            let disk = ordofs::open(&rt, spec, &options).map_err(|error| image::open_error(&spec.path, error))?;
            carried(&rt, spec, &disk)?.first().map(|found| format!(" ({})", found.name)).unwrap_or_default()
        }
    };
    bail!("{spec}: exists and is not empty{what}; {instead}");
}

/// Reads the stored ranges of a file; holes are zeroes.
fn holds_only_zeroes(file: &File) -> std::io::Result<bool> {
    let end = file.metadata()?.len();
    let mut bytes = vec![0; ZEROES];
    let mut at = 0;
    while at < end {
        at = match rustix::fs::seek(file, SeekFrom::Data(at)) {
            Ok(data) => data,
            Err(Errno::NXIO) => return Ok(true),
            // A file system that does not report holes has none.
            Err(_) => at,
        };
        let read = file.read_at(&mut bytes, at)?;
        if read == 0 {
            return Ok(true);
        }
        if bytes[..read].iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
        at += read as u64;
    }
    Ok(true)
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
