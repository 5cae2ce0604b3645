//! Removed names that the disk may still have, by directory and name. A name that is added again is looked up here.
//!
//! G1. A name is added again only after its removal is durable, or in the same sector. Otherwise a crash leaves a
//!     directory with two entries of one name, in different blocks or in different sectors of one: a file behind the
//!     second one cannot be reached.
//! G2. An entry may be stale. Each lookup checks whether the removal is durable; durable ones are dropped in passing.

use super::super::deps::{Deps, RemId};
use super::super::names::EntryPlace;
use super::super::rule::Rule;
use super::gone::Gone;

impl Deps {
    /// Records a removed name. `sector`: the bytes around it.
    #[inline]
    pub(in crate::softupdates) fn name_goes(&mut self, at: EntryPlace<'_>, removal: RemId, sector: (u32, u32)) {
        if !self.has(Rule::SameName) {
            return;
        }
        if self.beyond.gone.insert(at.dir, at.name, Gone { removal, sector }) {
            let mut gone = std::mem::take(&mut self.beyond.gone);
            gone.retain(|gone| !self.is_gone(gone.removal));
            self.beyond.gone = gone;
        }
    }

    /// The removal that a new name must wait for (G1).
    #[inline]
    pub(in crate::softupdates) fn same_name_before(&self, at: EntryPlace<'_>) -> Option<RemId> {
        if self.removals == 0 {
            return None;
        }
        let Gone { removal, sector: (from, len) } = self.beyond.gone.get(at.dir, at.name)?;
        let together = self.find_page(at.block) == Some(removal.0) && (*from..*from + *len).contains(&at.offset);
        (!together && !self.is_gone(*removal)).then_some(*removal)
    }
}
