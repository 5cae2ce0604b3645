//! The rules of `sync`: what is awaited, and the crash that each prevents.

use crate::AllocInit;
use crate::rules::RuleNames;

/// A rule of `sync`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The inode with its raised link count, before a name points to it. Otherwise a name leads to a free inode, or to
    /// one that fsck frees because it counts too few names.
    InodeBeforeName,
    /// The directory's block, with the new name or without the old one, before the call returns. Only the promise
    /// depends on it.
    NameOnReturn,
    /// The block with a renamed file's new name, before the old name is cleared; an additional name, and that of a
    /// directory, before other names are cleared because of it. Otherwise the file has neither.
    NewNameBeforeOld,
    /// The directory's block without the name, before the link count goes down. Otherwise the name outlives its inode.
    NameGoneBeforeLink,
    /// The inode with its lowered count or cleared pointers, before its blocks and its number are free again. Otherwise
    /// two files own one block.
    LinkBeforeFree,
    /// The inode of a directory that grew, and the indirect block that leads to its new end, before the call goes on;
    /// names beyond are not there.
    DirectorySize,
    /// A new block of inodes, then the group that counts it. Otherwise garbage is taken for inodes, or fsck does not
    /// look at the inode that a name points to.
    InodesInitialised,
    /// A new indirect block, before a pointer to it. Otherwise garbage is taken for pointers.
    IndirectInitialised,
    /// A new block of a directory, before a pointer to it; new names beyond its size in a block that it has, before the
    /// size. Otherwise garbage is taken for names.
    DirectoryInitialised,
    /// The target of a symbolic link, before the pointer to it. Otherwise a link leads to garbage, and no caller could
    /// have prevented it: a link cannot be opened, and so not be synced.
    TargetInitialised,
    /// The area of extended attributes, before a pointer to it. Otherwise garbage is taken for attributes, and those
    /// that were there are lost.
    AttributesInitialised,
    /// A block whose older state is on the disk, at its new place before a pointer leads there. Otherwise what was
    /// durable before is lost. [`Rule::DataInitialised`] demands it of every block, and replaces this rule.
    MovedContents,
    /// A block of data, new or moved, before a pointer to it (an option). Otherwise a file shows old bytes.
    DataInitialised,
    /// The pointer to the new place of a fragment, before the old place is free again. Otherwise two files own it.
    MovedFragment,
}

impl RuleNames for Rule {
    const ALL: &'static [Rule] = &[
        Rule::InodeBeforeName,
        Rule::NameOnReturn,
        Rule::NewNameBeforeOld,
        Rule::NameGoneBeforeLink,
        Rule::LinkBeforeFree,
        Rule::DirectorySize,
        Rule::InodesInitialised,
        Rule::IndirectInitialised,
        Rule::DirectoryInitialised,
        Rule::TargetInitialised,
        Rule::AttributesInitialised,
        Rule::MovedContents,
        Rule::DataInitialised,
        Rule::MovedFragment,
    ];

    fn number(self) -> u32 {
        self as u32
    }

    fn text(self) -> (&'static str, &'static str) {
        match self {
            Rule::InodeBeforeName => ("inode-before-name", "an inode is durable before a name points to it"),
            Rule::NameOnReturn => ("name-on-return", "a name is durably there, or gone, when its call returns"),
            Rule::NewNameBeforeOld => {
                ("new-name-before-old", "a renamed file's new name is durable before its old one is cleared")
            }
            Rule::NameGoneBeforeLink => ("name-gone-before-link", "a name is durably gone before its link is dropped"),
            Rule::LinkBeforeFree => {
                ("link-before-free", "cleared pointers are durable before what they pointed to is free")
            }
            Rule::DirectorySize => (
                "directory-size",
                "the size of a directory that grew, and the way to its end, are durable before it is used",
            ),
            Rule::InodesInitialised => (
                "inodes-initialised",
                "a block of inodes, and the group that counts it, are durable before one of them is used",
            ),
            Rule::IndirectInitialised => {
                ("indirect-initialised", "an indirect block is durable before a pointer to it")
            }
            Rule::DirectoryInitialised => {
                ("directory-initialised", "a directory's block is durable before a pointer to it, or a size beyond it")
            }
            Rule::TargetInitialised => {
                ("target-initialised", "the target of a symbolic link is durable before a pointer to it")
            }
            Rule::AttributesInitialised => {
                ("attributes-initialised", "an area of extended attributes is durable before a pointer to it")
            }
            Rule::MovedContents => (
                "moved-contents",
                "contents that were stored are durable at their new place before a pointer leads there",
            ),
            Rule::DataInitialised => {
                ("data-initialised", "a block of data is durable before a pointer to it (allocinit=all)")
            }
            Rule::MovedFragment => {
                ("moved-fragment", "a moved fragment's new address is durable before the old one is free")
            }
        }
    }

    fn holds_with(self, init: AllocInit) -> bool {
        match self {
            Rule::DirectoryInitialised => init != AllocInit::None,
            Rule::MovedContents => init != AllocInit::All,
            Rule::DataInitialised => init == AllocInit::All,
            _ => true,
        }
    }
}
