//! The order of the log, as a scheme: nothing waits within a call; fsync writes a partial segment, sync a checkpoint
//! that both superblocks stand for (checkpoint-5).
//!
//! Q1. An fsync returns when all partial segments that were sent are durable, not only its own: the roll-forward goes
//!     from one to the next, and stops where one is missing.

use crate::log::Log;
use ordo_buf::{
    Answer, BufRef, Cache, CallKind, Capabilities, CrashLeaves, Defers, Durable, ImageNo, Key, Landing, Leave, Must,
    Op, Promises, Ready, Scheme, Step,
};
use ordo_disk::all_durable;
use ordo_ondisk::Ino;
use ordo_rt::Time;
use ordo_vfs::{Error, Result};
use std::rc::Rc;
use std::time::Duration;

/// A checkpoint is due so long after the last one, if anything was written.
const PERIOD: Duration = Duration::from_secs(30);
/// Or when at least so many segments were opened since, and so many bytes: each checkpoint writes what has changed of
/// the ifile, and a crash rolls forward what came since.
const ACTIVE: u32 = 10;
const ACTIVE_BYTES: u32 = 16 << 20;

/// The rules behind the order of the log: name, and what it says. The explorer drops one at a time, and must find out.
pub const RULES: &[(&str, &str)] = &[
    ("superblock-after-log", "a superblock is written when all partial segments that it refers to are durable"),
    ("superblocks-in-turn", "the two superblocks are written in turn, so that a torn one leaves the other"),
    ("sync-in-both", "after a sync both superblocks stand for its checkpoint or a later one"),
    ("dirop-together", "inodes that calls on directories have changed leave in one chain"),
    ("chain-ends", "a chain of partial segments without its end is dropped whole"),
    ("pseg-checksum", "the roll-forward believes a partial segment only if its checksums are right"),
    ("fsync-waits-for-all", "fsync waits until all partial segments before its own are durable"),
    ("mark-first", "both superblocks lose the mark of a clean unmount before anything else is written"),
    ("serial-jumps", "after a roll-forward the serial number goes on beyond those of a dropped tail"),
];

/// The scheme `lfs`.
pub(crate) struct Order(pub(crate) Rc<Log>);

/// What the log promises, on its own.
pub fn promises() -> Promises {
    Promises {
        name_added: Durable::AfterFsync,
        name_removed: Durable::AfterFsync,
        data: Durable::AfterFsync,
        attributes: Durable::AfterFsync,
        fsync_covers_name: true,
        rename_never_loses: true,
        names_of_a_moment: true,
        durable_stays: true,
        crash_leaves: CrashLeaves::Log,
        no_stale_data: true,
        mount_at_once: true,
        rules: RULES.to_vec(),
    }
}

impl Scheme for Order {
    fn name(&self) -> &'static str {
        "lfs"
    }

    fn declares(&self) -> Promises {
        promises()
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { defers: Some(self), ..Capabilities::default() }
    }

    fn step(&self, _: &Rc<Cache>, _: Op, step: Step<'_>) -> Answer {
        Answer { must: Must::Nothing, ripe: step.into_ticket() }
    }

    /// While a call runs, what it has changed so far may not leave (engine-lfs-3).
    fn leaving(&self, _: &Rc<Cache>, _: &BufRef, _: ImageNo) -> Leave {
        if self.0.gate.is_quiet() {
            return Leave::AsIs;
        }
        let gate = self.0.gate.clone();
        Leave::After(Box::pin(async move {
            drop(gate.hold().await);
            Ok(())
        }))
    }

    fn fsync(&self, _: &Rc<Cache>, ino: Ino, inode: &BufRef, _: &Landing) -> Must {
        let (log, inode) = (self.0.clone(), inode.clone());
        Must::Wait(Box::pin(async move { log.fsync(ino, inode).await }))
    }

    fn sync(&self, _: &Rc<Cache>) -> Must {
        let log = self.0.clone();
        Must::Wait(Box::pin(async move { log.checkpoint_both().await }))
    }

    fn tick(&self, cache: &Rc<Cache>, now: Time) {
        if cache.health().is_read_only() {
            return;
        }
        cache.rt().spawn(self.0.clone().clean_ahead());
        let log = self.0.clone();
        let due = log.changed.get() && log.checkpointed.get() + PERIOD <= now;
        if due || log.opened.get() > log.most_active() {
            cache.rt().spawn(async move {
                // A failure has made the volume read-only; the next sync reports it.
                let _ = log.checkpoint().await;
            });
        }
    }
}

impl Defers for Order {
    fn ready(&self, _: &Rc<Cache>, _: &BufRef) -> Ready {
        if self.0.gate.is_quiet() { Ready::Yes } else { Ready::After(Vec::new()) }
    }
}

impl Log {
    /// Segments that are opened before a checkpoint is due. Emptied ones become clean with the checkpoints, so those
    /// that the format keeps clean bound it.
    fn most_active(&self) -> u32 {
        (ACTIVE_BYTES / self.g.ssize.max(1)).min(self.g.minfreeseg / 2).max(ACTIVE)
    }

    async fn fsync(&self, ino: Ino, inode: BufRef) -> Result<()> {
        let cache = self.cache()?;
        if self.is_short(&cache, CallKind::Upkeep) {
            // One file after another takes more of the log than all together. What cannot be cleaned is told to calls.
            let _ = self.make_room(CallKind::Upkeep).await;
        }
        {
            let _held = self.gate.hold().await;
            let mut bufs = cache.unsettled_of(ino);
            // All names are of one moment: what is durable of a directory is so of all.
            if self.dinode(&inode)?.is_dir() {
                let marked = self.marked.borrow();
                bufs.extend(marked.iter().filter_map(|ino| cache.find(Key::Inode(*ino))));
            }
            bufs.push(inode);
            cache.gather(bufs).await?;
        }
        self.all_durable().await
    }

    /// Waits until everything that was sent is durable (Q1).
    pub(crate) async fn all_durable(&self) -> Result<()> {
        let cache = self.cache()?;
        let sent = cache.batches();
        let last = if self.keeps("fsync-waits-for-all") { 0 } else { sent.len().saturating_sub(1) };
        let outcome = all_durable(&sent[last..]).await.map_err(Error::io);
        // The cache learns of it before the caller does. After a failure the volume is read-only (batch-7), also of the
        // ifile's: what is behind the gap is out of reach for a roll-forward, and no later checkpoint has the blocks of
        // the ifile that were in it.
        cache.rt().yield_now().await;
        outcome
    }
}
