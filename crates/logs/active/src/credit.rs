//! How many replicas may be made (logs-active-12).

use std::cell::Cell;

/// So many reads must be served for each replica that is made: the head goes to what it is made of, and to its place,
/// and back each time, and some readers come meanwhile.
const SERVED: u64 = 4;
/// So many are made before the first serves a read.
const ON_TRUST: u64 = 32;

/// What replicas have earned and not spent.
#[derive(Debug)]
pub(crate) struct Credit(Cell<u64>);

impl Default for Credit {
    fn default() -> Credit {
        Credit(Cell::new(ON_TRUST * SERVED))
    }
}

impl Credit {
    /// A replica serves a read. Bounded: what was earned long ago says little of what is read now.
    pub(crate) fn serves(&self) {
        self.0.set((self.0.get() + 1).min(4 * ON_TRUST * SERVED));
    }

    /// A replica may be made.
    pub(crate) fn has_one(&self) -> bool {
        self.0.get() >= SERVED
    }

    /// One is made.
    pub(crate) fn spend(&self) {
        self.0.set(self.0.get().saturating_sub(SERVED));
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
        assert_eq!(made(&credit), 32);
        (0..11).for_each(|_| credit.serves());
        assert_eq!(made(&credit), 2, "for four reads that were served, one");
        credit.serves();
        assert_eq!(made(&credit), 1);
        (0..1_000_000).for_each(|_| credit.serves());
        assert_eq!(made(&credit), 128, "what is earned is bounded");
    }
}
