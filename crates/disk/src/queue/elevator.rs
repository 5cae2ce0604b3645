//! Which of the waiting requests goes next.

use std::collections::BTreeSet;

use super::Id;

/// The order in which waiting requests go to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Scheduler {
    /// One way across the disk, upwards, and back to the lowest waiting address: C-LOOK (Worthington, Ganger, Patt,
    /// "Scheduling Algorithms for Modern Disk Drives", SIGMETRICS 1994, section 3).
    #[default]
    Elevator,
    /// First come, first served.
    Fcfs,
}

/// The requests that may go now: none of them waits for another one.
pub(super) struct Elevator {
    scheduler: Scheduler,
    by_start: BTreeSet<(u64, Id)>,
    by_age: BTreeSet<(Id, u64)>,
    /// Where the last request ended.
    head: u64,
}

impl Elevator {
    pub(super) fn new(scheduler: Scheduler) -> Elevator {
        Elevator { scheduler, by_start: BTreeSet::new(), by_age: BTreeSet::new(), head: 0 }
    }

    pub(super) fn add(&mut self, start: u64, id: Id) {
        self.by_start.insert((start, id));
        if self.scheduler == Scheduler::Fcfs {
            self.by_age.insert((id, start));
        }
    }

    pub(super) fn remove(&mut self, start: u64, id: Id) {
        self.by_start.remove(&(start, id));
        self.by_age.remove(&(id, start));
    }

    /// The next request; it stays until it is removed.
    pub(super) fn pick(&self) -> Option<(u64, Id)> {
        match self.scheduler {
            Scheduler::Elevator => self.by_start.range((self.head, 0)..).next().or(self.by_start.first()).copied(),
            Scheduler::Fcfs => self.by_age.first().map(|&(id, start)| (start, id)),
        }
    }

    /// The oldest request that begins at `start`.
    pub(super) fn beginning_at(&self, start: u64) -> Option<Id> {
        self.by_start.range((start, 0)..=(start, Id::MAX)).next().map(|&(_, id)| id)
    }

    pub(super) fn moved_to(&mut self, head: u64) {
        self.head = head;
    }
}
