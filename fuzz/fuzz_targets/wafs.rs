//! A log of `wafs` that was not unmounted, with changed bytes and right sums: opened, read both ways, mounted, used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_blockjournal::forged::make_superblock_right;
use ordo_disk::{Disk, RamDisk};
use ordo_rt::Rt;
use ordo_wafs::{Log, Lsn, MakeOptions, Mode, MountOptions, Place};
use std::rc::Rc;
use std::sync::LazyLock;

const ASYNC: MountOptions = MountOptions { mode: Mode::Async };
/// Where records begin, behind both slots of the superblock.
const FIRST: usize = 8192;
const SIZE: usize = FIRST + 32 * 512;
const HEADER: usize = 48;

fn place(rt: &Rt, disk: &RamDisk) -> Place {
    Place::whole(rt, Rc::new(disk.clone()) as Rc<dyn Disk>)
}

static CRASHED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new(SIZE as u64));
    rt.block_on(async {
        Log::make(&place(&rt, &disk), MakeOptions { unit: Some(512), zero: false }).await.expect("a log");
        let log = Log::mount(place(&rt, &disk), ASYNC).await.expect("a log");
        for len in [0, 40, 700, 3, 2000, 9] {
            let lsn = log.append_patiently(&vec![len as u8; len]).await.expect("there is room");
            log.force(lsn).await.expect("the disk is well");
        }
    });
    let image = disk.to_vec();
    rt.drop_tasks();
    image
});

fn make_sums_right(image: &mut [u8]) {
    for slot in [0, 4096] {
        make_superblock_right(&mut image[slot..slot + 512]);
    }
    let id: [u8; 8] = image[16..24].try_into().expect("eight bytes");
    let (_, circle) = image.split_at_mut(FIRST);
    for at in (0..circle.len()).step_by(8).filter(|&at| circle[at..].starts_with(b"WAFr")).collect::<Vec<_>>() {
        let byte = |i: usize| circle[(at + i) % circle.len()];
        let len = u32::from_le_bytes([byte(44), byte(45), byte(46), byte(47)]) as usize;
        if len <= circle.len() {
            let covered: Vec<u8> = (8..HEADER + len).map(byte).collect();
            let sum = crc32c::crc32c_append(crc32c::crc32c(&id), &covered);
            circle[at + 4..at + 8].copy_from_slice(&sum.to_le_bytes());
        }
    }
}

async fn read(log: &Log) {
    let (mut scan, mut found) = (log.scan(Lsn::NONE), 0);
    while let Ok(Some(_)) = scan.next().await {
        found += 1;
        assert!(found <= SIZE / HEADER, "the scan does not end");
    }
    let (mut scan, mut found) = (log.scan_back(log.last()), 0);
    while let Ok(Some(_)) = scan.next().await {
        found += 1;
        assert!(found <= SIZE / HEADER, "the scan back does not end");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut image = ordo_fuzz::changed(&CRASHED, bytes);
    make_sums_right(&mut image);
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::from_bytes(&image));
    rt.block_on(async {
        if let Ok(log) = Log::open(place(&rt, &disk)).await {
            read(&log).await;
        }
        let Ok(log) = Log::mount(place(&rt, &disk), ASYNC).await else { return };
        read(&log).await;
        // Whether there is room does not matter here.
        if let Ok(lsn) = log.append(&[7; 300]) {
            let _ = log.force(lsn).await;
        }
        let _ = (log.checkpoint().await, log.space());
        let _ = log.unmount().await;
    });
    rt.drop_tasks();
});
