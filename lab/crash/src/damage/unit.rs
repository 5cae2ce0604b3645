//! Images that are tried together, and what became of them.

use super::judge::Fate;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Images of a unit of random damage.
pub(super) const IMAGES: u64 = 256;

/// Images that are tried together (damage-1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    pub(super) variant: usize,
    /// Index of the damaged structure; none if the damage is random.
    pub(super) target: Option<usize>,
    /// The damage has right sums.
    pub(super) believed: bool,
    pub(super) range: Range<u64>,
    /// What it is, in words.
    pub name: String,
}

/// What must not happen to any image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The image.
    pub image: String,
    /// What happened.
    pub what: String,
}

/// What became of some images.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Their number.
    pub images: u64,
    /// Those that could be mounted and read as a whole.
    pub read: u64,
    /// Those that could be mounted for writing by force.
    pub changed: u64,
    /// Those in which fsck found something.
    pub found: u64,
    /// Those that fsck repaired; it refused the others.
    pub repaired: u64,
    /// What must not happen.
    pub failures: Vec<Failure>,
}

impl Tally {
    pub(super) fn count(&mut self, fate: Fate) {
        self.read += u64::from(fate.read);
        self.changed += u64::from(fate.changed);
        self.found += u64::from(fate.found);
        self.repaired += u64::from(fate.repaired);
    }

    /// Adds that of other images.
    pub fn and(mut self, other: Tally) -> Tally {
        self.images += other.images;
        self.read += other.read;
        self.changed += other.changed;
        self.found += other.found;
        self.repaired += other.repaired;
        self.failures.extend(other.failures);
        self
    }
}

/// The parts of so many images, with so many in each.
pub(super) fn ranges(all: u64, step: u64) -> impl Iterator<Item = Range<u64>> {
    (0..all.div_ceil(step)).map(move |n| n * step..((n + 1) * step).min(all))
}
