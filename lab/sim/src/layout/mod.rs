//! Where blocks lie, and what has to be written when: a file for each system.
//!
//! L1. A page that was never written since the start lies where a walk over directories and files put it: each in the
//!     group of its directory, or in the next one with room.
//! L2. The writes of a step are given to the queue together. The next step begins when all of them are on the disk, so
//!     a step is an order that the system demands.

mod active;
mod dualfs;
mod ext2;
mod ext3;
mod hfs;
mod lfs;
mod log;
mod place;
mod seam;

pub(crate) use place::in_place;
pub(crate) use seam::{Batch, Done, Layout};

use crate::setting::{Setting, System};
use crate::volume::Volume;

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
