//! Where blocks lie, and what has to be written when: a file for each system.
//!
//! L1. A page that was never written since the start lies where a walk over directories and files put it: each in the
//!     group of its directory, or in the next one with room.
//! L2. The writes of a step are given to the queue together. The next step begins when all of them are on the disk, so
//!     a step is an order that the system demands.

mod active;
mod ext2;
mod ext3;
mod hfs;
mod lfs;
mod log;
mod place;

mod dualfs;

pub use ext3::Mode;
pub(crate) use place::in_place;

use crate::sched::{Copies, NO_COPIES, Tag, Taken};
use crate::setting::{Setting, System};
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

/// The layout of a system for a volume.
pub(crate) fn of(system: System, volume: &Volume, setting: &Setting) -> Box<dyn Layout> {
    match system {
        System::Ext2 => Box::new(ext2::Ext2::new(volume, setting)),
        System::Ext3(mode) => Box::new(ext3::Ext3::new(volume, setting, mode)),
        System::Lfs => Box::new(lfs::Lfs::new(volume, setting)),
        System::DualFs => Box::new(dualfs::DualFs::new(volume, setting)),
        System::Hfs => Box::new(hfs::Hfs::new(volume, setting)),
        System::Active => Box::new(active::Active::new(volume, setting, false)),
        System::ActiveVirtual => Box::new(active::Active::new(volume, setting, true)),
    }
}

/// Adds the writes of blocks, joined where they follow one another.
fn write_all(blocks: &mut [u32], tag: Tag, writes: &mut Vec<Taken>) {
    blocks.sort_unstable();
    for &block in blocks.iter() {
        match writes.last_mut() {
            Some(last) if last.tag == tag && last.block + last.blocks == block && last.blocks < 128 => last.blocks += 1,
            _ => writes.push(Taken { block, blocks: 1, tag }),
        }
    }
}

fn is_metadata(volume: &Volume, page: u32) -> bool {
    volume.kinds[page as usize] == Kind::Meta
}
