//! Records of steps.
//!
//! E1. An inode with records has one that precedes any change of its link count: at an entry, or at [`NOWHERE`]. It is
//!     made as soon as the inode is allocated, or its count raised, since a crash may come before the entry has a
//!     place.
//! E2. All records of an inode carry its first link count, so that replay may begin with any of them.
//! E3. A block is recorded when its fragments are taken, and again when its pointer is cleared; each block separately,
//!     including those below an indirect block. So they may be freed in any order.
//! E4. A record of fragments names them from the one on that the inode's pointer names, also if only the tail of a
//!     block becomes free. FreeBSD's replay compares that address with the pointer. It would take a tail by itself for
//!     a block that no file has, and free it while the inode on the disk still has it.
//! E5. All lives of a number are in one session, and no record of an earlier life is retired before the session ends.
//!     They add up, since a life ends with a removal at each of its places. But FreeBSD's replay merges the records
//!     into one list with an element for each place, and takes the type of the last element for that of the inode. So
//!     a life of another type begins with a record at a place that no life before has named: it is behind all of
//!     theirs, at any moment of the journal, and what follows in this life is of the same type. Otherwise a file that
//!     has the number and the place of an earlier file, with a directory between them, would be taken for a directory
//!     without a body, and removed.

use ordo_buf::{BufRef, Freed, Key, Run, Slot, Step};
use ordo_ondisk::dinode::IFMT;
use ordo_ondisk::suj::{BlockRecord, Record, RefRecord, TruncRecord};
use ordo_ondisk::{Geometry, Ino, Lbn};
use std::collections::BTreeMap;

/// The last offset in the root directory where no entry can be: directories are shorter.
pub(super) const NOWHERE: u64 = 0x7fff_fffc;
/// Bytes between such offsets. A session has less records than there are of these.
const APART: u64 = 4;
/// Offset of `.` in a directory, and of `..`.
const DOT: u64 = 0;
const DOTDOT: u64 = 12;

/// What a session of the log has recorded.
#[derive(Default)]
pub(super) struct Session {
    known: BTreeMap<Ino, Known>,
    /// Inodes in use without a name, and their modes.
    nameless: BTreeMap<Ino, u16>,
}

/// What the session has recorded of an inode.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The link count before its first record.
    nlink: u16,
    mode: u16,
    /// How often its type changed (E5).
    types: u32,
}

type Tell<'a> = &'a mut dyn FnMut(Record);

impl Session {
    /// Makes the records of a step. `block` is the size of a block. `None` when a step names an inode that no earlier
    /// step has counted: no record can be made of it.
    pub(super) fn note(&mut self, step: &Step<'_>, block: u32, tell: Tell<'_>) -> Option<()> {
        match *step {
            Step::Links { ino, before, after, mode, dotdot } => {
                self.links(ino, before, after, mode, tell);
                if let Some(parent) = dotdot {
                    tell(Record::AddRef(self.link(parent, ino, DOTDOT)?));
                    tell(Record::AddRef(self.link(ino, ino, DOT)?));
                }
            }
            Step::FragmentsTaken { ino, lbn, old, new, .. } => {
                let oldfrags = if old.at == new.at { old.frags } else { 0 };
                tell(Record::NewBlk(blocks(ino, lbn, new, oldfrags)?));
            }
            Step::BlockAllocated { ino, lbn, ref slot, freed: Some(ref ticket), .. } => {
                let Freed::Blocks { runs, .. } = ticket.freed() else { return None };
                for ((at, frags), k) in runs.iter().zip(0..) {
                    let lbn = if let Slot::ExtAttr(..) = slot { Geometry::extattr_lbn(k) } else { lbn };
                    tell(Record::FreeBlk(blocks(ino, lbn, Run { at: *at, frags: *frags }, 0)?));
                }
            }
            Step::BlocksReleased { ino, blocks: gone, .. } => {
                // E4: also of a tail.
                for gone in gone {
                    tell(Record::FreeBlk(blocks(ino, gone.lbn, gone.block(), 0)?));
                }
            }
            Step::LinkAdded { dir, block: buf, offset, ino, .. } => {
                tell(Record::AddRef(self.link(ino, dir, diroff(buf, offset, block)?)?));
            }
            Step::LinkChanged { dir, block: buf, offset, ino, ref ticket, .. } => {
                let at = diroff(buf, offset, block)?;
                self.removed(ticket.freed(), dir, at, tell)?;
                tell(Record::AddRef(self.link(ino, dir, at)?));
            }
            Step::LinkRemoved { dir, block: buf, offset, ref ticket, .. } => {
                self.removed(ticket.freed(), dir, diroff(buf, offset, block)?, tell)?;
            }
            Step::InodeReleased { ino, .. } => drop(self.nameless.remove(&ino)),
            _ => {}
        }
        Some(())
    }

    /// E1, E2.
    fn links(&mut self, ino: Ino, before: u16, after: u16, mode: u16, tell: Tell<'_>) {
        let known = self.known.entry(ino).or_insert(Known { nlink: before, ..Known::default() });
        // Of the first life, or of one of another type (E5); a replay also counts the directories of its group then.
        if (known.mode ^ mode) & IFMT != 0 {
            tell(Record::AddRef(nowhere(ino, Known { mode, ..*known })));
            known.types += 1;
        }
        known.mode = mode;
        if after == 0 && before == 0 {
            self.nameless.insert(ino, mode);
        } else {
            self.nameless.remove(&ino);
        }
    }

    /// A record of an entry at a place.
    fn link(&self, ino: Ino, parent: Ino, diroff: u64) -> Option<RefRecord> {
        let Known { nlink, mode, .. } = *self.known.get(&ino)?;
        Some(RefRecord { ino, parent, nlink, mode, diroff })
    }

    /// Records that the entry is removed, and for a directory its `.` and `..`.
    fn removed(&self, freed: &Freed, dir: Ino, at: u64, tell: Tell<'_>) -> Option<()> {
        let Freed::DropLink { ino, parent, .. } = *freed else { return None };
        tell(Record::RemRef(self.link(ino, dir, at)?));
        if let Some(parent) = parent {
            tell(Record::RemRef(self.link(parent, ino, DOTDOT)?));
            tell(Record::RemRef(self.link(ino, ino, DOT)?));
        }
        Some(())
    }

    /// The records so far are not needed any more. Returns the first records of a new session: the files without a
    /// name, and an empty record, since a segment needs one.
    pub(super) fn begin_anew(&mut self) -> Vec<Record> {
        let known = |mode: u16| Known { mode, types: 1, ..Known::default() };
        self.known = self.nameless.iter().map(|(ino, mode)| (*ino, known(*mode))).collect();
        let nothing = Record::Sync(TruncRecord { ino: Ino::ROOT, size: 0, extsize: 0 });
        let first = |mode: u16| Known { mode, ..Known::default() };
        let nameless = self.nameless.iter().map(|(ino, mode)| Record::AddRef(nowhere(*ino, first(*mode))));
        std::iter::once(nothing).chain(nameless).collect()
    }
}

/// A record of no place, which no other life has (E5).
fn nowhere(ino: Ino, of: Known) -> RefRecord {
    let diroff = NOWHERE - u64::from(of.types) * APART;
    RefRecord { ino, parent: Ino::ROOT, nlink: of.nlink, mode: of.mode, diroff }
}

/// The offset in the directory for an offset in its block.
fn diroff(buf: &BufRef, offset: u32, block: u32) -> Option<u64> {
    let Key::File(_, lbn) = buf.key() else { return None };
    Some(u64::try_from(lbn.0).ok()? * u64::from(block) + u64::from(offset))
}

fn blocks(ino: Ino, lbn: Lbn, run: Run, oldfrags: u32) -> Option<BlockRecord> {
    let (frags, oldfrags) = (u16::try_from(run.frags).ok()?, u16::try_from(oldfrags).ok()?);
    Some(BlockRecord { ino, blkno: run.at, lbn, frags, oldfrags })
}
