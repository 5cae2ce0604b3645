use std::time::Duration;

use super::*;
use crate::{Block, Queue, QueueOptions, Scheduler, Tag};

fn disk(rt: &Rt, name: &str) -> SimDisk {
    SimDisk::new(rt, Profile::named(name).unwrap())
}

fn block(len: usize, fill: u8) -> crate::Image {
    let mut block = Block::zeroed(len);
    block.fill(fill);
    block.image()
}

/// Writes one block of 4 KiB at each of these, all asked for at once, and returns the places in the order of service.
fn order(scheduler: Scheduler, places: &[u64]) -> (Vec<u64>, Time) {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "hp_c2447");
    disk.note_services();
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions { scheduler, ..QueueOptions::default() });
    rt.block_on(async {
        let writes: Vec<_> =
            places.iter().map(|&at| queue.write(DiskOff(at), block(4096, 7), Tag::default())).collect();
        for write in &writes {
            write.durable().await.unwrap();
        }
    });
    (disk.take_services().iter().map(|service| service.place.0).collect(), rt.now())
}

#[test]
fn what_is_written_is_read_and_takes_the_drives_time() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "hp_c2447");
    disk.note_services();
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    let read = rt.block_on(async {
        queue.write(DiskOff(500 << 20), block(8192, 3), Tag::of(Kind::Data)).durable().await.unwrap();
        queue.read(DiskOff(500 << 20), 8192, Tag::of(Kind::Data)).await.unwrap()
    });
    assert!(read.iter().all(|&byte| byte == 3));
    let services = disk.take_services();
    let mut drive = Drive::new(Profile::named("hp_c2447").unwrap());
    let first = drive.submit(Ms::ZERO, Request::write(Lbn((500 << 20) / 512), 16)).unwrap();
    assert_eq!(services.len(), 2);
    assert_eq!(services[0].done, moment(first.at), "the clock is the drive's");
    assert_eq!(services[1].done, rt.now());
    assert!(services[0].phases.seek.0 > 1.0 && services[0].cylinder > 0, "{:?}", services[0]);
    let stats = queue.stats();
    assert_eq!((stats.transfers, stats.service), (2, services.iter().map(|s| s.done - s.at).sum::<Duration>()));
    assert!(stats.response >= stats.service);
}

#[test]
fn schedulers_differ_in_order_and_time_on_the_same_requests() {
    let far = 900 << 20;
    let places: Vec<u64> = (0..40).map(|i| if i % 2 == 0 { i << 16 } else { far - (i << 16) }).collect();
    let (fcfs, slow) = order(Scheduler::Fcfs, &places);
    assert_eq!(fcfs, places);
    let (look, fast) = order(Scheduler::CLook, &places);
    assert!(look.is_sorted(), "{look:?}");
    let (_, soonest) = order(Scheduler::Sptf, &places);
    assert!(soonest < fast && fast.as_nanos() * 2 < slow.as_nanos(), "sptf {soonest}, c-look {fast}, fcfs {slow}");
}

#[test]
fn a_held_queue_goes_on_when_nobody_reads() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "hp_c2447");
    let scheduler = Scheduler::Anticipatory;
    let queue = Queue::new(&rt, Rc::new(disk), QueueOptions { scheduler, ..QueueOptions::default() });
    rt.block_on(async {
        let read = queue.read(DiskOff(0), 4096, Tag::default());
        let write = queue.write(DiskOff(800 << 20), block(4096, 1), Tag::default());
        read.await.unwrap();
        let answered = rt.now();
        write.durable().await.unwrap();
        assert!(rt.now() - answered > Duration::from_millis(6), "it waited for another read");
    });
}

#[test]
fn a_volatile_drive_loses_what_was_not_flushed() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "nearline_sata_7200");
    assert!(disk.info().volatile_cache);
    rt.block_on(async {
        let part = |fill| vec![WritePart { image: block(4096, fill), tag: Tag::default() }];
        disk.write(DiskOff(0), part(1), false).await.unwrap();
        disk.flush().await.unwrap();
        disk.write(DiskOff(0), part(2), false).await.unwrap();
        disk.write(DiskOff(4096), part(3), true).await.unwrap();
    });
    disk.contents().power_cut();
    let mut bytes = [0; 8192];
    disk.contents().peek(0, &mut bytes);
    assert_eq!((bytes[0], bytes[4096]), (1, 3));
}

#[test]
fn requests_that_no_drive_takes_are_refused() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "hp_c2447");
    let end = disk.info().size;
    let beyond =
        rt.block_on(disk.write(DiskOff(end), vec![WritePart { image: block(512, 1), tag: Tag::default() }], false));
    assert!(matches!(beyond, Err(DiskError { cause: Cause::OutOfRange { .. }, .. })), "{beyond:?}");
}

#[test]
fn memory_with_a_battery_keeps_what_it_answered_and_takes_its_bus_s_time() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "nvram");
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    rt.block_on(async {
        queue.write(DiskOff(0), block(4096, 5), Tag::default()).durable().await.unwrap();
    });
    disk.contents().power_cut();
    let mut byte = [0];
    disk.contents().peek(0, &mut byte);
    assert_eq!(byte, [5]);
    assert_eq!(rt.now().as_nanos(), 51_401, "10 us, and 4 KiB over the bus");
}
