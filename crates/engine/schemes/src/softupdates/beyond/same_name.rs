//! Removed names that the disk may still have, by directory and name. A name that is added again is looked up here.
//!
//! G1. A name is added again only after its removal is durable, or in the same sector. Otherwise a crash leaves a
//!     directory with two entries of one name, in different blocks or in different sectors of one: a file behind the
//!     second one cannot be reached.
//! G2. An entry may be stale. Each lookup checks whether the removal is durable; durable ones are dropped in passing.

use super::super::deps::{Deps, RemId};
use super::super::names::EntryPlace;
use super::super::rule::Rule;
use ordo_ondisk::Ino;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Number of entries up to which stale ones are kept.
const FEW: usize = 1024;

/// Where a name was, and its removal.
struct Gone {
    removal: RemId,
    /// The sector around it in the block: first byte, and length in bytes.
    sector: (u32, u32),
}

/// The names, by directory and name.
#[derive(Default)]
pub(in crate::softupdates) struct GoneNames {
    gone: FxHashMap<u64, Gone>,
    /// Number of entries at which stale ones are dropped.
    limit: usize,
}

fn key(dir: Ino, name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.write_u32(dir.0);
    hasher.finish()
}

impl Deps {
    /// Records a removed name. `sector`: the bytes around it.
    #[inline]
    pub(in crate::softupdates) fn name_goes(&mut self, at: EntryPlace<'_>, removal: RemId, sector: (u32, u32)) {
        if !self.has(Rule::SameName) {
            return;
        }
        self.beyond.gone.gone.insert(key(at.dir, at.name), Gone { removal, sector });
        if self.beyond.gone.gone.len() > self.beyond.gone.limit.max(FEW) {
            let mut gone = std::mem::take(&mut self.beyond.gone.gone);
            gone.retain(|_, gone| !self.is_gone(gone.removal));
            self.beyond.gone = GoneNames { limit: gone.len() * 2, gone };
        }
    }

    /// The removal that a new name must wait for (G1).
    #[inline]
    pub(in crate::softupdates) fn same_name_before(&self, at: EntryPlace<'_>) -> Option<RemId> {
        if self.removals == 0 {
            return None;
        }
        let Gone { removal, sector: (from, len) } = self.beyond.gone.gone.get(&key(at.dir, at.name))?;
        let together = self.find_page(at.block) == Some(removal.0) && (*from..*from + *len).contains(&at.offset);
        (!together && !self.is_gone(*removal)).then_some(*removal)
    }
}
