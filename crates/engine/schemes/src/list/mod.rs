//! The table of the schemes: what `ordo schemes` lists.

mod known;
mod ordered;
#[cfg(test)]
mod tests;

pub use known::{Known, NoRule};

use crate::{AllocInit, Conventional, NoOrder, SoftUpdates, Suj, Synchronous, journals};
use ordo_ondisk::superblock::Keeper;
use std::rc::Rc;

/// The scheme of a volume if none was chosen and its flags name none.
pub const DEFAULT: &str = "softupdates";
/// The scheme of a volume with FreeBSD's flag of a journal.
pub const JOURNALED: &str = "suj";
/// For a tool that changes a volume by itself: it needs no log, and a crash leaves what fsck expects.
pub const AT_ONCE: &str = "sync";
/// For a new volume, of which a crash may leave anything.
pub const IN_NO_ORDER: &str = "async";

/// All schemes.
pub const ALL: &[Known] = &[
    Known {
        name: AT_ONCE,
        about: "metadata is written in order, and each call waits for it: the conventional FFS",
        for_study: false,
        make: |settings| Rc::new(Synchronous::without(settings.alloc_init.unwrap_or_default(), settings.dropped())),
    },
    Known {
        name: DEFAULT,
        about: "writes are delayed and leave in order, rolled back where they must: a crash leaves leaks only",
        for_study: false,
        make: |settings| {
            Rc::new(SoftUpdates::without(settings.alloc_init.unwrap_or(AllocInit::All), settings.dropped()))
        },
    },
    Known {
        name: JOURNALED,
        about: "soft updates with FreeBSD's journal: a mount after a crash replays it, and nothing is left",
        for_study: false,
        make: |settings| {
            let init = settings.alloc_init.unwrap_or(AllocInit::All);
            let records_first = !settings.without.iter().any(|rule| Suj::is_records_first(rule));
            Rc::new(Suj::over(SoftUpdates::without(init, settings.dropped()), records_first))
        },
    },
    Known {
        name: "journal-file",
        about: "what changes is logged in a file of the volume first; a mount after a crash replays it (LFFS-file)",
        for_study: false,
        make: journals::in_file,
    },
    Known {
        name: "wafs",
        about: "the same, in a log of its own here or on another disk, by choice durable on return (LFFS-wafs)",
        for_study: false,
        make: journals::in_wafs,
    },
    Known {
        name: Keeper::OF_BLOCKS,
        about: "whole blocks are logged first, by choice file contents with them, as in ext3; replayed at a mount",
        for_study: false,
        make: journals::of_blocks,
    },
    Known {
        name: Keeper::ACTIVE,
        about: "as block-journal, but what it logs is kept: commits near the head, reads verified and healed from copies",
        for_study: false,
        make: journals::active,
    },
    Known {
        name: IN_NO_ORDER,
        about: "everything is written later, in no order: the fastest, and a crash may leave anything",
        for_study: false,
        make: |_| Rc::new(NoOrder),
    },
    Known {
        name: "conventional",
        about: "as sync, but a call does not wait for its new name: the FFS of UNIX SVR4",
        for_study: true,
        make: |settings| Rc::new(Conventional::without(settings.alloc_init.unwrap_or_default(), settings.dropped())),
    },
    ordered::FULL[0],
    ordered::FULL[1],
    ordered::FULL[2],
    ordered::FULL[3],
    ordered::BACK[0],
    ordered::BACK[1],
    ordered::BACK[2],
    ordered::BACK[3],
    ordered::PART[0],
    ordered::PART[1],
    ordered::PART[2],
    ordered::PART[3],
    ordered::IGNORE[0],
    ordered::IGNORE[1],
    ordered::IGNORE[2],
    ordered::IGNORE[3],
    ordered::SPECIFIC[0],
    ordered::SPECIFIC[1],
    ordered::BARRIER[0],
    ordered::BARRIER[1],
];

/// Those for use.
pub fn to_use() -> impl Iterator<Item = &'static Known> {
    ALL.iter().filter(|known| !known.for_study)
}

/// The scheme with this name.
pub fn by_name(name: &str) -> Option<&'static Known> {
    ALL.iter().find(|known| known.name == name)
}
