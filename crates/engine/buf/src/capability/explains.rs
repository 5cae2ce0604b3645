//! Explaining what is held back, and counting.

use crate::{BufRef, Held};

/// Explains itself to `ordo trace`, and counts what it does. `softupdates` and `suj`; the three journals only count.
pub trait Explains {
    /// What is held back in `buf` now, and why, in a deterministic order. Changes nothing.
    fn explain(&self, buf: &BufRef) -> Vec<Held>;

    /// Its counters since the mount, by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
