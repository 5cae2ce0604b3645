//! `sync`: the conventional fast file system. The order is kept by waiting: a write that something depends on is
//! durable before the call goes on. (4.4BSD's form, which also awaits the last write of a sequence, so that a name is
//! there, or gone, when the call returns: Seltzer et al. 2000, section 6; Ganger and Patt 1994, section 2.)
//!
//! What is awaited, and which crash would go wrong otherwise:
//!
//! - `inode-before-name`: the inode with its raised link count, before a name points to it. Otherwise a name leads to a
//!   free inode, or to one that fsck frees because it counts too few names.
//! - `name-on-return`: the directory's block with the new name, before the call returns. Only the promise depends on it.
//! - `name-gone-before-link`: the directory's block without the name, before the link count goes down. Otherwise the
//!   name outlives its inode.
//! - `link-before-free`: the inode with its lowered count or cleared pointers, before its blocks and its number are free
//!   again. Otherwise two files own one block.
//! - `directory-size`: the inode of a directory that grew, before the call returns; names beyond its size are not there.
//! - `inodes-initialised`: a new block of inodes, then the group that counts it. Otherwise garbage is taken for inodes,
//!   or fsck does not look at the inode that a name points to.
//! - `indirect-initialised`: a new indirect block, before a pointer to it. Otherwise garbage is taken for pointers.
//! - `directory-initialised`: a new block of a directory, before a pointer to it. Otherwise garbage is taken for names.
//! - `attributes-initialised`: the area of extended attributes, before a pointer to it. Otherwise garbage is taken for
//!   attributes, and those that were there are lost.
//! - `moved-contents`: a block whose older state is on the disk, at its new place before a pointer leads there. Otherwise
//!   what was made durable before is lost with the rest.
//! - `data-initialised` (option): a new block of data, before a pointer to it. Otherwise a file shows old bytes.
//! - `moved-fragment`: the inode that points to the new place of a fragment, before the old place is free again.
//!
//! Bitmaps, summaries, times, sizes and data are delayed. A crash leaves leaks and counts that are too high.

use crate::AllocInit;
use buf::{Answer, BufRef, Cache, CrashLeaves, Durable, Fields, Must, Op, Promises, Role, Scheme, Step, Ticket};
use std::rc::Rc;

const RULES: &[(&str, &str)] = &[
    ("inode-before-name", "an inode is durable before a name points to it"),
    ("name-on-return", "a new name is durable when its call returns"),
    ("name-gone-before-link", "a name is durably gone before its link is dropped"),
    ("link-before-free", "cleared pointers are durable before what they pointed to is free"),
    ("directory-size", "the size of a directory that grew is durable when the call returns"),
    ("inodes-initialised", "a block of inodes, and the group that counts it, are durable before one of them is used"),
    ("indirect-initialised", "an indirect block is durable before a pointer to it"),
    ("directory-initialised", "a directory's block is durable before a pointer to it"),
    ("attributes-initialised", "an area of extended attributes is durable before a pointer to it"),
    ("moved-contents", "contents that were stored are durable at their new place before a pointer leads there"),
    ("data-initialised", "a block of data is durable before a pointer to it (allocinit=all)"),
    ("moved-fragment", "a moved fragment's new address is durable before the old one is free"),
];

/// The scheme `sync`.
pub struct Synchronous {
    alloc_init: AllocInit,
}

impl Synchronous {
    /// With this allocation initialisation.
    pub fn new(alloc_init: AllocInit) -> Synchronous {
        Synchronous { alloc_init }
    }

    fn initialises(&self, role: Role) -> bool {
        match role {
            Role::Indirect | Role::InodeBlock | Role::ExtAttr => true,
            Role::Directory => self.alloc_init != AllocInit::None,
            _ => self.alloc_init == AllocInit::All,
        }
    }
}

fn wait_for(buf: &BufRef) -> Must {
    Must::Durable(buf.clone())
}

fn then_free(must: Must, ticket: Ticket) -> Answer {
    Answer { must, ripe: Some(ticket) }
}

impl Scheme for Synchronous {
    fn name(&self) -> &'static str {
        "sync"
    }

    fn declares(&self) -> Promises {
        Promises {
            name_added: Durable::OnReturn,
            name_removed: Durable::OnReturn,
            data: Durable::AfterFsync,
            fsync_covers_name: true,
            rename_never_loses: true,
            crash_leaves: CrashLeaves::Leaks,
            no_stale_data: self.alloc_init == AllocInit::All,
            mount_at_once: false,
            rules: RULES.to_vec(),
        }
    }

    fn step(&self, _cache: &Rc<Cache>, _op: Op, step: Step<'_>) -> Answer {
        match step {
            Step::InodesReady { cg } => wait_for(cg).into(),
            Step::InodeAllocated { .. } | Step::DataWritten { .. } => Must::Nothing.into(),
            Step::InodeChanged { inode, fields, .. } => match fields {
                Fields::LinksUp | Fields::LinksDown | Fields::DirectorySize => wait_for(inode).into(),
                Fields::Size | Fields::Mode | Fields::Times => Must::Nothing.into(),
            },
            Step::BlockReady { block, role, .. } if self.initialises(role) || block.has_moved() => {
                wait_for(block).into()
            }
            Step::BlockReady { .. } => Must::Nothing.into(),
            Step::BlockAllocated { slot, freed: Some(ticket), .. } => then_free(wait_for(slot.buf()), ticket),
            // A pointer within an indirect block: the block was durable when it was made, and a pointer more in it
            // only leads to what is initialised as far as it must be. fsync and the syncer write it.
            Step::BlockAllocated { freed: None, .. } => Must::Nothing.into(),
            Step::LinkAdded { block, .. } => wait_for(block).into(),
            Step::LinkChanged { block, ticket, .. } | Step::LinkRemoved { block, ticket, .. } => {
                then_free(wait_for(block), ticket)
            }
            Step::BlocksReleased { at, ticket, .. } => then_free(wait_for(at), ticket),
            Step::InodeReleased { inode, ticket, .. } => then_free(wait_for(inode), ticket),
        }
    }
}
