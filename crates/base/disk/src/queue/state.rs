//! The unfinished requests of a queue: which waits for which, what goes to the disk next, and how results are handled.

use std::rc::Rc;
use std::time::Duration;

use ordo_rt::Time;
use ordo_rt::sync::Sender;
use rustc_hash::{FxHashMap, FxHashSet};

use super::handles::Written;
use super::ledger::{Id, Ledger, Stage, WriteState};
use super::order::{Edges, Flag, Freed, Gates, Meaning, Node, Order};
use super::overlap::Overlap;
use super::stats::Stats;
use super::waiting::{Entry, Head, Pick, Scheduler, Waiting};
use crate::{Block, Cause, DiskError, DiskOff, DiskOp, Image, ReadPart, Tag, WritePart};

/// The most buffers that one merged request may carry: well below the system's limit of 1024 (IOV_MAX).
const MAX_PARTS: usize = 256;

pub(super) struct State {
    requests: FxHashMap<Id, Request>,
    overlap: Overlap,
    gates: Gates,
    waiting: Waiting,
    pub(super) at_disk: u32,
    /// The writes that the next flush waits for (queue-7); `None` before it is wanted.
    flush_waits: Option<FxHashSet<Id>>,
    issued: Id,
    pub(super) ledger: Ledger,
    pub(super) stats: Stats,
}

struct Request {
    at: DiskOff,
    len: u64,
    tag: Tag,
    issued: Time,
    /// Edges from the requests that this one waits for (queue-1, queue-order-1).
    edges: Edges,
    /// Requests that wait for this one to complete (queue-1).
    followers: Vec<Id>,
    /// Nodes that wait for this one to be durable (queue-order-1).
    heirs: Vec<Node>,
    /// A write that it must follow has failed (queue-order-3).
    broken: Option<DiskError>,
    /// Not to be merged again (queue-5).
    alone: bool,
    /// The disk has it.
    sent: bool,
    job: Job,
}

pub(super) enum Job {
    Read(Sender<Result<Block, DiskError>>),
    Write { image: Image, fua: bool, state: Rc<WriteState> },
    Discard(Sender<Result<(), DiskError>>),
}

impl Job {
    fn op(&self) -> DiskOp {
        match self {
            Job::Read(_) => DiskOp::Read,
            Job::Write { .. } => DiskOp::Write,
            Job::Discard(_) => DiskOp::Discard,
        }
    }

    fn joins(&self, other: &Job) -> bool {
        match (self, other) {
            (Job::Read(_), Job::Read(_)) => true,
            (Job::Write { fua: a, .. }, Job::Write { fua: b, .. }) => a == b,
            _ => false,
        }
    }
}

/// Requests that were sent to the disk as one, and when.
pub(super) struct Sent {
    pub(super) run: Vec<Id>,
    pub(super) at: Time,
}

/// The call to the disk. It is made outside the borrow of the state: a disk may answer at once.
pub(super) enum Command {
    Read(Vec<ReadPart>),
    Write(Vec<WritePart>, bool),
    Discard(u64),
}

impl State {
    pub(super) fn new(scheduler: Scheduler, volatile_cache: bool, has_copies: bool) -> State {
        State {
            requests: FxHashMap::default(),
            overlap: Overlap::default(),
            gates: Gates::default(),
            waiting: Waiting::new(scheduler, has_copies),
            at_disk: 0,
            flush_waits: None,
            issued: 0,
            ledger: Ledger::new(volatile_cache),
            stats: Stats::default(),
        }
    }

    /// Requests that are not finished.
    pub(super) fn unfinished(&self) -> usize {
        self.requests.len()
    }

    /// Adds a request, and finds the requests that it must wait for (queue-1, queue-order-1).
    pub(super) fn issue(&mut self, now: Time, at: DiskOff, len: u64, tag: Tag, job: Job, order: Order<'_>) -> Id {
        self.issued += 1;
        let id = self.issued;
        let changes = !matches!(job, Job::Read(_));
        match job {
            Job::Read(_) => self.stats.reads += 1,
            Job::Write { .. } => self.stats.writes += 1,
            Job::Discard(_) => self.stats.discards += 1,
        }
        let State { requests, overlap, .. } = self;
        // One edge of its own, until all others are added.
        let mut edges = Edges::one();
        overlap.search(at.0, at.0 + len, changes, |other| {
            if let Some(other) = requests.get_mut(&other) {
                other.followers.push(id);
                edges.add();
            }
        });
        overlap.add(at.0, at.0 + len, changes, id);
        let (followers, heirs) = (Vec::new(), Vec::new());
        let (broken, alone, sent) = (None, false, false);
        let request = Request { at, len, tag, issued: now, edges, followers, heirs, broken, alone, sent, job };
        requests.insert(id, request);
        self.stats.depth_max = self.stats.depth_max.max(self.requests.len());
        self.put_in_order(id, !changes, order);
        let freed = self.free_one(Freed::well(Node::Request(id)));
        self.free(freed);
        id
    }

    /// Adds the order's edges of a request that was just issued.
    fn put_in_order(&mut self, id: Id, is_read: bool, order: Order<'_>) {
        let flag = order.flag.filter(|flag| flag.meaning != Meaning::Ignore);
        if let Some(Flag { meaning: Meaning::Full, reads_pass }) = flag {
            let gate = self.gates.shut(reads_pass, true);
            self.wait_for_older(gate, id, reads_pass);
            let freed = self.free_one(Freed::well(Node::Gate(gate)));
            self.free(freed);
        }
        if self.gates.stand_at(id, is_read) {
            self.add_edge(Node::Request(id));
        }
        self.gates.issued(id, &self.requests);
        order.after.iter().for_each(|write| self.follow(id, write));
        if let Some(Flag { meaning, reads_pass }) = flag {
            let gate = self.gates.shut(reads_pass, meaning == Meaning::Back);
            if meaning == Meaning::Back {
                self.wait_for_older(gate, id, reads_pass);
            }
            self.edge(id, Node::Gate(gate));
            let freed = self.free_one(Freed::well(Node::Gate(gate)));
            self.free(freed);
        }
    }

    /// The gate waits for all requests older than `id` since the last flag, and for completions that are not durable.
    fn wait_for_older(&mut self, gate: u64, id: Id, reads_pass: bool) {
        for older in self.gates.take_since(self.requests.keys().copied()).into_iter().filter(|older| *older != id) {
            let is_read = self.requests.get(&older).is_some_and(|older| matches!(older.job, Job::Read(_)));
            if !(reads_pass && is_read) {
                self.edge(older, Node::Gate(gate));
            }
        }
        if let Some(number) = self.ledger.undurable() {
            self.add_edge(Node::Gate(gate));
            self.wait_for_flush(number, Node::Gate(gate));
        }
    }

    fn follow(&mut self, id: Id, write: &Written) {
        match write.state.stage() {
            Stage::Durable => {}
            Stage::Pending => self.edge(write.id, Node::Request(id)),
            Stage::Completed(number) => {
                self.add_edge(Node::Request(id));
                self.wait_for_flush(number, Node::Request(id));
            }
            Stage::Failed(error) | Stage::NotDurable(error) => {
                if let Some(request) = self.requests.get_mut(&id) {
                    request.broken = Some(error);
                }
            }
        }
    }

    /// Adds an edge from a request that is not finished; from a finished one there is none to add.
    fn edge(&mut self, from: Id, to: Node) {
        if let Some(request) = self.requests.get_mut(&from) {
            request.heirs.push(to);
            self.add_edge(to);
        }
    }

    fn edges(&mut self, node: Node) -> Option<&mut Edges> {
        match node {
            Node::Request(id) => self.requests.get_mut(&id).map(|request| &mut request.edges),
            Node::Gate(gate) => self.gates.edges(gate),
        }
    }

    fn add_edge(&mut self, to: Node) {
        if let Some(edges) = self.edges(to) {
            edges.add();
        }
    }

    /// Adds an edge from the completion with this number. A flush is requested as soon as nothing else is waited for.
    fn wait_for_flush(&mut self, number: u64, node: Node) {
        self.gates.wait_for_flush(number, node);
        if let Some(edges) = self.edges(node) {
            edges.reach_flush();
            if edges.only_flush() {
                self.ledger.demand(number);
            }
        }
    }

    /// Removes one edge from each of these nodes, and from all that become free by it.
    fn free(&mut self, mut freed: Vec<Freed>) {
        while let Some(one) = freed.pop() {
            freed.extend(self.free_one(one));
        }
    }

    /// Removes one edge from this node. If it was the last, a gate opens, or a request may be sent, or fails
    /// (queue-order-3).
    fn free_one(&mut self, freed: Freed) -> Vec<Freed> {
        let node = freed.node;
        let next = match node {
            Node::Gate(gate) => self.gates.freed(gate, freed),
            Node::Request(id) => self.free_request(id, freed),
        };
        if self.edges(node).is_some_and(|edges| edges.only_flush()) {
            let last = self.ledger.undurable();
            last.map(|number| self.ledger.demand(number));
        }
        next
    }

    fn free_request(&mut self, id: Id, freed: Freed) -> Vec<Freed> {
        let Some(request) = self.requests.get_mut(&id) else { return Vec::new() };
        request.edges.take(&freed);
        request.broken = request.broken.take().or(freed.broken);
        if !request.edges.none() {
            return Vec::new();
        }
        match request.broken.take().filter(|_| !matches!(request.job, Job::Read(_))) {
            Some(error) => self.fail(id, &Cause::After(Box::new(error))),
            None => {
                self.waiting.add(request.entry(id));
                Vec::new()
            }
        }
    }

    /// Takes the next request and the neighbours above it that can be merged with it.
    ///
    /// # Errors
    /// The moment until which nothing shall be sent, if the scheduler prefers to wait.
    pub(super) fn take_run(
        &mut self,
        now: Time,
        (max_merge, within_call): (u64, bool),
        head: Head<'_>,
    ) -> Result<Option<Vec<Id>>, Time> {
        let (start, id, aside) = match self.waiting.pick(now, head) {
            Pick::Go(start, id) => (start, id, false),
            Pick::Aside(start, id) => (start, id, true),
            Pick::Wait(until) => return Err(until),
            Pick::Nothing => return Ok(None),
        };
        self.waiting.remove(start, id);
        let mut run = vec![id];
        let first = &self.requests[&id];
        let (mut end, mut bytes) = (start + first.len, first.len);
        while !first.alone && !aside && run.len() < MAX_PARTS {
            let Some(next) = self.waiting.beginning_at(end) else { break };
            let neighbour = &self.requests[&next];
            let apart = within_call && first.tag.cause != neighbour.tag.cause;
            if apart || neighbour.alone || !first.job.joins(&neighbour.job) || bytes + neighbour.len > max_merge {
                break;
            }
            self.waiting.remove(end, next);
            run.push(next);
            end += neighbour.len;
            bytes += neighbour.len;
        }
        for id in &run {
            self.requests.entry(*id).and_modify(|request| request.sent = true);
        }
        self.at_disk += 1;
        self.stats.merged += run.len() as u64 - 1;
        match aside {
            true => self.waiting.went_aside(),
            false => self.waiting.moved_to(end),
        }
        Ok(Some(run))
    }

    /// The call to the disk for the requests of `run`.
    pub(super) fn command(&self, run: &[Id]) -> (DiskOff, Command) {
        let request = |id| &self.requests[id];
        let first = request(&run[0]);
        let command = match &first.job {
            Job::Read(_) => Command::Read(run.iter().map(|id| request(id).buffer()).collect()),
            Job::Write { fua, .. } => Command::Write(run.iter().filter_map(|id| request(id).part()).collect(), *fua),
            Job::Discard(_) => Command::Discard(first.len),
        };
        (first.at, command)
    }

    /// The disk has answered the requests of `run`, which were sent as one.
    pub(super) fn finish(&mut self, now: Time, run: Sent, outcome: Result<Vec<ReadPart>, DiskError>) {
        let Sent { run, at: sent } = run;
        self.at_disk -= 1;
        self.stats.transfers += 1;
        self.stats.service += now.since(sent);
        let issued = |id| self.requests.get(id).map_or(now, |request: &Request| request.issued);
        self.stats.response += run.iter().map(|id| now.since(issued(id))).sum::<Duration>();
        let is_read = run.first().and_then(|id| self.requests.get(id));
        self.waiting.answered(is_read.is_some_and(|request| matches!(request.job, Job::Read(_))), now);
        match outcome {
            Ok(parts) => {
                let mut blocks = parts.into_iter().map(|part| part.block);
                for id in run {
                    let freed = self.succeed(id, &mut blocks);
                    self.free(freed);
                }
            }
            Err(DiskError { cause: Cause::Io(_) | Cause::Rot, .. }) if run.len() > 1 => {
                for id in run {
                    self.retry_alone(id);
                }
            }
            Err(error) => {
                for id in run {
                    let freed = self.fail(id, &error.cause);
                    self.free(freed);
                }
            }
        }
    }

    /// True if a flush must begin now.
    pub(super) fn begin_flush(&mut self) -> bool {
        if !self.ledger.wants_flush() {
            return false;
        }
        let State { requests, flush_waits, .. } = self;
        let waits = flush_waits.get_or_insert_with(|| {
            requests.iter().filter(|(_, request)| request.awaits_flush()).map(|(id, _)| *id).collect()
        });
        if !waits.is_empty() {
            return false;
        }
        self.flush_waits = None;
        self.ledger.begin()
    }

    /// Removes a request that is finished.
    fn take_out(&mut self, id: Id) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.overlap.remove(request.at.0, id);
        if let Some(waits) = &mut self.flush_waits {
            waits.remove(&id);
        }
        Some(request)
    }

    /// The flush at the disk has ended.
    pub(super) fn end_flush(&mut self, outcome: &Result<(), DiskError>) {
        self.stats.errors += u64::from(outcome.is_err());
        if let Some(covers) = self.ledger.end(outcome) {
            let freed = self.gates.flushed(covers, outcome.as_ref().err());
            self.free(freed);
        }
    }

    fn succeed(&mut self, id: Id, blocks: &mut impl Iterator<Item = Block>) -> Vec<Freed> {
        let Some(request) = self.take_out(id) else { return Vec::new() };
        let mut freed = done(request.followers);
        let undurable = match request.job {
            Job::Read(sender) => {
                self.stats.bytes_read += request.len;
                if let Some(block) = blocks.next() {
                    sender.send(Ok(block));
                }
                None
            }
            Job::Write { fua, state, image } => {
                self.stats.bytes_written += request.len;
                // Before the owner is notified: otherwise the owner's next change would make a needless copy of the
                // buffer.
                drop(image);
                self.ledger.complete(Some(state), fua)
            }
            Job::Discard(sender) => {
                let undurable = self.ledger.complete(None, false);
                sender.send(Ok(()));
                undurable
            }
        };
        match undurable {
            Some(number) => request.heirs.into_iter().for_each(|heir| self.wait_for_flush(number, heir)),
            None => freed.extend(request.heirs.into_iter().map(Freed::well)),
        }
        freed
    }

    fn fail(&mut self, id: Id, cause: &Cause) -> Vec<Freed> {
        let Some(request) = self.take_out(id) else { return Vec::new() };
        self.stats.errors += 1;
        let error = DiskError::new(request.job.op(), request.at, request.len, cause.clone());
        // A read is only waited for, so its failure fails no other request.
        let broken = (!matches!(request.job, Job::Read(_))).then(|| error.clone());
        let mut freed = done(request.followers);
        freed.extend(request.heirs.into_iter().map(|heir| Freed::broken(heir, broken.clone())));
        match request.job {
            Job::Read(sender) => sender.send(Err(error)),
            Job::Write { state, .. } => state.set(Stage::Failed(error)),
            Job::Discard(sender) => sender.send(Err(error)),
        }
        freed
    }

    fn retry_alone(&mut self, id: Id) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.alone = true;
            request.sent = false;
            self.waiting.add(request.entry(id));
            // The disk does not have it any more (queue-7).
            if let Some(waits) = &mut self.flush_waits {
                waits.remove(&id);
            }
        }
    }
}

/// The request that these waited for is finished, with or without success (queue-1).
fn done(followers: Vec<Id>) -> Vec<Freed> {
    followers.into_iter().map(|follower| Freed::well(Node::Request(follower))).collect()
}

impl Request {
    fn entry(&self, id: Id) -> Entry {
        Entry { start: self.at.0, len: self.len, id, is_read: matches!(self.job, Job::Read(_)), issued: self.issued }
    }

    /// A flush that begins before this write is completed would be followed by another one (queue-7).
    fn awaits_flush(&self) -> bool {
        match &self.job {
            Job::Write { fua: false, state, .. } => self.sent && (state.is_expected() || !self.heirs.is_empty()),
            _ => false,
        }
    }

    fn buffer(&self) -> ReadPart {
        ReadPart { block: Block::zeroed(self.len as usize), tag: self.tag }
    }

    fn part(&self) -> Option<WritePart> {
        match &self.job {
            Job::Write { image, .. } => Some(WritePart { image: image.clone(), tag: self.tag }),
            _ => None,
        }
    }
}
