//! How the engine uses memory and disk: one value, which queue, cache, calls and layout ask.
//!
//! The default is what a mount has. Who wants something else changes single fields; the laboratory has whole values, of
//! systems that it models.
//!
//! P1. A policy is only when, where and how much. No value of it breaks an order that a scheme demands, or loses a byte
//!     that was written: otherwise a mount with a wrong one could destroy a volume. One field is a promise to callers,
//!     [`Syncer::Within`].
//! P2. The cache holds it from the mount on, and it never changes: all that ask get one answer.

use ordo_disk::Scheduler;
use std::time::Duration;

/// How the engine uses memory and disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// The order of requests that wait for the disk.
    pub scheduler: Scheduler,
    /// Merge adjacent requests into one.
    pub merge: bool,
    /// An active journal commits near the head; `None`: if the disk says where that is.
    pub near_head: Option<bool>,
    /// When the syncer writes a dirty buf that no caller writes.
    pub syncer: Syncer,
    /// Bufs written in one batch, to make room or to stay below the dirty limit: with more, more can be merged, but
    /// reads wait longer behind them.
    pub batch: usize,
    /// Limit of dirty bytes; a caller that dirties more waits for the disk. `None`: half of the cache.
    pub dirty: Option<usize>,
    /// Limits of the number of bufs, beside those of bytes. `None`: writing in the background begins, and ends, at a
    /// quarter of the dirty bytes.
    pub counts: Option<BufCounts>,
    /// Bytes reserved for copies in flight ([`crate::WhileLeaving::Copy`]) on a machine whose memory is full: a call
    /// waits while copies take more than this plus the memory that the cache has released. `None`: the dirty limit is
    /// the only bound.
    pub spare: Option<usize>,
    /// Bytes that are read ahead for a sequential reader.
    pub read_ahead: u64,
    /// Bytes that a sequential writer fills before they are written, unless the volume says more (`maxcontig`). Zero:
    /// the syncer writes contents like everything else.
    pub cluster: u32,
    /// A cluster is moved to contiguous places before it is written for the first time (`doreallocblks`).
    pub reallocates: bool,
    /// Clusters are of a file (`cluster_write`, `cluster_read`): a writer that goes on elsewhere, in its file or on the
    /// disk, has what it filled before written at once; only what one cluster or one call has is merged; and the first
    /// block of a file is read alone.
    pub clusters_of_files: bool,
    /// Where new directories go.
    pub spread: Spread,
    /// The blocks of a file behind the direct ones, and the indirect block, begin in another cylinder group with room.
    pub far_behind_direct: bool,
    /// Blocks of a file in one cylinder group, before it goes on in another. `None`: as the volume says (`maxbpg`).
    pub section: Option<u32>,
}

/// How long a change may stay only in memory if no caller syncs it, unless the mount says otherwise.
pub const COMMIT: Duration = Duration::from_secs(5);

impl Default for Policy {
    fn default() -> Policy {
        Policy {
            scheduler: Scheduler::default(),
            merge: true,
            near_head: None,
            syncer: Syncer::Within(COMMIT),
            batch: 256,
            dirty: None,
            counts: None,
            spare: None,
            read_ahead: 4 << 20,
            cluster: 128 << 10,
            reallocates: true,
            clusters_of_files: false,
            spread: Spread::default(),
            far_behind_direct: false,
            section: None,
        }
    }
}

/// How many bufs a cache may have that counts them, whatever the size of each, and what follows from the counts. A
/// dinode by itself ([`crate::Key::Inode`]) is none of them: who counts bufs has inodes in memory of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufCounts {
    /// All (`nbuf`).
    pub most: usize,
    /// Above this count, writing in the background begins (`hidirtybuffers`).
    pub high: usize,
    /// At this count it ends (`lodirtybuffers`).
    pub low: usize,
    /// While more are dirty, a call waits.
    pub most_dirty: usize,
    /// Dinodes by themselves that stay in memory. Those in use do, whatever their number.
    pub dinodes: usize,
    /// Contents of files leave the cache before anything else does. Otherwise all bufs are alike.
    pub contents_first: bool,
    /// What is dirty is written in segments. Indirect blocks change only when one is written, so they do not count as
    /// dirty. Writing goes on until the lower mark is reached; a call on names waits until segments that are being
    /// written are on the disk, if they are of files with one block each. Otherwise writing in the background starts
    /// what is too much, and does not wait for it.
    pub segments: bool,
}

/// When the syncer, which runs once a second, writes a dirty buf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncer {
    /// When it has been dirty for this long.
    Age(Duration),
    /// The cache is swept once in this time, an equal part each second, spread over the whole cache. One sweep marks a
    /// dirty buf, and the next writes it: after one to two such times.
    Sweep(Duration),
    /// A change is sent before this age, and is durable as soon as disk and scheme allow: each sweep flushes, and what
    /// must wait for other bufs is written in the same sweep or the next one. This is a promise to callers; the other
    /// two are none.
    Within(Duration),
}

/// How new directories are spread over the cylinder groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Spread {
    /// As the system would that made the volume.
    #[default]
    OfVolume,
    /// Each directory, wherever its parent is, goes to the first of the groups with the fewest directories, among those
    /// with no less than the average of free inodes.
    Evenly,
}
