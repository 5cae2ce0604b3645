//! A scheme that records the features reached: for a search that prefers calls which lead to something new.
//!
//! scout-1. A scout changes nothing: it passes each call to the scheme behind it, and returns that scheme's answers.
//! scout-2. A feature is small and independent of inode numbers, addresses and times: two scripts reach the same
//!     features if they lead a scheme through the same places.
//!
//! It sees what a scheme exposes: the steps, with the kind of call, the role of the buf, the shape of the pointer and
//! the answer; which rule holds back what in a written image, and how; and the counters (rolled back, cancelled,
//! deferred), each with the step or the image at which it increased. They show a record's way through *held*, *carried*
//! and *durable* without access to the record. Two consecutive features form a feature, too.

use ordo_buf::{
    Answer, BufRef, Cache, CallKind, Capabilities, Fields, How, ImageNo, Leave, Must, Op, Role, Scheme, Slot, Step,
    Wrapper,
};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cell::RefCell;
use std::rc::Rc;

/// Something that a script may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Feature {
    /// A step in a call, and its answer.
    Step {
        /// The call.
        call: CallKind,
        /// Which step.
        step: &'static str,
        /// The role of its buf.
        role: Option<Role>,
        /// Its shape: the shape of a run, the level of a pointer, the fields.
        shape: u8,
        /// What the scheme demands.
        answer: &'static str,
        /// The step's ticket was ripe at once.
        ripe: bool,
    },
    /// A buf is written, or must wait.
    Leaves {
        /// The role of the buf.
        role: Role,
        /// What is written.
        what: &'static str,
    },
    /// A rule holds something back in a written buf.
    Rule {
        /// The rule.
        rule: &'static str,
        /// The role of the buf.
        role: Role,
        /// How it is held back.
        how: &'static str,
    },
    /// A counter of the scheme increased at the feature with this number.
    Counted(&'static str, u32),
    /// Two consecutive features, by their numbers.
    Pair(u32, u32),
}

/// The features reached, and their numbers.
#[derive(Debug, Default)]
pub struct Reached {
    numbers: FxHashMap<Feature, u32>,
    /// In this run.
    now: FxHashSet<Feature>,
    last: u32,
    counters: Vec<(&'static str, u64)>,
}

impl Reached {
    /// A script begins.
    pub fn begin(&mut self) {
        self.now.clear();
        self.last = 0;
        self.counters.clear();
    }

    /// What was reached since then.
    pub fn now(&self) -> &FxHashSet<Feature> {
        &self.now
    }

    fn number(&mut self, feature: Feature) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        *self.numbers.entry(feature).or_insert(next)
    }

    fn note(&mut self, feature: Feature) {
        let number = self.number(feature);
        self.now.insert(feature);
        self.now.insert(Feature::Pair(self.last, number));
        self.last = number;
    }

    fn count(&mut self, counters: Vec<(&'static str, u64)>) {
        for (at, (name, count)) in counters.iter().enumerate() {
            let before = self.counters.get(at).map_or(0, |(_, before)| *before);
            // The number of records is not a feature; that it increased is.
            if *count > before && !name.starts_with("dependencies") {
                self.now.insert(Feature::Counted(name, self.last));
            }
        }
        self.counters = counters;
    }
}

/// Wraps another scheme and records what passes.
pub struct Scout {
    inner: Rc<dyn Scheme>,
    /// What it has of `inner`: its counters, and what it holds back.
    can: Capabilities,
    reached: Rc<RefCell<Reached>>,
}

impl Scout {
    /// Wraps `inner`.
    pub fn new(inner: Rc<dyn Scheme>, reached: Rc<RefCell<Reached>>) -> Scout {
        let can = inner.clone().capabilities();
        Scout { inner, can, reached }
    }

    fn note(&self, feature: Feature) {
        let mut reached = self.reached.borrow_mut();
        reached.note(feature);
        reached.count(self.can.counters());
    }
}

fn answer(must: &Must) -> &'static str {
    match must {
        Must::Nothing => "",
        Must::Durable(_) => "durable",
        Must::InOrder(_) => "in order",
        Must::Sent(_) => "sent",
        Must::Wait(_) => "wait",
    }
}

/// Whether a run of fragments is there, and whether it stayed where it was.
fn run_shape(old: ordo_buf::Run, new: ordo_buf::Run) -> u8 {
    let grown = u8::from(new.frags > old.frags);
    match (old.frags, old.at == new.at) {
        (0, _) => 0,
        (_, true) => 1 + grown,
        (_, false) => 3 + grown,
    }
}

fn level(slot: &Slot<'_>) -> u8 {
    match slot {
        Slot::Inode(_, i) if *i < 12 => 0,
        Slot::Inode(..) => 8,
        Slot::Indirect(..) => 16,
        Slot::ExtAttr(..) => 24,
    }
}

/// The step's name, the role of its buf, and its shape.
fn kind(step: &Step<'_>) -> (&'static str, Option<Role>, u8) {
    match step {
        Step::InodesReady { .. } => ("inodes ready", None, 0),
        Step::InodeAllocated { directory, .. } => ("inode allocated", None, u8::from(*directory)),
        Step::Links { before, after, .. } => ("links", None, u8::from(after > before) + 2 * u8::from(*after == 0)),
        Step::FragmentsTaken { old, new, .. } => ("fragments taken", None, run_shape(*old, *new)),
        Step::InodeChanged { fields, .. } => ("inode changed", None, fields_number(*fields)),
        Step::BlockReady { role, block, .. } => ("block ready", Some(*role), u8::from(block.has_moved())),
        Step::BlockAllocated { role, slot, old, new, freed, .. } => {
            ("block allocated", Some(*role), run_shape(*old, *new) + level(slot) + 32 * u8::from(freed.is_some()))
        }
        Step::SizeGrown { directory, .. } => ("size grown", None, u8::from(*directory)),
        Step::LinkAdded { mkdir, .. } => ("link added", None, u8::from(mkdir.is_some())),
        Step::LinkChanged { dotdot, kind_before, .. } => ("link changed", None, *kind_before << 1 | u8::from(*dotdot)),
        Step::LinkRemoved { .. } => ("link removed", None, 0),
        Step::BlocksReleased { at, blocks, .. } => ("blocks released", Some(at.kind()), (blocks.len().min(3)) as u8),
        Step::InodeReleased { .. } => ("inode released", None, 0),
        Step::DataWritten { block, .. } => ("data written", Some(block.kind()), u8::from(block.is_durable())),
    }
}

fn fields_number(fields: Fields) -> u8 {
    match fields {
        Fields::LinksUp => 0,
        Fields::LinksDown => 1,
        Fields::Size => 2,
        Fields::DirectorySize => 3,
        Fields::Mode => 4,
        Fields::Times => 5,
    }
}

impl Wrapper for Scout {
    type Inner = dyn Scheme;

    fn inner(&self) -> &Rc<dyn Scheme> {
        &self.inner
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let (name, role, shape) = kind(&step);
        let given = self.inner.step(cache, op, step);
        let (answer, ripe) = (answer(&given.must), given.ripe.is_some());
        self.note(Feature::Step { call: op.kind, step: name, role, shape, answer, ripe });
        given
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        let role = buf.kind();
        for held in self.can.explain(buf) {
            let how = match held.how {
                How::RolledBack => "rolled back",
                How::Waits => "waits",
                How::Kept => "kept",
            };
            for (_, rule) in held.until {
                self.note(Feature::Rule { rule, role, how });
            }
        }
        let leave = self.inner.leaving(cache, buf, image);
        let what = match &leave {
            Leave::AsIs => "as it is",
            Leave::Image(_) => "rolled back",
            Leave::Older(_) => "an older image",
            Leave::AfterBufs(_) => "after others",
            Leave::After(_) => "after something",
        };
        self.note(Feature::Leaves { role, what });
        leave
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.inner.landed(cache, buf, image);
        self.note(Feature::Leaves { role: buf.kind(), what: "landed" });
    }
}
