//! A scheme that writes down what it is told, for `ordo trace` and the documents: the steps of a call in their order,
//! and what another scheme answers to each.

use buf::{Answer, Buf, BufRef, Cache, Leave, Must, Op, Promises, Scheme, Step, WhileLeaving};
use disk::Image;
use std::cell::RefCell;
use std::rc::Rc;

/// One line of the story.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The step, in words.
    pub step: String,
    /// What the scheme demanded before the engine could go on, in words; empty for nothing.
    pub answer: String,
}

/// Stands before another scheme and writes down what passes.
pub struct Teller {
    inner: Rc<dyn Scheme>,
    story: Rc<RefCell<Vec<Told>>>,
}

impl Teller {
    /// Before `inner`; the story grows in the list that is returned.
    pub fn new(inner: Rc<dyn Scheme>) -> (Teller, Rc<RefCell<Vec<Told>>>) {
        let story = Rc::new(RefCell::new(Vec::new()));
        (Teller { inner, story: story.clone() }, story)
    }

    fn tell(&self, step: String, answer: &Must) {
        let answer = match answer {
            Must::Nothing => String::new(),
            Must::Durable(buf) if buf.is_durable() => format!("{buf:?} is durable already"),
            Must::Durable(buf) => format!("wait until {buf:?} is durable"),
            Must::InOrder(bufs) => format!("wait until these are durable, in order: {bufs:?}"),
            Must::Wait(_) => "wait".into(),
        };
        self.story.borrow_mut().push(Told { step, answer });
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
        self.tell(format!("begin {:?}", op.kind), &must);
        must
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        let must = self.inner.end(cache, op);
        self.tell(format!("end {:?}", op.kind), &must);
        must
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let words = format!("{step:?}");
        let answer = self.inner.step(cache, op, step);
        self.tell(words, &answer.must);
        answer
    }

    fn leaving(&self, buf: &Buf) -> Leave {
        self.inner.leaving(buf)
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: &Image) {
        self.inner.landed(cache, buf, image);
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
}
