//! Which run prefers which dock.

use crate::run::Wish;
use crate::tally::Tally;
use crate::terms::Terms;
use rustc_hash::FxHashSet;
use std::collections::VecDeque;

/// Pairs of a run and a dock, as often as they were seen, and the wishes that came of them.
#[derive(Debug)]
pub(crate) struct Preferences {
    near: u64,
    times: u32,
    most: usize,
    pub(crate) tally: Tally,
    wishes: VecDeque<Wish>,
    waiting: FxHashSet<(u64, u64)>,
}

impl Preferences {
    /// Nothing is preferred yet.
    pub(crate) fn new(terms: &Terms) -> Preferences {
        let &Terms { near, times, wishes: most, pairs, .. } = terms;
        let (wishes, waiting) = (VecDeque::new(), FxHashSet::default());
        Preferences { near: near.max(1), times, most, tally: Tally::new(pairs), wishes, waiting }
    }

    /// The oldest wish.
    pub(crate) fn take(&mut self) -> Option<Wish> {
        let wish = self.wishes.pop_front()?;
        self.waiting.remove(&key(&wish, self.near));
        Some(wish)
    }

    /// A run was read after the head was at the dock. `granted`: it was served near there.
    pub(crate) fn seen(&mut self, wish: Wish, granted: bool) {
        let key = key(&wish, self.near);
        let is_believed = self.tally.count(key) >= self.times;
        if is_believed && !granted && self.wishes.len() < self.most && self.waiting.insert(key) {
            self.wishes.push_back(wish);
        }
    }
}

/// A run by its beginning, and its dock by its number in units of `near`.
fn key(wish: &Wish, near: u64) -> (u64, u64) {
    (wish.at, wish.dock / near)
}
