//! Counts the sequences, and finds one by its number.

use super::bounds::Bounds;
use super::build::{Persist, build};
use super::filled::{Filled, fill};
use super::names::Places;
use crate::script::Script;
use std::collections::BTreeMap;

/// The sequences within bounds.
///
/// The number of sequences that begin with given operations depends only on the set of names that these use, since that
/// set decides what may follow and what may be made durable. There are few such sets, so their counts are stored, and a
/// number is decomposed like a number with digits of different weights.
#[derive(Debug)]
pub struct Space {
    bounds: Bounds,
    filled: Vec<(Filled, Places)>,
    /// By the number of operations left and the names used so far: how many continuations there are.
    counts: Vec<BTreeMap<Places, u64>>,
}

impl Space {
    /// The sequences within these bounds.
    pub fn new(bounds: &Bounds) -> Space {
        let filled = fill(&bounds.ops, bounds.nested).into_iter().map(|filled| (filled, filled.places())).collect();
        let mut space = Space { bounds: bounds.clone(), filled, counts: vec![BTreeMap::default(); bounds.length + 1] };
        space.counted(bounds.length, Places::default());
        space
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.going_on(self.bounds.length, Places::default())
    }

    /// The one with this number, from 0.
    pub fn nth(&self, index: u64) -> Option<Script> {
        let (filled, persists) = self.take_apart(index)?;
        let kind = if self.bounds.nested { "n" } else { "" };
        Some(build(format!("seq{}{kind}-{index}", self.bounds.length), &filled, &persists))
    }

    fn going_on(&self, left: usize, used: Places) -> u64 {
        self.counts[left].get(&used).copied().unwrap_or(0)
    }

    fn counted(&mut self, left: usize, used: Places) -> u64 {
        if let Some(count) = self.counts[left].get(&used) {
            return *count;
        }
        let count = if left == 0 {
            let choices = self.durable(used).len() + 2;
            choices.pow(self.bounds.length as u32 - 1) * (choices - 1)
        } else {
            let next: Vec<Places> = self.filled.iter().map(|(_, places)| *places).collect();
            let next = next.into_iter().filter(|places| self.may_follow(used, *places));
            next.collect::<Vec<_>>().into_iter().map(|places| self.counted(left - 1, used.and(places))).sum()
        };
        self.counts[left].insert(used, count);
        count
    }

    /// In longer sequences each operation must be related to the others.
    fn may_follow(&self, used: Places, places: Places) -> bool {
        self.bounds.length < 3 || used == Places::default() || places.concerns(used)
    }

    /// What may be made durable in a sequence that uses these names.
    fn durable(&self, used: Places) -> Places {
        if self.bounds.length < 3 { used.related() } else { used }
    }

    fn take_apart(&self, mut index: u64) -> Option<(Vec<Filled>, Vec<Persist>)> {
        let (mut used, mut chosen) = (Places::default(), Vec::new());
        for left in (0..self.bounds.length).rev() {
            let (filled, places) =
                self.filled.iter().filter(|(_, places)| self.may_follow(used, *places)).find(|(_, places)| {
                    let count = self.going_on(left, used.and(*places));
                    let here = index < count;
                    index -= if here { 0 } else { count };
                    here
                })?;
            used = used.and(*places);
            chosen.push(*filled);
        }
        let durable: Vec<Persist> = self.durable(used).iter().map(Persist::Fsync).collect();
        let choices = [durable, vec![Persist::Sync, Persist::Nothing]].concat();
        // The last operation has one choice less: it must be made durable.
        let mut weights = vec![choices.len() as u64; self.bounds.length];
        weights.last_mut().into_iter().for_each(|last| *last -= 1);
        let mut persists = vec![Persist::Nothing; self.bounds.length];
        for (persist, weight) in persists.iter_mut().zip(weights).rev() {
            *persist = choices[(index % weight) as usize];
            index /= weight;
        }
        Some((chosen, persists))
    }

    #[cfg(test)]
    pub(super) fn filled(&self) -> usize {
        self.filled.len()
    }
}
