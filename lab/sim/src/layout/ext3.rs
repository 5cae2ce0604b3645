//! ext3: in place, with a journal of 8192 blocks near the first group (Table I).
//!
//! A commit has a descriptor, the blocks and a commit block; the commit block is written when the others are on the
//! disk. The checkpoint follows at once: what was journaled is written home.

use super::place::{Placer, whole};
use super::seam::{Batch, Done, Layout, write_all};
use crate::sched::{Tag, Taken};
use crate::setting::{Mode, Setting};
use crate::volume::Volume;

/// Blocks of the journal.
const JOURNAL: u32 = 8192;
/// Blocks that a descriptor block names.
const NAMED: u32 = 500;

/// Blocks of a transaction before its commit block.
pub(super) fn body(blocks: usize) -> u32 {
    let blocks = blocks as u32;
    blocks + blocks.div_ceil(NAMED)
}

/// A circle of blocks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Circle {
    pub(super) first: u32,
    pub(super) blocks: u32,
    next: u32,
}

impl Circle {
    pub(super) fn new(first: u32, blocks: u32) -> Circle {
        Circle { first, blocks, next: 0 }
    }

    /// Writes the next so many blocks, at most as many as there are.
    pub(super) fn write(&mut self, blocks: u32, writes: &mut Vec<Taken>) {
        let mut left = blocks.min(self.blocks);
        while left > 0 {
            let some = left.min(self.blocks - self.next).min(128);
            writes.push(Taken { block: self.first + self.next, blocks: some, tag: Tag::Journal });
            self.next = (self.next + some) % self.blocks;
            left -= some;
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
        let first = placer.reserve(JOURNAL);
        placer.place_all(volume, |_| true);
        let free = placer.free();
        (Ext3 { places: placer.places, journal: Circle::new(first, JOURNAL), mode, done: Done::default() }, free)
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
