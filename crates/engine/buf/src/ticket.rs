//! Tickets: what may be freed once the scheme says that it is safe.
//!
//! T1. A ticket is returned to its layout exactly once. A dropped ticket would leak blocks or an inode forever, so a
//!     dropped ticket is counted, and stops a debug build. After a failure of the volume, or when a call was cancelled,
//!     it is let go: what it would free stays allocated, as after a crash, and the volume is not marked clean.
//! T2. Outstanding tickets are space that will become free: `statfs` adds it, unmount waits for it.

use crate::Health;
use ordo_ondisk::{FragNo, Ino};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// What a ticket frees.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Freed {
    /// One name less for this inode; for a removed directory also its `.`, and its parent's `..`.
    DropLink {
        /// The inode that lost its name.
        ino: Ino,
        /// How many links are dropped.
        links: u32,
        /// For a directory: the parent whose link count included its `..`.
        parent: Option<Ino>,
    },
    /// Runs of fragments that an inode pointed to.
    Blocks {
        /// The file.
        ino: Ino,
        /// Address and length in fragments.
        runs: Vec<(FragNo, u32)>,
    },
    /// The inode's number.
    Inode {
        /// The inode.
        ino: Ino,
        /// It was a directory: the group's count of directories goes down.
        directory: bool,
    },
}

/// An event in the life of a ticket, for watchers of the ledger.
#[derive(Debug, Clone, Copy)]
pub enum TicketEvent<'a> {
    /// It was issued: no pointer leads any more to what it frees.
    Issued(&'a Freed),
    /// It was returned: what it frees is being freed from now on.
    Settled(&'a Freed),
}

/// A watcher of a ledger.
pub type Watch = Rc<dyn Fn(TicketEvent<'_>)>;

#[derive(Default)]
struct Sums {
    watch: RefCell<Option<Watch>>,
    account: RefCell<Option<Watch>>,
    outstanding: Cell<u64>,
    frags: Cell<u64>,
    inodes: Cell<u64>,
    lost: Cell<u64>,
    cancelled: Cell<bool>,
    health: Health,
}

impl Sums {
    /// Tickets may be dropped from now on (T1).
    fn lets_go(&self) -> bool {
        self.cancelled.get() || self.health.is_read_only()
    }
}

/// Counts the tickets of one volume.
#[derive(Clone, Default)]
pub struct Ledger(Rc<Sums>);

impl Ledger {
    /// The ledger of a volume with this health.
    pub fn of(health: Health) -> Ledger {
        Ledger(Rc::new(Sums { health, ..Sums::default() }))
    }

    /// Issues a ticket.
    pub fn issue(&self, freed: Freed) -> Ticket {
        self.tell(TicketEvent::Issued(&freed));
        let sums = &self.0;
        sums.outstanding.set(sums.outstanding.get() + 1);
        let (frags, inodes) = weight(&freed);
        sums.frags.set(sums.frags.get() + frags);
        sums.inodes.set(sums.inodes.get() + inodes);
        Ticket { freed: Some(freed), ledger: self.clone() }
    }

    /// Tickets not returned yet.
    pub fn outstanding(&self) -> u64 {
        self.0.outstanding.get()
    }

    /// Fragments that outstanding tickets will free.
    pub fn frags(&self) -> u64 {
        self.0.frags.get()
    }

    /// Inodes that outstanding tickets will free.
    pub fn inodes(&self) -> u64 {
        self.0.inodes.get()
    }

    /// Tickets that were dropped instead of returned (T1).
    pub fn lost(&self) -> u64 {
        self.0.lost.get()
    }

    /// A call was cancelled, or the volume is given up: the tickets that are held are dropped, and what they would free
    /// stays allocated, as after a crash.
    pub fn let_go(&self) {
        self.0.cancelled.set(true);
    }

    /// Notifies `watch` of every ticket from now on, when it is issued and when it is returned. `None` ends that.
    pub fn watch(&self, watch: Option<Watch>) {
        *self.0.watch.borrow_mut() = watch;
    }

    /// Notifies `account` of every ticket for good: for a scheme whose log records what waits to be freed.
    pub fn keep_account(&self, account: Watch) {
        *self.0.account.borrow_mut() = Some(account);
    }

    fn tell(&self, told: TicketEvent<'_>) {
        for who in [&self.0.account, &self.0.watch] {
            let who = who.borrow().clone();
            if let Some(who) = who {
                who(told);
            }
        }
    }

    fn settle(&self, freed: &Freed) {
        self.tell(TicketEvent::Settled(freed));
        let sums = &self.0;
        let (frags, inodes) = weight(freed);
        sums.outstanding.set(sums.outstanding.get() - 1);
        sums.frags.set(sums.frags.get() - frags);
        sums.inodes.set(sums.inodes.get() - inodes);
    }
}

fn weight(freed: &Freed) -> (u64, u64) {
    match freed {
        Freed::DropLink { .. } => (0, 0),
        Freed::Blocks { runs, .. } => (runs.iter().map(|run| u64::from(run.1)).sum(), 0),
        Freed::Inode { .. } => (0, 1),
    }
}

/// A right to free something, to be returned to the layout once that is safe.
#[must_use = "a ticket that is dropped leaks what it frees"]
pub struct Ticket {
    freed: Option<Freed>,
    ledger: Ledger,
}

impl Ticket {
    /// What it frees.
    pub fn freed(&self) -> &Freed {
        // OK to expect: only `redeem`, which takes the ticket itself, empties the field.
        self.freed.as_ref().expect("a ticket that exists is not redeemed")
    }

    /// Consumes the ticket; the layout then frees what it names.
    pub fn redeem(mut self) -> Freed {
        // OK to expect: as above.
        let freed = self.freed.take().expect("a ticket that exists is not redeemed");
        self.ledger.settle(&freed);
        freed
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(freed) = self.freed.take() {
            self.ledger.settle(&freed);
            self.ledger.0.lost.set(self.ledger.0.lost.get() + 1);
            debug_assert!(std::thread::panicking() || self.ledger.0.lets_go(), "a ticket was dropped: {freed:?}");
        }
    }
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ticket {:?}", self.freed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outstanding_tickets_are_the_space_that_is_promised() {
        let ledger = Ledger::default();
        let blocks = ledger.issue(Freed::Blocks { ino: Ino(7), runs: vec![(FragNo(8), 8), (FragNo(40), 3)] });
        let inode = ledger.issue(Freed::Inode { ino: Ino(7), directory: false });
        assert_eq!((ledger.outstanding(), ledger.frags(), ledger.inodes()), (2, 11, 1));
        assert_eq!(blocks.redeem(), Freed::Blocks { ino: Ino(7), runs: vec![(FragNo(8), 8), (FragNo(40), 3)] });
        assert_eq!((ledger.outstanding(), ledger.frags(), ledger.inodes()), (1, 0, 1));
        let _ = inode.redeem();
        assert_eq!((ledger.outstanding(), ledger.lost()), (0, 0));
    }

    #[test]
    fn whoever_watches_is_told_of_every_ticket_once_when_it_is_written_and_once_when_it_is_given_back() {
        let (ledger, told) = (Ledger::default(), Rc::new(RefCell::new(Vec::new())));
        let notes = told.clone();
        ledger.watch(Some(Rc::new(move |what| notes.borrow_mut().push(format!("{what:?}")))));
        let ticket = ledger.issue(Freed::Inode { ino: Ino(7), directory: false });
        let _ = ticket.redeem();
        ledger.watch(None);
        let _ = ledger.issue(Freed::Inode { ino: Ino(8), directory: false }).redeem();
        let told = told.borrow();
        assert_eq!(told.len(), 2);
        assert!(told[0].starts_with("Issued(Inode") && told[1].starts_with("Settled(Inode"), "{told:?}");
    }

    #[test]
    #[should_panic(expected = "a ticket was dropped")]
    #[cfg(debug_assertions)]
    fn a_ticket_that_is_dropped_stops_a_debug_build() {
        drop(Ledger::default().issue(Freed::Inode { ino: Ino(9), directory: true }));
    }
}
