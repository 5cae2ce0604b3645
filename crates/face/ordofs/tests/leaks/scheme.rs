//! A scheme that orders writes by another scheme's rules, and promises what soft updates promise: that a crashed volume
//! may be used at once. What a crash would leave is planted by hand.

use ordo_buf::{Answer, BufRef, Cache, ImageNo, Leave, Must, Op, Promises, Ready, Scheme, Step, WhileLeaving};
use ordo_ondisk::Ino;
use ordo_rt::Time;
use std::rc::Rc;

pub(crate) struct AtOnce(pub(crate) Rc<dyn Scheme>);

impl AtOnce {
    /// Wraps the scheme of this name.
    pub(crate) fn over(name: &str) -> Rc<dyn Scheme> {
        let known = ordofs::schemes::by_name(name).expect("the scheme exists");
        Rc::new(AtOnce(known.make(ordofs::schemes::Settings::default()).expect("the settings are possible")))
    }
}

impl Scheme for AtOnce {
    fn name(&self) -> &'static str {
        "at-once"
    }

    fn declares(&self) -> Promises {
        Promises { mount_at_once: true, ..self.0.declares() }
    }

    fn begin(&self, cache: &Rc<Cache>, op: Op) -> Must {
        self.0.begin(cache, op)
    }

    fn end(&self, cache: &Rc<Cache>, op: Op) -> Must {
        self.0.end(cache, op)
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        self.0.step(cache, op, step)
    }

    fn leaving(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) -> Leave {
        self.0.leaving(cache, buf, image)
    }

    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        self.0.ready(cache, buf)
    }

    fn landed(&self, cache: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.0.landed(cache, buf, image);
    }

    fn discarded(&self, cache: &Rc<Cache>, buf: &BufRef) {
        self.0.discarded(cache, buf);
    }

    fn wants_flush(&self) -> bool {
        self.0.wants_flush()
    }

    fn failed(&self, buf: &BufRef) {
        self.0.failed(buf);
    }

    fn while_leaving(&self) -> WhileLeaving {
        self.0.while_leaving()
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, data_only: bool) -> Must {
        self.0.fsync(cache, ino, inode, data_only)
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        self.0.sync(cache)
    }

    fn tick(&self, cache: &Rc<Cache>, now: Time) {
        self.0.tick(cache, now);
    }
}

/// Tickets ripen long after their step, as under soft updates: each step returns the older ones.
pub(crate) struct Late {
    inner: Rc<dyn Scheme>,
    tickets: std::cell::RefCell<std::collections::VecDeque<ordo_buf::Ticket>>,
}

impl Late {
    pub(crate) fn over(name: &str) -> Rc<dyn Scheme> {
        Rc::new(Late { inner: AtOnce::over(name), tickets: Default::default() })
    }

    fn ripen(&self, cache: &Rc<Cache>, keep: usize) {
        while self.tickets.borrow().len() > keep {
            let ticket = self.tickets.borrow_mut().pop_front();
            ticket.into_iter().for_each(|ticket| cache.ripen(ticket));
        }
    }
}

impl Scheme for Late {
    fn name(&self) -> &'static str {
        "late"
    }

    fn declares(&self) -> Promises {
        self.inner.declares()
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        let mut answer = self.inner.step(cache, op, step);
        self.tickets.borrow_mut().extend(answer.ripe.take());
        self.ripen(cache, 40);
        answer
    }

    fn sync(&self, cache: &Rc<Cache>) -> Must {
        self.ripen(cache, 0);
        self.inner.sync(cache)
    }
}
