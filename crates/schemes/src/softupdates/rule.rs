//! The rules of soft updates: what is held back until what is durable, and which crash would go wrong otherwise.

use crate::AllocInit;
use crate::rules::RuleNames;

/// A rule of soft updates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The group's map with the bit, before the dinode of a new inode: until then the dinode leaves as a free one.
    /// Otherwise the number of a live file is given away again.
    InodeMarked,
    /// The group's map with the fragments taken, before a pointer to them. Otherwise a live file's block is given away.
    BlockMarked,
    /// A new block of inodes, before the group counts it. Otherwise garbage is taken for inodes.
    InodesInitialised,
    /// A new indirect block, before a pointer to it. Otherwise garbage is taken for pointers.
    IndirectInitialised,
    /// A new block of a directory, before a pointer to it; new names beyond its size, before the size. Otherwise garbage
    /// is taken for names.
    DirectoryInitialised,
    /// The target of a symbolic link, before the pointer to it. Otherwise a link leads to garbage.
    TargetInitialised,
    /// The area of extended attributes, before the pointers to it. Otherwise garbage is taken for attributes.
    AttributesInitialised,
    /// A block whose older state is on the disk, at its new place before a pointer leads there. Otherwise what was durable
    /// is lost.
    MovedContents,
    /// A new block of data, before a pointer to it. Otherwise a file shows what another one left behind.
    DataInitialised,
    /// The inode with its raised link count, before a name that leads to it. Otherwise a name leads to a free inode, or to
    /// one that is freed while it has a name.
    InodeBeforeName,
    /// What a new inode was made with (a directory's first block, the target of a symbolic link, inherited attributes),
    /// before its name. Otherwise a name leads to a directory without `.` and `..`, or to an empty link.
    BodyBeforeName,
    /// The parent's raised link count, before the name of a new directory. Otherwise the count is too low, and the parent
    /// is freed while it has an entry.
    ParentBeforeName,
    /// Every other name that a file just got, before a name of it goes: the new name of a rename, and `..`. Otherwise the
    /// file has none. Until then the bytes around the old name leave as they were.
    NewNameBeforeOld,
    /// The directory's block without the name, before the link count goes down. Otherwise the name outlives its inode.
    NameGoneBeforeLink,
    /// Cleared pointers and cleared inodes, before what they led to is free. Otherwise two files own one block.
    ClearedBeforeFree,
    /// The pointer to the new place of a fragment, before the old place is free. Otherwise two files own it.
    MovedFragment,
}

impl RuleNames for Rule {
    const ALL: &'static [Rule] = &[
        Rule::InodeMarked,
        Rule::BlockMarked,
        Rule::InodesInitialised,
        Rule::IndirectInitialised,
        Rule::DirectoryInitialised,
        Rule::TargetInitialised,
        Rule::AttributesInitialised,
        Rule::MovedContents,
        Rule::DataInitialised,
        Rule::InodeBeforeName,
        Rule::BodyBeforeName,
        Rule::ParentBeforeName,
        Rule::NewNameBeforeOld,
        Rule::NameGoneBeforeLink,
        Rule::ClearedBeforeFree,
        Rule::MovedFragment,
    ];

    fn number(self) -> u32 {
        self as u32
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::InodeMarked => ("inode-marked", "an inode is marked used before it is written as one"),
            Rule::BlockMarked => ("block-marked", "fragments are marked used before a pointer to them is written"),
            Rule::InodesInitialised => {
                ("inodes-initialised", "a block of inodes is written before the group that counts it")
            }
            Rule::IndirectInitialised => {
                ("indirect-initialised", "an indirect block is written before a pointer to it")
            }
            Rule::DirectoryInitialised => {
                ("directory-initialised", "a directory's block is written before a pointer to it, or a size beyond it")
            }
            Rule::TargetInitialised => {
                ("target-initialised", "the target of a symbolic link is written before a pointer to it")
            }
            Rule::AttributesInitialised => {
                ("attributes-initialised", "an area of extended attributes is written before the pointers to it")
            }
            Rule::MovedContents => (
                "moved-contents",
                "contents that were stored are written at their new place before a pointer leads there",
            ),
            Rule::DataInitialised => {
                ("data-initialised", "a block of data is written before a pointer to it (allocinit=all)")
            }
            Rule::InodeBeforeName => ("inode-before-name", "an inode is written before a name that leads to it"),
            Rule::BodyBeforeName => (
                "body-before-name",
                "what a new inode was made with is written and pointed to before its name is written",
            ),
            Rule::ParentBeforeName => {
                ("parent-before-name", "a parent's raised link count is written before the name of its new directory")
            }
            Rule::NewNameBeforeOld => {
                ("new-name-before-old", "a file's new names can be reached before a name of it is removed")
            }
            Rule::NameGoneBeforeLink => ("name-gone-before-link", "a name is gone before its link is dropped"),
            Rule::ClearedBeforeFree => {
                ("cleared-before-free", "pointers and inodes are cleared before what they led to is free")
            }
            Rule::MovedFragment => {
                ("moved-fragment", "a moved fragment's new address is written before the old place is free")
            }
        }
    }

    fn holds_with(self, init: AllocInit) -> bool {
        match self {
            Rule::DirectoryInitialised => init != AllocInit::None,
            Rule::DataInitialised => init == AllocInit::All,
            _ => true,
        }
    }
}
