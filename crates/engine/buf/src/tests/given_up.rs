//! A cancelled call: before it was admitted, nothing is left of it; after that, the volume is read-only.

use super::{Early, ROOM, calm};
use crate::{Answer, Cache, CallKind, Freed, Health, Must, Op, Promises, Scheme, Step};
use ordo_disk::{Queue, QueueOptions, RamDisk};
use ordo_ondisk::Ino;
use ordo_rt::Rt;
use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Waker};

/// Admits no call while it is shut, and records which calls ended, and which were cancelled.
#[derive(Default)]
struct Doorkeeper {
    shut: Cell<bool>,
    left: RefCell<Vec<u64>>,
    given_up: RefCell<Vec<u64>>,
}

impl Scheme for Doorkeeper {
    fn name(&self) -> &'static str {
        "doorkeeper"
    }

    fn declares(&self) -> Promises {
        unreachable!("nobody asks in these tests")
    }

    fn begin(&self, _: &Rc<Cache>, _: Op) -> Must {
        match self.shut.get() {
            true => Must::Wait(Box::pin(pending())),
            false => Must::Nothing,
        }
    }

    fn end(&self, _: &Rc<Cache>, op: Op) -> Must {
        self.left.borrow_mut().push(op.id);
        Must::Nothing
    }

    fn cancelled(&self, _: &Rc<Cache>, op: Op) {
        self.given_up.borrow_mut().push(op.id);
    }

    fn step(&self, _: &Rc<Cache>, _: Op, step: Step<'_>) -> Answer {
        Answer { must: Must::Nothing, ripe: step.into_ticket() }
    }
}

#[test]
fn a_call_is_given_up_at_the_door_or_within() {
    let rt = Rt::virtual_time(1);
    let queue = Queue::new(&rt, Rc::new(RamDisk::new(1 << 20)), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, calm());
    let scheme = Rc::new(Doorkeeper::default());
    cache.attach(scheme.clone(), Rc::new(Early));
    let begin_and_drop = || {
        let call = cache.call(CallKind::Write, async |_| {
            let _ticket = cache.ledger().issue(Freed::Inode { ino: Ino(7), directory: false });
            pending::<ordo_vfs::Result<()>>().await
        });
        assert!(pin!(call).poll(&mut Context::from_waker(Waker::noop())).is_pending());
        (scheme.left.take(), scheme.given_up.take(), cache.ledger().lost())
    };

    scheme.shut.set(true);
    assert_eq!(begin_and_drop(), (vec![1], vec![], 0), "it is not waited for");
    assert!(cache.health().sound().is_ok(), "it has done nothing");

    scheme.shut.set(false);
    assert_eq!(begin_and_drop(), (vec![], vec![2], 1), "its ticket went with it, without an alarm");
    assert!(cache.health().sound().is_err() && cache.health().writable().is_err());
    assert!(rt.block_on(cache.call(CallKind::Write, async |_| Ok(()))).is_err());
}
