//! The tables of the ifile in memory.

use ordo_ondisk::Dinode;
use ordo_ondisk::lfs::{CleanerInfo, Daddr, IfileEntry, NextFree, SegNo, SegUse};

/// The ifile as the repairs so far make it.
#[derive(Default)]
pub(crate) struct Ifile {
    pub(crate) dinode: Dinode,
    /// The blocks as they are on the disk; `None` for one that must be written anew.
    pub(crate) old: Vec<Option<Vec<u8>>>,
    pub(crate) info: CleanerInfo,
    pub(crate) usage: Vec<SegUse>,
    /// Nothing was alive in these segments at the checkpoint, by its table.
    pub(crate) empty_before: Vec<bool>,
    pub(crate) entries: Vec<IfileEntry>,
}

/// An entry of the inode map that is free and was never used.
pub(crate) const FREE: IfileEntry = IfileEntry {
    version: 1,
    daddr: Daddr::HOLE,
    nextfree: NextFree::End,
    atime: ordo_ondisk::Timestamp { sec: 0, nsec: 0 },
};

impl Ifile {
    pub(crate) fn is_lost(&self, lbn: usize) -> bool {
        self.old.get(lbn).is_some_and(Option::is_none)
    }

    /// An entry of the inode map; one beyond it is free.
    pub(crate) fn entry(&self, ino: u32) -> IfileEntry {
        self.entries.get(ino as usize).copied().unwrap_or(FREE)
    }

    pub(crate) fn entry_mut(&mut self, ino: u32) -> Option<&mut IfileEntry> {
        self.entries.get_mut(ino as usize)
    }

    pub(crate) fn usage_of(&self, n: SegNo) -> SegUse {
        self.usage.get(n.0 as usize).copied().unwrap_or_default()
    }
}
