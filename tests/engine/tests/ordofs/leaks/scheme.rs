//! A scheme that orders writes by another scheme's rules, and promises what soft updates promise: that a crashed volume
//! may be used at once. What a crash would leave is planted by hand.

use ordo_buf::{Answer, Cache, Must, Op, Promises, Scheme, Step, Wrapper};
use std::rc::Rc;

pub(crate) struct AtOnce(pub(crate) Rc<dyn Scheme>);

impl AtOnce {
    /// Wraps the scheme of this name.
    pub(crate) fn over(name: &str) -> Rc<dyn Scheme> {
        let known = ordofs::schemes::by_name(name).expect("the scheme exists");
        Rc::new(AtOnce(known.make(ordofs::schemes::Settings::default()).expect("the settings are possible")))
    }
}

impl Wrapper for AtOnce {
    type Inner = dyn Scheme;

    fn inner(&self) -> &Rc<dyn Scheme> {
        &self.0
    }

    fn name(&self) -> &'static str {
        "at-once"
    }

    fn declares(&self) -> Promises {
        Promises { mount_at_once: true, ..self.0.declares() }
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
