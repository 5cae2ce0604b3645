//! What happens to one damaged image: it is read as a whole, changed by force, checked, repaired and checked again.

use super::budget::Budget;
use super::volumes::{Base, Part};
use crate::guard::guarded;
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Mode, Report};
use ordo_rt::Rt;
use ordo_vfs::{FileSystem, Name, RenameMode, SetAttr, XattrMode};
use ordo_workload::{Seen, Session, look};
use ordofs::{MountOptions, Mounted};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// Requests that one program may make of the disk for one image, far more than an undamaged one takes.
const REQUESTS: u64 = 20_000;
/// Virtual time after which a call counts as one that never ends.
pub(super) const HANG: Duration = Duration::from_secs(100_000);

/// What became of an image.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    pub(super) read: bool,
    pub(super) changed: bool,
    pub(super) found: bool,
    pub(super) repaired: bool,
}

/// How much the damage may cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Loss {
    /// The file of this structure.
    Of(Part),
    /// Anything: the damage is everywhere.
    Any,
}

/// Tries an image.
///
/// # Errors
/// What must not happen to any image, in words.
pub(super) fn judge(base: &Base, ram: &RamDisk, loss: Loss, scheme: &str) -> Result<Fate, String> {
    guarded(|| try_image(base, ram, loss, scheme))
}

fn try_image(base: &Base, ram: &RamDisk, loss: Loss, scheme: &str) -> Result<Fate, String> {
    let rt = Rt::virtual_time(1);
    // The clock of virtual time advances as long as there is a syncer: a deadlock does not stop it.
    let watch = rt.clone();
    rt.spawn(async move {
        watch.sleep(HANG).await;
        panic!("a call never ended");
    });
    let before = read(&rt, ram);
    let forced = ram.snapshot();
    let mounted = mount(&rt, &forced, Writes::ByForce(Some(scheme)));
    let changed = mounted.is_some();
    if let Some(mounted) = mounted {
        rt.block_on(change(&**mounted.fs()));
        let _ = rt.block_on(mounted.unmount());
    }
    repaired_is_sound(&rt, &forced).map_err(|why| format!("after it was used by force: {why}"))?;
    // A check that wrote something would fail.
    let judged = check(&rt, &ram.snapshot().with(|info| info.read_only = true), Mode::Check)?;
    let repaired = repaired_is_sound(&rt, ram)?;
    if repaired {
        let after = read(&rt, ram).ok_or("a repaired volume cannot be mounted and read")?;
        if let Loss::Of(part) = loss {
            if let Some(before) = &before {
                compare(before, &after, part, "could be read before the repair")?;
            }
            compare(&base.tree, &after, part, "was there before the damage")?;
        }
    }
    rt.drop_tasks();
    let found = judged.is_some_and(|report| !report.findings.is_empty());
    Ok(Fate { read: before.is_some(), changed, found, repaired })
}

/// Changes whatever can be changed. The volume is damaged, and errors are expected.
pub(super) async fn change<F: FileSystem>(fs: &F) {
    let s = Session::new(fs);
    let _ = s.write_file("new", &[3; 20_000]).await;
    let _ = s.mkdir_all("made/below").await;
    let _ = s.write_file("made/below/x", &[4; 700]).await;
    // OK to expect: these are short, and have no slash.
    let name = |name: &'static [u8]| Name::new(name).expect("a name");
    let Ok(root) = s.root().await else { return };
    let root = root.node();
    let _ = fs.unlink(root, name(b"tagged")).await;
    let _ = fs.rename(root, name(b"new"), root, name(b"small"), RenameMode::Replace).await;
    let _ = fs.rename(root, name(b"d"), root, name(b"h"), RenameMode::Exchange).await;
    for (path, size) in [("indirect", 5000), ("sparse", 60_000)] {
        if let Ok(file) = s.resolve(path).await {
            let _ = s.write_at(&file, 50_000, &[8; 9000]).await;
            let _ = fs.setattr(file.node(), &SetAttr { size: Some(size), ..SetAttr::default() }).await;
            let _ = fs.setxattr(&s.who, file.node(), b"user.b", b"value", XattrMode::Set).await;
        }
    }
    let _ = fs.syncfs().await;
    let _ = s.remove_tree("e").await;
    let _ = fs.statfs().await;
}

/// How a volume is mounted; with which scheme, if not with its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Writes<'a> {
    /// Nothing is changed.
    Nothing,
    /// As a user does.
    Orderly(Option<&'a str>),
    /// Whatever state it is in.
    ByForce(Option<&'a str>),
}

/// Mounts the image if possible.
pub(super) fn mount(rt: &Rt, ram: &RamDisk, writes: Writes<'_>) -> Option<Mounted> {
    let disk = Rc::new(Budget::new(Rc::new(ram.clone()), REQUESTS));
    let located = ordofs::locate_on(rt, disk).ok()?;
    let scheme = match writes {
        Writes::Nothing => None,
        Writes::Orderly(scheme) | Writes::ByForce(scheme) => scheme,
    };
    let options = MountOptions {
        read_only: writes == Writes::Nothing,
        force: !matches!(writes, Writes::Orderly(_)),
        cache: 8 << 20,
        scheme: scheme.map(Into::into),
        ..MountOptions::default()
    };
    let mounted = rt.block_on(Mounted::mount(rt, located, &options)).ok()?;
    // An orderly mount of what should be checked first is read-only.
    let refused = writes != Writes::Nothing && mounted.why_read_only().is_some();
    (!refused).then_some(mounted)
}

pub(super) fn read(rt: &Rt, ram: &RamDisk) -> Option<Seen> {
    let mounted = mount(rt, ram, Writes::Nothing)?;
    rt.block_on(look(&**mounted.fs())).ok()
}

/// `None`: there is no superblock to begin with.
pub(super) fn check(rt: &Rt, ram: &RamDisk, mode: Mode) -> Result<Option<Report>, String> {
    let disk: Rc<dyn Disk> = Rc::new(Budget::new(Rc::new(ram.clone()), REQUESTS));
    match rt.block_on(ordo_fsck::check(rt, disk, ordo_fsck::Options::new(mode))) {
        Ok(report) => Ok(Some(report)),
        Err(ordo_fsck::Error::NoSuperblock { .. } | ordo_fsck::Error::TooShort { .. }) => Ok(None),
        Err(error) => Err(format!("fsck failed: {error}")),
    }
}

/// Repairs the image, and finds it sound; `false` if that is refused.
///
/// # Errors
/// It is not.
pub(super) fn repaired_is_sound(rt: &Rt, ram: &RamDisk) -> Result<bool, String> {
    let Some(report) = check(rt, ram, Mode::Repair)? else { return Ok(false) };
    if report.refused.is_some() {
        return Ok(false);
    }
    if report.left {
        return Err(format!("not everything was repaired: {report:?}"));
    }
    match check(rt, ram, Mode::Check)? {
        None => Err("a repaired volume has no superblock".into()),
        Some(again) if !again.findings.is_empty() || !again.clean => Err(format!("after a repair: {again:?}")),
        Some(_) => Ok(true),
    }
}

/// No file is lost except the one whose inode is damaged.
fn compare(before: &Seen, after: &Seen, part: Part, what: &str) -> Result<(), String> {
    let kept: BTreeSet<_> = after.readable().map(|(_, ino, hashes)| (ino, hashes)).collect();
    for (path, ino, hashes) in before.readable().filter(|file| part.file() != Some(file.1)) {
        let path_said = String::from_utf8_lossy(path);
        if !kept.contains(&(ino, hashes)) {
            return Err(format!("{path_said}, inode {ino}, {what}, and is lost"));
        }
        // Damage in a directory may cost names: the files are then in lost+found.
        let may_move = part == Part::Root || part.file().is_some();
        let named = after.readable().any(|file| file == (path, ino, hashes));
        if !named && !may_move {
            return Err(format!("{path_said} has lost its name"));
        }
    }
    Ok(())
}
