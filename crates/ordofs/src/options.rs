//! How a volume is opened.

use crate::Notices;
use buf::{CacheOptions, Syncer};
use disk::Scheduler;
use ffs::Spread;
use ondisk::Superblock;
use schemes::Settings;
use std::path::PathBuf;
use std::time::Duration;

/// What may be chosen when a volume is mounted. The names are those of `ordo mount -o`.
#[derive(Debug, Clone)]
pub struct MountOptions {
    /// Nothing is changed.
    pub read_only: bool,
    /// Mount a dirty volume, or one that needs a check, read-write all the same.
    pub force: bool,
    /// The name of the scheme; `None` takes the volume's, see [`default_scheme`].
    pub scheme: Option<String>,
    /// Memory for the cache, in bytes.
    pub cache: usize,
    /// What is chosen about the scheme.
    pub settings: Settings,
    /// The disk of the scheme's log, where that is not a file of the volume.
    pub log: Option<PathBuf>,
    /// Overrides what the disk says about its cache.
    pub volatile_cache: Option<bool>,
    /// Bypass the kernel's page cache of the image.
    pub direct: bool,
    /// Reading a file does not change its time of last access.
    pub noatime: bool,
    /// What the superblock remembers as the place of the last mount.
    pub mount_point: String,
    /// Who is told of what no call tells.
    pub notices: Notices,
    /// How memory and disk are used.
    pub engine: Engine,
}

/// How the engine uses memory and disk. The defaults are for machines of today; the laboratory sets them as those were
/// that it models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    /// The order of waiting requests.
    pub scheduler: Scheduler,
    /// Neighbouring requests go to the disk as one.
    pub merge: bool,
    /// When a change that nobody asks for leaves. Where that is [`Syncer::Within`] a time, [`Settings::commit`] says which.
    pub syncer: Syncer,
    /// Bufs that are written at once to make room, or to keep little enough dirty: more can be merged, and whoever reads
    /// waits longer behind them.
    pub batch: usize,
    /// Bytes of dirty bufs beyond which whoever makes more waits for the disk; `None`: half of the cache.
    pub dirty: Option<usize>,
    /// Bytes that are kept for copies on their way, on a machine whose memory is full; `None`: `dirty` is the only bound.
    pub spare: Option<usize>,
    /// How far a sequential reader is read ahead of, in bytes.
    pub read_ahead: u64,
    /// What a sequential writer fills before it leaves, in bytes; 0: contents wait for the syncer.
    pub cluster: u32,
    /// Where new directories go.
    pub spread: Spread,
}

/// How long a change that nobody asks for may be in memory only, where nothing else was said (`commit=`).
pub const COMMIT: Duration = Duration::from_secs(5);

impl MountOptions {
    /// When a change that nobody asks for leaves.
    pub(crate) fn syncer(&self) -> Syncer {
        match (self.engine.syncer, self.settings.commit) {
            (Syncer::Within(_), Some(age)) => Syncer::Within(age),
            (syncer, _) => syncer,
        }
    }
}

impl Default for Engine {
    fn default() -> Self {
        let ufs::Options { read_ahead, cluster, .. } = ufs::Options::default();
        let CacheOptions { batch, .. } = CacheOptions::default();
        Engine {
            scheduler: Scheduler::default(),
            merge: true,
            syncer: Syncer::Within(COMMIT),
            batch,
            dirty: None,
            spare: None,
            read_ahead,
            cluster,
            spread: Spread::default(),
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
            log: None,
            volatile_cache: None,
            direct: false,
            noatime: false,
            mount_point: String::new(),
            notices: Notices::default(),
            engine: Engine::default(),
        }
    }
}

/// The scheme of a new volume that nobody chose one for.
pub const DEFAULT_SCHEME: &str = "softupdates";

/// The scheme of a volume that nobody chose one for: what its own flags say, and [`DEFAULT_SCHEME`] where they say nothing.
pub fn default_scheme(superblock: &Superblock) -> &'static str {
    if superblock.features().suj { "suj" } else { DEFAULT_SCHEME }
}
