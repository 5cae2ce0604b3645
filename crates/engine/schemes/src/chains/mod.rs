//! `chains-*`: the disk's queue keeps the order, by lists of the writes that a write must follow (Ganger and Patt 1994,
//! sections 3.2 and 5.2).
//!
//! Every write that `sync` would wait for is sent at once, and no call waits for it. Writes that depend on it follow
//! it, whenever they are sent; no other write does.
//!
//! C1. A buf that a call changes after it sent a write follows that write, with every image until the write is durable.
//!     A sent write follows what its buf follows, so a list need name only the last link of each chain. An image holds
//!     everything that earlier images held, so no buf follows a write of its own.
//! C2. Blocks and inodes may be used again as soon as the write that took them from their old owner was issued. A call
//!     that takes one of them before that write is durable makes everything it changes follow that write. Otherwise the
//!     old owner could show the new one's data, or both could own a block. (The paper's table of recently freed blocks.
//!     With `chains-barrier` that write is a barrier for all younger ones instead, and no table of blocks is kept.)
//! C3. Calls on the same inode depend on each other. A call that removes a name follows the writes that gave the inode
//!     its other names, and, for a directory, the writes that moved entries out of it. A call that frees an inode's
//!     blocks or number follows the write that dropped its link. A call that makes something reachable through a
//!     directory follows the directory's own name. Otherwise a durable change of one call could depend on unwritten
//!     changes of another.
//! C4. A directory that has moved to another one is not moved, replaced or removed until all writes of that move are
//!     durable ([`TracksInodes::is_moving`]). Otherwise two moves, each in its order, could leave two directories
//!     inside each other.
//! C5. A name is durable after a sync, or an fsync of what it names, and not when its call returns.

use crate::AllocInit;
use crate::flags::{ordered, write_with_names};
use crate::new_names::NewNames;
use crate::rules::Rules;
use crate::sync::{Rule, Synchronous, leads_on};
use ordo_buf::{
    Ahead, Answer, BufRef, Cache, CallKind, Capabilities, Fields, Freed, Key, Landing, Must, Op, OrdersQueue, Promises,
    Scheme, Sequence, Step, TracksInodes, WhileLeaving,
};
use ordo_disk::{Flag, Meaning, Written};
use ordo_ondisk::Ino;
use ordo_rt::Time;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The barrier of `chains-barrier`.
const BARRIER: Flag = Flag { meaning: Meaning::Part, reads_pass: true };

/// How a freed block's new owner comes to follow the write that freed it (C2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freeing {
    /// By a table of what was freed.
    Specific,
    /// By a barrier.
    Barrier,
}

/// The schemes `chains-*`.
pub struct Chains {
    name: &'static str,
    freeing: Freeing,
    leaving: WhileLeaving,
    /// Decides what would be awaited.
    sync: Synchronous,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// The writes that a running call has sent, by its number: its next changes follow them.
    calls: FxHashMap<u64, Links>,
    /// What each buf follows (C1).
    follows: FxHashMap<Key, Links>,
    /// First fragment, how many, and the write that took them from their owner (C2).
    freed: BTreeMap<u64, (u32, Link)>,
    /// Fragments of the longest run freed so far.
    longest: u64,
    /// The writes that gave an inode a name (C3).
    named: FxHashMap<Ino, Links>,
    /// The writes that removed something from an inode: a link, its blocks, its number; from a directory a name (C2,
    /// C3).
    taken: FxHashMap<Ino, Links>,
    /// Moved directories: the running call that moves it, then the last writes of that call (C4).
    moved: FxHashMap<Ino, (Option<u64>, Links)>,
    /// The last barrier among the images of each buf.
    barriers: FxHashMap<Key, Written>,
    names: NewNames,
    /// What the step just reported sends.
    asked: Option<Asked>,
}

struct Asked {
    call: u64,
    buf: Key,
    /// It gives this inode a name.
    names: Option<Ino>,
    /// It removes something from this inode.
    takes: Option<Ino>,
    frees: Option<Freed>,
}

/// A write, and its buf.
#[derive(Clone)]
struct Link {
    buf: Key,
    written: Written,
}

/// Links of several chains; the youngest of each buf.
#[derive(Clone, Default)]
struct Links(Vec<Link>);

impl Links {
    fn add(&mut self, link: &Link) {
        match self.0.iter_mut().find(|known| known.buf == link.buf) {
            None => self.0.push(link.clone()),
            Some(known) if known.written.number() < link.written.number() => *known = link.clone(),
            Some(_) => {}
        }
    }

    /// Adds what another buf must follow, and leaves out what is durable.
    fn add_all(&mut self, more: &Links, of: Option<Key>) {
        let others = more.0.iter().filter(|link| Some(link.buf) != of && !link.written.is_durable());
        others.for_each(|link| self.add(link));
    }

    /// Drops what is durable; `false` if nothing is left.
    fn prune(&mut self) -> bool {
        self.0.retain(|link| !link.written.is_durable());
        !self.0.is_empty()
    }
}

impl Chains {
    /// With this allocation initialisation, and without the rules `dropped`, which it still declares.
    pub fn without(
        name: &'static str,
        freeing: Freeing,
        leaving: WhileLeaving,
        alloc_init: AllocInit,
        dropped: Rules<Rule>,
    ) -> Chains {
        Chains { name, freeing, leaving, sync: Synchronous::unawaited(alloc_init, dropped), state: RefCell::default() }
    }

    fn is_barrier(&self, asked: &Asked) -> bool {
        self.freeing == Freeing::Barrier && matches!(asked.frees, Some(Freed::Blocks { .. } | Freed::Inode { .. }))
    }
}

impl State {
    /// Makes the call follow the earlier calls that gave, took or freed what the step is about (C2, C3).
    fn lean(&mut self, op: Op, step: &Step<'_>) {
        let State { calls, named, taken, freed, longest, .. } = self;
        let mut on = |links: Option<&Links>| {
            if let Some(links) = links {
                calls.entry(op.id).or_default().add_all(links, None);
            }
        };
        match step {
            Step::FragmentsTaken { new, .. } => {
                let (from, to) = (new.at.0, new.at.0 + u64::from(new.frags));
                let near = freed.range(from.saturating_sub(*longest)..to);
                let overlaps = near.filter(|(at, (frags, _))| *at + u64::from(*frags) > from);
                overlaps.for_each(|(_, (_, link))| on(Some(&Links(vec![link.clone()]))));
            }
            Step::InodeAllocated { ino, .. } | Step::BlocksReleased { ino, .. } | Step::InodeReleased { ino, .. } => {
                on(taken.get(ino));
            }
            Step::LinkAdded { dir, .. } if leads_on(op.kind) => on(named.get(dir)),
            Step::LinkChanged { dir, .. } => on(named.get(dir)),
            _ => {}
        }
        if let Step::LinkChanged { ticket, .. } | Step::LinkRemoved { ticket, .. } = step
            && let Freed::DropLink { ino, .. } = ticket.freed()
        {
            on(named.get(ino));
            on(taken.get(ino));
        }
    }

    /// The step's write was issued: other calls will follow it (C2, C3).
    fn sent(&mut self, asked: Asked, written: &Written, fresh: bool, keeps_table: bool) {
        let link = Link { buf: asked.buf, written: written.clone() };
        let sent = self.calls.entry(asked.call).or_default();
        if fresh {
            // What it follows comes before it anyway. An image sent before may follow less.
            sent.0.clear();
        }
        sent.add(&link);
        for (table, ino) in [(&mut self.named, asked.names), (&mut self.taken, asked.takes)] {
            ino.into_iter().for_each(|ino| table.entry(ino).or_default().add(&link));
        }
        let Some(Freed::Blocks { runs, .. }) = asked.frees.filter(|_| keeps_table) else { return };
        for (at, frags) in runs.into_iter().filter(|(_, frags)| *frags > 0) {
            // A part of an earlier freed run may have been used and freed again. That write follows what freed the
            // whole.
            let frags = self.freed.get(&at.0).map_or(frags, |(before, _)| frags.max(*before));
            self.longest = self.longest.max(u64::from(frags));
            self.freed.insert(at.0, (frags, link.clone()));
        }
    }
}

/// The inode to which the step gives a name, and the one from which it removes something.
fn gives_and_takes(step: &Step<'_>) -> (Option<Ino>, Option<Ino>) {
    match *step {
        Step::LinkAdded { ino, .. } => (Some(ino), None),
        Step::LinkChanged { dir, ino, dotdot, .. } => ((!dotdot).then_some(ino), Some(dir)),
        Step::LinkRemoved { dir, .. } => (None, Some(dir)),
        Step::InodeChanged { ino, fields: Fields::LinksDown, .. }
        | Step::BlocksReleased { ino, .. }
        | Step::InodeReleased { ino, .. } => (None, Some(ino)),
        _ => (None, None),
    }
}

impl Scheme for Chains {
    fn name(&self) -> &'static str {
        self.name
    }

    fn declares(&self) -> Promises {
        ordered(&self.sync)
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities {
            while_leaving: self.leaving,
            inodes: Some(self.clone()),
            order: Some(self),
            ..Capabilities::default()
        }
    }

    fn end(&self, _cache: &Rc<Cache>, op: Op) -> Must {
        let state = &mut *self.state.borrow_mut();
        let sent = state.calls.remove(&op.id).unwrap_or_default();
        if op.kind == CallKind::Rename {
            for (call, writes) in state.moved.values_mut().filter(|(call, _)| *call == Some(op.id)) {
                (*call, *writes) = (None, sent.clone());
            }
        }
        Must::Nothing
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let state = &mut *self.state.borrow_mut();
        state.lean(op, &step);
        state.names.hear(&step);
        if let Step::LinkChanged { dir, dotdot: true, .. } = step {
            state.moved.insert(dir, (Some(op.id), Links::default()));
        }
        let State { calls, follows, .. } = state;
        if let Some(sent) = calls.get(&op.id) {
            step.each_changed(|buf| follows.entry(buf.key()).or_default().add_all(sent, Some(buf.key())));
        }
        let (names, takes) = gives_and_takes(&step);
        let Answer { must, ripe } = self.sync.step(cache, op, step);
        let Must::Durable(buf) = must else { return Answer { must, ripe } };
        let frees = ripe.as_ref().map(|ticket| ticket.freed().clone());
        state.asked = Some(Asked { call: op.id, buf: buf.key(), names, takes, frees });
        Answer { must: Must::Sent(buf), ripe }
    }

    /// Also what other calls have just moved: a directory that the disk has in two places counts where it was.
    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        let state = self.state.borrow();
        let moves = state.moved.values().flat_map(|(_, writes)| writes.0.iter().map(|link| link.written.clone()));
        write_with_names(cache, &state.names, ino, (inode, news), moves.collect())
    }

    /// Drops what has become durable; a discarded buf is not looked up again.
    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {
        let state = &mut *self.state.borrow_mut();
        state.follows.retain(|_, links| links.prune());
        state.named.retain(|_, links| links.prune());
        state.taken.retain(|_, links| links.prune());
        state.freed.retain(|_, (_, link)| !link.written.is_durable());
        state.moved.retain(|_, (call, writes)| call.is_some() || writes.prune());
        state.barriers.retain(|_, written| !written.is_durable());
        state.names.forget_durable();
    }
}

impl OrdersQueue for Chains {
    fn sequence(&self, buf: &BufRef) -> Sequence {
        let state = &mut *self.state.borrow_mut();
        let after = state.follows.get_mut(&buf.key()).map_or_else(Vec::new, |links| {
            links.prune();
            links.0.iter().map(|link| link.written.clone()).collect()
        });
        let asked = state.asked.as_ref().filter(|asked| asked.buf == buf.key());
        Sequence { flag: asked.is_some_and(|asked| self.is_barrier(asked)).then_some(BARRIER), after }
    }

    fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool {
        let state = &mut *self.state.borrow_mut();
        let Some(asked) = state.asked.take() else { return true };
        if self.is_barrier(&asked) {
            if !fresh && state.barriers.get(&buf.key()).is_none_or(|last| last.number() != written.number()) {
                return false;
            }
            state.barriers.insert(buf.key(), written.clone());
        }
        state.sent(asked, written, fresh, self.freeing == Freeing::Specific);
        true
    }
}

impl TracksInodes for Chains {
    fn is_moving(&self, dir: Ino) -> bool {
        let mut state = self.state.borrow_mut();
        state.moved.get_mut(&dir).is_some_and(|(call, writes)| call.is_some() || writes.prune())
    }

    /// It has no records of the inode of a name.
    fn look_ahead(&self, _ino: Ino, _ahead: Ahead) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_disk::{Block, DiskOff, Kind, Queue, QueueOptions, RamDisk};
    use ordo_ondisk::FragNo;

    /// An older write of a block may be reported after a younger one, from a table.
    #[test]
    fn of_each_block_the_youngest_write_is_followed_and_its_own_never() {
        let rt = ordo_rt::Rt::virtual_time(1);
        let queue = Queue::new(&rt, Rc::new(RamDisk::new(1 << 20).volatile(true)), QueueOptions::default());
        let link = |n: u64| {
            let written = queue.write(DiskOff(n * 4096), Block::zeroed(4096).image(), Kind::Data.into());
            Link { buf: Key::Device(FragNo(n)), written }
        };
        let (old, other, young) = (link(1), link(2), link(1));
        for order in [[&old, &young, &other], [&young, &other, &old]] {
            let mut links = Links::default();
            order.into_iter().for_each(|link| links.add(link));
            let mut numbers: Vec<u64> = links.0.iter().map(|link| link.written.number()).collect();
            numbers.sort_unstable();
            assert_eq!(numbers, [other.written.number(), young.written.number()]);
            let mut followed = Links::default();
            followed.add_all(&links, Some(old.buf));
            assert_eq!(followed.0.len(), 1);
        }
        let mut links = Links(vec![young.clone()]);
        rt.block_on(young.written.completed()).expect("the disk is well");
        assert!(links.prune(), "completed is not durable");
        rt.block_on(young.written.durable()).expect("the disk is well");
        assert!(!links.prune());
    }
}
