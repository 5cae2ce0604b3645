//! A recorder of steps, for `ordo trace` and the documents: it reports the steps of each call in order, the answers of
//! the scheme behind it, and what that scheme allows to be written.
//!
//! tracer-1. A tracer changes nothing: it passes each call to the scheme behind it, and returns that scheme's answers.

use crate::words::{Name, Words, call};
use ordo_buf::{
    Answer, BufRef, Cache, Capabilities, Held, How, ImageNo, Key, Leave, Must, Op, Role, Scheme, Step, Wrapper,
};
use std::rc::Rc;

/// One line of the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The running call: counts up from 1 in a mount.
    pub op: u64,
    /// The step, in words.
    pub step: String,
    /// What the scheme demanded before the engine could go on, in words; empty for nothing.
    pub answer: String,
}

/// A buf, by what it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Which.
    pub key: Key,
    /// The kind of thing in it.
    pub role: Role,
    /// Its name, in words.
    pub name: String,
}

impl Piece {
    fn of(buf: &BufRef) -> Piece {
        Piece { key: buf.key(), role: buf.kind(), name: Name(buf).to_string() }
    }
}

/// Something that a scheme holds back, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dependency {
    /// The buf that it is in.
    pub of: Piece,
    /// What.
    pub what: String,
    /// How it is held back.
    pub how: How,
    /// Bufs that must be durable first, each with the name of the rule that says so.
    pub until: Vec<(Piece, &'static str)>,
}

/// An event that a [`Tracer`] reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Traced {
    /// A step, the beginning or the end of a call.
    Step {
        /// In words.
        line: Line,
        /// The bufs that it changed.
        changed: Vec<Piece>,
        /// The dependencies that it made.
        made: Vec<Dependency>,
        /// The bufs that the call waits for.
        waits_for: Vec<Piece>,
        /// The step's ticket was returned with the answer.
        ripe: bool,
    },
    /// An image of a buf is written.
    Leaves {
        /// Which buf.
        buf: Piece,
        /// The image's number.
        image: u32,
        /// It differs from the buf.
        rolled_back: bool,
        /// What was rolled back in it.
        undone: Vec<Dependency>,
    },
    /// A buf should be written, but others must be first.
    Waits {
        /// Which buf.
        buf: Piece,
        /// The other bufs; empty if it waits for something else.
        until: Vec<Piece>,
    },
    /// An image is durable.
    Landed {
        /// Which buf.
        buf: Piece,
        /// The image's number.
        image: u32,
    },
}

/// Wraps another scheme and reports what passes.
pub struct Tracer {
    inner: Rc<dyn Scheme>,
    /// What it has of `inner`: what that holds back.
    can: Capabilities,
    listen: Box<dyn Fn(Traced)>,
}

impl Tracer {
    /// Wraps `inner`; `listen` gets each line when it happens, before the engine waits for what is demanded.
    pub fn new(inner: Rc<dyn Scheme>, listen: impl Fn(Line) + 'static) -> Tracer {
        Tracer::of_everything(inner, move |traced| {
            if let Traced::Step { line, .. } = traced {
                listen(line);
            }
        })
    }

    /// The same, but `listen` also gets what is written and what lands.
    pub fn of_everything(inner: Rc<dyn Scheme>, listen: impl Fn(Traced) + 'static) -> Tracer {
        let can = inner.clone().capabilities();
        Tracer { inner, can, listen: Box::new(listen) }
    }

    /// A call begins or ends.
    fn bracket(&self, op: Op, step: String, must: &Must) {
        let line = Line { op: op.id, step, answer: answer(must) };
        let waits_for = waits_for(must);
        (self.listen)(Traced::Step { line, changed: Vec::new(), made: Vec::new(), waits_for, ripe: false });
    }

    /// What is held back in these bufs.
    fn held(&self, bufs: &[BufRef]) -> Vec<Dependency> {
        let of = |buf: &BufRef| self.can.explain(buf).into_iter().map(|held| dependency(buf, held)).collect();
        bufs.iter().flat_map(|buf| -> Vec<Dependency> { of(buf) }).collect()
    }
}

fn dependency(buf: &BufRef, held: Held) -> Dependency {
    let until = held.until.iter().map(|(buf, rule)| (Piece::of(buf), *rule)).collect();
    Dependency { of: Piece::of(buf), what: held.what, how: held.how, until }
}

fn answer(must: &Must) -> String {
    match must {
        Must::Nothing => String::new(),
        Must::Durable(buf) if buf.is_durable() => format!("{} is durable already", Name(buf)),
        Must::Durable(buf) => format!("wait until {} is durable", Name(buf)),
        Must::InOrder(bufs) => {
            let names: Vec<String> = bufs.iter().map(|buf| Name(buf).to_string()).collect();
            format!("wait until these are durable, in order: {}", names.join(", "))
        }
        Must::Sent(buf) => format!("{} leaves now", Name(buf)),
        Must::Wait(_) => "wait".into(),
    }
}

fn waits_for(must: &Must) -> Vec<Piece> {
    let bufs = match must {
        Must::Durable(buf) => std::slice::from_ref(buf),
        Must::InOrder(bufs) => bufs,
        Must::Nothing | Must::Sent(_) | Must::Wait(_) => &[],
    };
    bufs.iter().filter(|buf| !buf.is_durable()).map(Piece::of).collect()
}

/// The bufs that a step's call has changed, each once.
fn changed_by(step: &Step<'_>) -> Vec<BufRef> {
    let mut bufs: Vec<BufRef> = Vec::new();
    step.each_changed(|buf| {
        if !bufs.iter().any(|other| Rc::ptr_eq(other, buf)) {
            bufs.push(buf.clone());
        }
    });
    bufs
}

impl Wrapper for Tracer {
    type Inner = dyn Scheme;

    fn inner(&self) -> &Rc<dyn Scheme> {
        &self.inner
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.begin(cache, op);
        self.bracket(op, format!("begin {}", call(op.kind)), &must);
        must
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.end(cache, op);
        self.bracket(op, format!("end {}", call(op.kind)), &must);
        must
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let (words, changed) = (Words(&step).to_string(), changed_by(&step));
        let before = self.held(&changed);
        let given = self.inner.step(cache, op, step);
        let mut made = self.held(&changed);
        made.retain(|dependency| !before.contains(dependency));
        let line = Line { op: op.id, step: words, answer: answer(&given.must) };
        let (changed, ripe) = (changed.iter().map(Piece::of).collect(), given.ripe.is_some());
        (self.listen)(Traced::Step { line, changed, made, waits_for: waits_for(&given.must), ripe });
        given
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        let mut undone = self.held(std::slice::from_ref(buf));
        undone.retain(|held| held.how == How::RolledBack);
        let leave = self.inner.leaving(cache, buf, image);
        let (buf, image) = (Piece::of(buf), image.0);
        (self.listen)(match &leave {
            Leave::AsIs => Traced::Leaves { buf, image, rolled_back: false, undone },
            Leave::Image(_) | Leave::Older(_) => Traced::Leaves { buf, image, rolled_back: true, undone },
            Leave::AfterBufs(first) => Traced::Waits { buf, until: first.iter().map(Piece::of).collect() },
            Leave::After(_) => Traced::Waits { buf, until: Vec::new() },
        });
        leave
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        (self.listen)(Traced::Landed { buf: Piece::of(buf), image: image.0 });
        self.inner.landed(cache, buf, image);
    }
}
