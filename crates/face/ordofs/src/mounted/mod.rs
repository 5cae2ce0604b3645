//! A mounted volume: layout, scheme, cache and disk, put together. The async interface.

mod active;
mod engine;
mod lfs;
mod mount;
mod open;
mod parts;
mod patrol;
mod ufs;

pub use active::{AdoptedPart, ScrubbedPart};
pub use lfs::{LfsSegments, LfsState, without_rules};

use crate::claim;
use crate::{Fs, UnreadLog};
use ordo_buf::{Cache, Scheme};
use ordo_disk::fence::Claim;
use ordo_reclaim::Reclaimer;
pub use ordo_reclaim::{Phase as LeaksPhase, Progress as LeaksProgress};
use ordo_vfs::Result;
use std::rc::Rc;
use std::sync::Arc;

/// A mounted volume, for programs that have more than one call in progress.
///
/// Calls identify a file by a node, which must be looked up, and forgotten when it is no longer needed;
/// [`crate::path::Held`] does both, and [`crate::path::resolve`] walks a path. In virtual time, on a disk in memory,
/// the same calls give the same run each time, which is useful for tests.
///
/// ```
/// use ordofs::disk::RamDisk;
/// use ordofs::path::{Held, resolve};
/// use ordofs::rt::Rt;
/// use ordofs::vfs::{Caller, FileSystem, Kind, Mode, Name};
/// use ordofs::{MountOptions, Mounted, NewVolume, locate_on};
/// use std::rc::Rc;
///
/// let rt = Rt::virtual_time(1);
/// let disk = Rc::new(RamDisk::new(16 << 20));
/// NewVolume::new(16 << 20).create_on(&rt, disk.clone(), true)?;
/// let located = locate_on(&rt, disk)?;
/// let mounted = rt.block_on(Mounted::mount(&rt, located, &MountOptions::default()))?;
/// rt.block_on(async {
///     let (fs, who) = (mounted.fs(), Caller::default());
///     let made = fs.mknod(&who, fs.root(), Name::new(b"motd")?, Kind::Regular, Mode::new(0o644), 0).await?;
///     let file = Held::new(fs, made);
///     fs.write(&who, file.node(), 0, b"hello").await?;
///     fs.fsync(file.node(), false).await?;
///     drop(file);
///     let again = resolve(fs, b"/motd", true).await?;
///     assert_eq!(fs.read(again.node(), 0, 100).await?.concat(), b"hello");
///     drop(again);
///     mounted.unmount().await
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "dropped without an unmount it is left as after a crash; see Mounted::unmount"]
pub struct Mounted {
    fs: Rc<Fs>,
    cache: Rc<Cache>,
    why_read_only: Option<String>,
    unread_log: Option<UnreadLog>,
    acls: bool,
    id: u64,
    /// The disk below, if it is an active one.
    active_disk: Option<parts::ActiveDisk>,
    /// If a crash of soft updates had left the volume when it was mounted.
    reclaimer: Option<Rc<Reclaimer>>,
    /// The claim of the volume, if this mount has to give it back.
    claim: Option<Claim>,
}

impl Mounted {
    /// A volume that is mounted as it should be, with nothing below its cache but the disk.
    fn of(fs: Fs, cache: Rc<Cache>, id: u64) -> Mounted {
        Mounted {
            fs: Rc::new(fs),
            cache,
            why_read_only: None,
            unread_log: None,
            acls: false,
            id,
            active_disk: None,
            reclaimer: None,
            claim: None,
        }
    }

    /// The file system.
    pub fn fs(&self) -> &Rc<Fs> {
        &self.fs
    }

    /// The cache, for its counters.
    pub fn cache(&self) -> &Rc<Cache> {
        &self.cache
    }

    /// The current space of the volume. Space that is waiting to be freed counts as free.
    pub fn space(&self) -> ordo_vfs::StatFs {
        self.fs.space()
    }

    /// Whether the format supports extended attributes.
    pub fn has_xattrs(&self) -> bool {
        self.fs.has_attributes()
    }

    /// Whether the volume's files may have access control lists (a flag of its superblock).
    pub fn has_acls(&self) -> bool {
        self.acls
    }

    /// A number that the volume has kept since it was made, and that others hardly have.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The longest file that the format has pointers for, in bytes.
    pub fn max_file_size(&self) -> u64 {
        self.fs.max_file_size()
    }

    /// The scheme.
    pub fn scheme(&self) -> &Rc<dyn Scheme> {
        self.cache.scheme()
    }

    /// Why the volume was mounted read-only although that was not requested, and which command repairs it.
    pub fn why_read_only(&self) -> Option<&str> {
        self.why_read_only.as_deref()
    }

    /// A log that was not replayed when the volume was opened. Its text says what that means for a reader, and what to
    /// do.
    pub fn unread_log(&self) -> Option<UnreadLog> {
        self.unread_log
    }

    /// Why the volume turned read-only while it was mounted.
    pub fn degraded(&self) -> Option<Arc<str>> {
        self.cache.health().reason()
    }

    /// The progress of reclaiming what a crash has leaked.
    pub fn leaks(&self) -> LeaksProgress {
        self.leaks_watch()()
    }

    /// The same at any later moment, without keeping the file system in memory; the default once it is gone.
    pub fn leaks_watch(&self) -> impl Fn() -> LeaksProgress + use<> {
        let reclaimer = self.reclaimer.as_ref().map(Rc::downgrade).unwrap_or_default();
        move || reclaimer.upgrade().map(|reclaimer| reclaimer.progress()).unwrap_or_default()
    }

    /// Waits until that reclaim has ended. It runs in the background, beside other calls.
    pub async fn leaks_ended(&self) -> LeaksProgress {
        match &self.reclaimer {
            Some(reclaimer) => reclaimer.ended().await,
            None => LeaksProgress::default(),
        }
    }

    /// The claim of the volume, if its record is on and this mount has made it.
    pub fn claim(&self) -> Option<&Claim> {
        self.claim.as_ref()
    }

    /// Writes everything, marks the volume clean, and closes the disk.
    ///
    /// # Errors
    /// `Io` when something could not be written: the volume is then marked as one that needs a check.
    pub async fn unmount(self) -> Result<()> {
        self.end().await
    }

    /// The same for who keeps it until its tasks are gone.
    pub(crate) async fn end(&self) -> Result<()> {
        if let Some(disk) = &self.active_disk {
            disk.parts.end().await;
        }
        let unmounted = self.fs.unmount().await;
        // Clean or not: this writer is gone.
        claim::given_back(self.claim.as_ref()).await;
        unmounted
    }
}
