//! What FreeBSD's replay of a soft updates journal would do to a volume: a model of its rules, for the power-cut
//! explorer. A volume that `suj` left must be right after this replay, too, and not only after that of `ordo-fsck`.
//!
//! V1. The model was written from a description of FreeBSD's rules, and shares no code with `ordo-fsck`: only `ondisk`
//!     and `disk`. Where the two replays differ, one of them is a second opinion.
//! V2. The model believes what FreeBSD believes, however unwise. It checks no hash; it reads inodes that were never
//!     written; a record of a block counts only at the address that it names. It is never made milder because a volume
//!     fails: the writer of the records changes.
//! V3. Nothing is written before everything is decided. The result is the list of writes, in FreeBSD's order.
//!
//! `volume` reads and changes inodes, pointers and maps; `journal` finds the segments that count (S); `lists` merges
//! the records of an inode's names (L); `names` looks a name up (I); `links` decides what lives (N); `blocks` frees
//! what records name (B); `sizes` counts and truncates (T); `finish` writes (W).
//!
//! Not modelled, because no program of this tree makes them: snapshots, and truncations of attribute areas.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod blocks;
mod finish;
mod journal;
mod links;
mod lists;
mod names;
mod sizes;
#[cfg(test)]
mod tests;
mod volume;

use blocks::Blocks;
use links::Inodes;
use ordo_disk::RamDisk;
use ordo_ondisk::suj::Record;
use std::collections::{BTreeMap, BTreeSet};
use volume::Volume;

/// Errors of some versions of FreeBSD, which a writer of records must not depend on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Quirks {
    /// Whether a freed indirect block is still in use is looked up at a wrong place of the map (2019).
    pub wrong_bit: bool,
}

/// Sectors that the replay writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// First byte of the volume.
    pub at: u64,
    /// What is there then.
    pub bytes: Vec<u8>,
}

/// What the replay does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The volume has no journal that waits for a replay.
    NotDue,
    /// The power went while a block of several sectors was written, and its hash or counts tell that: which one. The
    /// replay looks at neither, and no order of writes could help it.
    Torn(String),
    /// The replay ends, and the volume is marked clean.
    Replayed {
        /// What it writes, in this order.
        writes: Vec<Write>,
        /// Groups of which it freed an inode that was never written in its last life, and whose number was a
        /// directory's and another file's in the journal. No record tells which of these the group counted.
        unsure: BTreeSet<u32>,
        /// Groups in which it may leave fragments in use that no file has: of a removed file whose last block was cut,
        /// and then moved, and whose inode on the disk still has all of it.
        leaks: BTreeSet<u32>,
    },
    /// It writes nothing, and the whole volume is checked.
    GivesUp(Why),
}

/// Why a replay writes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The journal lacks the segment that it names as the oldest: whoever wrote it gave it up.
    #[error("the journal is void: it lacks segment {0}")]
    Void(u64),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

type Done<T> = Result<T, Why>;

fn give_up<T>(why: impl Into<String>) -> Done<T> {
    Err(Why::Other(why.into()))
}

/// What FreeBSD's replay would do to the volume at the start of `disk`, whose sectors have `sector` bytes, at `now`
/// (seconds since 1970). The disk is not changed.
pub fn replay(disk: &RamDisk, sector: usize, now: i64, quirks: Quirks) -> Outcome {
    let volume = match Volume::open(disk) {
        Ok(volume) => volume,
        Err(other) => return other,
    };
    let (inodes, blocks) = (Inodes::default(), Blocks::default());
    let (truncations, unsure, leaks) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut replay = Replay { volume, quirks, inodes, blocks, truncations, unsure, leaks };
    match replay.run(sector).and_then(|()| replay.finish(now)) {
        Ok(writes) => Outcome::Replayed { writes, unsure: replay.unsure, leaks: replay.leaks },
        Err(why) => Outcome::GivesUp(why),
    }
}

/// The volume during a replay, and what its records say.
struct Replay {
    volume: Volume,
    quirks: Quirks,
    inodes: Inodes,
    blocks: Blocks,
    /// The smallest size to which a file was being truncated.
    truncations: BTreeMap<u32, u64>,
    /// Groups whose directories may be counted wrongly.
    unsure: BTreeSet<u32>,
    /// Groups that may have leaks.
    leaks: BTreeSet<u32>,
}

impl Replay {
    /// FreeBSD's order: lists of names, the list of nameless inodes, truncations, blocks, their counts, links.
    fn run(&mut self, sector: usize) -> Done<()> {
        let records = self.records(sector)?;
        for record in records {
            match record {
                Record::AddRef(of) => self.inodes.tell(lists::Told::Added(of)),
                Record::RemRef(of) => self.inodes.tell(lists::Told::Removed(of)),
                Record::MvRef(of) => self.inodes.tell(lists::Told::Moved(of)),
                Record::NewBlk(of) => self.blocks.tell(&self.volume.geo, of, false)?,
                Record::FreeBlk(of) => self.blocks.tell(&self.volume.geo, of, true)?,
                Record::Trunc(of) => {
                    let size = self.truncations.entry(of.ino.0).or_insert(of.size);
                    *size = of.size.min(*size);
                }
                Record::Sync(of) => drop(self.truncations.remove(&of.ino.0)),
            }
        }
        self.inodes.merge();
        self.reclaim_nameless()?;
        for (ino, size) in std::mem::take(&mut self.truncations) {
            self.truncate(ino, size)?;
        }
        self.check_blocks()?;
        for ino in self.blocks.inos() {
            self.count_blocks(ino)?;
        }
        self.check_links()
    }

    /// Inodes that were open without a name when the power went.
    fn reclaim_nameless(&mut self) -> Done<()> {
        let mut next = self.volume.sb.fields.sujfree.cast_unsigned();
        self.volume.sb.fields.sujfree = 0;
        let mut left = self.volume.geo.inodes();
        while next != 0 {
            // FreeBSD would go round for ever.
            left = left.checked_sub(1).ok_or_else(|| Why::Other("the list of nameless inodes has a loop".into()))?;
            let ino = next;
            let mut dinode = self.volume.dinode(ino)?;
            next = std::mem::take(&mut dinode.freelink);
            if dinode.nlink == 0 {
                self.volume.put_dinode(ino, &dinode)?;
                self.reclaim(ino)?;
            }
        }
        Ok(())
    }
}
