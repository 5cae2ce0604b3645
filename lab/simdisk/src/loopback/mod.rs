//! The client of network block devices and a server in one process, with connections that are lost: the crash explorer
//! puts them between the engine and its recorder.
//!
//! The client is that of a mount, without threads and sockets ([`ordo_disk::NbdLanes`]). Instead of these there are
//! tasks, so that a run can be repeated.
//!
//! L1. The seed decides which requests meet a loss, and where: before the server reads it, while it works, before its
//!     answer, in the middle of the answer's bytes. Flushes meet one more often than others.
//! L2. What the server had begun when a connection was lost it ends, or its process dies: then what only its own cache
//!     had is lost, and of what it was doing the next step does not come.
//! L3. The next connections are made when all that has ended (nbd-4).

mod server;

use std::cell::{Cell, RefCell};
use std::ops::Add;
use std::rc::{Rc, Weak};
use std::time::Duration;

use ordo_disk::fence::Lease;
use ordo_disk::{
    Disk, DiskError, DiskFuture, DiskInfo, DiskOff, Extent, NbdDisk, NbdLanes, NbdOptions, NbdWay, ReadPart, WritePart,
};
use ordo_rt::{Rng, Rt};

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

impl NbdLoopback {
    /// The client over such a connection to a server of `disk`; what was lost is counted in the second value.
    pub fn over(self, rt: &Rt, disk: Rc<dyn Disk>) -> (Rc<dyn Disk>, Rc<Cell<NbdLosses>>) {
        let info = disk.info();
        // A client that is told that nothing can be lost keeps nothing.
        let keeps = info.volatile_cache && self.flaw != Some(NbdFlaw::ForgetsAnswered);
        let options = NbdOptions { volatile_cache: Some(keeps), kept: Some(self.kept), ..NbdOptions::default() };
        let losses = Rc::new(Cell::new(NbdLosses::default()));
        let link = Rc::new_cyclic(|this: &Weak<Loopback>| {
            let (client, lanes) = NbdDisk::inside(rt, &info, &options, this.clone());
            Loopback {
                this: this.clone(),
                rt: rt.clone(),
                client,
                lanes,
                server: Server::new(disk, self.server_caches && info.volatile_cache),
                rng: RefCell::new(Rng::new(self.seed)),
                lives: RefCell::default(),
                in_flight: Cell::new(0),
                losses: losses.clone(),
                options: self,
            }
        });
        link.connect();
        (link, losses)
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

struct Loopback {
    this: Weak<Loopback>,
    rt: Rt,
    options: NbdLoopback,
    client: NbdDisk,
    lanes: NbdLanes,
    server: Server,
    rng: RefCell<Rng>,
    /// The server's process of this epoch lives.
    lives: RefCell<Rc<Cell<bool>>>,
    /// Requests that travel or that the server works on, and what it does by itself.
    in_flight: Cell<usize>,
    losses: Rc<Cell<NbdLosses>>,
}

impl NbdWay for Loopback {
    fn leaves(&self, epoch: u64, lane: usize, request: &[u8]) {
        let (Some(this), Some(request)) = (self.this.upgrade(), Request::parse(request)) else { return };
        let (fate, lives) = (self.fate(&request), self.lives.borrow().clone());
        let way = self.way();
        self.working(async move {
            this.rt.sleep(way).await;
            this.arrived(epoch, lane, &lives, request, fate).await;
        });
    }
}

impl Loopback {
    fn count(&self, change: impl FnOnce(&mut NbdLosses)) {
        let mut losses = self.losses.get();
        change(&mut losses);
        self.losses.set(losses);
    }

    /// Makes the lanes of an epoch.
    fn connect(&self) {
        *self.lives.borrow_mut() = Rc::new(Cell::new(true));
        let again = self.lanes.connect(self.options.connections.max(1));
        self.count(|losses| losses.again += again as u64);
    }

    fn fate(&self, request: &Request) -> Fate {
        let mut rng = self.rng.borrow_mut();
        // Each loss makes all be sent again that is kept, so a loss among those must be rare, or it would never end.
        let one_in = match self.lanes.are_replaying() {
            true => 200,
            false if request.is_flush() => 3,
            false => 40,
        };
        match rng.chance(1, one_in) {
            true => *rng.pick(&[Fate::Unread, Fate::WhileItWorks, Fate::Unanswered, Fate::HalfAnswered]),
            false => Fate::Answered,
        }
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
        let is_lost = self.lanes.are_lost(epoch);
        // A server may read what was sent before the connection was lost.
        if !lives.get() || (is_lost && self.rng.borrow_mut().chance(1, 2)) {
            return;
        }
        let is_flush = request.is_flush();
        if fate != Fate::Answered && is_flush && self.options.flaw == Some(NbdFlaw::BelievesFlush) {
            self.lanes.hear(epoch, lane, &request.done());
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
            Fate::Answered => self.lanes.hear(epoch, lane, &answer),
            Fate::Unanswered => self.lose(epoch, lives, &request, fate),
            Fate::HalfAnswered => {
                let cut = self.rng.borrow_mut().range(1, answer.len() as u64 - 1) as usize;
                self.lanes.hear(epoch, lane, &answer[..cut]);
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

    fn lose(&self, epoch: u64, lives: &Rc<Cell<bool>>, request: &Request, fate: Fate) {
        if !self.lanes.lose(epoch) {
            return;
        }
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
        if self.in_flight.get() > 0 || !self.lanes.end() {
            return;
        }
        let wait = Duration::from_millis(self.rng.borrow_mut().range(1, 20));
        self.rt.sleep(wait).await;
        self.connect();
    }
}

/// The client; the server is told what the bytes of a write are, which the wire does not say.
impl Disk for Loopback {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, ..self.server.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.client.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.server.note(at, &parts);
        self.client.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.client.flush()
    }

    fn hold(&self, lease: &Lease) {
        self.client.hold(lease);
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        self.client.discard(at, len)
    }

    fn extents(&self, at: DiskOff, len: u64) -> DiskFuture<Result<Vec<Extent>, DiskError>> {
        self.client.extents(at, len)
    }
}
