//! The client of a server in the same process: whoever calls does what its threads and sockets do elsewhere, on the
//! executor's clock, so that a run can be repeated. What decides (the [`Table`] of requests, what is kept, requests and
//! replies as bytes) is the client's own.

use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::rc::{Rc, Weak};
use std::sync::mpsc;

use ordo_rt::sync::{Receiver, Sender, oneshot};
use rustc_hash::FxHashMap;
use rustix::fd::OwnedFd;

use super::asked::{Asked, Breach};
use super::clock::clock;
use super::handshake::Export;
use super::table::{Phase, Table};
use super::wire::{Desk, Replies, Send};
use crate::ReadPart;
use crate::engine::Engine;
use crate::engine::work::{Done, Fault, Work};
use crate::fence::Lease;

/// The way to the server.
pub trait NbdWay {
    /// The bytes of a request leave on this lane. An epoch is the time between two losses of the connections.
    fn leaves(&self, epoch: u64, lane: usize, request: &[u8]);
}

/// The way back, and the fate of the connections.
#[derive(Clone)]
pub struct NbdLanes(pub(super) Rc<Inside>);

impl NbdLanes {
    /// Makes so many connections, when all that was under way on earlier ones has ended (nbd-4). Returns how many
    /// changes that had been answered are sent again.
    pub fn connect(&self, lanes: usize) -> usize {
        let (sends, receivers) = (0..lanes).map(|_| mpsc::channel()).unzip();
        *self.0.lanes.borrow_mut() = receivers;
        let again = self.0.table.borrow_mut().begin(sends);
        self.0.pump();
        again
    }

    /// The client reads these bytes, and if they are a part of an answer, their end.
    pub fn hear(&self, epoch: u64, lane: usize, mut bytes: &[u8]) {
        let counter = Counter { table: &self.0.table, epoch, lane };
        let mut replies = Replies::new(&counter, &self.0.export);
        let mut outcome = Ok(());
        while outcome.is_ok() && !bytes.is_empty() {
            outcome = replies.next(&mut bytes);
        }
        if outcome.is_err() {
            replies.give_up();
        }
        self.0.pump();
    }

    /// The connections of this epoch are lost. `false` if they were already.
    pub fn lose(&self, epoch: u64) -> bool {
        let lost = self.0.table.borrow_mut().lose(epoch, "the connection is lost");
        if lost {
            self.0.lanes.borrow_mut().clear();
        }
        lost
    }

    /// All that was under way has ended: the next connections are those of another epoch. `false` if none were lost.
    pub fn end(&self) -> bool {
        let mut table = self.0.table.borrow_mut();
        let lost = table.phase == Phase::Ending;
        if lost {
            table.ended();
        }
        lost
    }

    /// Whether the connections of this epoch are lost.
    pub fn are_lost(&self, epoch: u64) -> bool {
        let table = self.0.table.borrow();
        table.epoch != epoch || table.phase == Phase::Ending
    }

    /// Whether what is kept is being sent again.
    pub fn are_replaying(&self) -> bool {
        self.0.table.borrow().phase == Phase::Replaying
    }
}

/// The engine of such a client.
pub(super) struct Inside {
    way: Weak<dyn NbdWay>,
    export: Export,
    table: RefCell<Table>,
    waiting: RefCell<FxHashMap<u64, Sender<Done>>>,
    lanes: RefCell<Vec<mpsc::Receiver<Send>>>,
}

impl Inside {
    pub(super) fn new(way: Weak<dyn NbdWay>, export: Export, table: Table) -> Inside {
        let (waiting, lanes) = Default::default();
        Inside { way, export, table: RefCell::new(table), waiting, lanes }
    }

    /// Carries on what the table has sent, and passes answers on.
    fn pump(&self) {
        let sent: Vec<(usize, Send)> = {
            let lanes = self.lanes.borrow();
            lanes.iter().enumerate().flat_map(|(lane, sent)| sent.try_iter().map(move |send| (lane, send))).collect()
        };
        let epoch = self.table.borrow().epoch;
        for (lane, send) in sent {
            if let (Send::Request(message), Some(way)) = (send, self.way.upgrade()) {
                let mut slices: Vec<IoSlice<'_>> = Vec::new();
                message.slices(&mut slices);
                way.leaves(epoch, lane, &slices.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<u8>>());
            }
        }
        let (done, _) = self.table.borrow_mut().take_done();
        for (number, done) in done {
            if let Some(sender) = self.waiting.borrow_mut().remove(&number) {
                sender.send(done);
            }
        }
    }
}

impl Engine for Inside {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        let number = self.table.borrow_mut().submit(work, clock());
        match number {
            Ok(number) => {
                self.waiting.borrow_mut().insert(number, sender);
                self.pump();
            }
            Err(gone) => sender.send(Err(Fault::Lost(gone.into()))),
        }
        receiver
    }

    fn reap(&self) {}

    /// The way's own tasks pass answers on.
    fn busy(&self) -> bool {
        false
    }

    fn bell(&self) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn hold(&self, lease: &Lease) {
        self.table.borrow_mut().lease = Some(lease.clone());
    }
}

struct Counter<'a> {
    table: &'a RefCell<Table>,
    epoch: u64,
    lane: usize,
}

impl Desk for Counter<'_> {
    fn asked(&self, number: u64) -> Result<Asked, Breach> {
        self.table.borrow_mut().asked(self.epoch, self.lane, number)
    }

    fn give_back(&self, number: u64, at: u64, parts: Vec<ReadPart>) {
        self.table.borrow_mut().give_back(number, at, parts);
    }

    fn answer(&self, number: u64, outcome: Result<Option<Work>, Fault>) -> Result<(), Breach> {
        self.table.borrow_mut().answer(self.epoch, number, outcome, clock())
    }
}
