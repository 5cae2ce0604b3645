//! How much memory the cache may use, how long a change may stay in it, and the habits of systems that count bufs.

use std::time::Duration;

/// How much memory the cache may use, and how long a change may stay in it.
#[derive(Debug, Clone, Copy)]
pub struct CacheOptions {
    /// Bytes of all bufs together.
    pub bytes: usize,
    /// Limit of dirty bytes; a caller that dirties more waits for the disk.
    pub dirty_bytes: usize,
    /// Limits of the number of bufs, beside those of bytes. `None`: writing in the background begins, and ends, at a
    /// quarter of the dirty bytes.
    pub counts: Option<BufCounts>,
    /// When the syncer writes a dirty buf that no caller writes.
    pub syncer: Syncer,
    /// Bufs written in one batch, to make room or to stay below the dirty limit.
    pub batch: usize,
    /// Bytes reserved for copies in flight ([`crate::WhileLeaving::Copy`]) on a machine whose memory is full: a call
    /// waits while copies take more than this plus the memory that the cache has released. `None`: the dirty limit is
    /// the only bound.
    pub spare: Option<usize>,
}

/// How many bufs a system has that counts them (4.4BSD, FreeBSD), whatever the size of each. A dinode by itself
/// ([`crate::Key::Inode`]) is none of them: those systems have inodes in memory of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufCounts {
    /// All (`nbuf`).
    pub most: usize,
    /// Above this count, writing in the background begins (`hidirtybuffers`). A call waits while a tenth more are
    /// dirty: assumed, that of later 4.x waits at this count.
    pub high: usize,
    /// At this count it ends (`lodirtybuffers`).
    pub low: usize,
    /// Dinodes by themselves that stay in memory. Those in use do, whatever their number.
    pub dinodes: usize,
    /// Whose counts these are: what leaves first, what counts as dirty, and when a call waits.
    pub habits: Habits,
}

/// A system that counts bufs. The habits of each are one value, since none is known to have some of them alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Habits {
    /// FreeBSD of 2000. All bufs are alike. Writing in the background starts what is too much, and does not wait for
    /// it.
    FreeBsd,
    /// 4.4BSD over FFS. Contents of files leave the cache before anything else does: a block is queued for reuse when
    /// it was read or written to its end. Else as FreeBSD, which came of it.
    Bsd44,
    /// 4.4BSD over its log. Contents leave first. Indirect blocks change only when the log is written, so they do not
    /// count as dirty. Writing goes on until the lower mark is reached. A call waits while more than twice `high` are
    /// dirty, and a call on names until segments that are being written are on the disk, if they are of files with one
    /// block each.
    Bsd44Log,
}

impl BufCounts {
    /// While more are dirty, a call waits.
    pub(crate) fn most_dirty(self) -> usize {
        match self.habits {
            Habits::FreeBsd | Habits::Bsd44 => self.high + self.high / 10,
            Habits::Bsd44Log => 2 * self.high,
        }
    }
}

impl Habits {
    /// Contents of files leave before anything else does.
    pub(crate) fn contents_go_first(self) -> bool {
        match self {
            Habits::FreeBsd => false,
            Habits::Bsd44 | Habits::Bsd44Log => true,
        }
    }

    /// The system writes segments.
    pub(crate) fn of_log(self) -> bool {
        self == Habits::Bsd44Log
    }
}

/// When the syncer, which runs once a second, writes a dirty buf.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Syncer {
    /// When it has been dirty for this long (FreeBSD).
    Age(Duration),
    /// The cache is swept once in this time, an equal part each second, spread over the whole cache. One sweep marks a
    /// dirty buf, and the next writes it: after one to two such times (SVR4; Ganger and Patt 1994, section 2).
    Sweep(Duration),
    /// A change is sent before this age, and is durable as soon as disk and scheme allow: each sweep flushes, and what
    /// must wait for other bufs is written in the same sweep or the next one. This is a promise to callers; the other
    /// two are habits of systems.
    Within(Duration),
}

impl Syncer {
    /// The setting of the papers' systems, used to study them and for comparisons.
    pub const OF_THE_PAPERS: Syncer = Syncer::Age(Duration::from_secs(30));
}

impl Default for CacheOptions {
    fn default() -> Self {
        CacheOptions::of_size(64 << 20)
    }
}

impl CacheOptions {
    /// A cache of `bytes` bytes, half of which may be dirty, for up to 30 seconds.
    pub fn of_size(bytes: usize) -> CacheOptions {
        CacheOptions {
            bytes,
            dirty_bytes: bytes / 2,
            counts: None,
            syncer: Syncer::OF_THE_PAPERS,
            batch: 256,
            spare: None,
        }
    }
}
