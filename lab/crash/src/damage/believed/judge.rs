//! What happens to one image whose damage is believed.

use super::super::judge::{Fate, HANG, Writes, change, check, mount, read, repaired_is_sound};
use super::base::Variant;
use crate::guard::guarded;
use crate::tree::is_log;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_rt::Rt;
use ordo_vfs::FileSystem;
use ordo_workload::{Seen, Session, look};
use std::collections::BTreeMap;

/// Bytes by which one image may let the process grow.
const GROWTH: u64 = 256 << 20;

/// Tries an image. With `keeps_files`, a write must not change a file that was not written to.
///
/// # Errors
/// What must not happen to any image, in words.
pub(super) fn judge(variant: &Variant, ram: &RamDisk, keeps_files: bool) -> Result<Fate, String> {
    let before = most_memory();
    let fate = guarded(|| try_image(variant, ram, keeps_files))?;
    let grown = most_memory().saturating_sub(before);
    if grown > GROWTH { Err(format!("grows: by {} MiB", grown >> 20)) } else { Ok(fate) }
}

/// The most memory that this process has had, in bytes; 0 where the system does not tell.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn try_image(variant: &Variant, ram: &RamDisk, keeps_files: bool) -> Result<Fate, String> {
    let rt = Rt::virtual_time(1);
    let watch = rt.clone();
    rt.spawn(async move {
        watch.sleep(HANG).await;
        panic!("a call never ended");
    });
    let scheme = variant.scheme();
    let found = check(&rt, &ram.snapshot().with(|info| info.read_only = true), Mode::Check)?;
    let seen = read(&rt, ram);
    // As somebody would who knows nothing of the damage.
    if let Some(after) = used(&rt, &ram.snapshot(), scheme, variant.crashed, seen.as_ref())
        && keeps_files
    {
        after.map_err(|what| format!("a write changes another file: {what}"))?;
    }
    let preened = ram.snapshot();
    if let Some(report) = check(&rt, &preened, Mode::Preen)?
        && report.scanned
        && report.refused.is_none()
        && !report.left
    {
        sound(&rt, &preened).map_err(|what| format!("-p does not converge: {what}"))?;
    }
    let forced = ram.snapshot();
    let changed = match mount(&rt, &forced, Writes::ByForce(scheme)) {
        Some(mounted) => {
            rt.block_on(change(&**mounted.fs()));
            let _ = rt.block_on(mounted.unmount());
            true
        }
        None => false,
    };
    repaired_is_sound(&rt, &forced).map_err(|what| format!("after it was used by force: {what}"))?;
    let repaired = repaired_is_sound(&rt, ram)?;
    if repaired {
        read(&rt, ram).ok_or("a repaired volume cannot be mounted and read")?;
        // Its flags may say that it needs what this program does not have: then it may be refused for writing.
        if let Some(mounted) = mount(&rt, ram, Writes::Orderly(scheme)) {
            rt.block_on(change(&**mounted.fs()));
            rt.block_on(mounted.unmount())
                .map_err(|error| format!("a repaired volume cannot be unmounted: {error}"))?;
            sound(&rt, ram).map_err(|what| format!("after a repaired volume was used: {what}"))?;
        }
    }
    rt.drop_tasks();
    let found = found.is_some_and(|report| !report.findings.is_empty());
    Ok(Fate { read: seen.is_some(), changed, found, repaired })
}

/// fsck finds nothing.
fn sound(rt: &Rt, ram: &RamDisk) -> Result<(), String> {
    match check(rt, ram, Mode::Check)? {
        Some(report) if !report.findings.is_empty() || !report.clean => Err(format!("{report:?}")),
        Some(_) => Ok(()),
        None => Err("there is no superblock".into()),
    }
}

/// Mounts the volume if that is possible, writes new files, and unmounts. What became of the others: the files that
/// could be read, which changed. After a crash `seen` may be what a replay has yet to change.
fn used(
    rt: &Rt,
    ram: &RamDisk,
    scheme: Option<&str>,
    crashed: bool,
    seen: Option<&Seen>,
) -> Option<Result<(), String>> {
    let mounted = mount(rt, ram, Writes::Orderly(scheme))?;
    let fs = mounted.fs().clone();
    let inside = if crashed { rt.block_on(look(&*fs)).ok() } else { None };
    let wrote = rt.block_on(write_new(&*fs));
    drop(fs);
    let unmounted = rt.block_on(mounted.unmount());
    let after = read(rt, ram);
    let before = inside.as_ref().or(seen.filter(|_| !crashed))?;
    // Whoever refused to write, or said that it failed, has promised nothing.
    if wrote.is_err() || unmounted.is_err() {
        return None;
    }
    let Some(after) = after else { return Some(Err("nothing can be read any more".into())) };
    let after: BTreeMap<_, _> = after.readable().map(|(path, ino, hashes)| (path, (ino, hashes))).collect();
    // The file of a log is the volume's own.
    let mut files = before.readable().filter(|(path, ..)| !is_log(path.strip_prefix(b"/").unwrap_or(path)));
    let changed = files.find(|(path, ino, hashes)| after.get(path) != Some(&(*ino, *hashes)));
    Some(match changed {
        Some((path, ino, _)) => Err(format!("{}, inode {ino}", String::from_utf8_lossy(path))),
        None => Ok(()),
    })
}

/// Writes files that are not there yet.
async fn write_new<F: FileSystem>(fs: &F) -> ordo_vfs::Result<()> {
    let s = Session::new(fs);
    s.mkdir_all("written/below").await?;
    for i in 0..4 {
        s.write_file(&format!("written/below/{i}"), &[i + 100; 30_000]).await?;
    }
    fs.syncfs().await?;
    s.write_file("written/last", &[7; 6000]).await
}
