//! Replay of FreeBSD's soft updates journal: repairs what a crash leaves, in time that depends on the journal alone.
//!
//! Soft updates leaves a volume whose only faults are links that are counted but do not exist, and blocks in use that
//! no file owns. The records name the possible links and blocks; each is looked up on the disk, and the disk decides
//! (McKusick and Roberson, "Journaled Soft-Updates", BSDCan 2010).
//!
//! R1. Links are counted from the records, not from the inode: the count before the first record, minus the places that
//!     had the inode then and that a record touches, plus the touched places that have it now. So a repeated replay
//!     counts the same, whatever the one before has written.
//! R2. A fragment that a record names is in use exactly if one of the inodes that its records name points to it.
//! R3. Nothing is written before everything is decided; anything unforeseen ends the replay with its reason, and a full
//!     check follows.
//! R4. A pointer block that no file points to any more is trusted only while its group says that it is in use. So it is
//!     freed only after everything that it leads to is free on the disk; otherwise an interrupted replay would leak
//!     that.
//! R5. Which inodes had no name is known from their list alone, so the list is removed last.
//! R6. The journal stays valid until the volume is marked clean.
//! R7. No loop runs up to a number that is stored on the disk. An inode's sizes are checked when it is read, and a loop
//!     goes from pointer to pointer or from record to record. Each pointer is charged for the fragments that it leads
//!     to, against a budget of as many as all passes over the whole volume need. Otherwise a damaged size, or pointer
//!     blocks in a cycle, would block a mount or a boot for ever.

mod blocks;
mod files;
mod finish;
mod group;
mod groups;
mod journal;
mod links;
mod names;
mod records;
mod replay;
mod session;
mod settle;
mod trees;
mod unlinked;

pub use finish::later;
pub(crate) use group::InodeKind;
use records::{Claim, Event};
pub(crate) use replay::Replay;
pub use session::{Session, begin_session};

use crate::damage::SuperblockDamage;
use crate::log::{Crashed, Recover, Recovering, Seen, Waiting};
use crate::outcome::{NotReplayed, Replayed};
use crate::setup::Opened;
use ordo_disk::Disk;
use ordo_ondisk::Superblock;
use ordo_ondisk::suj::Record;
use ordo_ondisk::superblock::fields::flag;
use ordo_rt::Rt;
use std::rc::Rc;

/// FreeBSD's journal of soft updates.
pub(crate) struct Intents;

impl Recover for Intents {
    fn which(&self) -> Waiting {
        Waiting::Intents
    }

    fn is_due(&self, sb: &Superblock) -> bool {
        let features = sb.features();
        features.suj && !sb.is_clean() && !features.needs_fsck
    }

    fn replay(&self, of: Crashed) -> Recovering<Replayed> {
        Box::pin(async move {
            usable(&of.opened)?;
            gate(&of.opened.sb, false)?;
            replay(of).await
        })
    }

    fn see(&self, of: Crashed) -> Recovering<Seen> {
        Box::pin(of.seen(async |of| {
            usable(&of.opened)?;
            replay(of).await
        }))
    }
}

/// The replay of a journal that counts.
async fn replay(of: Crashed) -> Result<Replayed, NotReplayed> {
    let now = of.now();
    Replay::new(of.disk, of.opened.sb, now).run().await
}

/// Replays the journal of the volume on `disk` and marks it clean.
///
/// # Errors
/// Why the journal was not replayed; then nothing was written, unless the disk failed.
pub async fn replay_suj(rt: &Rt, disk: Rc<dyn Disk>) -> Result<Replayed, NotReplayed> {
    Intents.replay(Crashed::open(rt, disk, None).await?).await
}

/// Whether the volume has a journal, and it counts.
fn usable(opened: &Opened) -> Result<(), NotReplayed> {
    // A superblock that the crash tore; its other fields were compared with its copies.
    let torn = |damage: &SuperblockDamage| matches!(damage, SuperblockDamage::SuperblockHash { .. });
    if let Some(damage) = opened.damage.iter().find(|damage| !torn(damage)) {
        return Err(NotReplayed::Superblock(damage.to_string()));
    }
    let features = opened.sb.features();
    if !features.suj {
        return Err(NotReplayed::NoJournal);
    }
    if features.needs_fsck {
        return Err(NotReplayed::NeedsFsck);
    }
    if opened.sb.is_clean() {
        return Err(NotReplayed::Clean);
    }
    Ok(())
}

/// Refuses volumes that this program must not write, and those whose snapshots a replay would damage; `kept`: the disk
/// copies for them what is written over.
pub(crate) fn gate(sb: &Superblock, kept: bool) -> Result<(), NotReplayed> {
    let mut clean = sb.clone();
    clean.fields.clean = 1;
    // A mount cannot maintain these features; a replay does not touch them.
    clean.fields.flags &= !(flag::NFS4ACLS | flag::MULTILABEL);
    match kept {
        true => Ok(clean.write_gate_keeping_snapshots()?),
        false => Ok(clean.write_gate()?),
    }
}

impl Replay {
    async fn run(mut self) -> Result<Replayed, NotReplayed> {
        let journal = self.read_journal().await?;
        (self.done.segments, self.done.records) = (journal.segments, journal.records.len() as u64);
        self.sort_records(journal.records);
        self.read_unlinked().await?;
        self.settle_links().await?;
        self.settle_blocks().await?;
        self.settle_inode_maps().await?;
        self.finish().await?;
        Ok(self.done)
    }

    /// Step 4: sorts records by their subject.
    fn sort_records(&mut self, records: Vec<Record>) {
        for (record, seq) in records.into_iter().zip(0..) {
            match record {
                Record::AddRef(of) => self.events.push(Event::add(of, seq)),
                Record::RemRef(of) => self.events.push(Event::remove(of, seq)),
                Record::MvRef(of) => self.events.extend(Event::moves(of, seq)),
                Record::NewBlk(of) => self.claims.push(Claim::taken(of, seq)),
                Record::FreeBlk(of) => self.claims.push(Claim::freed(of, seq)),
                Record::Trunc(of) => {
                    let size = self.truncations.entry(of.ino.0).or_insert(of.size);
                    *size = of.size.min(*size);
                }
                Record::Sync(of) => {
                    self.truncations.remove(&of.ino.0);
                }
            }
        }
    }
}
