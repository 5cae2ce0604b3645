//! ext3: in place, with a journal near the first group, of 8192 blocks in Table I.
//!
//! A commit has a descriptor, the blocks and a commit block; the commit block is written when the others are on the
//! disk. The checkpoint follows at once: what was journaled is written home.

use super::place::{Placer, whole};
use super::seam::{Batch, Done, Layout, write_all};
use crate::sched::{Tag, Taken};
use crate::setting::{Mode, Setting};
use crate::volume::Volume;

/// Blocks that a descriptor block names.
const NAMED: u32 = 500;

/// Blocks of a transaction before its commit block.
pub(super) fn body(blocks: usize) -> u32 {
    let blocks = blocks as u32;
    blocks + blocks.div_ceil(NAMED)
}

/// A circle of blocks.
#[derive(Debug)]
pub(super) struct Circle {
    blocks: Vec<u32>,
    next: usize,
}

impl Circle {
    pub(super) fn new(blocks: Vec<u32>) -> Circle {
        Circle { blocks, next: 0 }
    }

    /// Writes the next so many blocks. Those of a commit that is larger than the circle go round: when that sends
    /// blocks home is not simulated.
    pub(super) fn write(&mut self, blocks: u32, writes: &mut Vec<Taken>) {
        for _ in 0..blocks {
            write_all(&mut [self.blocks[self.next]], Tag::Journal, writes);
            self.next = (self.next + 1) % self.blocks.len();
        }
    }
}

pub(super) struct Ext3 {
    pub(super) places: Vec<u32>,
    pub(super) journal: Circle,
    mode: Mode,
    done: Done,
}

impl Ext3 {
    pub(super) fn new(volume: &Volume, setting: &Setting, mode: Mode) -> Ext3 {
        Ext3::with_free(volume, setting, mode).0
    }

    /// The same, and the free blocks of each group.
    pub(super) fn with_free(volume: &Volume, setting: &Setting, mode: Mode) -> (Ext3, Vec<(u32, u32)>) {
        let mut placer = Placer::new(volume, &whole(volume), setting.full);
        let journal = Circle::new(placer.reserve(setting.journal));
        placer.place_all(volume, |_| true);
        let free = placer.free();
        (Ext3 { places: placer.places, journal, mode, done: Done::default() }, free)
    }

    fn homes<'a>(&self, pages: impl Iterator<Item = &'a u32>, tag: Tag, writes: &mut Vec<Taken>) {
        let mut blocks: Vec<u32> = pages.map(|page| self.place(*page)).collect();
        write_all(&mut blocks, tag, writes);
    }
}

impl Layout for Ext3 {
    fn place(&self, page: u32) -> u32 {
        self.places[page as usize]
    }

    fn step(&mut self, batch: &Batch, step: u32, _head: u32, writes: &mut Vec<Taken>) -> bool {
        let whole = self.mode == Mode::Journal;
        let journaled = batch.metadata.len() + if whole { batch.data.len() } else { 0 };
        match step {
            0 if whole => (),
            0 => {
                self.homes(batch.data.iter(), Tag::Home, writes);
                if self.mode == Mode::Writeback && journaled > 0 {
                    self.journal.write(body(journaled), writes);
                }
            }
            _ if journaled == 0 => return false,
            1 if self.mode == Mode::Writeback => (),
            1 => self.journal.write(body(journaled), writes),
            2 => self.journal.write(1, writes),
            3 => {
                self.homes(batch.metadata.iter(), Tag::Checkpoint, writes);
                if whole {
                    self.homes(batch.data.iter(), Tag::Checkpoint, writes);
                }
                self.done.commits += 1;
                self.done.journaled += journaled as u64;
                self.done.checkpointed += journaled as u64;
            }
            _ => return false,
        }
        true
    }

    fn done(&self) -> Done {
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_goes_round_the_journal_and_none_of_its_blocks_is_left_out() {
        let mut circle = Circle::new(vec![10, 11, 12, 50, 51]);
        let mut written = |blocks| {
            let mut writes = Vec::new();
            circle.write(blocks, &mut writes);
            writes.iter().map(|taken| (taken.block, taken.blocks)).collect::<Vec<_>>()
        };
        assert_eq!(written(4), [(10, 3), (50, 1)]);
        assert_eq!(written(8), [(51, 1), (10, 3), (50, 2), (10, 2)]);
    }
}
