//! Mount options.

use crate::Notices;
pub use ordo_buf::COMMIT;
use ordo_buf::{Policy, Syncer};
use ordo_ondisk::Superblock;
use ordo_ondisk::superblock::Keeper;
use ordo_schemes::Settings;
pub use ordo_ufs::{Enforce as QuotaLimits, Limits};
use std::path::PathBuf;

/// Mount options. Their names are those of `ordo mount -o`.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// Change nothing.
    pub read_only: bool,
    /// Mount read-write even if the volume is dirty or needs a check.
    pub force: bool,
    /// The name of the scheme; `None` takes the volume's, see [`default_scheme`].
    pub scheme: Option<String>,
    /// Memory for the cache, in bytes.
    pub cache: usize,
    /// Settings of the scheme.
    pub settings: Settings,
    /// How the cleaner of a log-structured volume chooses segments; `None`: by cost and benefit. Others have no
    /// cleaner.
    pub cleaner: Option<ordo_lfs::Policy>,
    /// The disk of the scheme's log, if the log is not a file of the volume.
    pub log: Option<PathBuf>,
    /// Overrides what the disk reports about its volatile cache.
    pub volatile_cache: Option<bool>,
    /// Bypass the kernel's page cache of the image.
    pub direct: bool,
    /// Reading a file does not update its time of last access.
    pub noatime: bool,
    /// The mount point to record in the superblock.
    pub mount_point: String,
    /// The listener for events that no call reports.
    pub notices: Notices,
    /// Whose quotas limit what calls take. What is used is kept in any case.
    pub quotas: QuotaLimits,
    /// How memory and disk are used. If the syncer is [`Syncer::Within`] a time, [`Settings::commit`] sets it.
    pub policy: Policy,
}

impl MountOptions {
    /// When the syncer writes a change that no caller syncs.
    pub(crate) fn syncer(&self) -> Syncer {
        match (self.policy.syncer, self.settings.commit) {
            (Syncer::Within(_), Some(age)) => Syncer::Within(age),
            (syncer, _) => syncer,
        }
    }
}

impl Default for MountOptions {
    fn default() -> Self {
        MountOptions {
            read_only: false,
            force: false,
            scheme: None,
            cache: 256 << 20,
            settings: Settings::default(),
            cleaner: None,
            log: None,
            volatile_cache: None,
            direct: false,
            noatime: false,
            mount_point: String::new(),
            notices: Notices::default(),
            quotas: QuotaLimits::default(),
            policy: Policy::default(),
        }
    }
}

/// The scheme of a new volume if none was chosen.
pub const DEFAULT_SCHEME: &str = ordo_schemes::DEFAULT;

/// The name by which `scheme=` calls the order of a log-structured volume.
pub const LFS_SCHEME: &str = "lfs";

/// The scheme of a volume if the mount names none: the one that its owner has chosen ([`crate::Tuning::scheme`]);
/// `active` while its map counts, which another scheme would void; the one that its flags name, if it has no snapshots;
/// or [`DEFAULT_SCHEME`].
pub fn default_scheme(superblock: &Superblock) -> String {
    match superblock.chosen_scheme() {
        Some(chosen) => chosen,
        None if superblock.has_live_map() => Keeper::ACTIVE.into(),
        None => scheme_of_flags(superblock).into(),
    }
}

/// The scheme that the flags of a volume name.
pub(crate) fn scheme_of_flags(superblock: &Superblock) -> &'static str {
    let on = superblock.features();
    if on.suj && on.snapshots == 0 { ordo_schemes::JOURNALED } else { DEFAULT_SCHEME }
}
