//! The closed forms compared with a mechanism that visits every sector.

use super::*;
use crate::profile::{Kind, Profile};

/// Random numbers from a seed (SplitMix64).
struct Luck(u64);

impl Luck {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (mixed ^ (mixed >> 31)) % bound
    }
}

fn mechanism(name: &str) -> Mechanism {
    let Kind::Disk(disk) = Profile::named(name).expect("built in").kind else { panic!("{name} is no disk") };
    let revolution = 60_000.0 / disk.rpm;
    Mechanism {
        least_width: revolution / f64::from(disk.geometry.most_sectors),
        geometry: disk.geometry,
        seek: disk.seek,
        revolution,
        tie_is_late: true,
        comes_round_by_blocks: true,
    }
}

/// When each block from `first` to `limit` is done: block by block, each with its own place and its own check.
fn naive(
    mechanism: &Mechanism,
    from: f64,
    first: u64,
    limit: u64,
    write: bool,
    there: impl Fn(u64) -> f64,
) -> Vec<f64> {
    let mut done = Vec::new();
    let (mut arm, mut time) = (Arm::default(), from);
    let mut before: Option<Location> = None;
    for block in first..limit {
        let place = mechanism.geometry.locate(block);
        let width = mechanism.revolution / f64::from(place.sectors);
        let follows = before.is_some_and(|before| {
            (before.cylinder, before.head, before.sector + 1) == (place.cylinder, place.head, place.sector)
        });
        if !follows {
            time += mechanism.seek.to(arm, &place, write);
            time += mechanism.wait(place.angle, time);
        }
        while there(block) > time + 1e-9 {
            time += (place.track_last - place.track_first + 1) as f64 * width;
        }
        time += width;
        done.push(time);
        (arm, before) = (Arm::on(&place), Some(place));
    }
    done
}

const DRIVES: [&str; 6] =
    ["hp_c2247a", "dec_rz26", "seagate_st41601n", "seagate_cheetah_9lp", "ibm_18es", "seagate_cheetah_15k5"];

#[test]
fn transfers_take_as_long_as_sector_by_sector() {
    let mut luck = Luck(7);
    for name in DRIVES {
        let mechanism = mechanism(name);
        for round in 0..60 {
            let blocks = 1 + luck.below(1500);
            // Half of them where the drive has many slips.
            let span = if round % 2 == 0 { mechanism.geometry.blocks() } else { 600_000 };
            let first = luck.below(span - blocks);
            let from = luck.below(1_000_000) as f64 / 37.0;
            let write = luck.below(2) == 0;
            let (block_ms, start) = (luck.below(300) as f64 / 1000.0, from + luck.below(20) as f64);
            let arrivals = Arrivals { there: first, end: first + blocks, from: start, block_ms, held: None };
            let gate = if write { Gate::Ready(arrivals) } else { Gate::Open };
            let there = |block: u64| if write { start + (block - first + 1) as f64 * block_ms } else { 0.0 };
            let expected = naive(&mechanism, from, first, first + blocks, write, there);

            let mut found = Vec::new();
            let mut record = |passed: Passed| {
                found.extend((0..passed.blocks).map(|block| passed.done(block)));
            };
            let mut motion = Motion::start(&mechanism, Arm::default(), from, first, first + blocks, write, 0.0);
            // Advancing in one step or in several makes no difference.
            let middle = from + luck.below(100) as f64;
            motion.run(&mechanism, middle, u64::MAX, gate, &mut record);
            motion.run(&mechanism, f64::INFINITY, u64::MAX, gate, &mut record);
            assert_eq!(found.len(), expected.len(), "{name} {first} {blocks}");
            for (block, (found, expected)) in found.iter().zip(&expected).enumerate() {
                let what = format!("{name}: block {block} of {blocks} from {first}, {from} ms, write {write}");
                assert!((found - expected).abs() < 1e-5, "{what}: {found}, {expected}");
            }
        }
    }
}

#[test]
fn running_stops_at_the_moment_asked_for() {
    let mechanism = mechanism("seagate_cheetah_9lp");
    let mut luck = Luck(11);
    for _ in 0..200 {
        let first = luck.below(1_000_000);
        let until = 5.0 + luck.below(4000) as f64 / 100.0;
        let mut motion = Motion::start(&mechanism, Arm::default(), 3.0, first, first + 2000, false, 0.0);
        let mut last = 0.0;
        motion.run(&mechanism, until, u64::MAX, Gate::Open, &mut |passed| last = passed.last_done());
        assert!(last <= until + 1e-9, "{last} {until}");
        if motion.next < motion.limit {
            let busy_until = match motion.doing(until) {
                Doing::NotBegun => panic!("it began at 3"),
                Doing::Seek(end) | Doing::Sector(end) => end,
            };
            assert!(busy_until > until - 1e-9, "{busy_until} {until}");
        }
    }
}

#[test]
fn a_tie_is_late_or_not() {
    let mut mechanism = mechanism("hp_c2247a");
    let half = mechanism.revolution / 2.0;
    assert!((mechanism.wait(0.5, half) - mechanism.revolution).abs() < 1e-4);
    assert!((mechanism.wait(0.75, half) - mechanism.revolution / 4.0).abs() < 1e-9);
    mechanism.tie_is_late = false;
    assert!(mechanism.wait(0.5, half) < 1e-4);
    assert!(mechanism.wait(0.5, half + 1e-9) < 1e-4);
}

#[test]
fn an_access_that_begins_where_it_lands_ends_a_revolution_after_it() {
    let mechanism = mechanism("seagate_cheetah_15k5");
    let place = mechanism.geometry.locate(600);
    let whole = (place.track_first, place.track_last + 1);
    let mut luck = Luck(3);
    let (mut sooner, mut tried) = (0, 0);
    for _ in 0..200 {
        let from = 100.0 + luck.below(100_000) as f64 / 1000.0;
        let start = || Motion::start(&mechanism, Arm::default(), from, whole.0, whole.1, false, 0.0);
        let (mut plain, mut landed) = (start(), start());
        let mut blocks = 0;
        let mut count = |passed: Passed| blocks += passed.blocks;
        landed.begin_where_landed(&mechanism, whole.1, Gate::Open, &mut count);
        landed.run(&mechanism, f64::INFINITY, u64::MAX, Gate::Open, &mut count);
        plain.run(&mechanism, f64::INFINITY, u64::MAX, Gate::Open, &mut |_| {});
        assert_eq!(blocks, whole.1 - whole.0, "every block passes once");
        assert!(landed.done <= plain.done + 1e-9);
        // A whole track takes a revolution, and at most a sector to wait for.
        assert!(landed.done - landed.seek_end <= mechanism.revolution + 2.0 * mechanism.least_width);
        sooner += u32::from(landed.done < plain.done - 0.1);
        tried += 1;
    }
    assert!(sooner > tried * 3 / 4, "{sooner} of {tried}");
}

#[test]
fn data_that_come_too_slowly_cost_revolutions() {
    let arrivals = Arrivals { there: 10, end: 20, from: 0.0, block_ms: 2.0, held: None };
    // Sectors of 1 ms from time 3 on: block 10 is there at 2, block 11 at 4, block 12 at 6, which begins at 5.
    assert_eq!(arrivals.in_time(10, 10, 3.0, 1.0), 2);
    assert_eq!(arrivals.in_time(5, 15, 3.0, 1.0), 12, "blocks 5 to 9 are there, and 10 to 16 as their sectors come");
    assert_eq!(arrivals.in_time(10, 10, 1.0, 1.0), 0);
    assert_eq!(arrivals.in_time(10, 30, 100.0, 1.0), 10, "what is not on the bus is not there");
    let held = Arrivals { held: Some((10, 4)), ..arrivals };
    assert_eq!(held.in_time(10, 10, 3.0, 1.0), 0, "block 14 is there at 10");
    assert_eq!(held.in_time(10, 10, 10.0, 1.0), 9, "block 19 is there at 20, its sector begins at 19");
}
