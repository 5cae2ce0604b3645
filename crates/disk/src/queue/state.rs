//! The requests of a queue that are not finished: who waits for whom, what goes to the disk next, what came of it.

use std::rc::Rc;

use rt::sync::Sender;
use rustc_hash::FxHashMap;

use super::elevator::{Elevator, Scheduler};
use super::ledger::{Ledger, Stage, WriteState};
use super::overlap::Overlap;
use super::{Id, Stats};
use crate::{Block, Cause, DiskError, DiskOff, DiskOp, Image, ReadPart, Tag, WritePart};

/// The most buffers that one merged request may carry: well below the system's limit of 1024 (IOV_MAX).
const MAX_PARTS: usize = 256;

pub(super) struct State {
    requests: FxHashMap<Id, Request>,
    pub(super) overlap: Overlap,
    elevator: Elevator,
    pub(super) at_disk: u32,
    issued: Id,
    pub(super) ledger: Ledger,
    pub(super) stats: Stats,
}

struct Request {
    at: DiskOff,
    len: u64,
    tag: Tag,
    /// How many requests this one waits for (Q1).
    waits_for: u32,
    /// Who waits for this one.
    followers: Vec<Id>,
    /// Not to be merged again (Q5).
    alone: bool,
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

/// What the disk is asked for. It is asked outside the borrow of the state: a disk may answer at once.
pub(super) enum Order {
    Read(Vec<ReadPart>),
    Write(Vec<WritePart>, bool),
    Discard(u64),
}

impl State {
    pub(super) fn new(scheduler: Scheduler, volatile_cache: bool) -> State {
        State {
            requests: FxHashMap::default(),
            overlap: Overlap::default(),
            elevator: Elevator::new(scheduler),
            at_disk: 0,
            issued: 0,
            ledger: Ledger::new(volatile_cache),
            stats: Stats::default(),
        }
    }

    /// Takes in a request, and finds out whom it has to wait for (Q1).
    pub(super) fn issue(&mut self, at: DiskOff, len: u64, tag: Tag, job: Job) {
        let State { requests, overlap, elevator, issued, stats, .. } = self;
        *issued += 1;
        let id = *issued;
        let changes = !matches!(job, Job::Read(_));
        match job {
            Job::Read(_) => stats.reads += 1,
            Job::Write { .. } => stats.writes += 1,
            Job::Discard(_) => stats.discards += 1,
        }
        let mut waits_for = 0;
        overlap.search(at.0, at.0 + len, changes, |other| {
            if let Some(other) = requests.get_mut(&other) {
                other.followers.push(id);
                waits_for += 1;
            }
        });
        overlap.add(at.0, at.0 + len, changes, id);
        stats.depth_max = stats.depth_max.max(overlap.len());
        if waits_for == 0 {
            elevator.add(at.0, id);
        }
        requests.insert(id, Request { at, len, tag, waits_for, followers: Vec::new(), alone: false, job });
    }

    /// Takes the next request and, as far as they may go with it, its neighbours above.
    pub(super) fn take_run(&mut self, max_merge: u64) -> Option<Vec<Id>> {
        let (start, id) = self.elevator.pick()?;
        self.elevator.remove(start, id);
        let mut run = vec![id];
        let first = &self.requests[&id];
        let (mut end, mut bytes) = (start + first.len, first.len);
        while !first.alone && run.len() < MAX_PARTS {
            let Some(next) = self.elevator.beginning_at(end) else { break };
            let neighbour = &self.requests[&next];
            if neighbour.alone || !first.job.joins(&neighbour.job) || bytes + neighbour.len > max_merge {
                break;
            }
            self.elevator.remove(end, next);
            run.push(next);
            end += neighbour.len;
            bytes += neighbour.len;
        }
        self.at_disk += 1;
        self.stats.merged += run.len() as u64 - 1;
        self.elevator.moved_to(end);
        Some(run)
    }

    /// What to ask the disk for, so that the requests of `run` are done.
    pub(super) fn order(&self, run: &[Id]) -> (DiskOff, Order) {
        let request = |id| &self.requests[id];
        let first = request(&run[0]);
        let order = match &first.job {
            Job::Read(_) => Order::Read(run.iter().map(|id| request(id).buffer()).collect()),
            Job::Write { fua, .. } => Order::Write(run.iter().filter_map(|id| request(id).part()).collect(), *fua),
            Job::Discard(_) => Order::Discard(first.len),
        };
        (first.at, order)
    }

    /// The disk has answered the requests of `run`, which went as one.
    pub(super) fn finish(&mut self, run: Vec<Id>, outcome: Result<Vec<ReadPart>, DiskError>) {
        self.at_disk -= 1;
        match outcome {
            Ok(parts) => {
                let mut blocks = parts.into_iter().map(|part| part.block);
                for id in run {
                    self.succeed(id, &mut blocks);
                }
            }
            Err(DiskError { cause: Cause::Io(_), .. }) if run.len() > 1 => {
                for id in run {
                    self.retry_alone(id);
                }
            }
            Err(error) => {
                for id in run {
                    self.fail(id, &error.cause);
                }
            }
        }
    }

    fn succeed(&mut self, id: Id, blocks: &mut impl Iterator<Item = Block>) {
        let Some(request) = self.remove(id) else { return };
        match request.job {
            Job::Read(sender) => {
                self.stats.bytes_read += request.len;
                if let Some(block) = blocks.next() {
                    sender.send(Ok(block));
                }
            }
            Job::Write { fua, state, image } => {
                self.stats.bytes_written += request.len;
                // Before the owner learns of it: otherwise the owner's next change would copy the buffer for nothing.
                drop(image);
                self.ledger.complete(Some(state), fua);
            }
            Job::Discard(sender) => {
                self.ledger.complete(None, false);
                sender.send(Ok(()));
            }
        }
    }

    fn fail(&mut self, id: Id, cause: &Cause) {
        let Some(request) = self.remove(id) else { return };
        self.stats.errors += 1;
        let error = DiskError::new(request.job.op(), request.at, request.len, cause.clone());
        match request.job {
            Job::Read(sender) => sender.send(Err(error)),
            Job::Write { state, .. } => state.set(Stage::Failed(error)),
            Job::Discard(sender) => sender.send(Err(error)),
        }
    }

    fn retry_alone(&mut self, id: Id) {
        if let Some(request) = self.requests.get_mut(&id) {
            request.alone = true;
            self.elevator.add(request.at.0, id);
        }
    }

    /// The request is finished: whoever waited for it may go (Q1).
    fn remove(&mut self, id: Id) -> Option<Request> {
        let request = self.requests.remove(&id)?;
        self.overlap.remove(request.at.0, id);
        for follower in &request.followers {
            if let Some(waiting) = self.requests.get_mut(follower) {
                waiting.waits_for -= 1;
                if waiting.waits_for == 0 {
                    self.elevator.add(waiting.at.0, *follower);
                }
            }
        }
        Some(request)
    }
}

impl Request {
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
