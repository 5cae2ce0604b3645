//! Which requests fail, and how.

use std::ops::Range;

use ordo_disk::{Cause, DiskError, DiskOff, DiskOp, Kind, SECTOR};
use ordo_rt::Rng;
use rustix::io::Errno;

/// What happens to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Effect {
    /// It fails, and nothing is done.
    Error(Errno),
    /// A write ends after so many sectors, and fails. A read only fails.
    Short(u64),
    /// A write reaches some of its sectors, and fails. A read only fails.
    Torn,
    /// A write, a flush or a discard is not done, but is reported as done. A read returns zeros.
    Lost,
    /// The request goes to an address this many bytes further, and is reported as done. Off the disk it is lost.
    Misdirected(i64),
    /// One bit of what is read or written is wrong.
    BitRot,
    /// These bits of one byte are wrong in a read or write that touches it.
    BitRotAt(DiskOff, u8),
    /// The power goes off: a write reaches some of its sectors, and this request and all later ones fail.
    PowerCut,
}

/// A fault, and the requests that it hits.
#[derive(Clone, Debug)]
pub struct Fault {
    op: DiskOp,
    pub(super) first: u64,
    pub(super) times: u64,
    kinds: Vec<Kind>,
    range: Range<u64>,
    pub(super) effect: Effect,
}

impl Fault {
    /// `effect` for the `nth` (from 1) `op`, once.
    pub fn new(op: DiskOp, nth: u64, effect: Effect) -> Fault {
        let range = match effect {
            Effect::BitRotAt(at, _) => at.0..at.0 + 1,
            _ => 0..u64::MAX,
        };
        Fault { op, first: nth.max(1), times: 1, kinds: Vec::new(), range, effect }
    }

    /// EIO for the `nth` (from 1) `op`, once.
    pub fn error(op: DiskOp, nth: u64) -> Fault {
        Fault::new(op, nth, Effect::Error(Errno::IO))
    }

    /// The fault hits this many requests in a row.
    pub fn times(self, times: u64) -> Fault {
        Fault { times, ..self }
    }

    /// The fault hits all requests from then on.
    pub fn for_ever(self) -> Fault {
        self.times(u64::MAX)
    }

    /// Counts and hits only requests that carry one of these kinds.
    pub fn of(self, kinds: &[Kind]) -> Fault {
        Fault { kinds: kinds.into(), ..self }
    }

    /// Counts and hits only requests that touch this range: a bad spot.
    pub fn within(self, range: Range<DiskOff>) -> Fault {
        Fault { range: range.start.0..range.end.0, ..self }
    }

    pub(super) fn concerns(&self, request: &Request) -> bool {
        let touches = request.at.0 < self.range.end && self.range.start < request.at.0 + request.len;
        self.op == request.op
            && (touches || request.op == DiskOp::Flush)
            && (self.kinds.is_empty() || request.kinds.iter().any(|kind| self.kinds.contains(kind)))
    }
}

/// The faults of a disk, and the seed of its random choices.
#[derive(Clone, Debug)]
pub struct FaultPlan {
    pub(super) seed: u64,
    pub(super) faults: Vec<Fault>,
}

impl FaultPlan {
    /// No faults yet.
    pub fn new(seed: u64) -> FaultPlan {
        FaultPlan { seed, faults: Vec::new() }
    }

    /// The plan with one more fault. If two hit one request, the earlier one acts.
    pub fn with(mut self, fault: Fault) -> FaultPlan {
        self.faults.push(fault);
        self
    }

    /// `count` faults of any kind except a power cut, among the first `requests` reads, writes or flushes.
    pub fn random(seed: u64, count: usize, requests: u64) -> FaultPlan {
        let mut rng = Rng::new(seed);
        let mut plan = FaultPlan::new(rng.next_u64());
        for _ in 0..count {
            let sectors = rng.range(1, 64);
            let (op, effect) = match rng.below(8) {
                0 => (DiskOp::Read, Effect::Error(Errno::IO)),
                1 => (DiskOp::Write, Effect::Error(Errno::IO)),
                2 => (DiskOp::Flush, Effect::Error(Errno::IO)),
                3 => (DiskOp::Write, Effect::Short(sectors)),
                4 => (DiskOp::Write, Effect::Torn),
                5 => (DiskOp::Write, Effect::Lost),
                6 => (DiskOp::Write, Effect::Misdirected((sectors * SECTOR as u64) as i64)),
                _ => (DiskOp::Read, Effect::BitRot),
            };
            plan = plan.with(Fault::new(op, rng.range(1, requests.saturating_add(1)), effect));
        }
        plan
    }
}

/// A request, as the plan sees it.
pub(super) struct Request {
    pub(super) op: DiskOp,
    pub(super) at: DiskOff,
    pub(super) len: u64,
    pub(super) kinds: Vec<Kind>,
}

impl Request {
    pub(super) fn error(&self, cause: Cause) -> DiskError {
        DiskError::new(self.op, self.at, self.len, cause)
    }
}
