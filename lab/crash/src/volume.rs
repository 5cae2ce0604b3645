//! The volume with which every script begins.

use crate::disks::{Disks, Split};
use crate::mount::mount;
use crate::order::{Order, honest};
use crate::shape::Shape;
use crate::{Error, Subject};
use ordo_buf::{LogKind, Scheme};
use ordo_disk::{Disk, RamDisk};
use ordo_ondisk::lfs::Version;
use ordo_rt::{Rng, Rt};
use ordo_schemes::Settings;
use ordo_vfs::{FileSystem, Name};
use ordofs::{LayoutName, Tuning};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;

/// Length of the garbage that is repeated over a new disk, in bytes.
const GARBAGE: usize = 32 * 1024;

thread_local! {
    /// The last volume that was made: neighbouring scripts have the same one.
    static LAST: RefCell<Option<(Shape, Split, Needs, RamDisk)>> = const { RefCell::new(None) };
}

/// What a scheme needs of its volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Needs {
    /// The superblock flag by which a mount knows that it may write to the volume after a crash.
    mount_at_once: bool,
    /// A file for its log.
    log: Option<LogKind>,
}

/// The volume that a script begins with.
///
/// # Errors
/// Those of [`Subject::scheme`], or its shape is not possible.
pub(crate) fn of(subject: &Subject) -> Result<RamDisk, Error> {
    match subject.layout() {
        LayoutName::Lfs => fresh_log(&subject.shape, subject.split()),
        _ => fresh(&subject.shape, subject.split(), &subject.scheme()?),
    }
}

/// A new volume of a shape for a scheme, with the disk of its log if that is separate, on a disk that was used before:
/// what is not initialised is garbage, as on a real disk.
///
/// # Errors
/// The shape is not possible.
pub(crate) fn fresh(shape: &Shape, split: Split, scheme: &Rc<dyn Scheme>) -> Result<RamDisk, Error> {
    let needs = Needs {
        mount_at_once: LayoutName::Ffs.promises(&**scheme).mount_at_once,
        log: scheme.clone().capabilities().log_kind().filter(|_| !split.has_log()),
    };
    made_once(shape, split, needs)
}

/// The same for a log-structured volume.
///
/// # Errors
/// The shape is not possible.
fn fresh_log(shape: &Shape, split: Split) -> Result<RamDisk, Error> {
    made_once(shape, split, Needs { mount_at_once: true, log: None })
}

fn made_once(shape: &Shape, split: Split, needs: Needs) -> Result<RamDisk, Error> {
    let known = |last: &Option<(Shape, Split, Needs, RamDisk)>| {
        let last = last.as_ref().filter(|(of, on, had, _)| of == shape && *on == split && *had == needs);
        last.map(|(.., ram)| ram.snapshot())
    };
    if let Some(ram) = LAST.with_borrow(known) {
        return Ok(ram);
    }
    let ram = make(shape, split, needs)?;
    LAST.set(Some((shape.clone(), split, needs, ram.snapshot())));
    Ok(ram)
}

/// Removes an empty directory of the root.
fn remove(rt: &Rt, ram: &RamDisk, disk: Rc<dyn Disk>, order: Order, name: &'static [u8]) -> Result<(), Error> {
    let failed = |error: ordo_vfs::Error| Error::Shape(error.to_string());
    let mounted = mount(rt, ram, Disks::one(disk), order, false)?;
    let fs = mounted.fs().clone();
    rt.block_on(async move { fs.rmdir(fs.root(), Name::new(name)?).await }).map_err(failed)?;
    rt.block_on(mounted.unmount()).map_err(failed)?;
    rt.drop_tasks();
    Ok(())
}

/// newfs makes a directory for snapshots, or, in version 1 of the log, one for lost files. The model does not know
/// them: they are removed.
fn make(shape: &Shape, split: Split, needs: Needs) -> Result<RamDisk, Error> {
    let (rt, ram, size) = (Rt::virtual_time(0), RamDisk::new(split.size()), split.size());
    let mut garbage = vec![0; GARBAGE];
    Rng::new(0x0067_6172_6261_6765).fill(&mut garbage);
    for at in (0..size).step_by(GARBAGE) {
        ram.poke(at, &garbage[..GARBAGE.min((size - at) as usize)]);
    }
    let Disks { volume: disk, .. } = split.disks(Rc::new(ram.clone()));
    if let Some(log) = shape.log {
        let made = shape.log_volume(log).create_on(&rt, disk.clone(), false);
        made.map_err(|error| Error::Shape(error.to_string()))?;
        if log.version == Version::V1 {
            remove(&rt, &ram, disk, Order::Log { without: BTreeSet::new(), around: None }, b"lost+found")?;
        }
        return Ok(ram);
    }
    let volume = shape.volume().with(|params| params.softdep = needs.mount_at_once);
    let made = volume.create_on(&rt, disk.clone(), false);
    made.map_err(|error| Error::Shape(error.to_string()))?;
    remove(&rt, &ram, disk.clone(), honest("async", &Settings::default())?.into(), b".snap")?;
    if let Some(kind) = needs.log {
        let made = Tuning::for_log(kind).apply_on(&rt, disk);
        made.map_err(|error| Error::Shape(error.to_string()))?;
        rt.drop_tasks();
    }
    Ok(ram)
}
