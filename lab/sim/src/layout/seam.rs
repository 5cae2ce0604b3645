//! What the simulator asks every layout (layout-2).

use crate::sched::{Copies, NO_COPIES, Tag, Taken};
use crate::volume::{Kind, Volume};

/// The pages of one write-back, in the order of their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Batch {
    pub(crate) data: Vec<u32>,
    pub(crate) metadata: Vec<u32>,
}

/// What a layout has done, for those who ask how much it wrote where.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Done {
    /// Commits of a journal.
    pub(crate) commits: u64,
    /// Blocks whose contents went into a journal.
    pub(crate) journaled: u64,
    /// Blocks that were written in order to free space of a journal.
    pub(crate) checkpointed: u64,
    /// Of these, blocks of the map of copies.
    pub(crate) mapped: u64,
    /// Checkpoints that waited for nothing but space.
    pub(crate) forced: u64,
    /// Copies made near a dock.
    pub(crate) copies: u64,
}

/// A file system's layout, with its transactions.
pub(crate) trait Layout {
    /// Where the newest version of a page lies.
    fn place(&self, page: u32) -> u32;

    /// Where copies of it lie; `NONE` where there is none.
    fn copies(&self, _page: u32) -> Copies {
        NO_COPIES
    }

    /// A page is going to be read from the disk.
    fn reads(&mut self, _now: f64, _page: u32) {}

    /// A page in memory is changed: copies of it are old.
    fn changes(&mut self, _page: u32) {}

    /// The writes of a step of a write-back, with the head at a block; `false` if there is no such step.
    fn step(&mut self, batch: &Batch, step: u32, head: u32, writes: &mut Vec<Taken>) -> bool;

    fn done(&self) -> Done {
        Done::default()
    }
}

/// Adds the writes of blocks, joined where they follow one another.
pub(super) fn write_all(blocks: &mut [u32], tag: Tag, writes: &mut Vec<Taken>) {
    blocks.sort_unstable();
    for &block in blocks.iter() {
        match writes.last_mut() {
            Some(last) if last.tag == tag && last.block + last.blocks == block && last.blocks < 128 => last.blocks += 1,
            _ => writes.push(Taken { block, blocks: 1, tag }),
        }
    }
}

pub(super) fn is_metadata(volume: &Volume, page: u32) -> bool {
    volume.kinds[page as usize] == Kind::Meta
}
