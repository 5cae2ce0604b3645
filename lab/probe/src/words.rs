//! Steps and bufs in words, one short line each, in the field's terms.

use ordo_buf::{Buf, CallKind, Fields, Key, Role, Slot, Step};
use ordo_schemes::{Fragments, Frees};
use std::fmt::{self, Display, Formatter, Result};

/// A buf, by its key.
pub(crate) struct Name<'a>(pub(crate) &'a Buf);

impl Display for Name<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let what = role(self.0.kind());
        match self.0.key() {
            Key::Device(at) => write!(f, "{what} @{}", at.0),
            Key::File(ino, lbn) => write!(f, "{what} {} of inode {}", lbn.0, ino.0),
            Key::Inode(ino) => write!(f, "{what} of inode {}", ino.0),
        }
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Superblock => "superblock",
        Role::Maps => "cylinder group",
        Role::Inodes => "inode block",
        Role::Directory => "directory block",
        Role::Indirect => "indirect block",
        Role::Data => "data block",
        Role::Symlink => "target block",
        Role::ExtAttr => "attribute block",
        Role::Summary => "summary",
        Role::Log => "log",
        _ => "block",
    }
}

pub(crate) fn call(kind: CallKind) -> &'static str {
    match kind {
        CallKind::Create => "create",
        CallKind::Mkdir => "mkdir",
        CallKind::Symlink => "symlink",
        CallKind::Tmpfile => "tmpfile",
        CallKind::Link => "link",
        CallKind::Unlink => "unlink",
        CallKind::Rmdir => "rmdir",
        CallKind::Rename => "rename",
        CallKind::Write => "write",
        CallKind::Truncate => "truncate",
        CallKind::Allocate => "allocate",
        CallKind::SetAttr => "setattr",
        CallKind::SetXattr => "setxattr",
        CallKind::Reclaim => "reclaim",
        CallKind::Upkeep => "upkeep",
    }
}

fn fields(fields: Fields) -> &'static str {
    match fields {
        Fields::LinksUp => "links up",
        Fields::LinksDown => "links down",
        Fields::Size => "size",
        Fields::DirectorySize => "size of a directory",
        Fields::Mode => "mode, owner or flags",
        Fields::Times => "times",
    }
}

struct Pointer<'a>(&'a Slot<'a>);

impl Display for Pointer<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Slot::Inode(_, i) if *i < 12 => write!(f, "direct pointer {i}"),
            Slot::Inode(_, i) => write!(f, "indirect pointer {}", i - 12),
            Slot::Indirect(buf, i) => write!(f, "pointer {i} of {}", Name(buf)),
            Slot::ExtAttr(_, i) => write!(f, "attribute pointer {i}"),
        }
    }
}

/// A step.
pub(crate) struct Words<'a, 'b>(pub(crate) &'a Step<'b>);

impl Display for Words<'_, '_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Step::InodesReady { cg } => write!(f, "inodes ready: one more block of them, in {}", Name(cg)),
            Step::InodeAllocated { ino, map, inode, directory } => {
                let kind = if *directory { "directory" } else { "file" };
                write!(f, "inode allocated: {} for a {kind}, in ", ino.0)?;
                map.map_or(Ok(()), |map| write!(f, "{} and ", Name(map)))?;
                write!(f, "{}", Name(inode))
            }
            Step::Links { ino, before, after, .. } => write!(f, "links: of inode {}, {before} -> {after}", ino.0),
            Step::FragmentsTaken { ino, lbn, old, new, cg } => {
                let (old, new) = (Fragments(*old), Fragments(*new));
                write!(f, "fragments taken: block {} of inode {}, {old} -> {new}, in {}", lbn.0, ino.0, Name(cg))
            }
            Step::SizeGrown { ino, size_before, .. } => {
                write!(f, "size grown: inode {}, from {size_before} bytes", ino.0)
            }
            Step::InodeChanged { ino, fields: what, .. } => write!(f, "inode changed: {}, {}", ino.0, fields(*what)),
            Step::BlockReady { block, .. } => write!(f, "block ready: {}", Name(block)),
            Step::BlockAllocated { slot, old, new, block, freed, .. } => {
                let (pointer, old, new) = (Pointer(slot), Fragments(*old), Fragments(*new));
                write!(f, "block allocated: {}, {pointer}, {old} -> {new}", Name(block))?;
                freed.as_ref().map_or(Ok(()), |ticket| write!(f, "; {}", Frees(ticket)))
            }
            Step::LinkAdded { block, offset, ino, mkdir, .. } => {
                let kind = if mkdir.is_some() { "directory" } else { "inode" };
                write!(f, "link added: {}, byte {offset} -> {kind} {}", Name(block), ino.0)
            }
            Step::LinkChanged { block, offset, ino, ticket, .. } => {
                write!(f, "link changed: {}, byte {offset} -> inode {}; {}", Name(block), ino.0, Frees(ticket))
            }
            Step::LinkRemoved { block, offset, ticket, .. } => {
                write!(f, "link removed: {}, byte {offset}; {}", Name(block), Frees(ticket))
            }
            Step::BlocksReleased { ino, at, ticket, .. } => {
                write!(f, "blocks released: of inode {}, pointers in {}; {}", ino.0, Name(at), Frees(ticket))
            }
            Step::InodeReleased { ticket, .. } => write!(f, "inode released; {}", Frees(ticket)),
            Step::DataWritten { block, .. } => write!(f, "data written: {}", Name(block)),
        }
    }
}
