//! How long sync and fsync wait: until everything pending at their beginning is durable, whatever other calls add.
//!
//! A1. A sync ends although other calls change the volume as fast as the disk takes it: it waits for what was held,
//!     carried, or dirty at its beginning.
//! A2. A wait without progress is a defect of this scheme. It is reported as an error, and does not hang.

use super::deps::{AllocDep, Deps, DirAdd, InodeDep};
use super::state::State;
use crate::records::Id;
use ordo_buf::{Cache, Landing};
use ordo_vfs::Result;

/// Rounds of writing without progress after which the wait ends. Bufs that nothing holds back take one or two.
const FRUITLESS: u32 = 64;

/// Counts the rounds of a wait.
#[derive(Default)]
pub(super) struct Patience {
    seen: u64,
    rounds: u32,
}

impl Patience {
    /// Called after a round of writing. `seen` differs from its last value if the round made progress.
    ///
    /// # Errors
    /// `Io`: too many rounds without progress (A2).
    pub(super) fn after_a_round(&mut self, seen: u64) -> Result<()> {
        self.rounds = if self.seen == seen { self.rounds + 1 } else { 0 };
        self.seen = seen;
        if self.rounds < FRUITLESS {
            return Ok(());
        }
        Err(ordo_vfs::Error::io(format!(
            "soft updates wrote {FRUITLESS} times, and what was waited for came no nearer: a defect of the scheme; unmount \
             the volume, and check it"
        )))
    }

    /// The last round made no progress.
    pub(super) fn is_tried(&self) -> bool {
        self.rounds > 0
    }
}

/// What was not durable at some moment (A1).
pub(super) struct Standing {
    bufs: Vec<Landing>,
    inodes: Vec<Id<InodeDep>>,
    pointers: Vec<Id<AllocDep>>,
    names: Vec<Id<DirAdd>>,
    /// The sequence number of the newest removal.
    removals: u64,
}

impl Standing {
    pub(super) fn of(deps: &Deps, cache: &Cache) -> Standing {
        Standing {
            bufs: cache.unsettled().iter().map(|buf| Landing::of(buf)).collect(),
            inodes: deps.inodes.ids().collect(),
            pointers: deps.pointers.ids().collect(),
            names: deps.names.ids().collect(),
            removals: deps.seq,
        }
    }

    /// How much of it is not durable yet.
    pub(super) fn left(&mut self, deps: &Deps) -> u64 {
        self.bufs.retain(|landing| !landing.is_done() && landing.buf().is_some());
        self.inodes.retain(|id| deps.inodes.get(*id).is_some_and(|dep| dep.state != State::Durable));
        self.pointers.retain(|id| !deps.is_pointer_durable(*id));
        self.names.retain(|id| !deps.is_settled(*id));
        let removals = deps.removals_until(self.removals);
        (self.bufs.len() + self.inodes.len() + self.pointers.len() + self.names.len() + removals) as u64
    }
}
