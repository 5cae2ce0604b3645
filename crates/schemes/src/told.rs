//! A scheme that writes down what it is told, for `ordo trace` and the documents: the steps of a call in their order,
//! and what another scheme answers to each.

use crate::words::{Name, Words, call};
use buf::{Answer, BufRef, Cache, ImageNo, Leave, Must, Op, Promises, Ready, Scheme, Step, WhileLeaving};
use std::rc::Rc;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The call that is running: counts up from 1 in a mount.
    pub op: u64,
    /// The step, in words.
    pub step: String,
    /// What the scheme demanded before the engine could go on, in words; empty for nothing.
    pub answer: String,
}

/// Stands before another scheme and tells what passes.
pub struct Teller {
    inner: Rc<dyn Scheme>,
    listen: Box<dyn Fn(Told)>,
}

impl Teller {
    /// Before `inner`; `listen` hears each line when it happens, before the engine waits for what is demanded.
    pub fn new(inner: Rc<dyn Scheme>, listen: impl Fn(Told) + 'static) -> Teller {
        Teller { inner, listen: Box::new(listen) }
    }

    fn tell(&self, op: Op, step: String, answer: &Must) {
        let answer = match answer {
            Must::Nothing => String::new(),
            Must::Durable(buf) if buf.is_durable() => format!("{} is durable already", Name(buf)),
            Must::Durable(buf) => format!("wait until {} is durable", Name(buf)),
            Must::InOrder(bufs) => {
                let names: Vec<String> = bufs.iter().map(|buf| Name(buf).to_string()).collect();
                format!("wait until these are durable, in order: {}", names.join(", "))
            }
            Must::Wait(_) => "wait".into(),
        };
        (self.listen)(Told { op: op.id, step, answer });
    }
}

impl Scheme for Teller {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn declares(&self) -> Promises {
        self.inner.declares()
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.begin(cache, op);
        self.tell(op, format!("begin {}", call(op.kind)), &must);
        must
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.end(cache, op);
        self.tell(op, format!("end {}", call(op.kind)), &must);
        must
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let words = Words(&step).to_string();
        let answer = self.inner.step(cache, op, step);
        self.tell(op, words, &answer.must);
        answer
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        self.inner.leaving(cache, buf, image)
    }

    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        self.inner.ready(cache, buf)
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.inner.landed(cache, buf, image);
    }

    fn discarded(&self, cache: &Rc<Cache>, buf: &BufRef) {
        self.inner.discarded(cache, buf);
    }

    fn wants_flush(&self) -> bool {
        self.inner.wants_flush()
    }

    fn failed(&self, buf: &BufRef) {
        self.inner.failed(buf);
    }

    fn while_leaving(&self) -> WhileLeaving {
        self.inner.while_leaving()
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: ondisk::Ino, inode: &BufRef, data_only: bool) -> Must {
        self.inner.fsync(cache, ino, inode, data_only)
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        self.inner.sync(cache)
    }

    fn tick(&self, cache: &Rc<Cache>, now: rt::Time) {
        self.inner.tick(cache, now);
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        self.inner.counters()
    }
}
