//! Ends the records that wait for nothing any more: names that would be found after a crash, and removals that took
//! effect.

use super::super::deps::{Deps, DirAdd, PageKind, RemId};
use crate::records::Id;
use ordo_buf::Cache;

impl Deps {
    /// Drops the names that can be reached now; their inodes then count as named. Releases what entries that are now on
    /// the disk named before.
    pub(in crate::softupdates) fn settle(&mut self, cache: &Cache) {
        self.settle_removals(cache);
        loop {
            let waiting = std::mem::take(&mut self.unreached);
            let before = waiting.len();
            for id in waiting {
                self.release_of(cache, id);
                if !self.is_settled(id) {
                    self.unreached.push(id);
                    continue;
                }
                let Some(add) = self.remove_add(id) else { continue };
                if !add.dotdot
                    && let Some(dep) = self.inodes.get_mut(add.named())
                {
                    dep.unnamed = false;
                }
                self.drop_inode_if_idle(add.named());
                self.drop_page_if_idle(add.page);
            }
            if self.unreached.is_empty() || self.unreached.len() == before {
                break;
            }
        }
        let names = &self.names;
        self.beyond.dotdots.retain(|_, id| names.get(*id).is_some());
        self.beyond.moved_out.retain(|_, moved| {
            moved.retain(|id| names.get(*id).is_some());
            !moved.is_empty()
        });
        let mut grown = std::mem::take(&mut self.beyond.grown);
        grown.retain(|_, grown| !self.has_grown(grown));
        self.beyond.grows_beyond_direct = grown.values().any(|grown| grown.beyond_direct);
        self.beyond.grown = grown;
        let mut moved_from = std::mem::take(&mut self.beyond.moved_from);
        moved_from.retain(|_, removals| {
            removals.retain(|removal| !self.is_gone(*removal));
            !removals.is_empty()
        });
        self.beyond.moved_from = moved_from;
    }

    /// Releases what the entry named before, if the disk has the entry.
    fn release_of(&mut self, cache: &Cache, id: Id<DirAdd>) {
        let has_tickets = |add: &&DirAdd| add.rare.as_ref().is_some_and(|rare| !rare.tickets.is_empty());
        if !self.names.get(id).filter(has_tickets).is_some_and(|add| self.is_entered(add)) {
            return;
        }
        let rare = self.names.get_mut(id).and_then(|add| add.rare.as_mut());
        let tickets = rare.map(|rare| std::mem::take(&mut rare.tickets)).unwrap_or_default();
        self.release(cache, tickets);
    }

    /// Drops the removals in moved blocks that have taken effect on the disk.
    fn settle_removals(&mut self, cache: &Cache) {
        for RemId(page, seq) in std::mem::take(&mut self.unclaimed) {
            let Some(at) = self.removals_in(page).iter().position(|rem| rem.seq == seq) else { continue };
            if !self.is_removal_claimed(&self.removals_in(page)[at]) {
                self.unclaimed.push(RemId(page, seq));
                continue;
            }
            let PageKind::Directory(names) = &mut self.page_mut(page).kind else { continue };
            let tickets = names.rems.remove(at).tickets;
            self.removals -= 1;
            self.release(cache, tickets);
            self.drop_page_if_idle(page);
        }
    }
}
