//! What a scheme does after a power cut, by what it promises.

use crate::mount::{cleaned_by, mount};
use crate::recover::Traced;
use crate::structure::{Class, allowed};
use crate::tree::Tree;
use crate::{Error, Subject};
use ordo_buf::{CrashLeaves, Promises};
use ordo_disk::RamDisk;
use ordo_rt::Rt;
use ordofs::Mounted;

/// The ways to recover a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Recovery {
    /// `fsck -p`.
    Fsck,
    /// None: the next mount writes to the volume as it is. A fragment that is in use and marked free would then be
    /// given to two files, so before that fsck may find leaks and nothing else.
    Mount,
}

impl Recovery {
    pub(crate) fn of(promises: &Promises) -> Recovery {
        if promises.mount_at_once { Recovery::Mount } else { Recovery::Fsck }
    }

    /// What recovery must do, in words.
    pub(crate) fn says(self) -> &'static str {
        match self {
            Recovery::Fsck => "fsck -p ends and repairs all",
            Recovery::Mount => "the volume is mounted read-write, and unmounted",
        }
    }

    /// The worst findings that it may start from, of what the scheme declares to leave. A log is replayed before
    /// anything is written, so the state of the volume before that does not matter.
    pub(crate) fn limit(self, declared: CrashLeaves) -> Class {
        match self {
            Recovery::Mount if declared != CrashLeaves::Log => allowed(declared).min(Class::Leak),
            _ => allowed(declared),
        }
    }
}

/// What a mount after a crash leaves.
pub(crate) struct Left {
    /// The worst class of finding that is allowed afterwards.
    pub(crate) class: Class,
    /// Segments of a log-structured volume that it cleaned.
    pub(crate) cleaned: u64,
}

/// Mounts the volume on `ram` through `disk`, read-write and in its order, and unmounts it.
///
/// # Errors
/// The mount fails, is read-only, or cannot be unmounted.
pub(crate) fn mount_at_once(subject: &Subject, ram: &RamDisk, disk: &Traced) -> Result<Left, Error> {
    let rt = Rt::virtual_time(3);
    let mounted = mount(&rt, ram, disk.disks(), subject.order()?, false)?;
    let refused = mounted.why_read_only().map(|why| Error::Mount(format!("only for reading: {why}")));
    let left = match refused {
        None => Ok(Left { class: rt.block_on(left_by(&mounted)), cleaned: cleaned_by(&mounted) }),
        Some(refused) => Err(refused),
    };
    let unmounted = rt.block_on(mounted.unmount()).map_err(|error| Error::Run(format!("unmount: {error}")));
    rt.drop_tasks();
    unmounted.and(left)
}

/// The tree of a volume, read without a change to it.
///
/// # Errors
/// The mount or a read fails; the text says `what` was read.
pub(crate) fn read(subject: &Subject, ram: &RamDisk, what: &str) -> Result<Tree, Error> {
    let rt = Rt::virtual_time(1);
    let traced = Traced::of(subject, ram.clone(), &[]);
    let mounted = mount(&rt, ram, traced.disks(), subject.honest("async")?, true)?;
    let tree = rt.block_on(Tree::read(&**mounted.fs()));
    drop(mounted);
    rt.drop_tasks();
    tree.map_err(|error| Error::Run(format!("reading {what}: {error}")))
}

/// What a mount leaves of the leaks that it found, once its background work is done: nothing.
async fn left_by(mounted: &Mounted) -> Class {
    mounted.leaks_ended().await;
    Class::Nothing
}
