//! The threads of a link: one sends and one receives on each lane, and one keeps the lanes: it makes them, notices when
//! one is lost, and makes them again. A bell wakes the executor.

use std::cell::RefCell;
use std::io::{self, BufReader};
use std::net::Shutdown;
use std::sync::mpsc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ordo_rt::sync::{Receiver, Sender, oneshot};
use rustc_hash::FxHashMap;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

use super::asked::{Asked, Breach};
use super::clock::clock;
use super::handshake::Export;
use super::notice::{NbdGone, NbdListener, NbdNotice};
use super::stream::{Stream, write_all};
use super::table::{Phase, Table};
use super::target::Target;
use super::wire::{Desk, Lost, Message, Replies, Send};
use crate::ReadPart;
use crate::engine::Engine;
use crate::engine::work::{Done, Fault, Work};
use crate::fence::Lease;

/// How long a server may take for a handshake, and for its last replies when the disk is closed.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// How long a server may take to end a connection that we have ended (nbd-4).
const DRAIN: Duration = Duration::from_secs(3);

/// Between two tries to connect, at least and at most.
const BACK_OFF: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(5));

/// Of a server that is silent for so long the user is told.
const QUIET: Duration = Duration::from_secs(10);

/// Bytes that a lane sends in one go.
const BATCH: usize = 256 * 1024;

/// The end of the executor's thread.
pub(super) struct Link {
    shared: Arc<Shared>,
    waiting: RefCell<FxHashMap<u64, Sender<Done>>>,
    keeper: Option<JoinHandle<()>>,
}

struct Shared {
    state: Mutex<State>,
    /// Something happened that the keeper of the lanes waits for.
    changed: Condvar,
    bell: OwnedFd,
}

struct State {
    table: Table,
    /// Handles of the lanes, to end them.
    streams: Vec<Stream>,
    /// Threads of lanes that run.
    alive: usize,
    /// The disk is closed: since then.
    closing: Option<Instant>,
    /// The keeper sleeps until somebody submits a request.
    dozing: bool,
}

/// How a link behaves.
pub(super) struct Manner {
    pub(super) timeout: Option<Duration>,
    pub(super) connections: usize,
    pub(super) listener: NbdListener,
}

impl Link {
    /// `lanes` are past their handshake, and are the first ones to `target`.
    pub(super) fn new(target: Target, lanes: Vec<(Stream, Export)>, table: Table, manner: Manner) -> io::Result<Link> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let state = State { table, streams: Vec::new(), alive: 0, closing: None, dozing: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), bell });
        // The first handshake was answered, so there is a first lane.
        let export = lanes.first().map(|(_, export)| export.clone()).ok_or(io::ErrorKind::NotConnected)?;
        let mut keeper =
            Keeper { target, export, manner, shared: shared.clone(), threads: Vec::new(), tries: 0, lost: None };
        keeper.start(lanes)?;
        let keeper = named("ordo-nbd").spawn(move || keeper.keep())?;
        Ok(Link { shared, waiting: RefCell::default(), keeper: Some(keeper) })
    }
}

fn named(name: &str) -> std::thread::Builder {
    std::thread::Builder::new().name(name.into())
}

impl Shared {
    /// No code that can panic runs under this lock, so a poisoned one still guards good data.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>, most: Duration) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, most).unwrap_or_else(PoisonError::into_inner).0
    }

    fn ring(&self) {
        // Refused only when the counter is full, and then the bell is ringing anyway.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }

    fn lose(&self, epoch: u64, why: &str) {
        let mut state = self.lock();
        if state.table.lose(epoch, why) {
            // The others end, too, and what the server still reads it reads to the end.
            state.streams.iter().for_each(|stream| stream.shutdown(Shutdown::Write));
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Gives the disk up if the lease is over and one of these messages is a change (nbd-10). The keeper tells of it.
    fn refuses(&self, batch: &[Message]) -> bool {
        if !batch.iter().any(Message::is_change) {
            return false;
        }
        let mut state = self.lock();
        if !state.table.lease.as_ref().is_some_and(Lease::is_over) {
            return false;
        }
        state.table.give_up(NbdGone::Claim);
        drop(state);
        self.ring();
        self.changed.notify_all();
        true
    }

    /// Sends a message on a lane whose thread sleeps, from here: to wake that thread takes longer than to send. What
    /// does not go at once is its thread's.
    fn send_now(&self, state: MutexGuard<'_, State>, lane: usize, mut message: Message) {
        let epoch = state.table.epoch;
        let may = !message.is_change() || !state.table.lease.as_ref().is_some_and(Lease::is_over);
        let sent = match state.streams.get(lane).filter(|_| may) {
            Some(stream) => {
                let mut slices = Vec::new();
                message.slices(&mut slices);
                stream.write_now(&slices)
            }
            None => Ok(0),
        };
        match sent {
            Ok(sent) if sent == message.len() => {}
            Ok(sent) => {
                message.note_sent(sent);
                state.table.send_rest(lane, message);
            }
            Err(error) => {
                drop(state);
                self.lose(epoch, &error.to_string());
            }
        }
    }

    fn thread_ended(&self) {
        self.lock().alive -= 1;
        self.changed.notify_all();
    }
}

/// The replies of one lane go here.
struct Counter<'a> {
    shared: &'a Shared,
    epoch: u64,
    lane: usize,
}

impl Desk for Counter<'_> {
    fn asked(&self, number: u64) -> Result<Asked, Breach> {
        self.shared.lock().table.asked(self.epoch, self.lane, number)
    }

    fn give_back(&self, number: u64, at: u64, parts: Vec<ReadPart>) {
        self.shared.lock().table.give_back(number, at, parts);
    }

    fn answer(&self, number: u64, outcome: Result<Option<Work>, Fault>) -> Result<(), Breach> {
        let mut state = self.shared.lock();
        let answered = state.table.answer(self.epoch, number, outcome, clock());
        let last = state.closing.is_some() && state.table.waiting() == 0;
        drop(state);
        if last {
            self.shared.changed.notify_all();
        }
        self.shared.ring();
        answered
    }
}

fn receive_all(stream: Stream, export: &Export, counter: &Counter<'_>) {
    let mut stream = BufReader::with_capacity(8192, stream);
    let mut replies = Replies::new(counter, export);
    let lost: Lost = loop {
        if let Err(lost) = replies.next(&mut stream) {
            break lost;
        }
    };
    replies.give_up();
    counter.shared.lose(counter.epoch, &lost.to_string());
    // The server has ended with its last request when it ends the connection (nbd-4).
    stream.get_ref().read_away();
    counter.shared.thread_ended();
}

fn send_all(mut stream: Stream, messages: &mpsc::Receiver<Send>, epoch: u64, shared: &Shared) {
    if let Err(error) = try_send_all(&mut stream, messages, shared) {
        shared.lose(epoch, &error.to_string());
    }
    shared.thread_ended();
}

fn try_send_all(stream: &mut Stream, messages: &mpsc::Receiver<Send>, shared: &Shared) -> io::Result<()> {
    while let Ok(first) = messages.recv() {
        let (mut batch, mut bytes, mut over) = (Vec::new(), 0, false);
        let mut next = Some(first);
        while let Some(send) = next {
            let message = match send {
                Send::Request(message) => message,
                Send::Goodbye => {
                    over = true;
                    Message::goodbye()
                }
            };
            bytes += message.len();
            batch.push(message);
            next = if over || bytes >= BATCH { None } else { messages.try_recv().ok() };
        }
        if shared.refuses(&batch) {
            break;
        }
        let mut slices = Vec::new();
        batch.iter().for_each(|message| message.slices(&mut slices));
        write_all(stream, &mut slices)?;
        if over {
            break;
        }
    }
    Ok(())
}

/// Makes the lanes, and makes them again.
struct Keeper {
    target: Target,
    /// What the export was when the disk was opened (nbd-7).
    export: Export,
    manner: Manner,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Since something was answered.
    tries: u32,
    lost: Option<Instant>,
}

impl Keeper {
    fn keep(mut self) {
        while self.watch() {
            self.bury(DRAIN);
            match self.reconnect() {
                None => return,
                Some(lanes) => {
                    if let Err(error) = self.start(lanes) {
                        self.shared.lock().table.why = error.to_string();
                    }
                }
            }
        }
        self.bury(DRAIN);
    }

    fn start(&mut self, lanes: Vec<(Stream, Export)>) -> io::Result<()> {
        let epoch = self.shared.lock().table.epoch;
        let (mut streams, mut sends, mut halves) = (Vec::new(), Vec::new(), Vec::new());
        for (stream, export) in lanes {
            let (send, messages) = mpsc::channel();
            stream.set_timeout(None)?;
            halves.push((stream.try_clone()?, stream.try_clone()?, messages, export));
            streams.push(stream);
            sends.push(send);
        }
        {
            let mut state = self.shared.lock();
            state.streams = streams;
            state.alive = 2 * sends.len();
        }
        for (lane, (sending, receiving, messages, export)) in halves.into_iter().enumerate() {
            let shared = self.shared.clone();
            let sender = named("ordo-nbd-send").spawn(move || send_all(sending, &messages, epoch, &shared));
            let shared = self.shared.clone();
            let receiver = named("ordo-nbd-receive")
                .spawn(move || receive_all(receiving, &export, &Counter { shared: &shared, epoch, lane }));
            for thread in [sender, receiver] {
                match thread {
                    Ok(thread) => self.threads.push(thread),
                    Err(_) => self.shared.thread_ended(),
                }
            }
        }
        let again = {
            let mut state = self.shared.lock();
            let again = state.table.begin(sends);
            if matches!(state.table.phase, Phase::Dead(_)) {
                return Ok(());
            }
            again
        };
        if let Some(lost) = self.lost.take() {
            let seconds = lost.elapsed().as_secs();
            self.manner.listener.tell(&NbdNotice::Back { seconds, again });
        }
        Ok(())
    }

    /// Waits until the lanes are lost; false: nothing is needed any more.
    fn watch(&mut self) -> bool {
        let shared = self.shared.clone();
        let mut state = shared.lock();
        let (mut told, mut goodbye) = (false, false);
        loop {
            match state.table.phase {
                // Nobody else gives up for this reason.
                Phase::Dead(NbdGone::Claim) => {
                    drop(state);
                    self.give_up(NbdGone::Claim);
                    return false;
                }
                Phase::Dead(_) => return false,
                Phase::Broken | Phase::Ending => {
                    self.tries = if state.table.answered { 0 } else { self.tries };
                    return !goodbye;
                }
                Phase::Ready | Phase::Replaying => {}
            }
            let now = clock();
            if let Some(since) = state.closing {
                let over = now - since >= PATIENCE;
                if over && (goodbye || state.table.waiting() > 0) {
                    return false;
                }
                if state.table.waiting() == 0 && !goodbye {
                    goodbye = true;
                    state.table.say_goodbye();
                }
            }
            let (quiet, over) = state.table.quiet(self.manner.timeout, now);
            told &= quiet >= self.quiet_limit();
            if over {
                drop(state);
                self.give_up(self.no_answer());
                return false;
            }
            if quiet >= self.quiet_limit() && !told {
                told = true;
                let waiting = state.table.waiting();
                drop(state);
                let limit = self.manner.timeout.map(|limit| limit.as_secs());
                self.manner.listener.tell(&NbdNotice::Quiet { seconds: quiet.as_secs(), waiting, limit });
                state = shared.lock();
                continue;
            }
            state.dozing = state.table.waiting() == 0 && state.closing.is_none();
            let most = if state.dozing { Duration::from_secs(3600) } else { self.look_again() };
            state = shared.wait(state, most);
        }
    }

    fn quiet_limit(&self) -> Duration {
        self.manner.timeout.map_or(QUIET, |limit| (limit / 2).min(QUIET))
    }

    fn look_again(&self) -> Duration {
        self.manner.timeout.map_or(Duration::from_secs(1), |limit| (limit / 8).min(Duration::from_secs(1)))
    }

    fn no_answer(&self) -> NbdGone {
        NbdGone::NoAnswer { seconds: self.manner.timeout.unwrap_or_default().as_secs() }
    }

    fn give_up(&self, gone: NbdGone) {
        let mut state = self.shared.lock();
        state.table.give_up(gone);
        state.streams.iter().for_each(|stream| stream.shutdown(Shutdown::Both));
        drop(state);
        self.shared.ring();
        self.manner.listener.tell(&NbdNotice::GivenUp(gone));
    }

    /// Ends the lanes: the server has some time to end them itself.
    fn bury(&mut self, most: Duration) {
        let until = clock() + most;
        let mut state = self.shared.lock();
        loop {
            let now = clock();
            if state.alive == 0 || now >= until || matches!(state.table.phase, Phase::Dead(_)) {
                break;
            }
            state = self.shared.wait(state, until - now);
        }
        state.streams.drain(..).for_each(|stream| stream.shutdown(Shutdown::Both));
        state.table.ended();
        drop(state);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }

    /// `None`: nobody needs the lanes any more.
    fn reconnect(&mut self) -> Option<Vec<(Stream, Export)>> {
        let mut told = false;
        self.lost.get_or_insert_with(clock);
        loop {
            if !std::mem::replace(&mut told, true) {
                let state = self.shared.lock();
                let (why, waiting) = (state.table.why.clone(), state.table.waiting());
                let closing = state.closing.is_some();
                drop(state);
                if !closing && self.tries == 0 {
                    self.manner.listener.tell(&NbdNotice::Lost { why, waiting });
                }
            }
            if !self.wait_before_a_try() {
                return None;
            }
            self.tries += 1;
            let patience = self.manner.timeout.map_or(PATIENCE, |limit| limit.min(PATIENCE));
            match self.target.open_all(self.manner.connections, patience) {
                Ok(lanes) => match lanes.iter().find_map(|(_, export)| self.export.difference(export)) {
                    None => return Some(lanes),
                    Some((what, before, now)) => {
                        self.give_up(NbdGone::Changed { what, before, now });
                        return None;
                    }
                },
                Err(error) => self.shared.lock().table.why = error.to_string(),
            }
        }
    }

    /// False if there is nothing to try for.
    fn wait_before_a_try(&mut self) -> bool {
        let wait = match self.tries {
            0 => Duration::ZERO,
            tries => BACK_OFF.0.saturating_mul(1 << (tries - 1).min(20)).min(BACK_OFF.1),
        };
        let until = clock() + wait;
        let shared = self.shared.clone();
        let mut state = shared.lock();
        loop {
            let now = clock();
            if let Some(since) = state.closing
                && (state.table.waiting() == 0 || now - since >= PATIENCE)
            {
                return false;
            }
            if state.table.quiet(self.manner.timeout, now).1 {
                drop(state);
                self.give_up(self.no_answer());
                return false;
            }
            if state.table.is_forbidden() {
                drop(state);
                self.give_up(NbdGone::Claim);
                return false;
            }
            if now >= until {
                return true;
            }
            state = shared.wait(state, (until - now).min(self.look_again()));
        }
    }
}

impl Engine for Link {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        let mut state = self.shared.lock();
        let (number, alone) = state.table.submit_and_send(work, clock());
        match number {
            Ok(number) => {
                self.waiting.borrow_mut().insert(number, sender);
                if std::mem::take(&mut state.dozing) {
                    self.shared.changed.notify_all();
                }
                if let Some((lane, message)) = alone {
                    self.shared.send_now(state, lane, message);
                }
            }
            Err(gone) => sender.send(Err(Fault::Lost(gone.into()))),
        }
        receiver
    }

    fn reap(&self) {
        let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
        let (done, spent) = self.shared.lock().table.take_done();
        drop(spent);
        for (number, done) in done {
            let sender = self.waiting.borrow_mut().remove(&number);
            if let Some(sender) = sender {
                sender.send(done);
            }
        }
    }

    fn busy(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    fn bell(&self) -> io::Result<OwnedFd> {
        self.shared.bell.try_clone()
    }

    fn hold(&self, lease: &Lease) {
        self.shared.lock().table.lease = Some(lease.clone());
    }
}

impl Drop for Link {
    /// Submitted requests are answered before the connection ends, or the server's time is over.
    fn drop(&mut self) {
        self.shared.lock().closing = Some(clock());
        self.shared.changed.notify_all();
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}
