//! Images in flight: locked, or copied when the buf is changed (buf-3, buf-8), and sent without waiting.

use super::*;
use crate::{CallKind, Capabilities, OrdersQueue, Sequence, WhileLeaving};
use ordo_disk::Written;

/// Demands that every step's bufs are sent, each after the one before; may lock images in flight.
struct Sends {
    leaving: WhileLeaving,
    sent: RefCell<Vec<(Key, u64, bool)>>,
    last: RefCell<Option<Written>>,
    serves: Cell<bool>,
}

impl Scheme for Sends {
    fn name(&self) -> &'static str {
        "sends"
    }

    fn declares(&self) -> Promises {
        unreachable!("nobody asks in these tests")
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { while_leaving: self.leaving, order: Some(self), ..Capabilities::default() }
    }

    fn step(&self, _: &Rc<Cache>, _: Op, step: Step<'_>) -> Answer {
        match step {
            Step::DataWritten { block, .. } => Must::Sent(block.clone()).into(),
            _ => Must::Nothing.into(),
        }
    }
}

impl OrdersQueue for Sends {
    fn sequence(&self, _: &BufRef) -> Sequence {
        Sequence { flag: None, after: self.last.borrow().iter().cloned().collect() }
    }

    fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool {
        self.sent.borrow_mut().push((buf.key(), written.number(), fresh));
        *self.last.borrow_mut() = Some(written.clone());
        self.serves.get()
    }
}

fn sending(leaving: WhileLeaving) -> (Rt, RamDisk, Rc<Cache>, Rc<Sends>) {
    sending_to(leaving, RamDisk::new(1 << 20).volatile(true))
}

fn sending_to(leaving: WhileLeaving, ram: RamDisk) -> (Rt, RamDisk, Rc<Cache>, Rc<Sends>) {
    let rt = Rt::virtual_time(1);
    let options = QueueOptions { volatile_cache: Some(true), ..QueueOptions::default() };
    let queue = Queue::new(&rt, Rc::new(ram.clone()), options);
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, calm());
    let sends = Sends { leaving, sent: RefCell::default(), last: RefCell::default(), serves: Cell::new(true) };
    let scheme = Rc::new(sends);
    cache.attach(scheme.clone(), Rc::new(Early));
    (rt, ram, cache, scheme)
}

async fn tell(cache: &Rc<Cache>, block: &BufRef) {
    let op = Op { id: 1, kind: CallKind::Write };
    let none = cache.step(op, Step::DataWritten { ino: Ino(5), lbn: Lbn(0), block }).await.expect("the disk is well");
    assert!(none.is_none());
}

#[test]
fn what_is_on_its_way_is_locked_or_copied() {
    for (leaving, waits, copies) in [(WhileLeaving::Lock, 1, 0), (WhileLeaving::Copy, 0, 1)] {
        let (rt, _, cache, _) = sending(leaving);
        rt.block_on(async {
            let buf = cache.read(data(1)).await.expect("the disk is well");
            cache.before_change(&buf).await;
            cache.modify(&buf, |bytes| bytes[0] = 1);
            tell(&cache, &buf).await;
            for value in 2..4 {
                cache.before_change(&buf).await;
                cache.modify(&buf, |bytes| bytes[0] = value);
            }
            assert_eq!((cache.stats().lock_waits, cache.stats().copies), (waits, copies), "{leaving:?}");
            assert!(!buf.is_durable() && buf.durable_image() == ImageNo(0), "completed is enough for a lock");
        });
    }
}

#[test]
fn nothing_is_copied_once_a_write_has_completed() {
    // A RAM disk with a volatile cache would keep the image itself.
    let (rt, _, cache, _) = sending_to(WhileLeaving::Copy, RamDisk::new(1 << 20));
    rt.block_on(async {
        let buf = cache.read(data(1)).await.expect("the disk is well");
        cache.modify(&buf, |bytes| bytes[0] = 1);
        let place = buf.bytes().as_ptr();
        tell(&cache, &buf).await;
        rt.sleep(Duration::from_millis(1)).await;
        assert!(!buf.is_durable(), "nobody asked for a flush");
        cache.modify(&buf, |bytes| bytes[0] = 2);
        assert_eq!((cache.stats().copies, buf.bytes().as_ptr()), (0, place));
    });
}

#[test]
fn what_is_sent_is_not_waited_for_and_keeps_its_order() {
    let (rt, ram, cache, scheme) = sending(WhileLeaving::Copy);
    rt.block_on(async {
        let (a, b) = (cache.read(data(1)).await.unwrap(), cache.read(data(2)).await.unwrap());
        for buf in [&a, &b] {
            cache.modify(buf, |bytes| bytes[0] = 7);
            tell(&cache, buf).await;
        }
        assert!(a.flight.is_leaving() && b.flight.is_leaving(), "the calls have returned, and nothing has completed");
        rt.sleep(Duration::from_secs(1)).await;
        assert!(
            a.is_durable() && !b.is_durable(),
            "the second one waits for the first to be durable, and nobody for it"
        );
    });
    let sent: Vec<_> = scheme.sent.borrow().iter().map(|(key, _, fresh)| (*key, *fresh)).collect();
    assert_eq!(sent, [(data(1).key, true), (data(2).key, true)]);
    ram.power_cut();
    assert_eq!((on_disk(&ram, 4096), on_disk(&ram, 8192)), (7, 0));
}

#[test]
fn an_image_that_was_on_its_way_is_waited_for_if_its_order_does_not_serve() {
    for serves in [true, false] {
        let (rt, _, cache, scheme) = sending(WhileLeaving::Copy);
        scheme.serves.set(serves);
        rt.block_on(async {
            let buf = cache.read(data(1)).await.unwrap();
            cache.modify(&buf, |bytes| bytes[0] = 7);
            cache.write_soon(std::slice::from_ref(&buf));
            tell(&cache, &buf).await;
            assert_eq!((buf.is_durable(), cache.stats().waits), (!serves, u64::from(!serves)));
        });
        assert!(matches!(scheme.sent.borrow()[..], [(_, _, false)]));
    }
}

#[test]
fn a_call_waits_for_room_for_copies_and_who_came_first_goes_first() {
    for leaving in [WhileLeaving::Copy, WhileLeaving::Lock] {
        let rt = Rt::virtual_time(1);
        let slow = Laggard { ram: RamDisk::new(1 << 20), rt: rt.clone(), first: Cell::new(true) };
        let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
        let policy = Policy { spare: Some(4096), ..calm() };
        let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, policy);
        let sends = Sends { leaving, sent: RefCell::default(), last: RefCell::default(), serves: Cell::new(true) };
        cache.attach(Rc::new(sends), Rc::new(Early));
        rt.block_on(async {
            for lbn in 1..3 {
                let buf = cache.read(data(lbn)).await.expect("the disk is well");
                cache.modify(&buf, |bytes| bytes[0] = 7);
                assert!(cache.begin(CallKind::Write).await.is_ok(), "one copy has room");
                tell(&cache, &buf).await;
            }
            // The first write takes a second, and the second one follows it.
            let order = Rc::new(RefCell::new(Vec::new()));
            for caller in 0..3 {
                let (cache, order, rt2) = (cache.clone(), order.clone(), rt.clone());
                rt.spawn(async move {
                    cache.begin(CallKind::Write).await.expect("the volume is well");
                    order.borrow_mut().push((caller, rt2.now().as_nanos() / 1_000_000_000));
                });
            }
            rt.sleep(Duration::from_millis(10)).await;
            let at_once = if leaving == WhileLeaving::Lock { 3 } else { 0 };
            assert_eq!(order.borrow().len(), at_once, "{leaving:?}: a locked block has no copy");
            rt.sleep(Duration::from_secs(2)).await;
            let second = if leaving == WhileLeaving::Lock { 0 } else { 1 };
            assert_eq!(*order.borrow(), [(0, second), (1, second), (2, second)]);
        });
    }
}

#[test]
fn what_the_cache_has_given_back_is_room_for_copies() {
    let rt = Rt::virtual_time(1);
    let slow = Laggard { ram: RamDisk::new(1 << 20), rt: rt.clone(), first: Cell::new(true) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, Policy { spare: Some(0), ..calm() });
    let leaving = WhileLeaving::Copy;
    let sends = Sends { leaving, sent: RefCell::default(), last: RefCell::default(), serves: Cell::new(true) };
    cache.attach(Rc::new(sends), Rc::new(Early));
    rt.block_on(async {
        let (buf, removed) = (cache.read(data(1)).await.unwrap(), cache.read(data(2)).await.unwrap());
        cache.modify(&buf, |bytes| bytes[0] = 7);
        tell(&cache, &buf).await;
        cache.discard(&removed);
        cache.begin(CallKind::Write).await.expect("the volume is well");
        assert!(buf.flight.is_leaving(), "it did not wait for the write");
    });
}
