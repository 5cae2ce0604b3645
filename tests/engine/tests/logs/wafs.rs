//! The log through its public interface: on disks in memory, in virtual time.

use ordo_disk::{Disk, DiskOff, DiskOp, Queue, QueueOptions, RamDisk};
use ordo_ring::testing::scrambled;
use ordo_rt::Rt;
use ordo_simdisk::{Fault, FaultPlan, Faulty};
use ordo_wafs::{Error, ErrorKind, Log, Lsn, MakeOptions, Mode, MountOptions, Place, Record, Witness};
use std::rc::Rc;

const RECORDS_AT: u64 = 8192;
const ASYNC: MountOptions = MountOptions { mode: Mode::Async };

struct Bed {
    rt: Rt,
    ram: RamDisk,
}

impl Bed {
    /// A log of `units` units of 512 bytes.
    fn new(units: u64) -> Bed {
        let bed = Bed { rt: Rt::virtual_time(1), ram: RamDisk::new(RECORDS_AT + 512 * units) };
        bed.rt.block_on(Log::make(&bed.place(), MakeOptions { unit: Some(512), zero: false })).unwrap();
        bed
    }

    fn place(&self) -> Place {
        Place::whole(&self.rt, Rc::new(self.ram.clone()))
    }

    fn mount(&self) -> Log {
        self.try_mount().unwrap()
    }

    fn try_mount(&self) -> Result<Log, Error> {
        self.rt.block_on(Log::mount(self.place(), ASYNC))
    }

    fn commit(&self, log: &Log, data: &[u8]) -> Lsn {
        let lsn = self.rt.block_on(log.append_patiently(data)).unwrap();
        self.rt.block_on(log.force(lsn)).unwrap();
        lsn
    }

    fn all(&self, log: &Log) -> Vec<Record> {
        self.rt.block_on(async {
            let (mut scan, mut records) = (log.scan(Lsn::NONE), Vec::new());
            while let Some(record) = scan.next().await.unwrap() {
                records.push(record);
            }
            records
        })
    }

    fn all_back(&self, log: &Log) -> Vec<Record> {
        self.rt.block_on(async {
            let (mut scan, mut records) = (log.scan_back(log.last()), Vec::new());
            while let Some(record) = scan.next().await.unwrap() {
                records.push(record);
            }
            records.reverse();
            records
        })
    }

    fn poke(&self, lsn: Lsn, into: u64) {
        let at = RECORDS_AT + (lsn.0 + into) % (self.ram.info().size - RECORDS_AT);
        let mut byte = [0];
        self.ram.peek(at, &mut byte);
        self.ram.poke(at, &[byte[0] ^ 0x55]);
    }
}

fn data(records: &[Record]) -> Vec<&[u8]> {
    records.iter().map(|record| &record.data[..]).collect()
}

#[test]
fn appended_records_are_read_by_number_forward_and_backward_durable_or_not() {
    let bed = Bed::new(64);
    let log = bed.mount();
    let first = bed.commit(&log, b"one");
    let second = log.append(b"").unwrap();
    let third = log.append(&[7; 3000]).unwrap();
    assert!(first < second && second < third && log.last() == third);
    assert!(log.durable() > first && log.durable() <= second);
    let read = |lsn| bed.rt.block_on(log.read(lsn));
    assert_eq!((read(first).unwrap().data, read(third).unwrap().data), (b"one".to_vec(), vec![7; 3000]));
    assert!(matches!(read(Lsn(second.0 + 8)), Err(Error::NoRecord { .. })));
    assert!(matches!(read(log.end()), Err(Error::NoRecord { .. })));
    let records = bed.all(&log);
    assert_eq!(data(&records), [&b"one"[..], b"", &[7; 3000]]);
    assert_eq!(records, bed.all_back(&log));
    assert!(records[0].time >= 946_684_800_000_000_000);
}

#[test]
fn a_scan_starts_anywhere_and_sees_what_comes_meanwhile() {
    let bed = Bed::new(64);
    let log = bed.mount();
    let numbers: Vec<Lsn> = (0..20u8).map(|i| bed.commit(&log, &[i; 40])).collect();
    let mut scan = log.scan(Lsn(numbers[6].0 - 1));
    let mut next = || bed.rt.block_on(scan.next()).unwrap().map(|record| record.lsn);
    for lsn in &numbers[6..] {
        assert_eq!(next(), Some(*lsn));
    }
    assert_eq!(next(), None);
    let later = log.append(b"later").unwrap();
    let latest = bed.commit(&log, b"latest");
    assert_eq!([next(), next(), next()], [Some(later), Some(latest), None]);
}

#[test]
fn the_next_mount_finds_what_was_forced_and_goes_on() {
    let bed = Bed::new(64);
    for round in 0..5u8 {
        let log = bed.mount();
        assert_eq!(log.recovery().records, u64::from(round) * 2);
        log.append(&[round; 10]).unwrap();
        log.append(&[round; 600]).unwrap();
        bed.rt.block_on(log.unmount()).unwrap();
    }
    let log = bed.rt.block_on(Log::open(bed.place())).unwrap();
    assert_eq!((log.recovery().records, log.epoch()), (10, 5));
    assert_eq!(log.append(b"x"), Err(Error::ReadOnly));
    let records = bed.all(&log);
    assert!((0..5).all(|round| records[2 * round].data == [round as u8; 10]));
    assert_eq!(records, bed.all_back(&log));
}

#[test]
fn the_log_wraps_around_as_long_as_room_is_reclaimed() {
    let bed = Bed::new(32);
    let mut log = bed.mount();
    let mut kept: Vec<(Lsn, Vec<u8>)> = Vec::new();
    for i in 0..2000u64 {
        let bytes = vec![i as u8; (i * 37 % 1500) as usize];
        if kept.len() > 5 {
            log.reclaim(kept[3].0).unwrap();
            kept.drain(..3);
        }
        let lsn = bed.rt.block_on(log.append_patiently(&bytes)).unwrap();
        kept.push((lsn, bytes));
        if i % 7 == 0 {
            bed.rt.block_on(log.sync()).unwrap();
        }
        if i % 50 == 0 {
            bed.rt.block_on(log.unmount()).unwrap();
            log = bed.mount();
        }
        let records: Vec<(Lsn, Vec<u8>)> = bed.all(&log).into_iter().map(|r| (r.lsn, r.data)).collect();
        assert_eq!(records, kept, "step {i}");
    }
    assert!(log.end().0 > 20 * 32 * 512);
    assert_eq!(bed.all(&log), bed.all_back(&log));
}

#[test]
fn a_full_log_says_so_and_takes_more_after_a_checkpoint() {
    let bed = Bed::new(16);
    let log = bed.mount();
    let full = loop {
        match log.append(&[1; 400]) {
            Ok(_) => {}
            Err(error) => break error,
        }
    };
    assert!(matches!(full, Error::Full { wanted: 448, .. }), "{full}");
    assert_eq!(full.kind(), ErrorKind::Caller);
    bed.rt.block_on(log.sync()).unwrap();
    let records = bed.all(&log);
    assert!(log.space().free < 512 && log.space().reclaimable == 0);
    log.reclaim(records[4].lsn).unwrap();
    assert!(log.space().reclaimable >= 1536);
    assert!(log.append(&[1; 400]).is_err(), "not before the superblock is durable");
    bed.rt.block_on(log.append_patiently(&[1; 400])).unwrap();
    log.reclaim(log.end()).unwrap();
    bed.rt.block_on(log.sync()).unwrap();
    log.reclaim(log.end()).unwrap();
    bed.rt.block_on(log.checkpoint()).unwrap();
    assert_eq!(log.space().free, 16 * 512);
    drop(log);
    let log = bed.mount();
    assert_eq!((bed.all(&log), bed.all_back(&log)), (vec![], vec![]));
    let lsn = bed.commit(&log, b"on we go");
    assert_eq!(bed.all(&log)[0].lsn, lsn);
}

#[test]
fn a_record_that_is_too_long_is_refused() {
    let bed = Bed::new(16);
    let log = bed.mount();
    let most = log.record_most();
    assert_eq!(log.append(&vec![0; most + 1]), Err(Error::TooLong { len: most + 1, most }));
    bed.commit(&log, &vec![3; most]);
    assert_eq!(bed.all(&log)[0].data.len(), most);
}

#[test]
fn a_torn_last_record_is_the_end() {
    let bed = Bed::new(64);
    let log = bed.mount();
    let numbers: Vec<Lsn> = (0..5u8).map(|i| bed.commit(&log, &[i; 700])).collect();
    drop(log);
    bed.poke(numbers[4], 100);
    let log = bed.mount();
    assert_eq!((log.last(), bed.all(&log).len()), (numbers[3], 4));
    let again = bed.commit(&log, b"again");
    assert_eq!(bed.all(&log)[4].lsn, again);
    assert_eq!(bed.all(&log), bed.all_back(&log));
}

#[test]
fn a_hole_in_the_middle_is_told_from_the_end() {
    let bed = Bed::new(64);
    let log = bed.mount();
    let numbers: Vec<Lsn> = (0..5u8).map(|i| bed.commit(&log, &[i; 700])).collect();
    drop(log);
    bed.poke(numbers[2], 60);
    let Err(Error::Damaged(damage)) = bed.try_mount() else { panic!("it was mounted") };
    assert!(damage.first > numbers[1] && damage.first <= numbers[2]);
    assert_eq!((damage.sure, damage.witness), (numbers[2], Witness::Entry(numbers[3])));
    let log = bed.rt.block_on(Log::open(bed.place())).unwrap();
    assert_eq!((log.recovery().damage, bed.all(&log).len()), (Some(damage), 2));
    bed.poke(numbers[2], 60);
    drop(bed.mount());
    bed.poke(numbers[4], 60);
    let Err(Error::Damaged(damage)) = bed.try_mount() else { panic!("it was mounted") };
    assert_eq!((damage.sure, damage.witness), (numbers[4], Witness::Superblock), "that mount had found it");
    let text = Error::from(damage).to_string();
    assert!(text.contains("make the log anew"), "{text}");
}

#[test]
fn a_superblock_that_is_lost_after_the_log_went_on_is_noticed() {
    let bed = Bed::new(16);
    let log = bed.mount();
    for i in 0..200u8 {
        log.reclaim(log.last()).unwrap();
        bed.rt.block_on(log.append_patiently(&[i; 300])).unwrap();
        bed.rt.block_on(log.sync()).unwrap();
    }
    // Overwrites what the last superblock has freed.
    while let Ok(lsn) = log.append(&[0; 300]) {
        bed.rt.block_on(log.force(lsn)).unwrap();
    }
    drop(log);
    let good = bed.ram.snapshot();
    let mut refused = 0;
    for slot in [0, 4096] {
        bed.ram.poke(0, &good.to_vec());
        bed.ram.poke(slot + 48, &[0xff]);
        match bed.try_mount() {
            Err(Error::Damaged(_)) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok(log) => assert!(log.recovery().records > 0),
        }
    }
    assert_eq!(refused, 1, "the older one is of use, the newer one is missed");
}

#[test]
fn records_of_an_older_log_in_the_same_place_are_not_ours() {
    let bed = Bed::new(64);
    for _ in 0..3 {
        let log = bed.mount();
        assert_eq!(log.recovery().records, 0);
        for i in 0..20 {
            bed.commit(&log, &[i; 200]);
        }
        drop(log);
        // The same seed: the same clock and the same random numbers.
        let again = Rt::virtual_time(1);
        let place = Place::whole(&again, Rc::new(bed.ram.clone()));
        again.block_on(Log::make(&place, MakeOptions { unit: Some(512), zero: false })).unwrap();
    }
}

#[test]
fn a_part_of_a_disk_is_enough_and_nothing_else_is_touched() {
    let rt = Rt::virtual_time(0);
    let ram = RamDisk::new(1 << 20).with(|info| info.sector = 4096);
    ram.poke(0, &vec![0xee; 1 << 20]);
    let queue = Queue::new(&rt, Rc::new(ram.clone()), QueueOptions::default());
    let place = Place::new(&queue, &[(DiskOff(65536), 65536)]).unwrap();
    assert!(matches!(
        rt.block_on(Log::make(&place, MakeOptions { unit: Some(512), zero: false })),
        Err(Error::Unit { .. })
    ));
    rt.block_on(async {
        Log::make(&place, MakeOptions::default()).await.unwrap();
        let log = Log::mount(place.clone(), ASYNC).await.unwrap();
        for i in 0..100u8 {
            log.append_patiently(&[i; 1000]).await.unwrap();
            log.reclaim(log.last()).unwrap();
            log.sync().await.unwrap();
        }
        log.unmount().await.unwrap();
    });
    let bytes = ram.to_vec();
    assert!(bytes[..65536].iter().chain(&bytes[131_072..]).all(|byte| *byte == 0xee));
    assert!(matches!(Place::new(&queue, &[(DiskOff(100), 65536)]).map_err(Error::from), Err(Error::Disk(_))));
}

#[test]
fn a_place_without_a_log_is_refused_with_the_reason() {
    let rt = Rt::virtual_time(0);
    let open = |ram: &RamDisk| rt.block_on(Log::open(Place::whole(&rt, Rc::new(ram.clone())))).err();
    assert_eq!(open(&RamDisk::new(1 << 16)), Some(Error::NotALog));
    let make = |size| rt.block_on(Log::make(&Place::whole(&rt, Rc::new(RamDisk::new(size))), MakeOptions::default()));
    assert!(matches!(make(16384), Err(Error::TooSmall { .. })));
    let bed = Bed::new(64);
    let cut = RamDisk::from_bytes(&bed.ram.to_vec()[..16384]);
    assert!(matches!(open(&cut), Some(Error::CutOff { .. })));
    assert_eq!(Error::NotALog.kind(), ErrorKind::Image);
}

#[test]
fn after_a_failed_write_nothing_is_appended() {
    let rt = Rt::virtual_time(0);
    let ram = RamDisk::new(1 << 20).volatile(true);
    let place = |disk: Rc<dyn Disk>| Place::whole(&rt, disk);
    rt.block_on(Log::make(&place(Rc::new(ram.clone())), MakeOptions::default())).unwrap();
    // The mount's own write is the first.
    for fault in [Fault::error(DiskOp::Write, 3), Fault::error(DiskOp::Flush, 2)] {
        let faulty = Faulty::new(Rc::new(ram.clone()), FaultPlan::new(0).with(fault));
        rt.block_on(async {
            let log = Log::mount(place(Rc::new(faulty)), MountOptions::default()).await.unwrap();
            let first = log.commit(b"durable").await.unwrap();
            let second = log.append(b"not durable").unwrap();
            // More than a chunk: two writes, and a flush for both.
            log.append(&vec![1; 300_000]).unwrap();
            let failed = log.force(log.last()).await;
            assert!(matches!(failed, Err(Error::Failed(_))), "{failed:?}");
            assert!(matches!(log.append(b"more"), Err(Error::Failed(_))));
            assert!(matches!(log.wait_durable(second).await, Err(Error::Failed(_))));
            assert!(log.wait_durable(first).await.is_ok());
            assert_eq!(log.read(first).await.unwrap().data, b"durable");
        });
    }
}

#[test]
fn no_image_makes_it_panic_or_loop() {
    let bed = Bed::new(24);
    let log = bed.mount();
    for i in 0..60u8 {
        log.reclaim(Lsn(log.last().0.saturating_sub(2000))).unwrap();
        bed.rt.block_on(log.append_patiently(&[i; 150])).unwrap();
        bed.rt.block_on(log.sync()).unwrap();
    }
    drop(log);
    let good = bed.ram.to_vec();
    let mut rng = ordo_rt::Rng::new(5);
    let (mut opened, mut mounted) = (0, 0);
    for _ in 0..3000 {
        let bytes = scrambled(&mut rng, &good, 64);
        let ram = RamDisk::from_bytes(&bytes);
        let rt = Rt::virtual_time(0);
        let place = || Place::whole(&rt, Rc::new(ram.clone()));
        if let Ok(log) = rt.block_on(Log::open(place())) {
            opened += 1;
            let (mut scan, mut back) = (log.scan(Lsn::NONE), log.scan_back(log.last()));
            rt.block_on(async {
                while let Ok(Some(_)) = scan.next().await {}
                while let Ok(Some(_)) = back.next().await {}
            });
        }
        mounted += u32::from(rt.block_on(Log::mount(place(), ASYNC)).is_ok());
    }
    assert!(opened > 1000 && mounted > 100, "{opened} {mounted}");
}

#[test]
fn a_file_is_a_log_with_all_its_blocks_and_one_user() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.wafs");
    Log::create(&path, 1 << 20, MakeOptions::default()).unwrap();
    assert!(std::os::unix::fs::MetadataExt::blocks(&path.metadata().unwrap()) >= 2048);
    let rt = Rt::real_time();
    let file = ordo_disk::FileOptions::default();
    let mount = || rt.block_on(Log::mount_file(&rt, &path, &file, MountOptions::default()));
    let log = mount().unwrap();
    let lsn = rt.block_on(log.commit(b"in a file")).unwrap();
    assert!(matches!(mount(), Err(ordo_wafs::FileError::Open(ordo_disk::OpenError::Locked { .. }))));
    assert!(matches!(Log::create(&path, 1 << 20, MakeOptions::default()), Err(ordo_wafs::FileError::Open(_))));
    rt.block_on(log.unmount()).unwrap();
    rt.drop_tasks();
    let log = mount().unwrap();
    assert_eq!(rt.block_on(log.read(lsn)).unwrap().data, b"in a file");
}
