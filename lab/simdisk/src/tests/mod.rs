//! A modelled drive as a disk: its times, its schedulers, and what its volatile cache loses.

use std::time::Duration;

use super::*;
use ordo_disk::{Block, Queue, QueueOptions, Scheduler, Tag};

fn disk(rt: &Rt, name: &str) -> SimDisk {
    SimDisk::new(rt, Profile::named(name).unwrap())
}

fn block(len: usize, fill: u8) -> ordo_disk::Image {
    let mut block = Block::zeroed(len);
    block.fill(fill);
    block.image()
}

/// Writes one block of 4 KiB at each of these places, all requested at once; returns the places in the order of
/// service.
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
fn only_a_drive_that_was_asked_is_for_times_only_and_no_power_cut_follows() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "seagate_cheetah_9lp");
    assert!(disk.info().volatile_cache && !disk.info().times_only);
    disk.times_only();
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    assert!(queue.info().times_only);
    rt.block_on(queue.write(DiskOff(0), block(8192, 3), Tag::of(Kind::Log)).completed()).unwrap();
    assert_eq!(disk.contents().unflushed(), 0, "nothing is noted for a cut");
    let read = rt.block_on(queue.read(DiskOff(0), 8192, Tag::of(Kind::Log))).unwrap();
    assert!(read.iter().all(|&byte| byte == 3));
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

/// Writes one block at each of these places, in the host's order; returns when each was served, and when all were.
fn tagged(depth: u32, places: &[u64]) -> (Vec<u64>, Time) {
    let rt = Rt::virtual_time(1);
    let disk = SimDisk::tagged(&rt, Profile::named("nearline_sata_7200").unwrap(), depth);
    disk.note_services();
    let options = QueueOptions { scheduler: Scheduler::Fcfs, ..QueueOptions::default() };
    let queue = Queue::new(&rt, Rc::new(disk.clone()), options);
    rt.block_on(async {
        let reads: Vec<_> = places.iter().map(|&at| queue.read(DiskOff(at), 4096, Tag::default())).collect();
        for read in reads {
            read.await.unwrap();
        }
    });
    (disk.take_services().iter().map(|service| service.place.0).collect(), rt.now())
}

#[test]
fn a_drive_with_tags_picks_what_it_reaches_first_and_forgets_nobody() {
    let far = 1 << 40;
    let mut places: Vec<u64> = (0..300).map(|i| (i * 7919 % 300) << 20).collect();
    places.insert(1, far);
    let ((fcfs, slow), (picked, fast)) = (tagged(1, &places), tagged(32, &places));
    assert_eq!(fcfs, places);
    assert!(fast.as_nanos() < slow.as_nanos() * 2 / 3, "{fast:?} and {slow:?}");
    let late = picked.iter().position(|&place| place == far).unwrap();
    assert!((2..=66).contains(&late), "passed over, but not for ever: {late}");
    let mut all = (picked.clone(), places);
    all.0.sort_unstable();
    all.1.sort_unstable();
    assert_eq!(all.0, all.1);
}

#[test]
fn what_comes_after_a_flush_waits_for_it_whatever_is_near() {
    let rt = Rt::virtual_time(1);
    let disk = SimDisk::tagged(&rt, Profile::named("nearline_sata_7200").unwrap(), 8);
    let done = Rc::new(RefCell::new(Vec::new()));
    let note = |name: &'static str, future: DiskFuture<Result<(), DiskError>>| {
        let done = done.clone();
        async move {
            future.await.unwrap();
            done.borrow_mut().push(name);
        }
    };
    let write = |at: u64| disk.write(DiskOff(at), vec![WritePart { tag: Tag::default(), image: block(4096, 1) }], true);
    rt.spawn(note("at the drive", write(0)));
    rt.spawn(note("far", write(1 << 40)));
    rt.spawn(note("flush", disk.flush()));
    rt.spawn(note("near", write(8192)));
    rt.block_on(rt.sleep(Duration::from_secs(1)));
    assert_eq!(*done.borrow(), ["at the drive", "far", "flush", "near"]);
}

#[test]
fn a_long_request_goes_as_commands_that_the_host_can_move_and_each_loses_its_turn() {
    let rt = Rt::virtual_time(1);
    let disk = disk(&rt, "dec_dsp3105");
    disk.note_services();
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    rt.block_on(queue.write(DiskOff(1 << 20), block(640 << 10, 3), Tag::default()).durable()).unwrap();
    let services = disk.take_services();
    assert!(services.iter().all(|service| service.len == 64 << 10), "{services:?}");
    assert_eq!(services.iter().map(|service| service.place.0 >> 16).collect::<Vec<_>>(), (16..26).collect::<Vec<_>>());
    assert!(services.windows(2).all(|two| two[0].done == two[1].at), "{services:?}");
    // 1.66 MB/s; in one command it would be 2.3.
    let rate = f64::from(640 << 10) / 1e6 / rt.now().as_secs_f64();
    assert!((1.5..1.8).contains(&rate), "{rate}");
}
