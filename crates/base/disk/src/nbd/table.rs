//! What was requested, what was sent where, and what a server may still have lost: the logic of a link, without threads
//! and sockets. The rules nbd-3 to nbd-8 are kept here.
//!
//! A *lane* is one connection. All lanes of an *epoch* are made together, and if one is lost, all end together.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustc_hash::FxHashMap;

use super::asked::{Asked, Breach};
use super::clock::clock;
use super::handshake::Export;
use super::kept::{Kept, Piece, What, weight};
use super::notice::NbdGone;
use super::wire::{Message, Send};
use crate::ReadPart;
use crate::engine::work::{Done, Fault, Work};
use crate::fence::Lease;

/// How often a change that is replayed may be refused before all begins anew, after a while.
const TRIES: u32 = 8;

/// A request with no answer counts as lost after so many time-outs, whatever else is answered meanwhile.
const PATIENCE_WITH_ONE: u32 = 4;

/// The state of the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// There is no lane.
    Broken,
    /// What the server may have lost is on its way; nothing else is sent (nbd-4).
    Replaying,
    /// Requests are sent as they come.
    Ready,
    /// A lane was lost: nothing is sent, no answer counts, and the lanes end.
    Ending,
    /// Nothing is ever answered again.
    Dead(NbdGone),
}

struct Slot {
    /// `None` while the buffers of a read are lent.
    work: Option<Work>,
    /// The lane that it was sent on.
    lane: Option<usize>,
    /// Memory that it takes when it is answered, counted while it is under way.
    weight: u64,
    since: Instant,
}

/// A flush that was sent.
struct Flushing {
    number: u64,
    /// It covers the answers up to this one (nbd-5).
    mark: u64,
    /// Nobody asked for it: memory was short.
    own: bool,
    lane: usize,
}

struct Replay {
    at: u64,
    piece: Piece,
    lane: usize,
    tries: u32,
}

/// See the module.
pub(super) struct Table {
    pub(super) phase: Phase,
    pub(super) epoch: u64,
    export: Export,
    /// Answered writes may be lost, and are kept (nbd-3).
    keeps: bool,
    most_kept: u64,
    lanes: Vec<mpsc::Sender<Send>>,
    turn: usize,
    next: u64,
    /// By number, so in the order of submission.
    pending: BTreeMap<u64, Slot>,
    kept: Kept,
    /// Bytes of changes under way.
    under_way: u64,
    /// Changes for which there is no memory until a flush is answered.
    held: VecDeque<u64>,
    /// Flushes that wait for the one that was sent.
    flushes: VecDeque<u64>,
    flushing: Option<Flushing>,
    /// A flush of ours failed; the next one that somebody asks for fails with it (nbd-6).
    own_failed: Option<Fault>,
    replays: FxHashMap<u64, Replay>,
    done: Vec<(u64, Done)>,
    /// When anything was answered last.
    progress: Instant,
    /// Something was answered since the lanes were made.
    pub(super) answered: bool,
    /// Why the last lanes were lost.
    pub(super) why: String,
    /// The submitter can send a message by itself, and which one it is to send ([`Table::submit_and_send`]).
    lends: bool,
    hand: Option<(usize, Message)>,
    /// How long changes may be sent, if somebody has claimed the disk (nbd-10).
    pub(super) lease: Option<Lease>,
}

impl Table {
    pub(super) fn new(export: Export, keeps: bool, most_kept: u64) -> Table {
        Table {
            phase: Phase::Broken,
            epoch: 0,
            export,
            keeps,
            most_kept,
            lanes: Vec::new(),
            turn: 0,
            next: 0,
            pending: BTreeMap::new(),
            kept: Kept::default(),
            under_way: 0,
            held: VecDeque::new(),
            flushes: VecDeque::new(),
            flushing: None,
            own_failed: None,
            replays: FxHashMap::default(),
            done: Vec::new(),
            progress: clock(),
            answered: false,
            why: String::new(),
            lends: false,
            hand: None,
            lease: None,
        }
    }

    /// Requests without an answer.
    pub(super) fn waiting(&self) -> usize {
        self.pending.len()
    }

    /// Takes what was answered, and what is no longer needed, for the thread that made it.
    pub(super) fn take_done(&mut self) -> (Vec<(u64, Done)>, Vec<Piece>) {
        (std::mem::take(&mut self.done), self.kept.take_spent())
    }

    /// Accepts a request. Its number, under which [`Table::take_done`] has its answer.
    pub(super) fn submit(&mut self, work: Work, now: Instant) -> Result<u64, NbdGone> {
        if let Phase::Dead(gone) = self.phase {
            return Err(gone);
        }
        let number = self.number();
        self.pending.insert(number, Slot { work: Some(work), lane: None, weight: 0, since: now });
        if self.phase == Phase::Ready {
            self.route(number);
        }
        Ok(number)
    }

    /// The same for a submitter that can send by itself. If nothing else waits for an answer, all that was sent before
    /// has been sent to its end, and the lane's thread sleeps: then the message is not given to that thread but
    /// returned, with its lane.
    pub(super) fn submit_and_send(
        &mut self,
        work: Work,
        now: Instant,
    ) -> (Result<u64, NbdGone>, Option<(usize, Message)>) {
        self.lends = true;
        let number = self.submit(work, now);
        self.lends = false;
        (number, self.hand.take())
    }

    /// The lane's thread sends what is left of a message.
    pub(super) fn send_rest(&self, lane: usize, message: Message) {
        // A lane that is gone is noticed by its own threads.
        let _ = self.lanes.get(lane).map(|lane| lane.send(Send::Request(message)));
    }

    fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Sends a request, or puts it where it waits.
    fn route(&mut self, number: u64) {
        let Some(Slot { work: Some(work), .. }) = self.pending.get(&number) else { return };
        match work {
            Work::Flush => {
                self.flushes.push_back(number);
                self.next_flush();
            }
            Work::Write { parts, .. } if self.keeps => {
                let weight = weight(parts);
                self.pending.entry(number).and_modify(|slot| slot.weight = weight);
                self.held.push_back(number);
                self.relieve();
            }
            _ => self.send(number),
        }
    }

    fn send(&mut self, number: u64) {
        let lane = self.next_lane();
        let Some(slot) = self.pending.get_mut(&number) else { return };
        let Some(message) = slot.work.as_ref().and_then(|work| Message::of(number, work, &self.export)) else {
            // Longer than the protocol can say.
            self.pending.remove(&number);
            return self.done.push((number, Err(Fault::System(rustix::io::Errno::INVAL))));
        };
        slot.lane = Some(lane);
        self.under_way += slot.weight;
        self.post(lane, message);
    }

    fn next_lane(&mut self) -> usize {
        self.turn = (self.turn + 1) % self.lanes.len().max(1);
        self.turn
    }

    fn post(&mut self, lane: usize, message: Message) {
        if self.lends && self.hand.is_none() && self.pending.len() == 1 && self.flushing.is_none() {
            self.hand = Some((lane, message));
            return;
        }
        // One after the other: two that send on one lane would mix their bytes.
        if let Some((lane, first)) = self.hand.take() {
            self.send_rest(lane, first);
        }
        self.send_rest(lane, message);
    }

    fn next_flush(&mut self) {
        if self.flushing.is_none()
            && let Some(number) = self.flushes.pop_front()
        {
            self.send(number);
            let lane = self.turn;
            self.flushing = Some(Flushing { number, mark: self.kept.mark(), own: false, lane });
        }
    }

    /// Sends held changes as far as there is memory, and flushes if there is not.
    fn relieve(&mut self) {
        while let Some(&number) = self.held.front() {
            let weight = self.pending.get(&number).map_or(0, |slot| slot.weight);
            let full = self.kept.bytes() + self.under_way;
            if full > 0 && full + weight > self.most_kept {
                break;
            }
            self.held.pop_front();
            self.send(number);
        }
        // Early, so that nobody has to wait; but a server that fails its flushes is asked only when it must be.
        let early = self.kept.bytes() > self.most_kept / 2 && self.own_failed.is_none();
        let late = !self.held.is_empty() && self.kept.bytes() > 0;
        if (early || late) && self.flushing.is_none() {
            let (number, lane) = (self.number(), self.next_lane());
            if let Some(message) = Message::of(number, &Work::Flush, &self.export) {
                self.flushing = Some(Flushing { number, mark: self.kept.mark(), own: true, lane });
                self.post(lane, message);
            }
        }
    }

    /// What the reply with this number is for.
    pub(super) fn asked(&mut self, epoch: u64, lane: usize, number: u64) -> Result<Asked, Breach> {
        if epoch != self.epoch || !matches!(self.phase, Phase::Ready | Phase::Replaying) {
            return Err(Breach("the connection is over"));
        }
        let own = |flushing: &Flushing| flushing.own && flushing.number == number && flushing.lane == lane;
        if self.flushing.as_ref().is_some_and(own) || self.replays.get(&number).is_some_and(|it| it.lane == lane) {
            return Ok(Asked::Plain);
        }
        let slot = self.pending.get_mut(&number).filter(|slot| slot.lane == Some(lane));
        let slot = slot.ok_or(Breach("a reply that was not asked for, or comes twice"))?;
        match &mut slot.work {
            Some(Work::Read { at, parts }) => {
                let asked = Asked::Read(*at, std::mem::take(parts));
                slot.work = None;
                Ok(asked)
            }
            Some(Work::Extents { at, len, .. }) => Ok(Asked::Extents(*at, *len)),
            Some(_) => Ok(Asked::Plain),
            None => Err(Breach("a reply comes twice")),
        }
    }

    /// The buffers of a read whose reply did not come to its end.
    pub(super) fn give_back(&mut self, number: u64, at: u64, parts: Vec<ReadPart>) {
        if let Some(slot) = self.pending.get_mut(&number) {
            slot.work = Some(Work::Read { at, parts });
        }
    }

    /// A reply has come, wholly. `filled` is what a read or a question for holes has got.
    pub(super) fn answer(
        &mut self,
        epoch: u64,
        number: u64,
        outcome: Result<Option<Work>, Fault>,
        now: Instant,
    ) -> Result<(), Breach> {
        if epoch != self.epoch || !matches!(self.phase, Phase::Ready | Phase::Replaying) {
            if let Ok(Some(Work::Read { at, parts })) = outcome {
                self.give_back(number, at, parts);
            }
            return Err(Breach("the connection is over"));
        }
        self.progress = now;
        if self.replays.contains_key(&number) {
            return self.replayed(number, outcome.err());
        }
        self.answered = true;
        if self.flushing.as_ref().is_some_and(|flushing| flushing.number == number) {
            self.flushed(number, outcome.err());
        } else if let Some(slot) = self.pending.remove(&number) {
            self.under_way -= slot.weight;
            let done = match outcome {
                Ok(filled) => Ok(filled.or(slot.work).unwrap_or(Work::Flush)),
                Err(fault) => Err(fault),
            };
            if let (true, Ok(work)) = (self.keeps, &done) {
                match work {
                    Work::Write { at, parts, fua } => self.kept.write(*at, parts, *fua),
                    Work::Punch { at, len } => self.kept.trim(*at, *len),
                    Work::Read { .. } | Work::Extents { .. } | Work::Flush => {}
                }
            }
            self.done.push((number, done));
        }
        self.next_flush();
        self.relieve();
        Ok(())
    }

    fn flushed(&mut self, number: u64, fault: Option<Fault>) {
        let Some(Flushing { mark, own, .. }) = self.flushing.take() else { return };
        if fault.is_none() {
            self.kept.settle(mark);
        }
        if own {
            let Some(fault) = &fault else { return };
            // Those that wait for it learn of it now; otherwise the next one does.
            self.own_failed = self.flushes.is_empty().then(|| fault.clone());
            for number in std::mem::take(&mut self.held) {
                self.pending.remove(&number);
                self.done.push((number, Err(fault.clone())));
            }
        } else {
            self.pending.remove(&number);
            let told = fault.clone().or(self.own_failed.take());
            self.done.push((number, told.map_or(Ok(Work::Flush), Err)));
        }
        // What it may have dropped, the next one would not know of (nbd-6).
        if let Some(fault) = fault {
            for number in std::mem::take(&mut self.flushes) {
                self.pending.remove(&number);
                self.done.push((number, Err(fault.clone())));
            }
        }
    }

    /// The lease is over, and a change waits or would have to be sent again.
    pub(super) fn is_forbidden(&self) -> bool {
        let is_change = |slot: &Slot| matches!(slot.work, Some(Work::Write { .. } | Work::Punch { .. }));
        self.lease.as_ref().is_some_and(Lease::is_over)
            && (self.kept.pieces().next().is_some() || self.pending.values().any(is_change))
    }

    /// The lanes of a new epoch: what the server may have lost goes first (nbd-4).
    pub(super) fn begin(&mut self, lanes: Vec<mpsc::Sender<Send>>) -> usize {
        if self.is_forbidden() {
            self.give_up(NbdGone::Claim);
            return 0;
        }
        self.lanes = lanes;
        self.phase = Phase::Replaying;
        self.answered = false;
        let pieces: Vec<(u64, Piece)> = self.kept.pieces().map(|(at, piece)| (at, piece.clone())).collect();
        let count = pieces.len();
        for (at, piece) in pieces {
            let (number, lane) = (self.number(), self.next_lane());
            self.replays.insert(number, Replay { at, piece, lane, tries: 0 });
            self.send_replay(number);
        }
        if self.replays.is_empty() {
            self.open();
        }
        count
    }

    fn send_replay(&mut self, number: u64) {
        let Some(Replay { at, piece, lane, .. }) = self.replays.get(&number) else { return };
        let lane = *lane;
        if let Some(message) = Message::again(number, *at, piece, &self.export) {
            self.post(lane, message);
        }
    }

    fn replayed(&mut self, number: u64, fault: Option<Fault>) -> Result<(), Breach> {
        let Some(mut replay) = self.replays.remove(&number) else { return Ok(()) };
        // What a trim leaves is undefined, so one that fails does as well.
        if fault.is_some() && matches!(replay.piece.what, What::Data(..)) {
            replay.tries += 1;
            if replay.tries >= TRIES {
                return Err(Breach("the server refuses to write again what it had answered"));
            }
            // A new number: the old one was answered.
            let number = self.number();
            self.replays.insert(number, replay);
            self.send_replay(number);
        } else if self.replays.is_empty() {
            self.open();
        }
        Ok(())
    }

    /// The server has again all that it had answered: what it has not answered is sent, in order of submission.
    fn open(&mut self) {
        self.phase = Phase::Ready;
        let unsent: Vec<u64> = self.pending.keys().copied().collect();
        for number in unsent {
            self.route(number);
        }
    }

    /// A lane was lost; the lanes end. True for the first one of an epoch.
    pub(super) fn lose(&mut self, epoch: u64, why: &str) -> bool {
        if epoch != self.epoch || !matches!(self.phase, Phase::Ready | Phase::Replaying) {
            return false;
        }
        self.phase = Phase::Ending;
        self.why = why.to_owned();
        self.unsend();
        true
    }

    fn unsend(&mut self) {
        self.lanes.clear();
        self.replays.clear();
        self.held.clear();
        self.flushes.clear();
        self.flushing = None;
        self.under_way = 0;
        for slot in self.pending.values_mut() {
            (slot.lane, slot.weight) = (None, 0);
        }
    }

    /// The lanes have ended; the next ones are those of another epoch.
    pub(super) fn ended(&mut self) {
        self.epoch += 1;
        if self.phase == Phase::Ending {
            self.phase = Phase::Broken;
        }
    }

    /// How long nothing was answered although something waits, and whether that is too long.
    pub(super) fn quiet(&self, limit: Option<Duration>, now: Instant) -> (Duration, bool) {
        let Some((_, Slot { since: oldest, .. })) = self.pending.first_key_value() else { return Default::default() };
        let oldest = *oldest;
        let quiet = now.saturating_duration_since(oldest.max(self.progress));
        let alone = now.saturating_duration_since(oldest);
        (quiet, limit.is_some_and(|limit| quiet >= limit || alone >= limit * PATIENCE_WITH_ONE))
    }

    /// Gives the disk up: everything fails, now and later (nbd-8).
    pub(super) fn give_up(&mut self, gone: NbdGone) {
        self.unsend();
        self.phase = Phase::Dead(gone);
        for (number, _) in std::mem::take(&mut self.pending) {
            self.done.push((number, Err(Fault::Lost(gone.into()))));
        }
        self.kept.settle(u64::MAX);
    }

    /// Ends the lanes when what was requested is answered; their threads say goodbye.
    pub(super) fn say_goodbye(&mut self) {
        for lane in self.lanes.drain(..) {
            let _ = lane.send(Send::Goodbye);
        }
    }
}
