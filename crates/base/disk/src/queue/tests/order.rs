//! Random requests with flags and chains, on a recording disk, against the definitions of queue-order-1 and of each
//! flag.

use super::super::*;
use crate::tests::SlowDisk;
use crate::{Kind, RamDisk, WritePart};
use std::cell::Cell;
use std::time::Duration;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A request for this sector reached the disk.
    Began(u64),
    Ended(u64),
    FlushBegan,
    FlushEnded,
}

/// Records when each request begins and ends.
struct Watched {
    disk: SlowDisk,
    events: Rc<RefCell<Vec<Event>>>,
}

impl Watched {
    fn watch<T: Unpin + 'static>(
        &self,
        began: Vec<Event>,
        ended: Vec<Event>,
        work: DiskFuture<Result<T, DiskError>>,
    ) -> DiskFuture<Result<T, DiskError>> {
        self.events.borrow_mut().extend(began);
        let events = self.events.clone();
        DiskFuture::later(async move {
            let outcome = work.await;
            if outcome.is_ok() {
                events.borrow_mut().extend(ended);
            }
            outcome
        })
    }
}

fn sectors(at: DiskOff, count: usize, event: fn(u64) -> Event) -> Vec<Event> {
    (0..count as u64).map(|i| event(at.0 / 512 + i)).collect()
}

impl Disk for Watched {
    fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let n = parts.len();
        self.watch(sectors(at, n, Event::Began), sectors(at, n, Event::Ended), self.disk.read(at, parts))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let n = parts.len();
        self.watch(sectors(at, n, Event::Began), sectors(at, n, Event::Ended), self.disk.write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.watch(vec![Event::FlushBegan], vec![Event::FlushEnded], self.disk.flush())
    }
}

fn flagged(flag: Flag) -> Order<'static> {
    Order { flag: Some(flag), after: &[] }
}

fn after(after: &[Written]) -> Order<'_> {
    Order { flag: None, after }
}

struct World {
    rt: Rt,
    disk: Rc<Watched>,
    queue: Queue,
    volatile: bool,
}

impl World {
    fn new(volatile: bool) -> World {
        let rt = Rt::virtual_time(1);
        let ram = RamDisk::new(1 << 20).volatile(volatile).with(|info| {
            info.immediate = false;
            info.depth = 3;
        });
        let disk = Rc::new(Watched { disk: SlowDisk::new(&rt, &ram), events: Rc::default() });
        let queue = Queue::new(&rt, disk.clone(), QueueOptions::default());
        World { rt, disk, queue, volatile }
    }

    fn write(&self, order: Order<'_>, sector: u64) -> Written {
        self.queue.write_in(order, DiskOff(sector * 512), Block::zeroed(512).image(), Kind::Data.into())
    }

    fn run(&self) {
        self.rt.block_on(self.rt.sleep(Duration::from_millis(1)));
    }

    /// The request for `first` was durable (a read: finished) before the one for `second` reached the disk.
    fn in_order(&self, first: &Request, second: &Request) -> bool {
        let events = self.disk.events.borrow();
        let place = |event, from: usize| events[from..].iter().position(|e| *e == event).map(|at| at + from);
        let Some(began) = place(Event::Began(second.sector), 0) else { return true };
        let Some(ended) = place(Event::Ended(first.sector), 0) else { return false };
        if first.is_read || !self.volatile {
            return ended < began;
        }
        let flushed = place(Event::FlushBegan, ended).and_then(|flush| place(Event::FlushEnded, flush));
        flushed.is_some_and(|flushed| flushed < began)
    }
}

struct Request {
    sector: u64,
    is_read: bool,
    flag: Option<Flag>,
    after: Vec<usize>,
}

/// Whether the definitions say that request `j` follows the older request `i`.
fn must_follow(requests: &[Request], i: usize, j: usize) -> bool {
    if requests[j].after.contains(&i) {
        return true;
    }
    let obeys = |request: &Request, flag: Flag| !(request.is_read && flag.reads_pass);
    let full = requests[j].flag.is_some_and(|f| f.meaning == Meaning::Full && obeys(&requests[i], f));
    full || (i..j).any(|f| {
        let Some(flag) = requests[f].flag else { return false };
        let holds = match flag.meaning {
            Meaning::Ignore => false,
            Meaning::Part => f == i,
            Meaning::Full | Meaning::Back => f == i || obeys(&requests[i], flag),
        };
        holds && obeys(&requests[j], flag)
    })
}

/// A generator of its own: splitmix64.
fn next(seed: &Cell<u64>, below: u64) -> u64 {
    seed.set(seed.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
    let z = (seed.get() ^ (seed.get() >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (z ^ (z >> 31)) % below
}

#[test]
fn every_pair_is_in_the_order_that_the_definitions_demand() {
    let (mut demanded, mut free) = (0, 0);
    for case in 0..600 {
        let seed = Cell::new(case);
        let rand = |below| next(&seed, below);
        let world = World::new(case % 2 == 0);
        let some_flag = || {
            let meaning = [Meaning::Full, Meaning::Back, Meaning::Part, Meaning::Ignore][rand(4) as usize];
            Flag { meaning, reads_pass: rand(2) == 0 }
        };
        // As a scheme does it, all of one kind; and mixed.
        let (flag, mixed) = (some_flag(), case % 3 == 0);
        let chains = rand(3) == 0;
        let (mut requests, mut writes): (Vec<Request>, Vec<(usize, Written)>) = Default::default();
        let mut reads = Vec::new();
        for at in 0..14 {
            let sector = loop {
                let sector = rand(200);
                if requests.iter().all(|request: &Request| request.sector != sector) {
                    break sector;
                }
            };
            let mut request = Request { sector, is_read: rand(4) == 0, flag: None, after: Vec::new() };
            if request.is_read {
                reads.push(world.queue.read(DiskOff(sector * 512), 512, Kind::Data.into()));
            } else if chains {
                let chosen: Vec<&(usize, Written)> = writes.iter().filter(|_| rand(4) == 0).collect();
                request.after = chosen.iter().map(|(at, _)| *at).collect();
                let chain: Vec<Written> = chosen.iter().map(|(_, write)| write.clone()).collect();
                request.flag = (rand(4) == 0).then(|| if mixed { some_flag() } else { flag });
                writes.push((at, world.write(Order { flag: request.flag, after: &chain }, sector)));
            } else {
                request.flag = (rand(3) == 0).then(|| if mixed { some_flag() } else { flag });
                writes.push((at, world.write(request.flag.map_or(Order::FREE, flagged), sector)));
            }
            requests.push(request);
            if rand(3) == 0 {
                world.rt.block_on(world.rt.sleep(Duration::from_nanos(rand(4000))));
            }
        }
        world.run();
        assert!(writes.iter().all(|(_, write)| write.is_completed()), "case {case}: all went");
        for j in 0..requests.len() {
            for i in 0..j {
                let ordered = world.in_order(&requests[i], &requests[j]);
                let demands = must_follow(&requests, i, j);
                assert!(ordered || !demands, "case {case}: {i} before {j}, {:?}", world.disk.events.borrow());
                demanded += u32::from(demands);
                free += u32::from(!demands && !ordered);
            }
        }
        drop(reads);
    }
    // The definitions do not demand every order, and requests without one are not serialised.
    assert!(demanded > 5000 && free > 5000, "{demanded} {free}");
}

#[test]
fn an_edge_costs_a_flush_on_a_volatile_cache_and_all_share_it() {
    for volatile in [true, false] {
        let world = World::new(volatile);
        let first: Vec<Written> = (0..4).map(|i| world.write(Order::FREE, i * 9)).collect();
        for i in 0..4 {
            let _ = world.write(after(&first), 100 + i * 9);
        }
        world.run();
        assert_eq!(world.queue.stats().flushes, u64::from(volatile));
        let late = world.write(after(&first), 150);
        world.rt.block_on(late.completed()).unwrap();
        assert_eq!(world.queue.stats().flushes, u64::from(volatile));
    }
}

#[test]
fn what_must_follow_a_failed_write_fails_and_a_read_goes_on() {
    for order in [Some(Meaning::Full), Some(Meaning::Back), Some(Meaning::Part), None] {
        let world = World::new(true);
        world.disk.disk.bad_byte.set(Some(512));
        let flag = |meaning| flagged(Flag { meaning, reads_pass: false });
        let bad = world.write(order.map_or(Order::FREE, flag), 1);
        let second = world.write(order.map_or(after(std::slice::from_ref(&bad)), |_| Order::FREE), 7);
        let third = world.write(after(std::slice::from_ref(&second)), 9);
        let read = world.queue.read(DiskOff(20 * 512), 512, Kind::Data.into());
        world.rt.block_on(read).unwrap();
        world.rt.block_on(bad.completed()).unwrap_err();
        for lost in [&second, &third] {
            let error = world.rt.block_on(lost.completed()).unwrap_err();
            assert!(matches!(error.cause, Cause::After(_)), "{error}");
            assert_eq!(error.errno(), 5);
        }
        assert!(!world.disk.events.borrow().contains(&Event::Began(7)));
        // A failure holds nothing back forever.
        let free = world.write(Order::FREE, 11);
        world.rt.block_on(free.durable()).unwrap();
    }
}

#[test]
fn a_flush_that_fails_breaks_the_order_too() {
    let world = World::new(true);
    world.disk.disk.failing_flushes.set(1);
    let first = world.write(Order::FREE, 1);
    let second = world.write(after(std::slice::from_ref(&first)), 7);
    let error = world.rt.block_on(second.completed()).unwrap_err();
    assert!(matches!(error.cause, Cause::After(_)), "{error}");
    assert!(!world.disk.events.borrow().contains(&Event::Began(7)));
    assert!(world.rt.block_on(first.durable()).is_err());
}
