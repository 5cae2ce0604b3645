//! The ifile: cleaner information, segment usage table, inode map. Entries are decoded and encoded at their place in a
//! block; [`super::Geometry`] knows the places.
//!
//! E1. Entries never cross blocks.
//! E2. What version 1 does not have decodes as zero and is not encoded.

mod cleaner;
mod entry;
mod raw;
mod usage;

pub use cleaner::CleanerInfo;
pub use entry::{IfileEntry, NextFree};
pub use raw::{
    RawCleanerInfo1, RawCleanerInfo2, RawCleanerInfo64, RawEntry1, RawEntry2, RawEntry64, RawSegUse1, RawSegUse2,
};
pub use usage::{SegFlags, SegUse};
