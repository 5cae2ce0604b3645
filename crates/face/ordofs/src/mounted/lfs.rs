//! Mounting a log-structured volume: the log is its order, and it recovers by itself.

use super::{Mounted, engine};
use crate::found::Found;
use crate::located::Located;
use crate::options::LFS_SCHEME;
use crate::{Fs, MountOptions, Notice, OpenError};
use ordo_buf::Health;
use ordo_disk::{DiskInfo, Queue};
use ordo_ffs::MountError;
use ordo_lfs::{Around, Coalesced, Counters, Lfs, OpenOptions, RULES, Settings};
use ordo_ondisk::lfs::{Geometry, SegNo, SegUse, Version};
use ordo_rt::Rt;
use ordo_schemes::NoRule;
use ordo_ufs::Ufs;
use ordo_vfs::{Refusal, Result};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The state of a mounted log-structured volume.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LfsState {
    /// Its geometry.
    pub geometry: Geometry,
    /// Segments that can be written now.
    pub clean_segments: u32,
    /// Bytes that are alive, and bytes of all segments.
    pub used: (u64, u64),
    /// What cleaning has cost since the mount.
    pub counters: Counters,
}

/// The segments of a mounted log-structured volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LfsSegments {
    /// Bytes of a segment.
    pub segment_size: u32,
    /// The segment usage table, segment by segment: what fsck checks the live bytes against.
    pub usage: Vec<SegUse>,
    /// The segment in which the log goes on.
    pub head: Option<SegNo>,
}

impl LfsState {
    fn of(fs: &Ufs<Lfs>) -> LfsState {
        let lfs = fs.layout();
        LfsState {
            geometry: *lfs.geometry(),
            clean_segments: lfs.clean_segments(),
            used: lfs.used(),
            counters: lfs.counters(),
        }
    }
}

impl Mounted {
    /// Mounts a log-structured volume, with something around the scheme of its log: for the laboratory.
    ///
    /// # Errors
    /// See [`Mounted::open`].
    pub async fn mount_lfs(
        rt: &Rt,
        located: Located,
        options: &MountOptions,
        around: Option<Around>,
    ) -> std::result::Result<Mounted, OpenError> {
        let Found::Lfs(found) = &located.found else { return Err(OpenError::OnlyLfs) };
        check(options)?;
        let id = located.found.id();
        let g = found.superblock.geometry();
        let read_only = options.read_only || located.disk.info().read_only;
        fits(&g, &located.disk.info(), read_only)?;
        if read_only && !options.read_only {
            options.notices.tell(&Notice::ReadOnly("the disk is write-protected".into()));
        }
        let health = if read_only { Health::read_only() } else { Health::default() };
        let queue = Queue::new(rt, located.disk, engine::queue(options));
        let cache = engine::cache(rt, queue, health, options);
        let settings = Settings { without: without_rules(&options.settings.without)? };
        let (mount_point, cleaner) = (options.mount_point.clone(), options.cleaner.unwrap_or_default());
        let opened = ordo_lfs::open(&cache, OpenOptions { read_only, mount_point, cleaner, settings, around }).await?;
        if !found.superblock.is_clean() && !found.superblock.has_serial() {
            options.notices.tell(&Notice::NotRolledForward);
        }
        if let Some(psegs) = opened.rolled_forward {
            options.notices.tell(&Notice::RolledForward { psegs });
        }
        let fs = engine::start(&cache, opened.layout, options);
        Ok(Mounted::of(Fs::Lfs(fs), cache, id))
    }

    /// The state of a log-structured volume; `None` for others.
    pub fn lfs(&self) -> Option<LfsState> {
        self.lfs_watch()()
    }

    /// The same at any later moment, without keeping the file system in memory; `None` once it is gone.
    pub fn lfs_watch(&self) -> impl Fn() -> Option<LfsState> + use<> {
        let fs = Rc::downgrade(&self.fs);
        move || match &*fs.upgrade()? {
            Fs::Lfs(fs) => Some(LfsState::of(fs)),
            Fs::Ffs(_) => None,
        }
    }

    /// The segments of a log-structured volume; `None` for others. Of a volume that was mounted for reading after a
    /// crash, as the roll-forward leaves them in memory.
    pub fn lfs_segments(&self) -> Option<LfsSegments> {
        let Fs::Lfs(fs) = &*self.fs else { return None };
        let (usage, head) = fs.layout().segments();
        Some(LfsSegments { segment_size: fs.layout().geometry().ssize, usage, head })
    }

    /// Runs the cleaner, and makes its results durable.
    ///
    /// # Errors
    /// `NotSupported` for a volume without one; `Io`, `Corrupt`.
    pub async fn clean(&self) -> Result<()> {
        let Fs::Lfs(fs) = &*self.fs else { return Err(Refusal::NotSupported.into()) };
        fs.layout().clean().await?;
        ordo_vfs::FileSystem::syncfs(&**fs).await
    }
}

impl Mounted {
    /// Writes the files of a log-structured volume again whose blocks are far apart, and makes that durable.
    ///
    /// # Errors
    /// `NotSupported` for a volume of another kind; `Io`, `Corrupt`.
    pub async fn coalesce(&self) -> Result<Coalesced> {
        let Fs::Lfs(fs) = &*self.fs else { return Err(Refusal::NotSupported.into()) };
        let done = fs.layout().coalesce().await?;
        ordo_vfs::FileSystem::syncfs(&**fs).await.map(|()| done)
    }
}

/// Refuses options of the schemes, which this volume does not take.
fn check(options: &MountOptions) -> std::result::Result<(), OpenError> {
    match options.scheme.as_deref() {
        None | Some(LFS_SCHEME) => {}
        Some(name) if ordo_schemes::by_name(name).is_some() => return Err(OpenError::OnlyOrder(name.into())),
        Some(name) => return Err(OpenError::NoScheme(name.into())),
    }
    let of = &options.settings;
    let unfit = [
        ("log", options.log.is_some()),
        ("allocinit", of.alloc_init.is_some()),
        ("logmode", of.log_mode.is_some()),
        ("data", of.data.is_some()),
        ("checkpoint", of.checkpoint.is_some()),
        ("learning", of.learning.is_some()),
        ("scrub", of.scrub.is_some()),
    ];
    match unfit.iter().find(|(_, given)| *given) {
        Some((name, _)) => Err(OpenError::OnlySchemes(name)),
        None => Ok(()),
    }
}

/// Whether the disk can hold and write the volume.
fn fits(g: &Geometry, disk: &DiskInfo, read_only: bool) -> std::result::Result<(), OpenError> {
    if g.version == Version::V1 && g.unit < disk.sector {
        return Err(OpenError::SmallUnit(disk.sector));
    }
    if g.fsize < disk.sector {
        return Err(MountError::Sector { fsize: g.fsize, sector: disk.sector }.into());
    }
    let volume = g.bytes(g.size);
    if !read_only && volume > disk.size {
        return Err(MountError::CutShort { volume, disk: disk.size }.into());
    }
    Ok(())
}

/// The rules of the log by name, to be switched off.
///
/// # Errors
/// The log has no such rule.
pub fn without_rules(names: &BTreeSet<String>) -> std::result::Result<Vec<&'static str>, NoRule> {
    let known = |rule: &String| {
        let found = RULES.iter().find(|(name, _)| name == rule).map(|(name, _)| *name);
        let rules = || RULES.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| NoRule { scheme: LFS_SCHEME, rule: rule.clone(), rules: rules() })
    };
    names.iter().map(known).collect()
}
