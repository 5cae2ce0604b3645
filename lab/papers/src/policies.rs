//! How the systems of the papers use memory and disk, as policies of the engine.
//!
//! What the papers state is used as stated; the rest is derived in `docs/papers`, each system's in its paper's page.

use ordofs::disk::Scheduler;
use ordofs::{BufCounts, Policy, Spread, Syncer};
use std::time::Duration;

/// That of a mount, but with the syncer of the papers' systems, which promises nothing.
pub(crate) fn today() -> Policy {
    Policy { syncer: Syncer::Age(Duration::from_secs(30)), ..Policy::default() }
}

/// UNIX SVR4 MP (Ganger and Patt, OSDI 1994, section 2). Its syncer sweeps the cache by place, not by age.
pub(crate) const OF_1994: Policy = Policy {
    scheduler: Scheduler::CLook,
    merge: false,
    near_head: None,
    syncer: Syncer::Sweep(Duration::from_secs(30)),
    batch: 76,
    dirty: Some(24 << 20),
    counts: None,
    spare: Some(2 << 20),
    read_ahead: 4096,
    cluster: 0,
    reallocates: true,
    clusters_of_files: false,
    spread: Spread::Evenly,
    far_behind_direct: false,
    section: None,
};

/// 4.4BSD over FFS (Seltzer, Smith and others, USENIX 1995, Table 1). Contents leave the cache first: a block is queued
/// for reuse when it was read or written to its end. Clusters are those of `cluster_write`, and the blocks behind the
/// direct ones go to another group (section 3.2). Else it is as FreeBSD, which came of it.
pub(crate) const OF_1995: Policy = Policy {
    scheduler: Scheduler::CLook,
    merge: true,
    near_head: None,
    syncer: Syncer::Age(Duration::from_secs(30)),
    batch: 16,
    dirty: None,
    counts: Some(BufCounts {
        most: 500,
        high: 440,
        low: 430,
        most_dirty: waits_above(440),
        dinodes: 700,
        contents_first: true,
        segments: false,
    }),
    spare: None,
    read_ahead: 64 << 10,
    cluster: 64 << 10,
    reallocates: false,
    clusters_of_files: true,
    spread: Spread::Evenly,
    far_behind_direct: true,
    section: None,
};

/// FreeBSD of January 2000 (Seltzer and others, USENIX 2000, section 7). All bufs are alike. Its daemon starts to write
/// what is too much, and does not wait for it (that of later 4.x also bounds what is in flight).
pub(crate) const OF_2000: Policy = Policy {
    scheduler: Scheduler::CLook,
    merge: true,
    near_head: None,
    syncer: Syncer::Age(Duration::from_secs(29)),
    batch: 1024,
    // All bufs: what is in flight needs them, too.
    dirty: Some(61 << 20),
    counts: Some(BufCounts {
        most: usize::MAX,
        high: 1_978,
        low: 989,
        most_dirty: waits_above(1_978),
        dinodes: usize::MAX,
        contents_first: false,
        segments: false,
    }),
    spare: None,
    read_ahead: 64 << 10,
    cluster: 64 << 10,
    reallocates: true,
    clusters_of_files: false,
    spread: Spread::Evenly,
    far_behind_direct: false,
    section: None,
};

/// A call waits while a tenth more are dirty than start the writing: assumed, that of FreeBSD's later 4.x waits at this
/// count.
const fn waits_above(high: usize) -> usize {
    high + high / 10
}

/// The same system over its log, if it had one. Of those known, only 4.4BSD had both: it writes its log when a quarter
/// of its buffers less ten are dirty, until none is, makes no clusters of files, and sends a segment as a whole. A call
/// waits while more than twice as many are dirty.
pub(crate) fn over_a_log(of: Policy) -> Option<Policy> {
    let counts = of.counts.filter(|counts| counts.contents_first && !counts.segments)?;
    let high = (counts.most / 4).saturating_sub(11);
    let counts = BufCounts { high, low: 0, most_dirty: 2 * high, segments: true, ..counts };
    Some(Policy { counts: Some(counts), cluster: 0, batch: 1024, ..of })
}
