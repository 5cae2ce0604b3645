//! The requests at a modelled drive: a drive with tags holds several commands and picks the next among them itself.
//!
//! T1. One request is at the mechanism at a time.
//! T2. The drive picks the one that its arm and platter reach first; it knows both, and what it still has to do for
//!     each command before the arm can move ([`ordo_drive::Drive::positioning_queued`]). Of equals it picks the older
//!     one.
//! T3. A flush covers what was answered before it began, and a drive that picked others first could delay it forever:
//!     nothing that came after a flush goes before it.
//! T4. A request that was passed over [`PATIENCE`] times is next. Makers do not say what their drives do; without such
//!     a rule a request at the edge could wait as long as others come in the middle.

use std::cell::RefCell;
use std::collections::VecDeque;

use ordo_drive::{Lbn, Op};
use ordo_rt::Time;
use ordo_rt::sync::{Receiver, Sender, oneshot};

/// How often a request may be passed over.
const PATIENCE: u32 = 64;

/// The first block of a request, its direction, and since when the drive has it.
pub(crate) type Place = (Lbn, Op, Time);

/// The request at the drive, and those that wait. A `T` is the right to use the drive.
pub(crate) struct Tags<T>(RefCell<State<T>>);

struct State<T> {
    busy: bool,
    /// Oldest first.
    waiting: VecDeque<Waiting<T>>,
}

struct Waiting<T> {
    /// Where it begins; `None` for a flush.
    place: Option<Place>,
    passed: u32,
    go: Sender<T>,
}

impl<T> Tags<T> {
    pub(crate) fn new() -> Tags<T> {
        Tags(RefCell::new(State { busy: false, waiting: VecDeque::new() }))
    }

    /// A request or a flush comes: it is accepted at once, or waits for its turn.
    pub(crate) fn come(&self, place: Option<Place>) -> Option<Receiver<T>> {
        let mut state = self.0.borrow_mut();
        if !std::mem::replace(&mut state.busy, true) {
            return None;
        }
        let (go, turn) = oneshot();
        state.waiting.push_back(Waiting { place, passed: 0, go });
        Some(turn)
    }

    /// The drive has finished a request: returns the next one. `reach` is the distance of a place, in any unit.
    pub(crate) fn next(&self, reach: impl Fn(Place) -> u64) -> Option<Sender<T>> {
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

fn pick<T>(waiting: &VecDeque<Waiting<T>>, reach: &impl Fn(Place) -> u64) -> Option<usize> {
    let oldest = waiting.front()?;
    if oldest.place.is_none() || oldest.passed >= PATIENCE {
        return Some(0);
    }
    let before_flush = waiting.iter().map_while(|waiting| waiting.place).enumerate();
    before_flush.min_by_key(|(at, place)| (reach(*place), *at)).map(|(at, _)| at)
}
