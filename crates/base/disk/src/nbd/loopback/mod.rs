//! The client and a server in one process, on the executor's clock, with connections that are lost: the crash explorer
//! puts them between the engine and its recorder.
//!
//! What decides (the [`Table`] of requests, what is kept, requests and replies as bytes) is the client's own. Instead
//! of its threads and sockets there are tasks, so that a run can be repeated.
//!
//! L1. The seed decides which requests meet a loss, and where: before the server reads it, while it works, before its
//!     answer, in the middle of the answer's bytes. Flushes meet one more often than others.
//! L2. What the server had begun when a connection was lost it ends, or its process dies: then what only its own cache
//!     had is lost, and of what it was doing the next step does not come.
//! L3. The next connections are made when all that has ended (nbd-4).

mod server;

use std::cell::{Cell, RefCell};
use std::io;
use std::ops::Add;
use std::rc::{Rc, Weak};
use std::sync::mpsc;
use std::time::Duration;

use ordo_rt::sync::{Receiver, Sender, oneshot};
use ordo_rt::{Rng, Rt};
use rustc_hash::FxHashMap;
use rustix::fd::OwnedFd;

use super::asked::{Asked, Breach};
use super::clock::clock;
use super::handshake::Export;
use super::table::{Phase, Table};
use super::wire::{Desk, Message, Replies, Send};
use crate::engine::Engine;
use crate::engine::work::{Done, Fault, Work};
use crate::fence::Lease;
use crate::{Disk, ReadPart};
use server::{Request, Server};

/// A connection to a server in the same process, for tests that repeat.
#[derive(Clone, Debug)]
pub struct NbdLoopback {
    /// Decides what is lost, and when.
    pub seed: u64,
    /// The most memory for changes that the server may still lose, in bytes.
    pub kept: u64,
    /// Connections.
    pub connections: usize,
    /// What the server has answered may still be in a cache of its own, which is lost with its process. Only where the
    /// disk below has a volatile cache: a server without a flush has none of its own.
    pub server_caches: bool,
    /// What is wrong with the client, to see that it is noticed.
    pub flaw: Option<NbdFlaw>,
}

/// A wrong client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NbdFlaw {
    /// It takes a flush for done whose answer did not come (against nbd-5).
    BelievesFlush,
    /// It sends only that again which was not answered (against nbd-3).
    ForgetsAnswered,
}

/// What was lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NbdLosses {
    /// How often all connections were lost.
    pub connections: u64,
    /// Of these, how often by the fate of a flush: the server may have done it, and the client does not know.
    pub in_flushes: u64,
    /// Of these, how often in the middle of the bytes of an answer.
    pub in_answers: u64,
    /// How often the server's process died with them.
    pub servers: u64,
    /// Changes that had been answered and were sent again.
    pub again: u64,
}

impl Add for NbdLosses {
    type Output = NbdLosses;

    fn add(self, more: NbdLosses) -> NbdLosses {
        NbdLosses {
            connections: self.connections + more.connections,
            in_flushes: self.in_flushes + more.in_flushes,
            in_answers: self.in_answers + more.in_answers,
            servers: self.servers + more.servers,
            again: self.again + more.again,
        }
    }
}

/// What a loss does to a request (L1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Unread,
    WhileItWorks,
    Unanswered,
    HalfAnswered,
}

/// The engine of an [`super::NbdDisk`] that speaks to a server in the same process.
pub(super) struct Loopback {
    this: Weak<Loopback>,
    rt: Rt,
    options: NbdLoopback,
    export: Export,
    server: Server,
    table: RefCell<Table>,
    waiting: RefCell<FxHashMap<u64, Sender<Done>>>,
    lanes: RefCell<Vec<mpsc::Receiver<Send>>>,
    rng: RefCell<Rng>,
    /// The server's process of this epoch lives.
    lives: RefCell<Rc<Cell<bool>>>,
    /// Requests that travel or that the server works on, and what it does by itself.
    in_flight: Cell<usize>,
    losses: Rc<Cell<NbdLosses>>,
}

impl Loopback {
    pub(super) fn new(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        export: &Export,
        options: NbdLoopback,
    ) -> (Rc<Loopback>, Rc<Cell<NbdLosses>>) {
        let keeps = export.can_flush() && options.flaw != Some(NbdFlaw::ForgetsAnswered);
        let table = Table::new(export.clone(), keeps, options.kept);
        let server = Server::new(disk, options.server_caches && export.can_flush());
        let losses = Rc::new(Cell::new(NbdLosses::default()));
        let link = Rc::new_cyclic(|this| Loopback {
            this: this.clone(),
            rt: rt.clone(),
            export: export.clone(),
            server,
            table: RefCell::new(table),
            waiting: RefCell::default(),
            lanes: RefCell::default(),
            rng: RefCell::new(Rng::new(options.seed)),
            lives: RefCell::default(),
            in_flight: Cell::new(0),
            losses: losses.clone(),
            options,
        });
        link.connect();
        (link, losses)
    }

    fn count(&self, change: impl FnOnce(&mut NbdLosses)) {
        let mut losses = self.losses.get();
        change(&mut losses);
        self.losses.set(losses);
    }

    /// Makes the lanes of an epoch.
    fn connect(&self) {
        let (sends, lanes) = (0..self.options.connections.max(1)).map(|_| mpsc::channel()).unzip();
        *self.lanes.borrow_mut() = lanes;
        *self.lives.borrow_mut() = Rc::new(Cell::new(true));
        let again = self.table.borrow_mut().begin(sends);
        self.count(|losses| losses.again += again as u64);
        self.pump();
    }

    /// Carries on what the table has sent, and passes answers on.
    fn pump(&self) {
        let sent: Vec<(usize, Send)> = {
            let lanes = self.lanes.borrow();
            lanes.iter().enumerate().flat_map(|(lane, sent)| sent.try_iter().map(move |send| (lane, send))).collect()
        };
        for (lane, send) in sent {
            if let Send::Request(message) = send {
                self.travel(lane, &message);
            }
        }
        let (done, _) = self.table.borrow_mut().take_done();
        for (number, done) in done {
            if let Some(sender) = self.waiting.borrow_mut().remove(&number) {
                sender.send(done);
            }
        }
    }

    fn fate(&self, request: &Request) -> Fate {
        let mut rng = self.rng.borrow_mut();
        let replaying = self.table.borrow().phase == Phase::Replaying;
        // Each loss makes all be sent again that is kept, so a loss among those must be rare, or it would never end.
        let one_in = match replaying {
            true => 200,
            false if request.is_flush() => 3,
            false => 40,
        };
        match rng.chance(1, one_in) {
            true => *rng.pick(&[Fate::Unread, Fate::WhileItWorks, Fate::Unanswered, Fate::HalfAnswered]),
            false => Fate::Answered,
        }
    }

    /// A request is on its way to the server.
    fn travel(&self, lane: usize, message: &Message) {
        let (Some(this), Some(request)) = (self.this.upgrade(), Request::parse(message)) else { return };
        let (fate, epoch, lives) = (self.fate(&request), self.table.borrow().epoch, self.lives.borrow().clone());
        let way = self.way();
        self.working(async move {
            this.rt.sleep(way).await;
            this.arrived(epoch, lane, &lives, request, fate).await;
        });
    }

    /// How long a request or an answer travels: others may overtake it.
    fn way(&self) -> Duration {
        Duration::from_micros(self.rng.borrow_mut().below(200))
    }

    /// Does this beside the rest; connections are made again only when it has ended (L3).
    fn working(&self, work: impl Future<Output = ()> + 'static) {
        let Some(this) = self.this.upgrade() else { return };
        self.in_flight.set(self.in_flight.get() + 1);
        self.rt.spawn(async move {
            work.await;
            this.in_flight.set(this.in_flight.get() - 1);
            this.connect_again().await;
        });
    }

    async fn arrived(&self, epoch: u64, lane: usize, lives: &Rc<Cell<bool>>, request: Request, fate: Fate) {
        let is_lost = self.table.borrow().epoch != epoch || self.table.borrow().phase == Phase::Ending;
        // A server may read what was sent before the connection was lost.
        if !lives.get() || (is_lost && self.rng.borrow_mut().chance(1, 2)) {
            return;
        }
        let is_flush = request.is_flush();
        if fate != Fate::Answered && is_flush && self.options.flaw == Some(NbdFlaw::BelievesFlush) {
            self.hear(epoch, lane, &request.done());
        }
        if matches!(fate, Fate::Unread | Fate::WhileItWorks) {
            self.lose(epoch, lives, &request, fate);
            if fate == Fate::Unread {
                return;
            }
        }
        if request.changes() && self.server.caches() && self.rng.borrow_mut().chance(1, 4) {
            self.write_back_some(lives);
        }
        let Some(answer) = self.server.serve(&request, lives).await else { return };
        self.rt.sleep(self.way()).await;
        match fate {
            Fate::Answered => self.hear(epoch, lane, &answer),
            Fate::Unanswered => self.lose(epoch, lives, &request, fate),
            Fate::HalfAnswered => {
                let cut = self.rng.borrow_mut().range(1, answer.len() as u64 - 1) as usize;
                self.hear(epoch, lane, &answer[..cut]);
                self.lose(epoch, lives, &request, fate);
            }
            Fate::Unread | Fate::WhileItWorks => {}
        }
    }

    /// The server writes some of its cache by itself.
    fn write_back_some(&self, lives: &Rc<Cell<bool>>) {
        let Some(this) = self.this.upgrade() else { return };
        let (lives, seed) = (lives.clone(), self.rng.borrow_mut().next_u64());
        self.working(async move { this.server.write_back_some(&mut Rng::new(seed), &lives).await });
    }

    /// The client reads these bytes, and if they are a part of an answer, their end.
    fn hear(&self, epoch: u64, lane: usize, mut bytes: &[u8]) {
        let counter = Counter { table: &self.table, epoch, lane };
        let mut replies = Replies::new(&counter, &self.export);
        let mut outcome = Ok(());
        while outcome.is_ok() && !bytes.is_empty() {
            outcome = replies.next(&mut bytes);
        }
        if outcome.is_err() {
            replies.give_up();
        }
        self.pump();
    }

    fn lose(&self, epoch: u64, lives: &Rc<Cell<bool>>, request: &Request, fate: Fate) {
        if !self.table.borrow_mut().lose(epoch, "the connection is lost") {
            return;
        }
        self.lanes.borrow_mut().clear();
        let dies = self.server.caches() && self.rng.borrow_mut().chance(1, 2);
        if dies {
            lives.set(false);
            self.server.die();
        }
        self.count(|losses| {
            losses.connections += 1;
            losses.in_flushes += u64::from(request.is_flush());
            losses.in_answers += u64::from(fate == Fate::HalfAnswered);
            losses.servers += u64::from(dies);
        });
    }

    async fn connect_again(&self) {
        if self.in_flight.get() > 0 || self.table.borrow().phase != Phase::Ending {
            return;
        }
        self.table.borrow_mut().ended();
        let wait = Duration::from_millis(self.rng.borrow_mut().range(1, 20));
        self.rt.sleep(wait).await;
        self.connect();
    }
}

impl Engine for Loopback {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        self.server.note(&work);
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

    /// Its own tasks pass answers on.
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
