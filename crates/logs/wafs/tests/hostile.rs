//! Any word of a log may hold anything while its sums are right: whoever opens it gets what is there, or an error.

use ordo_disk::{Counted, Disk, RamDisk};
use ordo_ring::testing::each_word;
use ordo_rt::Rt;
use ordo_wafs::{Log, Lsn, MakeOptions, Mode, MountOptions, Place};
use std::rc::Rc;

const UNIT: usize = 512;
const UNITS: usize = 64;
/// Where the records begin, behind both slots.
const FIRST: usize = 8192;
/// Bytes of a record's header, and of a superblock.
const HEADER: usize = 48;
const SUPERBLOCK: usize = 512;

/// What a field may hold that was not written by this program.
const HOSTILE: [u64; 14] = [
    0,
    1,
    2,
    8,
    512,
    1 << 31,
    (1 << 31) - 1,
    u32::MAX as u64 - 1,
    u32::MAX as u64,
    1 << 32,
    1 << 61,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// A log that was not unmounted, with the bytes of its disk, and where its records begin.
fn crashed() -> (Vec<u8>, Vec<u64>) {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new((FIRST + UNITS * UNIT) as u64));
    let place = || Place::whole(&rt, Rc::new(disk.clone()));
    let mut records = Vec::new();
    rt.block_on(async {
        Log::make(&place(), MakeOptions { unit: Some(UNIT as u32), zero: false }).await.unwrap();
        for len in [40, 0, 900] {
            let log = Log::mount(place(), MountOptions { mode: Mode::Async }).await.unwrap();
            for byte in 0..3 {
                let lsn = log.append_patiently(&vec![byte; len]).await.unwrap();
                log.force(lsn).await.unwrap();
                records.push(lsn.0);
            }
        }
    });
    let mut bytes = vec![0; FIRST + UNITS * UNIT];
    disk.peek(0, &mut bytes);
    (bytes, records)
}

/// Opens it, reads it in every direction, and appends.
fn open(bytes: &[u8]) -> bool {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new(bytes.len() as u64));
    disk.poke(0, bytes);
    let (counted, requests) = Counted::count(Rc::new(disk) as Rc<dyn Disk>);
    let place = || Place::whole(&rt, counted.clone());
    let read = async |log: &Log| {
        let (mut scan, mut back) = (log.scan(Lsn::NONE), log.scan_back(log.last()));
        for found in 0.. {
            assert!(found < UNITS * UNIT / HEADER, "more records than there is room for");
            let Ok(Some(record)) = scan.next().await else { break };
            // A record may be reclaimed, and an error is one.
            let _ = log.read(record.lsn).await;
        }
        for found in 0.. {
            assert!(found < UNITS * UNIT / HEADER, "more records than there is room for");
            let Ok(Some(_)) = back.next().await else { break };
        }
    };
    let mounted = rt.block_on(async {
        if let Ok(log) = Log::open(place()).await {
            read(&log).await;
        }
        let Ok(log) = Log::mount(place(), MountOptions { mode: Mode::Async }).await else { return false };
        read(&log).await;
        // Whether there is room does not matter here.
        if let Ok(lsn) = log.append(b"more") {
            let _ = log.force(lsn).await;
        }
        true
    });
    assert!(requests.get().reads < 8 * UNITS as u64, "{} reads", requests.get().reads);
    mounted
}

fn id(bytes: &[u8]) -> [u8; 8] {
    std::array::from_fn(|i| bytes[16 + i])
}

/// The sum of the record at `at`: of the log's number, the header behind the sum, and as many bytes as it says.
fn make_record_right(bytes: &mut [u8], at: usize) {
    let len = u32::from_le_bytes(std::array::from_fn(|i| bytes[at + 44 + i])) as usize;
    let end = at.saturating_add(HEADER).saturating_add(len).min(bytes.len());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&id(bytes)), &bytes[at + 8..end]);
    bytes[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn any_word_of_a_log_may_hold_anything() {
    let (good, records) = crashed();
    assert!(open(&good));
    let (mut mounted, mut all) = (0, 0);
    let mut count = |(some, of)| (mounted, all) = (mounted + some, all + of);
    for slot in [0, 4096] {
        count(each_word(&good, ("superblock", slot), 16..96, &HOSTILE, |mut bytes| {
            bytes[slot + 12..slot + 16].fill(0);
            let sum = crc32c::crc32c(&bytes[slot..slot + SUPERBLOCK]);
            bytes[slot + 12..slot + 16].copy_from_slice(&sum.to_le_bytes());
            open(&bytes)
        }));
    }
    for record in records {
        let place = FIRST + record as usize % (UNITS * UNIT);
        count(each_word(&good, ("record at", place), 8..HEADER, &HOSTILE, |mut bytes| {
            make_record_right(&mut bytes, place);
            open(&bytes)
        }));
    }
    // Without right sums nothing would be mounted.
    assert!(mounted > all / 4, "{mounted} of {all}");
}
