//! The rules of soft updates: what is held back until what is durable, and the crash that each prevents. Four are the
//! structural changes of Ganger and Patt 1994, section 4.2.

use crate::AllocInit;
use crate::rules::RuleNames;

/// A rule of soft updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The group's map with the bit, before the dinode of a new inode: until then the dinode is written as a free one.
    /// Otherwise the number of a live file is allocated again.
    InodeMarked,
    /// A new block of inodes, before the group counts it. Otherwise garbage is taken for inodes.
    InodesInitialised,
    /// The group's map with the fragments taken, and the contents (of data by choice, `allocinit=`; of moved blocks
    /// always), before a pointer to them or a size over them. Otherwise a live file's block is allocated again, or
    /// garbage is taken for pointers, names, attributes.
    BlockAllocation,
    /// The inode with its raised link count, what a new one was made with, and its parent's raised link count, before a
    /// name that leads to it. Otherwise a name leads to a free inode, or to a directory without `.` and `..`.
    LinkAddition,
    /// Every other name that a file just got, before a name of it is removed; the block without the name, before the
    /// link count goes down. Otherwise a file has no name, or a name outlives its inode.
    LinkRemoval,
    /// Cleared pointers and cleared inodes, before what they led to is free. Otherwise two files own one block.
    BlockDeallocation,
    /// The pointer to the new place of a fragment, before the old place is free. Otherwise two files own it.
    MovedFragment,
    /// The pointer to the new place of a directory's block, before names added or removed in it count as on the disk.
    /// Otherwise an fsync returns while the name is in a place that no pointer leads to, or a link is dropped whose
    /// name is still in the old place.
    MovedEntry,
    /// A new directory's name in the place where it was made, before its name in the place that it moved to. Otherwise
    /// it is found in the new place alone, and its `..` leads to the old one.
    MovedDirectory,
    /// A file that is cut within its last block, before the pointer to that block can be rolled back to all of its
    /// fragments. Otherwise a rolled-back image leads to fragments freed since, and another file gets them.
    CutRun,
    /// The names of renamed directories, before an fsync returns. Otherwise a new file is found below the old name of a
    /// directory above it, not where it was made.
    RenamedAbove,
    /// A removed name, before the same name in another sector of the directory. Otherwise the name is there twice, and
    /// the file behind the second one cannot be reached.
    SameName,
}

impl RuleNames for Rule {
    const ALL: &'static [Rule] = &[
        Rule::InodeMarked,
        Rule::InodesInitialised,
        Rule::BlockAllocation,
        Rule::LinkAddition,
        Rule::LinkRemoval,
        Rule::BlockDeallocation,
        Rule::MovedFragment,
        Rule::MovedEntry,
        Rule::MovedDirectory,
        Rule::CutRun,
        Rule::RenamedAbove,
        Rule::SameName,
    ];

    fn number(self) -> u32 {
        self as u32
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::InodeMarked => ("inode-marked", "an inode is marked used before it is written as one"),
            Rule::InodesInitialised => {
                ("inodes-initialised", "a block of inodes is written before the group that counts it")
            }
            Rule::BlockAllocation => {
                ("block-allocation", "a block's contents and the map with it are written before a pointer to it")
            }
            Rule::LinkAddition => {
                ("link-addition", "an inode, what it was made with and its parent are written before its name")
            }
            Rule::LinkRemoval => (
                "link-removal",
                "newer names are reached before a name goes, and it is gone before its link is dropped",
            ),
            Rule::BlockDeallocation => {
                ("block-deallocation", "pointers and inodes are cleared before what they led to is free")
            }
            Rule::MovedFragment => {
                ("moved-fragment", "a moved fragment's new address is written before the old place is free")
            }
            Rule::MovedEntry => (
                "moved-entry",
                "a directory block's new address is written before what came and went in it counts as durable",
            ),
            Rule::MovedDirectory => {
                ("moved-directory", "a new directory's first name is written before one in another directory")
            }
            Rule::CutRun => ("cut-run", "a pointer is not rolled back to fragments that were cut off"),
            Rule::SameName => ("same-name", "a name is gone before it comes again in another sector"),
            Rule::RenamedAbove => ("renamed-above", "renamed directories have their new names before an fsync returns"),
        }
    }

    fn holds_with(self, _init: AllocInit) -> bool {
        true
    }
}
