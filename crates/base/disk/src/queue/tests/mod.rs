//! The queue on slow disks: what is durable when, which flush serves whom, and the order of overlapping requests.

mod order;

use std::cell::Cell;
use std::time::Duration;

use super::*;
use crate::tests::SlowDisk;
use crate::{Kind, RamDisk};

struct World {
    rt: Rt,
    ram: RamDisk,
    disk: Rc<SlowDisk>,
    queue: Queue,
}

fn world(options: QueueOptions) -> World {
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20).volatile(true).with(|info| {
        info.immediate = false;
        info.depth = 8;
    });
    let disk = Rc::new(SlowDisk::new(&rt, &ram));
    let queue = Queue::new(&rt, disk.clone(), options);
    World { rt, ram, disk, queue }
}

impl World {
    fn write(&self, sector: u64, byte: u8) -> Written {
        self.queue.write(DiskOff(sector * 512), Block::copy_of(&[byte; 512]).image(), Kind::Data.into())
    }

    fn read(&self, sector: u64) -> Answer<Block> {
        self.queue.read(DiskOff(sector * 512), 512, Kind::Data.into())
    }

    fn byte(&self, sector: u64) -> u8 {
        let mut byte = [0];
        self.ram.peek(sector * 512, &mut byte);
        byte[0]
    }

    fn settle(&self) {
        self.rt.block_on(self.rt.sleep(Duration::from_millis(1)));
    }

    fn log(&self) -> Vec<String> {
        self.disk.log.take()
    }
}

#[test]
fn a_durable_write_survives_a_power_cut_and_a_completed_one_does_not() {
    let world = world(QueueOptions::default());
    let first = world.write(0, 1);
    world.rt.block_on(first.durable()).unwrap();
    let second = world.write(1, 2);
    world.rt.block_on(second.completed()).unwrap();
    assert!(!second.is_durable());
    world.ram.power_cut();
    assert_eq!((world.byte(0), world.byte(1)), (1, 0));
}

#[test]
fn one_flush_serves_all_that_wait() {
    let world = world(QueueOptions { depth: Some(1), ..Default::default() });
    let writes: Vec<Written> = (0..10).map(|i| world.write(i * 2, 7)).collect();
    world.settle();
    world.rt.block_on(async {
        for write in &writes {
            write.durable().await.unwrap();
        }
    });
    assert_eq!(world.queue.stats().flushes, 1);
    world.ram.power_cut();
    assert_eq!(world.byte(18), 7);
}

#[test]
fn a_flush_does_not_cover_a_write_that_completed_after_it_began() {
    let world = world(QueueOptions::default());
    let first = world.write(0, 1);
    world.rt.block_on(first.completed()).unwrap();
    let flush = world.queue.flush();
    world.rt.run_until_idle(); // the flush is at the disk now
    let second = world.write(1, 2);
    world.rt.block_on(second.completed()).unwrap();
    world.rt.block_on(flush).unwrap();
    assert!(first.is_durable() && !second.is_durable());
    world.rt.block_on(second.durable()).unwrap();
    assert_eq!(world.queue.stats().flushes, 2);
    world.ram.power_cut();
    assert_eq!((world.byte(0), world.byte(1)), (1, 2));
}

#[test]
fn who_comes_while_a_flush_runs_shares_the_next_one() {
    let world = world(QueueOptions::default());
    let first = world.write(0, 1);
    world.rt.block_on(first.completed()).unwrap();
    let running = world.queue.flush();
    world.rt.run_until_idle();
    let joined = world.queue.flush(); // nothing completed in between: the running one will do
    let late: Vec<Written> = (1..5).map(|i| world.write(i * 3, 2)).collect();
    world.rt.block_on(world.rt.sleep(Duration::from_micros(6)));
    let next = world.queue.flush();
    world.rt.block_on(async {
        running.await.unwrap();
        joined.await.unwrap();
        for write in &late {
            write.durable().await.unwrap();
        }
        next.await.unwrap();
    });
    assert_eq!(world.queue.stats().flushes, 2);
    world.rt.block_on(world.queue.flush()).unwrap();
    assert_eq!(world.queue.stats().flushes, 2, "there was nothing to flush");
}

/// Waits for `write` alone, then sends `more` while it is in flight.
fn two_callers(want: impl Fn(&Written)) -> (World, Written, Written) {
    let world = world(QueueOptions::default());
    let first = world.write(0, 1);
    world.rt.run_until_idle(); // at the disk
    world.rt.block_on(world.rt.sleep(Duration::from_nanos(500)));
    let second = world.write(5, 2);
    want(&second);
    world.rt.block_on(first.durable()).unwrap();
    (world, first, second)
}

#[test]
fn a_flush_waits_for_what_another_caller_wants_durable_and_serves_both() {
    let (world, first, second) = two_callers(Written::expect_durable);
    assert!(first.is_durable() && second.is_durable());
    assert_eq!(world.log(), ["write 0 512 in 1", "write 2560 512 in 1", "flush"]);
}

#[test]
fn a_flush_does_not_wait_for_a_write_that_nobody_waits_for() {
    let (world, first, second) = two_callers(|_| {});
    assert!(first.is_durable() && !second.is_durable());
    world.rt.block_on(second.durable()).unwrap();
    assert_eq!(world.queue.stats().flushes, 2);
}

#[test]
fn a_flush_does_not_wait_for_writes_that_come_after_it_was_wanted() {
    let world = world(QueueOptions::default());
    // The disk takes eight at a time, and the flush is wanted when the second eight are there.
    let writes: Vec<Written> = (0..40).map(|i| world.write(2 * i, 1)).collect();
    writes.iter().for_each(Written::expect_durable);
    world.rt.block_on(writes[0].durable()).unwrap();
    assert!(writes[..16].iter().all(Written::is_durable) && !writes[16].is_durable());
    assert_eq!(world.log().iter().position(|request| request == "flush"), Some(24));
}

#[test]
fn a_flush_that_waits_goes_on_when_what_it_waits_for_fails() {
    let world = world(QueueOptions::default());
    world.disk.bad_byte.set(Some(5 * 512));
    let first = world.write(0, 1);
    world.rt.run_until_idle();
    world.rt.block_on(world.rt.sleep(Duration::from_nanos(500)));
    let second = world.write(5, 2);
    let (well, ill) = world.rt.block_on(async { (first.durable().await, all_durable(&[second]).await) });
    assert!(well.is_ok() && ill.is_err());
    assert_eq!(world.queue.stats().flushes, 1);
}

#[test]
fn a_waiter_without_demand_is_served_by_the_flush_of_another() {
    let world = world(QueueOptions::default());
    let write = world.write(0, 1);
    let quiet = write.clone();
    let seen = Rc::new(Cell::new(false));
    let seen2 = seen.clone();
    world.rt.spawn(async move {
        quiet.when_durable().await.unwrap();
        seen2.set(true);
    });
    world.settle();
    assert!(!seen.get() && world.queue.stats().flushes == 0);
    let other = world.write(9, 1);
    world.rt.block_on(other.durable()).unwrap();
    world.rt.run_until_idle();
    assert!(seen.get());
}

#[test]
fn a_failed_flush_fails_what_it_covered_even_if_a_later_one_succeeds() {
    let world = world(QueueOptions::default());
    let write = world.write(0, 1);
    world.rt.block_on(write.completed()).unwrap();
    world.disk.failing_flushes.set(1);
    assert_eq!(world.rt.block_on(world.queue.flush()), Err(DiskError::flush(Cause::Io(5))));
    world.rt.block_on(world.queue.flush()).unwrap();
    assert_eq!(world.queue.stats().flushes, 2, "after a failure nothing is taken for clean");
    assert_eq!(world.rt.block_on(write.durable()), Err(DiskError::flush(Cause::Io(5))));
    world.rt.block_on(world.write(0, 1).durable()).unwrap();
}

#[test]
fn a_forced_write_and_a_safe_cache_need_no_flush() {
    let forced = world(QueueOptions::default());
    let write = forced.queue.write_fua(DiskOff(0), Block::copy_of(&[1; 512]).image(), Kind::Log.into());
    forced.rt.block_on(write.durable()).unwrap();
    forced.ram.power_cut();
    assert_eq!((forced.queue.stats().flushes, forced.byte(0)), (0, 1));
    let safe = world(QueueOptions { volatile_cache: Some(false), ..Default::default() });
    safe.rt.block_on(safe.write(0, 1).durable()).unwrap();
    safe.rt.block_on(safe.queue.flush()).unwrap();
    assert_eq!(safe.queue.stats().flushes, 0);
}

#[test]
fn requests_of_one_turn_go_upwards_from_the_head_and_neighbours_go_together() {
    let world = world(QueueOptions::default());
    world.rt.block_on(world.read(100)).unwrap();
    world.log();
    for sector in [300, 5, 201, 200, 7, 6, 202] {
        drop(world.write(sector, sector as u8));
    }
    let answer = world.read(203);
    world.settle();
    drop(answer);
    assert_eq!(
        world.log(),
        ["write 102400 1536 in 3", "read 103936 512 in 1", "write 153600 512 in 1", "write 2560 1536 in 3"]
    );
    assert_eq!([5, 6, 7, 200, 201, 202].map(|s| world.byte(s)), [5, 6, 7, 200, 201, 202]);
    assert_eq!(world.queue.stats().merged, 4);
}

#[test]
fn first_come_first_served_keeps_the_order_and_a_limit_ends_a_merge() {
    let world = world(QueueOptions { scheduler: Scheduler::Fcfs, max_merge: Some(1024), ..Default::default() });
    for sector in [9, 3, 4, 5] {
        drop(world.write(sector, 1));
    }
    world.settle();
    assert_eq!(world.log(), ["write 4608 512 in 1", "write 1536 1024 in 2", "write 2560 512 in 1"]);
}

#[test]
fn what_other_calls_write_is_not_merged_where_only_one_calls_is() {
    let world = world(QueueOptions { scheduler: Scheduler::Fcfs, within_call: true, ..Default::default() });
    for (sector, cause) in [(9, 1), (3, 1), (4, 1), (5, 2), (6, 2)] {
        let tag = Tag { cause, ..Tag::of(Kind::Data) };
        drop(world.queue.write(DiskOff(sector * 512), Block::copy_of(&[1; 512]).image(), tag));
    }
    world.settle();
    assert_eq!(world.log(), ["write 4608 512 in 1", "write 1536 1024 in 2", "write 2560 1024 in 2"]);
}

#[test]
fn overlapping_requests_keep_their_order_whatever_the_elevator_likes() {
    let rt_world = world(QueueOptions { depth: Some(8), ..Default::default() });
    let world = &rt_world;
    let before = world.read(5);
    drop(world.write(5, 1));
    drop(world.queue.write(DiskOff(4 * 512), Block::copy_of(&[2; 1536]).image(), Kind::Data.into()));
    let between = world.queue.read(DiskOff(4 * 512), 1024, Kind::Data.into());
    drop(world.write(5, 3));
    let after = world.read(5);
    world.rt.block_on(async {
        assert_eq!(before.await.unwrap()[0], 0);
        assert_eq!(between.await.unwrap()[512], 2);
        assert_eq!(after.await.unwrap()[0], 3);
    });
    assert_eq!([4, 5, 6].map(|s| world.byte(s)), [2, 3, 2]);
    assert_eq!(world.queue.stats().depth, 0);
}

#[test]
fn random_overlapping_requests_give_what_they_would_one_by_one() {
    for seed in 0..30 {
        let world = world(QueueOptions { depth: Some(1 + seed as u32 % 4), ..Default::default() });
        let mut rng = ordo_rt::Rng::new(seed);
        let mut model = vec![0u8; 64];
        let mut reads = Vec::new();
        for i in 0..200u32 {
            let (from, len) = (rng.below(56) as usize, 1 + rng.below(8) as usize);
            let at = DiskOff(from as u64 * 512);
            if rng.chance(1, 2) {
                let byte = i as u8;
                model[from..from + len].fill(byte);
                drop(world.queue.write(at, Block::copy_of(&vec![byte; len * 512]).image(), Tag::default()));
            } else {
                let answer = world.queue.read(at, len * 512, Tag::default());
                reads.push((answer, model[from..from + len].to_vec()));
            }
            if rng.chance(1, 20) {
                world.rt.block_on(world.rt.sleep(Duration::from_micros(rng.below(3))));
            }
        }
        for (answer, expected) in reads {
            let got = world.rt.block_on(answer).unwrap();
            assert_eq!(got.iter().step_by(512).copied().collect::<Vec<u8>>(), expected, "seed {seed}");
        }
        world.settle();
        assert_eq!((0..64).map(|s| world.byte(s)).collect::<Vec<u8>>(), model, "seed {seed}");
    }
}

#[test]
fn a_bad_sector_in_a_merged_request_condemns_only_its_own_buffer() {
    let world = world(QueueOptions::default());
    world.disk.bad_byte.set(Some(6 * 512));
    let writes = [5, 6, 7].map(|sector| world.write(sector, 1));
    let outcomes = world.rt.block_on(async {
        let [a, b, c] = &writes;
        [a.completed().await.is_ok(), b.completed().await.is_ok(), c.completed().await.is_ok()]
    });
    assert_eq!(outcomes, [true, false, true]);
    let error = world.rt.block_on(writes[1].durable()).unwrap_err();
    assert_eq!(error, DiskError::new(DiskOp::Write, DiskOff(3072), 512, Cause::Io(5)));
    assert_eq!(error.to_string(), "write of 512 bytes at byte 3072: Input/output error (os error 5)");
    assert_eq!(world.log().len(), 4);
    assert!(matches!(world.rt.block_on(world.read(6)), Err(DiskError { op: DiskOp::Read, .. })));
    // So do bytes that a disk with checksums finds wrong.
    world.disk.is_rot.set(true);
    let reads = [5, 6, 7].map(|sector| world.read(sector));
    let [a, b, c] = reads.map(|read| world.rt.block_on(read));
    assert!(a.is_ok() && c.is_ok());
    assert_eq!(b.unwrap_err(), DiskError::new(DiskOp::Read, DiskOff(3072), 512, Cause::Rot));
}

#[test]
fn requests_off_the_disk_are_refused_without_it() {
    let world = world(QueueOptions::default());
    let write = world.write(2048, 1);
    assert!(matches!(world.rt.block_on(write.completed()), Err(DiskError { cause: Cause::OutOfRange { .. }, .. })));
    let read = world.queue.read(DiskOff(u64::MAX - 511), 512, Tag::default());
    assert!(world.rt.block_on(read).is_err());
    assert!(world.log().is_empty());
}

#[test]
fn on_a_disk_that_answers_at_once_everything_is_done_at_the_call() {
    let rt = Rt::virtual_time(0);
    let ram = RamDisk::new(1 << 20);
    let queue = Queue::new(&rt, Rc::new(ram.clone()), QueueOptions::default());
    let write = queue.write(DiskOff(512), Block::copy_of(&[4; 512]).image(), Kind::Data.into());
    assert!(write.is_durable());
    let mut read = pin!(queue.read(DiskOff(512), 512, Kind::Data.into()));
    let Poll::Ready(Ok(block)) = read.as_mut().poll(&mut Context::from_waker(Waker::noop())) else {
        panic!("the read is not ready at its first poll");
    };
    assert_eq!(block[0], 4);
    let many = queue.read_many(&[(DiskOff(0), 512), (DiskOff(512), 512)], Tag::default());
    let firsts: Vec<u8> = many.into_iter().map(|answer| rt.block_on(answer).unwrap()[0]).collect();
    assert_eq!(firsts, [0, 4]);
    assert_eq!(queue.stats().merged, 1);
}

#[test]
fn the_same_requests_reach_the_disk_in_the_same_order_every_time() {
    let run = || {
        let world = world(QueueOptions { depth: Some(3), ..Default::default() });
        let mut rng = world.rt.rng();
        for _ in 0..300 {
            drop(world.write(rng.below(1000), 1));
            if rng.chance(1, 7) {
                drop(world.queue.flush());
                world.rt.block_on(world.rt.sleep(Duration::from_nanos(rng.below(2000))));
            }
        }
        world.settle();
        world.log()
    };
    assert_eq!(run(), run());
}

#[test]
fn a_dropped_queue_ends_its_pump_and_lets_go_of_the_disk() {
    let World { rt, disk, queue, ram: _ } = world(QueueOptions::default());
    rt.run_until_idle();
    drop(queue);
    rt.run_until_idle();
    assert_eq!(Rc::strong_count(&disk), 1);
}

/// A flush that was requested runs to its end, even if the queue's last handle is dropped while it waits for a write.
#[test]
fn a_flush_that_waits_is_made_when_the_queue_is_dropped() {
    let world = world(QueueOptions::default());
    let first = world.write(0, 1);
    world.rt.block_on(first.completed()).unwrap();
    drop(first);
    let second = world.write(5, 2);
    second.expect_durable();
    world.rt.run_until_idle(); // at the disk
    drop(second);
    let flush = world.queue.flush();
    let World { rt, ram, queue, .. } = world;
    drop(queue);
    rt.block_on(flush).expect("the disk is well");
    ram.power_cut();
    let mut byte = [0];
    ram.peek(0, &mut byte);
    assert_eq!(byte, [1]);
}
