//! Explaining what is held back, and counting.

use crate::{BufRef, Cache, Held};
use std::rc::Rc;

/// Explains itself to `ordo trace`, and counts what it does. `softupdates` and `suj`; the three journals only count.
pub trait Explains {
    /// What is held back in `buf` now, and why, in a deterministic order. Changes nothing.
    fn explain(&self, cache: &Rc<Cache>, buf: &BufRef) -> Vec<Held>;

    /// Its counters since the mount, by name.
    fn counters(&self) -> Vec<(&'static str, u64)>;
}
