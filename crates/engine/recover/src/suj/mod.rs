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
mod groups;
mod journal;
mod links;
mod names;
mod session;
mod settle;
mod trees;
mod unlinked;

pub use finish::later;
pub use session::{Session, begin_session};

use crate::damage::SuperblockDamage;
use crate::image::Image;
use crate::log::{Crashed, Recover, Recovering, Seen, Waiting};
use crate::outcome::{NotReplayed, Replayed};
use crate::setup::Opened;
use blocks::{Claim, Run};
use groups::Groups;
pub(crate) use groups::Kind;
use links::Event;
use ordo_disk::Disk;
use ordo_ondisk::suj::Record;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{ByteOff, Geometry, Superblock};
use ordo_rt::Rt;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// The most visits of a replay to one fragment, with a margin: reading its names, counting its file, finding the end of
/// the file, truncating after that; or it is freed with a file, or with a pointer block.
const PASSES: u64 = 8;

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

/// The volume during a replay. The modules describe their steps.
pub(crate) struct Replay {
    pub(crate) image: Image,
    pub(crate) sb: Superblock,
    pub(crate) geo: Geometry,
    /// Bytes of the disk's sector.
    sector: usize,
    /// Seconds since 1970.
    pub(crate) now: i64,
    groups: Groups,
    /// Links, in the order of the journal.
    events: Vec<Event>,
    /// Blocks, in the order of the journal.
    claims: Vec<Claim>,
    /// The shortest size to which a file was being truncated.
    truncations: BTreeMap<u32, u64>,
    /// The open inodes without a name, in the order of their list.
    unlinked: Vec<u32>,
    /// Inodes as they must be before an additional name leads to them.
    raised: Vec<(ByteOff, Vec<u8>)>,
    /// Fragments without records of their own that are freed together with recorded ones.
    implied: Vec<Run>,
    /// Final bits of the bitmaps of inodes.
    inode_bits: BTreeMap<u32, (bool, Kind)>,
    /// Inodes that the replay freed.
    reclaimed: BTreeSet<u32>,
    /// Pointer blocks that must be freed late (R4), with their distance from data.
    late: BTreeMap<u64, usize>,
    /// Fragments that pointers may still lead to (R7).
    budget: u64,
    pub(crate) done: Replayed,
}

impl Replay {
    pub(crate) fn new(disk: Rc<dyn Disk>, sb: Superblock, now: i64) -> Replay {
        let (geo, sector) = (sb.geometry(), disk.info().sector.max(512) as usize);
        Replay {
            image: Image::new(disk, sb.volume_bytes(), geo.bsize),
            budget: geo.size.saturating_mul(PASSES),
            sb,
            geo,
            sector,
            now,
            groups: Groups::default(),
            events: vec![],
            claims: vec![],
            truncations: BTreeMap::new(),
            unlinked: vec![],
            raised: vec![],
            implied: vec![],
            inode_bits: BTreeMap::new(),
            reclaimed: BTreeSet::new(),
            late: BTreeMap::new(),
            done: Replayed::default(),
        }
    }

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

    /// Charges the fragments that a pointer leads to, which ends cycles of pointers (R7).
    fn spend(&mut self, frags: u64) -> Result<(), NotReplayed> {
        self.budget = self.budget.checked_sub(frags).ok_or(NotReplayed::Endless)?;
        Ok(())
    }
}
