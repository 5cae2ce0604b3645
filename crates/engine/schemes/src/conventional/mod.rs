//! `conventional`: the baseline file system of the 1994 paper (UNIX SVR4; Ganger and Patt 1994, section 2).
//!
//! What `sync` awaits because something depends on it is awaited here, too. The last write of a sequence, which only
//! makes a new name durable, is sent and not awaited.
//!
//! V1. The order is that of `sync`: what is awaited there because of an order is awaited here. A crash leaves nothing
//!     that it could not leave there before a call returned.
//! V2. A name is durable after a sync, or an fsync of what it names, and not when its call returns.

use crate::AllocInit;
use crate::flags::{ordered, write_with_names};
use crate::new_names::NewNames;
use crate::rules::Rules;
use crate::sync::{Rule, Synchronous};
use ordo_buf::{Answer, BufRef, Cache, Capabilities, Landing, Must, Op, Promises, Scheme, Step, WhileLeaving};
use ordo_ondisk::Ino;
use ordo_rt::Time;
use std::cell::RefCell;
use std::rc::Rc;

/// The scheme `conventional`.
pub struct Conventional {
    sync: Synchronous,
    names: RefCell<NewNames>,
}

impl Conventional {
    /// With this allocation initialisation, and without the rules `dropped`, which it still declares.
    pub fn without(alloc_init: AllocInit, dropped: Rules<Rule>) -> Conventional {
        Conventional { sync: Synchronous::unawaited(alloc_init, dropped), names: RefCell::default() }
    }
}

impl Scheme for Conventional {
    fn name(&self) -> &'static str {
        "conventional"
    }

    fn declares(&self) -> Promises {
        ordered(&self.sync)
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { while_leaving: WhileLeaving::Lock, ..Capabilities::default() }
    }

    fn step(&self, cache: &Rc<Cache>, op: Op, step: Step<'_>) -> Answer {
        self.names.borrow_mut().hear(&step);
        self.sync.step(cache, op, step)
    }

    fn fsync(&self, cache: &Rc<Cache>, ino: Ino, inode: &BufRef, news: &Landing) -> Must {
        write_with_names(cache, &self.names.borrow(), ino, (inode, news), Vec::new())
    }

    fn tick(&self, _cache: &Rc<Cache>, _now: Time) {
        self.names.borrow_mut().forget_durable();
    }
}
