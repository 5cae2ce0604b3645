//! Removed names, by directory and name. Some are stale (same_name-2).

use super::super::deps::RemId;
use ordo_ondisk::Ino;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::Hasher;

/// Number of entries up to which stale ones are kept.
const FEW: usize = 1024;

/// Where a name was, and its removal.
pub(super) struct Gone {
    pub(super) removal: RemId,
    /// The sector around it in the block: first byte, and length in bytes.
    pub(super) sector: (u32, u32),
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

impl GoneNames {
    #[inline]
    pub(super) fn get(&self, dir: Ino, name: &[u8]) -> Option<&Gone> {
        self.gone.get(&key(dir, name))
    }

    /// `true`: there are so many that stale ones should be dropped.
    #[inline]
    pub(super) fn insert(&mut self, dir: Ino, name: &[u8], gone: Gone) -> bool {
        self.gone.insert(key(dir, name), gone);
        self.gone.len() > self.limit.max(FEW)
    }

    pub(super) fn retain(&mut self, keeps: impl Fn(&Gone) -> bool) {
        self.gone.retain(|_, gone| keeps(gone));
        self.limit = self.gone.len() * 2;
    }
}
