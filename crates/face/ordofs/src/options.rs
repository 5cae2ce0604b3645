//! Mount options.

use crate::Notices;
use ordo_buf::{BufCounts, CacheOptions, Syncer};
use ordo_disk::Scheduler;
use ordo_ffs::Spread;
use ordo_ondisk::Superblock;
use ordo_schemes::Settings;
pub use ordo_ufs::{Enforce as QuotaLimits, Limits};
use std::path::PathBuf;
use std::time::Duration;

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
    /// How memory and disk are used.
    pub engine: Engine,
}

/// How the engine uses memory and disk. The defaults suit today's machines; the laboratory sets the values of the
/// machines that it models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// The order of waiting requests.
    pub scheduler: Scheduler,
    /// Merge adjacent requests into one.
    pub merge: bool,
    /// When the syncer writes a change that no caller syncs. If that is [`Syncer::Within`] a time, [`Settings::commit`]
    /// sets it.
    pub syncer: Syncer,
    /// The number of bufs that are written at once to free memory, or to stay below the dirty limit: with more, more
    /// can be merged, but reads wait longer behind them.
    pub batch: usize,
    /// The dirty limit in bytes: a writer above it waits for the disk. `None`: half of the cache.
    pub dirty: Option<usize>,
    /// Limits of the number of bufs, for a system that counts them, beside those of bytes.
    pub counts: Option<BufCounts>,
    /// Bytes that are reserved for copies in flight when memory is full; `None`: `dirty` is the only bound.
    pub spare: Option<usize>,
    /// How far to read ahead of a sequential reader, in bytes.
    pub read_ahead: u64,
    /// The size of a cluster that a sequential writer fills before it is written, in bytes; 0: contents wait for the
    /// syncer.
    pub cluster: u32,
    /// A cluster is moved to contiguous places before it is written for the first time.
    pub reallocates: bool,
    /// Clusters as 4.4BSD makes them: a writer that goes on elsewhere, in its file or on the disk, has what it filled
    /// before written at once; only what one cluster or one call has is merged; and the first block of a file is read
    /// alone.
    pub clusters_of_files: bool,
    /// Where new directories go.
    pub spread: Spread,
    /// The blocks of a file behind the direct ones begin in another cylinder group (4.4BSD).
    pub far_behind_direct: bool,
    /// Blocks of a file in one cylinder group, before it goes on in another; `None`: as the volume says.
    pub section: Option<u32>,
    /// An active journal commits near the head; `None`: if the disk says where that is.
    pub near_head: Option<bool>,
}

/// How long a change may stay only in memory if no caller syncs it; the default of `commit=`.
pub const COMMIT: Duration = Duration::from_secs(5);

impl MountOptions {
    /// When the syncer writes a change that no caller syncs.
    pub(crate) fn syncer(&self) -> Syncer {
        match (self.engine.syncer, self.settings.commit) {
            (Syncer::Within(_), Some(age)) => Syncer::Within(age),
            (syncer, _) => syncer,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        let ordo_ufs::Options { read_ahead, cluster, reallocates, clusters_of_files, .. } =
            ordo_ufs::Options::default();
        let CacheOptions { batch, .. } = CacheOptions::default();
        Engine {
            scheduler: Scheduler::default(),
            merge: true,
            syncer: Syncer::Within(COMMIT),
            batch,
            dirty: None,
            counts: None,
            spare: None,
            read_ahead,
            cluster,
            reallocates,
            clusters_of_files,
            spread: Spread::default(),
            far_behind_direct: false,
            section: None,
            near_head: None,
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
            engine: Engine::default(),
        }
    }
}

/// The scheme of a new volume if none was chosen.
pub const DEFAULT_SCHEME: &str = "softupdates";

/// The scheme of a volume if none was chosen: the one that its flags name, or [`DEFAULT_SCHEME`] if they name none, or
/// if it has snapshots.
pub fn default_scheme(superblock: &Superblock) -> &'static str {
    let on = superblock.features();
    if on.suj && on.snapshots == 0 { "suj" } else { DEFAULT_SCHEME }
}
