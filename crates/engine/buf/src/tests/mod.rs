//! The invariants of the cache, one test each, on a RAM disk in virtual time.

mod batches;
mod causes;
mod choosing;
mod counts;
mod failing;
mod given_up;
mod leaving;

use crate::{
    Answer, Buf, BufCounts, BufRef, Cache, Capabilities, Defers, Health, Home, ImageNo, Key, Must, Op, Policy,
    Promises, Ready, Scheme, Step, Syncer, Want,
};
use failing::{Failing, Fails};
use ordo_disk::{
    Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, Queue, QueueOptions, RamDisk, ReadPart, WritePart,
};
use ordo_ondisk::{FragNo, Ino, Lbn};
use ordo_rt::Rt;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

/// Demands nothing, and records what landed.
#[derive(Default)]
struct Plain {
    landed: RefCell<Vec<(Key, ImageNo)>>,
    /// A buf for which other bufs should be written first.
    waits: RefCell<Option<(Key, Vec<BufRef>)>>,
}

impl Scheme for Plain {
    fn name(&self) -> &'static str {
        "plain"
    }

    fn declares(&self) -> Promises {
        unreachable!("nobody asks in these tests")
    }

    fn step(&self, _: &Rc<Cache>, _: Op, step: Step<'_>) -> Answer {
        Answer { must: Must::Nothing, ripe: step.into_ticket() }
    }

    fn capabilities(self: Rc<Self>) -> Capabilities {
        Capabilities { defers: Some(self), ..Capabilities::default() }
    }

    fn landed(&self, _: &Rc<Cache>, buf: &BufRef, image: ImageNo) {
        self.landed.borrow_mut().push((buf.key(), image));
    }
}

impl Defers for Plain {
    fn ready(&self, _: &Rc<Cache>, buf: &BufRef) -> Ready {
        match &*self.waits.borrow() {
            Some((key, first)) if *key == buf.key() => Ready::After(first.clone()),
            _ => Ready::Yes,
        }
    }
}

struct Early;

impl Home for Early {
    fn place(&self, buf: &Buf) -> Option<DiskOff> {
        buf.addr()
    }

    fn seal(&self, _: &Buf, image: &mut [u8]) {
        image[511] = 0x5e;
    }
}

struct Bench {
    rt: Rt,
    ram: RamDisk,
    cache: Rc<Cache>,
    scheme: Rc<Plain>,
}

/// Bytes of a cache that is never full.
const ROOM: usize = 64 << 20;

/// For tests in which nothing is old.
fn calm() -> Policy {
    Policy { syncer: Syncer::Age(Duration::from_secs(30)), ..Policy::default() }
}

fn bench(policy: Policy, fails: Fails) -> Bench {
    bench_of(ROOM, policy, fails)
}

fn bench_of(bytes: usize, policy: Policy, fails: Fails) -> Bench {
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20).volatile(true);
    let queue = Queue::new(&rt, Failing::new(ram.clone(), fails), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), bytes, policy);
    let scheme = Rc::new(Plain::default());
    cache.attach(scheme.clone(), Rc::new(Early));
    Bench { rt, ram, cache, scheme }
}

/// At most 20 bufs; writing in the background goes from 10 that are dirty to 4.
const ALIKE: BufCounts = BufCounts {
    most: 20,
    high: 10,
    low: 4,
    most_dirty: 11,
    dinodes: usize::MAX,
    contents_first: false,
    segments: false,
};
/// The same, but contents leave first.
const FIRST: BufCounts = BufCounts { contents_first: true, ..ALIKE };
/// The same, where segments are written.
const SEGMENTS: BufCounts = BufCounts { segments: true, most_dirty: 20, ..FIRST };

fn counting(counts: BufCounts) -> Policy {
    Policy { counts: Some(counts), ..calm() }
}

fn data(lbn: i64) -> Want {
    Want { key: Key::File(Ino(5), Lbn(lbn)), role: Kind::Data, addr: DiskOff(lbn as u64 * 4096), len: 4096 }
}

fn on_disk(ram: &RamDisk, at: u64) -> u8 {
    let mut byte = [0];
    ram.peek(at, &mut byte);
    byte[0]
}

#[test]
fn a_buf_lands_after_a_flush_and_not_before() {
    let b = bench(calm(), None);
    b.rt.block_on(async {
        let buf = b.cache.read(data(1)).await.expect("the disk is well");
        b.cache.modify(&buf, |bytes| bytes[0] = 7);
        b.cache.write_soon(std::slice::from_ref(&buf));
        b.rt.sleep(Duration::from_millis(1)).await;
        assert!(!buf.is_dirty() && !buf.is_durable());
        assert!(b.scheme.landed.borrow().is_empty(), "completed is not durable");
        b.cache.write(&buf).await.expect("the disk is well");
        assert!(buf.is_durable());
        b.rt.yield_now().await;
        assert_eq!(*b.scheme.landed.borrow(), [(buf.key(), ImageNo(1))]);
    });
    b.ram.power_cut();
    assert_eq!((on_disk(&b.ram, 4096), on_disk(&b.ram, 4096 + 511)), (7, 0x5e), "sealed, and there after a power cut");
}

#[test]
fn an_image_that_leaves_does_not_see_later_changes() {
    let b = bench(calm(), None);
    b.rt.block_on(async {
        let buf = b.cache.read(data(1)).await.expect("the disk is well");
        b.cache.modify(&buf, |bytes| bytes[0] = 1);
        let first = buf.image();
        b.cache.write_soon(std::slice::from_ref(&buf));
        b.cache.modify(&buf, |bytes| bytes[0] = 2);
        assert_eq!(first[0], 1);
        assert!(buf.is_dirty(), "the second change has not left");
        b.cache.write(&buf).await.expect("the disk is well");
        b.rt.yield_now().await;
        assert_eq!(b.scheme.landed.borrow().iter().map(|l| l.1.0).collect::<Vec<_>>(), [1, 2]);
    });
}

#[test]
fn a_failed_write_leaves_the_buf_dirty_and_a_later_one_succeeds() {
    let b = bench(calm(), Some((DiskOp::Write, 1)));
    b.rt.block_on(async {
        let buf = b.cache.read(data(1)).await.expect("reads are well");
        b.cache.modify(&buf, |bytes| bytes[0] = 9);
        b.cache.write(&buf).await.expect_err("the write fails");
        b.rt.yield_now().await;
        assert!(buf.is_dirty() && buf.bytes()[0] == 9, "nothing is lost from memory");
        assert!(b.cache.health().writable().is_ok(), "a failed write of data is no failure of the volume");
        assert!(b.cache.take_write_error(Ino(5)).is_some() && b.cache.take_write_error(Ino(5)).is_none());
        b.cache.write(&buf).await.expect("the second try is well");
    });
    assert_eq!(on_disk(&b.ram, 4096), 9);
}

#[test]
fn a_failed_write_of_metadata_or_a_failed_flush_turns_the_volume_read_only() {
    for (op, key, role) in
        [(DiskOp::Write, Key::Device(FragNo(1)), Kind::Inodes), (DiskOp::Flush, Key::File(Ino(5), Lbn(1)), Kind::Data)]
    {
        let b = bench(calm(), Some((op, 1)));
        b.rt.block_on(async {
            let buf = b.cache.read(Want { key, role, ..data(1) }).await.expect("reads are well");
            b.cache.modify(&buf, |bytes| bytes[0] = 9);
            b.cache.write(&buf).await.expect_err("it fails");
            b.rt.yield_now().await;
            assert!(buf.is_dirty(), "{op:?}: what is not durable is dirty");
            assert!(b.cache.health().writable().is_err() && b.cache.health().sound().is_err());
        });
    }
}

#[test]
fn a_failed_read_fails_for_that_call_alone() {
    let b = bench(calm(), Some((DiskOp::Read, 1)));
    b.rt.block_on(async {
        b.cache.read(data(1)).await.expect_err("the first read fails");
        b.cache.read(data(1)).await.expect("the second is well");
    });
}

#[test]
fn memory_is_bounded_and_what_somebody_holds_stays() {
    let b = bench_of(64 << 10, calm(), None);
    b.rt.block_on(async {
        let held = b.cache.read(data(0)).await.expect("the disk is well");
        for lbn in 1..200 {
            let buf = b.cache.read(data(lbn)).await.expect("the disk is well");
            b.cache.modify(&buf, |bytes| bytes[0] = lbn as u8);
            drop(buf);
            b.cache.throttle().await.expect("the volume is well");
            let stats = b.cache.stats();
            assert!(stats.bytes <= 64 << 10 && stats.dirty_bytes <= 36 << 10, "{stats:?}");
        }
        assert!(Rc::ptr_eq(&held, &b.cache.find(held.key()).expect("held bufs stay")));
        b.cache.write_everything().await.expect("the disk is well");
        for lbn in 1..200u64 {
            assert_eq!(on_disk(&b.ram, lbn * 4096), lbn as u8);
        }
    });
}

#[test]
fn who_waits_for_room_is_told_that_the_disk_takes_no_data() {
    let b = bench_of(64 << 10, calm(), Some((DiskOp::Write, u64::MAX)));
    b.rt.block_on(async {
        for lbn in 0..9 {
            let buf = b.cache.read(data(lbn)).await.expect("reads are well");
            b.cache.modify(&buf, |bytes| bytes[0] = lbn as u8);
        }
        let told = b.cache.throttle().await;
        assert!(matches!(told, Err(ordo_vfs::Error::Io(_))), "{told:?}");
        assert!(b.cache.stats().dirty_bytes > 32 << 10 && b.cache.health().reason().is_none());
    });
}

#[test]
fn who_counts_bufs_writes_from_the_upper_mark_to_the_lower_and_keeps_no_more_than_all() {
    let b = bench(counting(ALIKE), None);
    b.rt.block_on(async {
        for lbn in 0..11 {
            assert!(!b.cache.should_write_back(), "{lbn} are not too many");
            let buf = b.cache.read(data(lbn)).await.expect("the disk is well");
            b.cache.modify(&buf, |bytes| bytes[0] = 7);
        }
        assert!(b.cache.should_write_back() && !b.cache.is_over_dirty());
        b.cache.write_back();
        b.rt.sleep(Duration::from_secs(1)).await;
        assert_eq!(b.cache.inner.borrow().dirty.bufs(), 4);
        for lbn in 11..100 {
            b.cache.read(data(lbn)).await.expect("the disk is well");
            let inner = b.cache.inner.borrow();
            assert!(inner.bufs.len() - inner.free.len() <= 20);
        }
    });
}

#[test]
fn where_contents_go_first_a_block_of_pointers_stays() {
    let stays = |counts| {
        let b = bench(counting(counts), None);
        b.rt.block_on(async {
            let pointers = Want { role: Kind::Indirect, ..data(0) };
            drop(b.cache.read(pointers).await.expect("the disk is well"));
            for lbn in 1..200 {
                b.cache.read(data(lbn)).await.expect("the disk is well");
            }
        });
        b.cache.find(data(0).key).is_some()
    };
    assert_eq!([ALIKE, FIRST, SEGMENTS].map(stays), [false, true, true]);
}

#[test]
fn a_sweep_writes_what_the_last_one_marked() {
    let sweep = Policy { syncer: Syncer::Sweep(Duration::from_secs(30)), ..Policy::default() };
    let b = bench(sweep, None);
    b.rt.spawn(Cache::run_syncer(Rc::downgrade(&b.cache)));
    b.rt.block_on(async {
        let mut left = Vec::new();
        for lbn in 0..60 {
            let buf = b.cache.read(data(lbn)).await.expect("the disk is well");
            b.cache.modify(&buf, |bytes| bytes[0] = 7);
            left.push(buf);
        }
        b.rt.sleep(Duration::from_millis(30_500)).await;
        assert!(left.iter().all(|buf| buf.is_dirty()), "each was met once, and marked");
        let mut dirty = vec![60];
        for _ in 0..30 {
            b.rt.sleep(Duration::from_secs(1)).await;
            dirty.push(left.iter().filter(|buf| buf.is_dirty()).count());
        }
        let steps: Vec<usize> = dirty.windows(2).map(|pair| pair[0] - pair[1]).collect();
        assert_eq!(steps, [2; 30], "an equal part each second");
        // Changed between two sweeps: the second sweep marks it again.
        b.cache.modify(&left[0], |bytes| bytes[0] = 8);
        b.rt.sleep(Duration::from_secs(30)).await;
        assert!(left[0].is_dirty());
        b.rt.sleep(Duration::from_secs(30)).await;
        assert!(!left[0].is_dirty());
        b.rt.sleep(Duration::from_secs(1)).await;
        assert!(b.cache.inner.borrow().dirty.is_forgotten(), "the age list does not grow");
    });
}

#[test]
fn the_syncer_writes_what_has_come_of_age() {
    let b = bench(calm(), None);
    b.rt.spawn(Cache::run_syncer(Rc::downgrade(&b.cache)));
    b.rt.block_on(async {
        let buf = b.cache.read(data(1)).await.expect("the disk is well");
        b.cache.modify(&buf, |bytes| bytes[0] = 3);
        b.rt.sleep(Duration::from_secs(29)).await;
        assert!(buf.is_dirty());
        b.rt.sleep(Duration::from_secs(3)).await;
        assert!(!buf.is_dirty());
    });
}

#[test]
fn fsync_waits_for_what_is_under_way() {
    // A slow disk: the image written first is still in flight when the other one is written.
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20).volatile(true);
    let slow = Laggard { ram: ram.clone(), rt: rt.clone(), first: Cell::new(true) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, calm());
    let scheme = Rc::new(Plain::default());
    cache.attach(scheme.clone(), Rc::new(Early));
    rt.block_on(async {
        let early = cache.read(data(1)).await.expect("the disk is well");
        cache.modify(&early, |bytes| bytes[0] = 7);
        cache.write_soon(std::slice::from_ref(&early));
        rt.yield_now().await;
        let inode = cache.read(Want { key: Key::Device(FragNo(9)), ..data(9) }).await.expect("the disk is well");
        cache.modify(&inode, |bytes| bytes[0] = 8);
        let must = scheme.fsync(&cache, Ino(5), &inode, &crate::Landing::of(&inode));
        cache.obey(must).await.expect("the disk is well");
    });
    ram.power_cut();
    assert_eq!((on_disk(&ram, 4096), on_disk(&ram, 9 * 4096)), (7, 8), "fsync returned, so both are there");
}

#[test]
fn who_has_too_much_dirty_waits_for_a_queue_that_needs_no_flush() {
    let rt = Rt::virtual_time(1);
    let slow = Laggard { ram: RamDisk::new(1 << 20), rt: rt.clone(), first: Cell::new(true) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), 8 << 10, calm());
    cache.attach(Rc::new(Plain::default()), Rc::new(Early));
    rt.block_on(async {
        let bufs = [cache.read(data(1)).await.expect("the disk is well"), cache.read(data(2)).await.expect("it is")];
        bufs.iter().for_each(|buf| cache.modify(buf, |bytes| bytes[0] = 7));
        cache.write_soon(&bufs);
        let waited = async {
            cache.throttle().await.expect("the disk is well");
            cache.make_room(4 << 10).await.expect("the disk is well");
        };
        // A flush of this disk completes at once: a task that flushes again and again never lets the clock move.
        let mut waited = std::pin::pin!(waited);
        let mut polls = 0;
        std::future::poll_fn(|cx| {
            polls += 1;
            assert!(polls < 1000, "it spins");
            waited.as_mut().poll(cx)
        })
        .await;
    });
    assert!(rt.now().as_nanos() >= 1_000_000_000, "until the write was there");
}

/// A RAM disk whose first write takes a second.
struct Laggard {
    ram: RamDisk,
    rt: Rt,
    first: Cell<bool>,
}

impl Disk for Laggard {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.ram.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let (ram, rt, slow) = (self.ram.clone(), self.rt.clone(), self.first.replace(false));
        DiskFuture::later(async move {
            if slow {
                rt.sleep(Duration::from_secs(1)).await;
            }
            ram.write(at, parts, fua).await
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

#[test]
fn what_is_discarded_is_never_written() {
    let b = bench(calm(), None);
    b.rt.block_on(async {
        let buf = b.cache.read(data(1)).await.expect("the disk is well");
        b.cache.modify(&buf, |bytes| bytes[0] = 3);
        b.cache.discard(&buf);
        b.cache.modify(&buf, |bytes| bytes[0] = 4);
        b.cache.write_everything().await.expect("the disk is well");
        assert_eq!(on_disk(&b.ram, 4096), 0);
        assert_eq!(b.cache.stats().dirty_bytes, 0);
    });
}

#[test]
fn a_buf_that_has_left_what_the_disk_holds_of_it_says_so_until_it_is_durable_again() {
    let bench = bench(calm(), None);
    let key = |lbn| Key::File(Ino(7), Lbn(lbn));
    bench.rt.block_on(async {
        let new = bench.cache.fresh(key(0), Kind::Data, Some(DiskOff(4096)), 512).await.unwrap();
        bench.cache.modify(&new, |bytes| bytes.fill(1));
        bench.cache.moved(&new, DiskOff(8192));
        assert!(!new.has_moved(), "nothing of it was ever on the disk");
        bench.cache.write(&new).await.unwrap();
        bench.cache.moved(&new, DiskOff(4096));
        assert!(new.has_moved());
        bench.cache.mark_dirty(&new);
        bench.cache.write(&new).await.unwrap();
        bench.rt.yield_now().await;
        assert!(!new.has_moved());

        let want = Want { key: key(1), role: Kind::Data, addr: DiskOff(8192), len: 512 };
        let read = bench.cache.read(want).await.unwrap();
        bench.cache.mark_dirty(&read);
        let late = bench.cache.write(&read);
        bench.cache.moved(&read, DiskOff(16384));
        late.await.unwrap();
        bench.rt.yield_now().await;
        assert!(!read.has_moved(), "the image was sent after the move");
    });
}
