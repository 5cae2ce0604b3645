//! A script's calls.

use crate::random::Op;
use ordo_rt::Rng;
use std::collections::BTreeSet;

/// A named list of calls, and the set-up that they need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// Its name.
    pub name: String,
    /// What it tests, in one line.
    pub says: String,
    /// Calls that are made durable before the power may be cut.
    pub setup: Vec<Op>,
    /// Calls during which the power may be cut.
    pub calls: Vec<Op>,
    /// Indices of the calls that may be refused, counted from 0 through the set-up and on through the calls.
    pub refused: BTreeSet<usize>,
}

impl Script {
    /// All calls in order, those of the set-up first, and whether each may be refused.
    pub fn steps(&self) -> impl Iterator<Item = (&Op, bool)> {
        let all = self.setup.iter().chain(&self.calls).enumerate();
        all.map(|(index, op)| (op, self.refused.contains(&index)))
    }
}

/// `n` different numbers below `count`, or all, chosen by `seed`; ascending, since neighbours begin alike.
pub(super) fn numbers(count: u64, seed: u64, n: u64) -> BTreeSet<u64> {
    let (mut rng, mut chosen) = (Rng::new(seed), BTreeSet::new());
    while (chosen.len() as u64) < n.min(count) {
        chosen.insert(rng.below(count));
    }
    chosen
}
