//! Steers random scripts by what they reach: in each row, scripts that led the scheme to a feature that none before
//! them reached are kept, and every other script is a variation of one of them.
//!
//! G1. A row's scripts depend on the plan's seed and on the row's own scripts only. So a sweep gives the same results
//!     with any number of threads, and an id, which holds the calls of a varied script, needs no corpus.
//! G2. Only the run of the script is observed, never a recovery: there are thousands of those, and they reach the same
//!     features.

use crate::plan::Case;
use ordo_probe::{Feature, Reached, Scout};
use ordo_rt::Rng;
use ordo_workload::script::random::vary;
use rustc_hash::FxHashSet;
use std::cell::RefCell;
use std::rc::Rc;

thread_local! {
    /// The features that the run on this thread reaches.
    static REACHED: Rc<RefCell<Reached>> = Rc::default();
}

/// The scheme, behind a scout that observes it.
pub(crate) fn watched(scheme: Rc<dyn ordo_buf::Scheme>) -> Rc<dyn ordo_buf::Scheme> {
    REACHED.with(|reached| {
        reached.borrow_mut().begin();
        Rc::new(Scout::new(scheme, reached.clone()))
    })
}

/// Scripts of a row that reached something new.
pub(crate) struct Steering {
    rng: Rng,
    corpus: Vec<Case>,
    reached: FxHashSet<Feature>,
}

impl Steering {
    /// For the row with this number.
    pub(crate) fn new(seed: u64, row: u64) -> Steering {
        Steering {
            rng: Rng::new(seed ^ row << 32 ^ 0x0073_7465_6572),
            corpus: Vec::new(),
            reached: FxHashSet::default(),
        }
    }

    /// The next case: `fresh`, or a variation of one that was kept, on its own volume.
    pub(crate) fn next(&mut self, fresh: Case) -> Case {
        let n = self.corpus.len() as u64;
        if n == 0 || self.rng.chance(1, 2) {
            return fresh;
        }
        // Newer ones are preferred: what they reached was harder to reach.
        let pick = |rng: &mut Rng| rng.below(n).max(rng.below(n)) as usize;
        let (one, other) = (pick(&mut self.rng), pick(&mut self.rng));
        let parent = &self.corpus[one];
        let Some(shape) = &parent.shape else { return fresh };
        let seed = self.rng.below(1 << 32);
        let script = vary(&parent.script, &self.corpus[other].script, shape.ground(), seed);
        if script.calls.is_empty() { fresh } else { Case { script, shape: Some(shape.clone()) } }
    }

    /// Keeps `case`, which has just run, if it reached something new. Returns how many new features.
    pub(crate) fn learn(&mut self, case: Case) -> usize {
        let before = self.reached.len();
        REACHED.with(|reached| self.reached.extend(reached.borrow().now()));
        let new = self.reached.len() - before;
        if new > 0 {
            self.corpus.push(case);
        }
        new
    }
}
