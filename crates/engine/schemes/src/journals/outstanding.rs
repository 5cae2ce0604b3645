//! What waits to be freed, and the inodes without a name: the part of a volume's state that no block holds (journals-3,
//! journals-4).

use ordo_buf::{Freed, TicketEvent};
use ordo_ondisk::redo::Waiting;
use ordo_ondisk::{FragNo, Ino};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(super) struct Outstanding {
    /// By the first fragment, which is unique.
    blocks: BTreeMap<FragNo, Vec<(FragNo, u32)>>,
    inodes: BTreeMap<Ino, bool>,
    nameless: BTreeSet<Ino>,
    changed: bool,
}

impl Outstanding {
    /// A ticket was issued or returned.
    pub(super) fn note(&mut self, event: TicketEvent<'_>) {
        match event {
            TicketEvent::Issued(Freed::Blocks { runs, .. }) => {
                let Some((first, _)) = runs.first() else { return };
                self.blocks.insert(*first, runs.clone());
            }
            TicketEvent::Settled(Freed::Blocks { runs, .. }) => {
                let Some((first, _)) = runs.first() else { return };
                self.blocks.remove(first);
            }
            TicketEvent::Issued(Freed::Inode { ino, directory }) => {
                self.inodes.insert(*ino, *directory);
            }
            TicketEvent::Settled(Freed::Inode { ino, .. }) => {
                self.inodes.remove(ino);
            }
            TicketEvent::Issued(Freed::DropLink { .. }) | TicketEvent::Settled(Freed::DropLink { .. }) => return,
        }
        self.changed = true;
    }

    /// An inode now has this many links.
    pub(super) fn links(&mut self, ino: Ino, links: u16) {
        self.changed |= if links == 0 { self.nameless.insert(ino) } else { self.nameless.remove(&ino) };
    }

    /// Something has changed since [`Outstanding::take`].
    pub(super) fn has_changed(&self) -> bool {
        self.changed
    }

    /// All of it, for a transaction.
    pub(super) fn take(&mut self) -> (Vec<Waiting>, Vec<Ino>) {
        self.changed = false;
        let blocks = self.blocks.values().cloned().map(Waiting::Blocks);
        let inodes = self.inodes.iter().map(|(ino, directory)| Waiting::Inode(*ino, *directory));
        (blocks.chain(inodes).collect(), self.nameless.iter().copied().collect())
    }
}
