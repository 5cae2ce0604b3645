//! A block journal that was not closed, with changed bytes and right sums: inspected, opened, replayed, used.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_blockjournal::forged::{make_sums_right, make_superblock_right};
use ordo_blockjournal::{Journal, Options, Place, Transaction};
use ordo_disk::{Block, ByteRange, Disk, DiskOff, RamDisk};
use ordo_rt::Rt;
use std::rc::Rc;
use std::sync::LazyLock;

const BLOCK: usize = 512;
/// Where the blocks begin, behind both slots of the superblock.
const FIRST: usize = 8192;
const SIZE: usize = FIRST + 64 * BLOCK;

fn place(rt: &Rt, disk: &RamDisk) -> Place {
    Place::whole(rt, Rc::new(disk.clone()) as Rc<dyn Disk>)
}

fn transaction(first: u64, count: u64) -> Transaction {
    let block = |i: u64| (DiskOff(i * BLOCK as u64), Block::copy_of(&[i as u8; BLOCK]).image());
    let revoked = ByteRange::new(DiskOff(first * 512), 1024).into_iter().collect();
    Transaction { blocks: (first..first + count).map(block).collect(), revoked, note: vec![3; 700] }
}

static CRASHED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::new(SIZE as u64));
    rt.block_on(async {
        Journal::make(&place(&rt, &disk), BLOCK as u32, 7).await.expect("a journal");
        let (journal, _) = Journal::open(place(&rt, &disk), Options::default()).await.expect("a journal");
        for (first, count) in [(1, 3), (40, 1), (2, 9)] {
            journal.commit(transaction(first, count)).await.expect("there is room");
        }
    });
    let image = disk.to_vec();
    rt.drop_tasks();
    image
});

fuzz_target!(|bytes: &[u8]| {
    let mut image = ordo_fuzz::changed(&CRASHED, bytes);
    let salt = make_superblock_right(&mut image[..512]);
    make_superblock_right(&mut image[4096..4608]);
    let mut blocks: Vec<&mut [u8]> = image[FIRST..].chunks_mut(BLOCK).collect();
    make_sums_right(&mut blocks, salt);
    let (rt, disk) = (Rt::virtual_time(1), RamDisk::from_bytes(&image));
    rt.block_on(async {
        if let Ok(found) = Journal::inspect(place(&rt, &disk)).await {
            found.recovered.replay();
        }
        let Ok((journal, recovered)) = Journal::open(place(&rt, &disk), Options::default()).await else { return };
        recovered.replay();
        // Whether there is room does not matter here.
        let _ = journal.commit(transaction(9, 2)).await;
        let _ = journal.close().await;
    });
    rt.drop_tasks();
});
