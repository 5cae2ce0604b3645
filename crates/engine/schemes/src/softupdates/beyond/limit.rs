//! The limit of records: calls wait for the disk when there are too many. The papers have none.
//!
//! K1. A call that begins while too many records are pending waits until half of them are gone. Otherwise calls that
//!     are faster than the disk would fill the memory.
//! K2. Reclaim and upkeep never wait here: they free what the other calls wait for.

use super::super::deps::Deps;
use ordo_buf::{Cache, CallKind, Must, Op};
use ordo_vfs::Result;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Records beyond which calls wait for the disk: about 32 MiB of them.
const RECORDS: usize = 262_144;

/// Budget per call, in records; and how many calls may start between two checks of the limit. Few calls need as many
/// records, and the limit may be exceeded slightly.
const OF_A_CALL: usize = 64;
const UNASKED: usize = 15;

/// Rounds of writing in one wait, and sleeps while the upkeep works. More are needed only if no progress is possible;
/// then going on is better for the caller than hanging.
const ROUNDS: u32 = 64;
const NAPS: u32 = 100_000;

/// The limit, and the calls that it has admitted ahead.
pub(in crate::softupdates) struct Limit {
    records: usize,
    /// Calls that may begin before the limit is checked again.
    unasked: Cell<usize>,
}

impl Default for Limit {
    fn default() -> Limit {
        Limit::of(RECORDS)
    }
}

impl Limit {
    /// Calls wait beyond so many records.
    pub(in crate::softupdates) fn of(records: usize) -> Limit {
        Limit { records, unasked: Cell::new(0) }
    }

    /// The call was admitted ahead, with an earlier one.
    #[inline(always)]
    pub(in crate::softupdates) fn admitted_ahead(&self) -> bool {
        let left = self.unasked.get().checked_sub(1);
        left.is_some_and(|left| {
            self.unasked.set(left);
            true
        })
    }

    /// Admits a call if there are few enough records, and admits the next ones ahead if there is room for theirs, too.
    #[inline(never)]
    pub(in crate::softupdates) fn admit(&self, records: &Rc<RefCell<Deps>>, cache: &Rc<Cache>, op: Op) -> Must {
        if matches!(op.kind, CallKind::Reclaim | CallKind::Upkeep) {
            return Must::Nothing;
        }
        let mut deps = records.borrow_mut();
        let pending = deps.pending(cache);
        deps.counters.most = deps.counters.most.max(pending as u64);
        let Some(room) = self.records.checked_sub(pending) else {
            return Must::Wait(Box::pin(drain(records.clone(), cache.clone(), self.records / 2)));
        };
        self.unasked.set((room / OF_A_CALL).min(UNASKED));
        Must::Nothing
    }
}

/// Writes in an order that needs no rollback, and lets the upkeep work, until at most `enough` records are left.
async fn drain(deps: Rc<RefCell<Deps>>, cache: Rc<Cache>, enough: usize) -> Result<()> {
    deps.borrow_mut().counters.slowed += 1;
    for _ in 0..ROUNDS {
        deps.borrow_mut().settle(&cache);
        if deps.borrow().pending(&cache) <= enough {
            break;
        }
        cache.health().writable()?;
        cache.write_in_order().await?;
        let mut naps = 0;
        while cache.has_ripe() && naps < NAPS && cache.health().writable().is_ok() {
            cache.rt().sleep(Duration::from_micros(100)).await;
            naps += 1;
        }
    }
    Ok(())
}
