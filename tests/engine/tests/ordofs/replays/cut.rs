//! The power fails while a log is replayed: the next replay has the same result as an uninterrupted one.

use crate::replays::log::Log;
use crate::replays::nameless::Removed;
use crate::replays::replay;
use crate::replays::volumes::{Bed, Case, plain, superblock};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordofs::disk::{Disk, DiskOp, RamDisk};
use ordofs::rt::Rt;
use std::rc::Rc;

/// A replay of `ram` that ends at its `nth` write; `false` if it made fewer.
fn cut(rt: &Rt, ram: &RamDisk, nth: u64, seed: u64) -> bool {
    let plan = FaultPlan::new(seed).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
    let cache = ram.clone();
    let faulty = Faulty::new(Rc::new(ram.clone()), plan).on_power_cut(move |rng| cache.power_cut_at_random(rng));
    let disk: Rc<dyn Disk> = Rc::new(faulty.clone());
    let result = rt.block_on(ordo_recover::replay_waiting(rt, disk, None));
    assert_eq!(result.is_err(), faulty.power_is_off());
    faulty.power_is_off()
}

/// Cuts the replay of `crashed` at each of its writes, twice in a row, and calls `right` with what a last replay makes.
/// Returns the number of cuts.
fn cut_everywhere(rt: &Rt, crashed: &RamDisk, right: impl Fn(&RamDisk, &str)) -> u64 {
    let mut cuts = 0;
    for (nth, seed) in (1..).flat_map(|nth| (0..8).map(move |seed| (nth, seed))) {
        let what = format!("cut at write {nth}, seed {seed}");
        let ram = crashed.snapshot().volatile(true);
        if !cut(rt, &ram, nth, seed) {
            break;
        }
        cuts += 1;
        let ram = ram.snapshot().volatile(true);
        if superblock(&ram).features().wapbl {
            // The same again, elsewhere.
            cut(rt, &ram, 1 + (nth * 7 + seed) % 11, seed);
        }
        let ram = ram.snapshot();
        if superblock(&ram).features().wapbl {
            replay(rt, &ram).unwrap_or_else(|why| panic!("{what}: {why}"));
        }
        right(&ram, &what);
    }
    cuts
}

#[test]
fn a_replay_can_be_cut_at_any_write_and_begun_again() {
    for case in [plain(), Case { within: true, format: ordo_ondisk::Format::Ufs1, ..plain() }] {
        let bed = Bed::new(case);
        let mut log = bed.log();
        log.blocks(&bed.images());
        log.inodes(true, &[]);
        let cuts = cut_everywhere(&bed.rt, &bed.crashed(&log), |ram, what| bed.assert_after(ram, what));
        assert!(cuts > 60, "{cuts}");
    }
}

/// The dangerous one: an image of the bitmaps is in the log, and the inodes that own the blocks are not. If the log
/// still had the image after an inode was freed, the blocks would be in use again, and nobody would have them.
#[test]
fn a_cut_between_the_inodes_and_their_bitmaps_loses_no_blocks() {
    let case = plain();
    for case in [case, Case { within: true, order: case.order.other(), ..case }] {
        let removed = Removed::new(case);
        for generation in [7, u32::MAX] {
            let mut log: Log = Log { generation, tail: 3, ..removed.bed.log() };
            log.blocks(&removed.maps());
            log.inodes(true, &removed.list[..1]);
            log.inodes(false, &removed.list[1..]);
            let crashed = removed.crashed(&log);
            let cuts = cut_everywhere(&removed.bed.rt, &crashed, |ram, what| removed.assert_freed(ram, what));
            assert!(cuts > 30, "{cuts}");
        }
    }
}
