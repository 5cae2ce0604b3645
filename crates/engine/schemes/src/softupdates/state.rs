//! The state machine of soft updates, for every change that must not be on the disk before something else is.
//!
//! A pointer to a new block, a name of an inode, a newly allocated inode, and the removal of a name all take the same
//! way. They are *held* back from every image of their buf until what they depend on is durable, then *carried* by one
//! image and all later ones, then *durable*. The 1994 paper's two flags (is the predecessor outstanding, is the memory
//! copy current: appendix, "state") and FreeBSD's four (ATTACHED, UNDONE, COMPLETE, DEPCOMPLETE) express the same for
//! buffers that are undone in place. Here an image is undone and never the buf, so nothing is ever redone.
//!
//! M1. What one image carries, every later image of the buf carries: a change is never held back again. Otherwise the
//!     later image would take back on the disk what others already rely on.
//! M2. A change that was never carried was never on the disk. If it is taken back, everything that waited for it can be
//!     freed at once, and no write is needed: a file that is made and removed within seconds costs nothing.

use ordo_buf::ImageNo;

/// The state of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// In memory only; no image has had it.
    Held,
    /// In this image, and all later ones. The disk may have it.
    Carried(ImageNo),
    /// The disk has it.
    Durable,
}

/// An event in the life of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// An image of its buf is written. `safe`: all that it depends on is durable.
    Leaves {
        /// Which image.
        image: ImageNo,
        /// All that it depends on is durable.
        safe: bool,
    },
    /// An image of its buf is durable.
    Landed(ImageNo),
    /// It is taken back in memory: the pointer is cleared, the name removed, the inode freed.
    TakenBack,
}

/// What to do about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Nothing.
    Nothing,
    /// Undo it in the image that is written.
    RollBack,
    /// Changes and tickets that waited for it may go on.
    Release,
    /// It ends, and was never on the disk: nothing waits (M2).
    Cancel,
    /// It ends, and may be on the disk: what it kept allocated waits for an image without it.
    Defer,
}

impl State {
    /// The next state after an event, and what to do.
    #[inline]
    pub(super) fn next(self, event: Event) -> (State, Action) {
        match (self, event) {
            (State::Held, Event::Leaves { safe: false, .. }) => (State::Held, Action::RollBack),
            (State::Held, Event::Leaves { image, safe: true }) => (State::Carried(image), Action::Nothing),
            (State::Held, Event::Landed(_)) => (State::Held, Action::Nothing),
            (State::Held, Event::TakenBack) => (State::Held, Action::Cancel),
            (State::Carried(first), Event::Leaves { .. }) => (State::Carried(first), Action::Nothing),
            (State::Carried(first), Event::Landed(image)) if image >= first => (State::Durable, Action::Release),
            (State::Carried(first), Event::Landed(_)) => (State::Carried(first), Action::Nothing),
            (State::Durable, Event::Leaves { .. } | Event::Landed(_)) => (State::Durable, Action::Nothing),
            (State::Carried(_) | State::Durable, Event::TakenBack) => (self, Action::Defer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [Event; 7] = [
        Event::Leaves { image: ImageNo(4), safe: false },
        Event::Leaves { image: ImageNo(4), safe: true },
        Event::Landed(ImageNo(2)),
        Event::Landed(ImageNo(3)),
        Event::Landed(ImageNo(4)),
        Event::TakenBack,
        Event::TakenBack,
    ];

    #[test]
    fn each_state_answers_each_event() {
        use {Action::*, State::*};
        let third = Carried(ImageNo(3));
        let table = [
            (
                Held,
                [(Held, RollBack), (Carried(ImageNo(4)), Nothing), (Held, Nothing), (Held, Nothing), (Held, Nothing)],
                Cancel,
            ),
            (
                third,
                [(third, Nothing), (third, Nothing), (third, Nothing), (Durable, Release), (Durable, Release)],
                Defer,
            ),
            (Durable, [(Durable, Nothing); 5], Defer),
        ];
        for (state, answers, end) in table {
            for (event, answer) in EVENTS.into_iter().zip(answers) {
                assert_eq!(state.next(event), answer, "{state:?} {event:?}");
            }
            assert_eq!(state.next(Event::TakenBack).1, end, "{state:?}");
        }
    }

    /// Every walk of up to six events. The disk is modelled: it has what the last landed image had, or an older image.
    #[test]
    fn on_every_walk_what_was_carried_stays_carried_and_a_cancelled_change_was_never_on_the_disk() {
        let mut stack = vec![(State::Held, 0u32, 0u32, false, 0)];
        let mut walks = 0;
        while let Some((state, sent, landed, on_disk, depth)) = stack.pop() {
            walks += 1;
            assert_eq!(state.next(Event::TakenBack).1 == Action::Cancel, !on_disk);
            if depth == 6 {
                continue;
            }
            for safe in [false, true] {
                let (next, action) = state.next(Event::Leaves { image: ImageNo(sent + 1), safe });
                let carries = action != Action::RollBack;
                assert!(carries || !on_disk, "M1");
                assert!(carries || !safe, "only what is not safe is held back");
                assert!(!carries || safe || on_disk, "nothing unsafe is carried for the first time");
                stack.push((next, sent + 1, landed, on_disk || carries, depth + 1));
            }
            for image in landed + 1..=sent {
                let (next, action) = state.next(Event::Landed(ImageNo(image)));
                let had_it = matches!(state, State::Carried(first) if first.0 <= image);
                assert_eq!(action == Action::Release, had_it && state != State::Durable);
                stack.push((next, sent, image, on_disk, depth + 1));
            }
        }
        assert!(walks > 500, "{walks}");
    }
}
