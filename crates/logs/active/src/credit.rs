//! How many replicas may be made (logs-active-12).

use std::cell::Cell;

/// What one read that a replica serves earns: about one far way of the head.
const SERVED: u64 = 1024;
/// What a replica costs: the head goes to what it is made of, and to its place, and back each time.
const COSTS: u64 = 4 * SERVED;
/// So many are made before the first serves a read.
const ON_TRUST: u64 = 64;

/// What replicas have earned and not spent.
#[derive(Debug)]
pub(crate) struct Credit(Cell<u64>);

impl Default for Credit {
    fn default() -> Credit {
        Credit(Cell::new(ON_TRUST * COSTS))
    }
}

impl Credit {
    /// Something is read, wherever.
    pub(crate) fn reads(&self) {
        self.earn(1);
    }

    /// A replica serves a read.
    pub(crate) fn serves(&self) {
        self.earn(SERVED);
    }

    /// Bounded: what was earned long ago says little of what is read now.
    fn earn(&self, some: u64) {
        self.0.set((self.0.get() + some).min(2 * ON_TRUST * COSTS));
    }

    /// A replica may be made.
    pub(crate) fn has_one(&self) -> bool {
        self.0.get() >= COSTS
    }

    /// One is made.
    pub(crate) fn spend(&self) {
        self.0.set(self.0.get().saturating_sub(COSTS));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(credit: &Credit) -> usize {
        std::iter::from_fn(|| credit.has_one().then(|| credit.spend())).count()
    }

    #[test]
    fn a_few_are_made_on_trust_and_then_as_many_as_are_earned() {
        let credit = Credit::default();
        assert_eq!(made(&credit), 64);
        (0..8).for_each(|_| credit.serves());
        assert_eq!(made(&credit), 2, "for four reads that were served, one");
        (0..4095).for_each(|_| credit.reads());
        assert_eq!(made(&credit), 0);
        credit.reads();
        assert_eq!(made(&credit), 1);
        (0..1_000_000).for_each(|_| credit.serves());
        assert_eq!(made(&credit), 128, "what is earned is bounded");
    }
}
