//! Who is at a modelled drive, and who is next: a drive with tags holds several commands and picks among them itself.
//!
//! T1. One request is at the mechanism at a time.
//! T2. The drive picks the one that its arm and platter reach first; it knows both. Of equals the older one goes.
//! T3. A flush covers what was answered before it began, and a drive that picked around it could put it off for ever:
//!     nothing that came after it goes before it.
//! T4. One that was passed over [`PATIENCE`] times goes next. Makers do not say what their drives do; without some such rule
//!     a request at the edge could wait for as long as others come in the middle.

use std::cell::RefCell;
use std::collections::VecDeque;

use drive::{Lbn, Op};
use rt::sync::{Receiver, Sender, oneshot};

/// How often a request is passed over.
const PATIENCE: u32 = 64;

/// Who is at the drive, and who waits. A `T` is the right to be there.
pub(crate) struct Tags<T>(RefCell<State<T>>);

struct State<T> {
    busy: bool,
    /// Oldest first.
    waiting: VecDeque<Waiting<T>>,
}

struct Waiting<T> {
    /// Where it begins; `None` for a flush.
    place: Option<(Lbn, Op)>,
    passed: u32,
    go: Sender<T>,
}

impl<T> Tags<T> {
    pub(crate) fn new() -> Tags<T> {
        Tags(RefCell::new(State { busy: false, waiting: VecDeque::new() }))
    }

    /// A request comes, or a flush: it is taken at once, or waits for its turn.
    pub(crate) fn come(&self, place: Option<(Lbn, Op)>) -> Option<Receiver<T>> {
        let mut state = self.0.borrow_mut();
        if !std::mem::replace(&mut state.busy, true) {
            return None;
        }
        let (go, turn) = oneshot();
        state.waiting.push_back(Waiting { place, passed: 0, go });
        Some(turn)
    }

    /// The drive is done with one: whose turn it is now. `reach` tells how far a place is, in any unit.
    pub(crate) fn next(&self, reach: impl Fn(Lbn, Op) -> u64) -> Option<Sender<T>> {
        let mut state = self.0.borrow_mut();
        state.waiting.retain(|waiting| !waiting.go.is_closed());
        let picked = pick(&state.waiting, &reach).and_then(|at| {
            state.waiting.iter_mut().take(at).for_each(|waiting| waiting.passed += 1);
            state.waiting.remove(at)
        });
        state.busy = picked.is_some();
        picked.map(|waiting| waiting.go)
    }
}

fn pick<T>(waiting: &VecDeque<Waiting<T>>, reach: &impl Fn(Lbn, Op) -> u64) -> Option<usize> {
    let oldest = waiting.front()?;
    if oldest.place.is_none() || oldest.passed >= PATIENCE {
        return Some(0);
    }
    let before_flush = waiting.iter().map_while(|waiting| waiting.place).enumerate();
    before_flush.min_by_key(|(at, (lbn, op))| (reach(*lbn, *op), *at)).map(|(at, _)| at)
}
