//! Which writes must be durable before which: flags and chains (Ganger and Patt 1994, section 3).
//!
//! O1. A write that must follow another goes to the disk only when that one is *durable* (queue-2), not when it has
//!     completed: a volatile cache may write the second and lose the first. So on such a cache an edge costs a flush,
//!     which all waiting writes share.
//! O2. Edges lead from requests to younger ones. So there is no cycle.
//! O3. A write that must follow a failed write is not sent, and fails, too. A read that was only held up goes on.
//!
//! A flag is a gate at which all younger requests wait. A younger gate opens only after the older one, so a new request
//! need know only the youngest gate: each request and each gate has few edges, however many requests wait.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::handles::Written;
use super::ledger::Id;
use crate::DiskError;

/// Which writes a write must follow, and which must follow it; by default only those that share its bytes (queue-1).
#[derive(Clone, Copy, Default)]
pub struct Order<'a> {
    /// It is a barrier: section 3.1.
    pub flag: Option<Flag>,
    /// These must be durable first: section 3.2, a chain.
    pub after: &'a [Written],
}

impl Order<'_> {
    /// No order at all.
    pub const FREE: Order<'static> = Order { flag: None, after: &[] };
}

/// A flagged write, as a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// What it holds back.
    pub meaning: Meaning,
    /// Reads pass (`-NR`). Otherwise they wait like writes, and are waited for.
    pub reads_pass: bool,
}

/// What a flag on a write means. Older requests are those issued before it, younger ones those issued after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// It follows all older requests, and all younger ones follow it.
    Full,
    /// All younger requests follow it and all older ones. It has no order relative to the older ones.
    Back,
    /// All younger requests follow it.
    Part,
    /// Nothing at all, for comparison.
    Ignore,
}

/// So many requests since the last flag are kept before the finished ones are dropped.
const SINCE_MIN: usize = 1024;

/// Numbers gates in the order of their flags.
type GateId = u64;

/// A node that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Request(Id),
    Gate(GateId),
}

/// A node that waits for one edge less.
pub(super) struct Freed {
    pub(super) node: Node,
    /// The request that it waited for has failed.
    pub(super) broken: Option<DiskError>,
    /// The edge was one that waited for a flush.
    pub(super) flushed: bool,
}

impl Freed {
    pub(super) fn well(node: Node) -> Freed {
        Freed { node, broken: None, flushed: false }
    }

    pub(super) fn broken(node: Node, broken: Option<DiskError>) -> Freed {
        Freed { node, broken, flushed: false }
    }
}

/// The unmet edges that lead to a node.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edges {
    all: u32,
    /// Edges whose request is completed, but not durable.
    at_flush: u32,
}

impl Edges {
    pub(super) fn one() -> Edges {
        Edges { all: 1, at_flush: 0 }
    }

    pub(super) fn add(&mut self) {
        self.all += 1;
    }

    /// One edge waits for a flush from now on.
    pub(super) fn reach_flush(&mut self) {
        self.at_flush += 1;
    }

    pub(super) fn take(&mut self, freed: &Freed) {
        self.all -= 1;
        self.at_flush -= u32::from(freed.flushed);
    }

    pub(super) fn none(self) -> bool {
        self.all == 0
    }

    /// Only a flush is waited for. A flush requested earlier would not cover all edges.
    pub(super) fn only_flush(self) -> bool {
        self.all > 0 && self.all == self.at_flush
    }
}

/// The gates, and the nodes that wait for a flush. The edges of requests are stored with the requests.
#[derive(Default)]
pub(super) struct Gates {
    shut: FxHashMap<GateId, Gate>,
    /// The youngest gate that is closed.
    youngest: Option<GateId>,
    last: GateId,
    /// Requests since the last flag, for the next flag that waits for all of them. Kept once there has been such a
    /// flag.
    since: Option<Vec<Id>>,
    /// The nodes that wait until the completion with this number is durable.
    at_flush: BTreeMap<u64, Vec<Node>>,
}

#[derive(Default)]
struct Gate {
    edges: Edges,
    followers: Vec<Id>,
    next: Option<GateId>,
    reads_pass: bool,
    broken: Option<DiskError>,
}

impl Gates {
    /// Makes a new request wait at the youngest gate, as a follower of that gate, if there is one.
    pub(super) fn stand_at(&mut self, id: Id, is_read: bool) -> bool {
        let Some(gate) = self.youngest.and_then(|gate| self.shut.get_mut(&gate)) else { return false };
        let stands = !(is_read && gate.reads_pass);
        if stands {
            gate.followers.push(id);
        }
        stands
    }

    /// A request was issued; `unfinished` are all requests that are not finished.
    pub(super) fn issued<T>(&mut self, id: Id, unfinished: &FxHashMap<Id, T>) {
        let Some(since) = &mut self.since else { return };
        since.push(id);
        // Without another flag it would grow forever.
        if since.len() > 2 * unfinished.len() + SINCE_MIN {
            since.retain(|id| unfinished.contains_key(id));
        }
    }

    /// The requests since the last flag that waited for all of them; all requests if this is the first one.
    pub(super) fn take_since(&mut self, all: impl Iterator<Item = Id>) -> Vec<Id> {
        let fresh = Vec::new();
        self.since.replace(fresh).unwrap_or_else(|| all.collect())
    }

    /// A new gate, at which all later requests wait. It has one edge of its own, so that it stays closed until all
    /// others are added; the caller removes that edge with [`Gates::freed`].
    pub(super) fn shut(&mut self, reads_pass: bool, follows_older_gate: bool) -> GateId {
        self.last += 1;
        let gate = self.last;
        let (mut edges, mut reads_pass) = (Edges::one(), reads_pass);
        if let Some(older) = self.youngest.and_then(|older| self.shut.get_mut(&older)) {
            // The older gate is not consulted any more.
            reads_pass &= older.reads_pass;
            if follows_older_gate {
                older.next = Some(gate);
                edges.add();
            }
        }
        self.shut.insert(gate, Gate { edges, reads_pass, ..Gate::default() });
        self.youngest = Some(gate);
        gate
    }

    /// The edges of a closed gate.
    pub(super) fn edges(&mut self, gate: GateId) -> Option<&mut Edges> {
        self.shut.get_mut(&gate).map(|gate| &mut gate.edges)
    }

    /// A gate waits for one edge less. If it was the last one, the gate opens, and its followers are returned.
    pub(super) fn freed(&mut self, id: GateId, freed: Freed) -> Vec<Freed> {
        let Some(gate) = self.shut.get_mut(&id) else { return Vec::new() };
        gate.edges.take(&freed);
        gate.broken = gate.broken.take().or(freed.broken);
        if !gate.edges.none() {
            return Vec::new();
        }
        let Some(gate) = self.shut.remove(&id) else { return Vec::new() };
        self.youngest = self.youngest.filter(|youngest| *youngest != id);
        let next = gate.next.map(Node::Gate);
        let nodes = gate.followers.into_iter().map(Node::Request).chain(next);
        nodes.map(|node| Freed::broken(node, gate.broken.clone())).collect()
    }

    /// `node` waits until the completion with this number is durable.
    pub(super) fn wait_for_flush(&mut self, number: u64, node: Node) {
        self.at_flush.entry(number).or_default().push(node);
    }

    /// A flush has decided all completions up to this number.
    pub(super) fn flushed(&mut self, covers: u64, failure: Option<&DiskError>) -> Vec<Freed> {
        let later = self.at_flush.split_off(&(covers + 1));
        let decided = std::mem::replace(&mut self.at_flush, later);
        let nodes = decided.into_values().flatten();
        nodes.map(|node| Freed { node, broken: failure.cloned(), flushed: true }).collect()
    }
}
