//! When blocks reach the medium, and what flushes and forced writes promise.

use ordo_drive::{Drive, Lbn, Ms, Op, Options, Profile, Request, RequestError};

fn drive(name: &str) -> Drive {
    let options = Options { record_writes: true, ..Options::default() };
    Drive::with(Profile::named(name).expect("built in"), options)
}

/// When each block of a range first became durable.
fn moments(drive: &Drive, lbn: u64, blocks: u64) -> Vec<f64> {
    let written = drive.written();
    let at = |block: u64| {
        let hits = written.iter().filter(|run| run.lbn.0 <= block && block < run.lbn.0 + run.blocks);
        hits.map(|run| run.at(block - run.lbn.0).0).fold(f64::INFINITY, f64::min)
    };
    (lbn..lbn + blocks).map(at).collect()
}

#[test]
fn a_write_through_is_answered_when_it_is_on_the_medium() {
    let mut drive = drive("hp_c2247a");
    let done = drive.submit(Ms::ZERO, Request::write(Lbn(500_000), 64)).expect("in range");
    let moments = moments(&drive, 500_000, 64);
    assert!(moments.iter().all(|at| *at <= done.at.0), "{moments:?} {done:?}");
    assert!(done.at.0 - moments[63] < 1.0, "the last block decides");
    assert!(moments.is_sorted());
    assert!(!done.buffered && !drive.is_volatile());
    assert_eq!(drive.settled(), Some(done.at));
}

#[test]
fn a_write_back_is_answered_before_and_durable_after() {
    let mut drive = drive("seagate_cheetah_9lp");
    let done = drive.submit(Ms::ZERO, Request::write(Lbn(9_000_000), 16)).expect("in range");
    let moments = moments(&drive, 9_000_000, 16);
    assert!(done.buffered && drive.is_volatile());
    assert!(moments.iter().all(|at| *at > done.at.0 && at.is_finite()), "{moments:?} {done:?}");
    let settled = drive.settled().expect("it writes back by itself");
    assert_eq!(settled.0, moments[15]);

    let flushed = drive.flush(done.at).expect("the drive is free");
    assert_eq!(flushed, settled, "a flush waits for the last block and no longer");
    let again = drive.flush(flushed).expect("the drive is free");
    assert_eq!(again, flushed, "nothing is dirty any more");
}

#[test]
fn a_forced_write_is_durable_when_answered() {
    let mut plain = drive("quantum_atlas_10k");
    let mut forced = plain.clone();
    let request = Request::write(Lbn(4_000_000), 8);
    let buffered = plain.submit(Ms::ZERO, request).expect("in range").at;
    let done = forced.submit(Ms::ZERO, request.forced()).expect("in range").at;
    assert!(buffered < done);
    assert!(moments(&forced, 4_000_000, 8).iter().all(|at| *at <= done.0));
    assert!(moments(&plain, 4_000_000, 8).iter().all(|at| *at > buffered.0));
}

#[test]
fn what_was_said_of_durability_never_changes() {
    let mut drive = drive("seagate_barracuda_st32171w");
    let mut now = Ms::ZERO;
    let mut said: Vec<(u64, u64, Vec<f64>)> = Vec::new();
    for step in 0..60_u64 {
        // Streams, overwrites and jumps, some of them while the previous write is in flight.
        let lbn = if step % 3 == 0 { step * 60_000 } else { (step - step % 3) * 60_000 + 8 * (step % 3) };
        let done = drive.submit(now, Request::write(Lbn(lbn), 8)).expect("in range");
        said.push((lbn, 8, moments(&drive, lbn, 8)));
        now = done.at + Ms((step % 7) as f64 / 3.0);
    }
    for (lbn, blocks, at) in said {
        assert!(at.iter().all(|at| at.is_finite()));
        assert_eq!(moments(&drive, lbn, blocks), at, "block {lbn}");
    }
}

#[test]
fn write_backs_reach_the_medium_in_the_order_of_their_writes() {
    let mut drive = drive("seagate_cheetah_4lp");
    let (mut now, mut before) = (Ms::ZERO, 0.0);
    for lbn in [8_000_000, 100, 4_000_000, 108, 8_000_008] {
        now = drive.submit(now, Request::write(Lbn(lbn), 8)).expect("in range").at;
        let at = moments(&drive, lbn, 8);
        assert!(at[0] > before, "{lbn}: {at:?} after {before}");
        before = at[7];
    }
}

#[test]
fn a_block_that_joins_a_write_back_is_written_once_unless_asked_otherwise() {
    for (twice, times) in [(false, 1), (true, 2)] {
        let options = Options { record_writes: true, write_appended_twice: twice, ..Options::default() };
        let mut drive = Drive::with(Profile::named("seagate_cheetah_9lp").expect("built in"), options);
        let first = drive.submit(Ms::ZERO, Request::write(Lbn(1_000_000), 16)).expect("in range").at;
        let second = drive.submit(first, Request::write(Lbn(1_000_016), 16)).expect("in range");
        assert!(second.buffered);
        let settled = drive.settled().expect("it writes back by itself");
        let among = |run: &ordo_drive::Written| {
            (run.lbn.0 + run.blocks).min(1_000_032).saturating_sub(run.lbn.0.max(1_000_016))
        };
        let passes: u64 = drive.written().iter().map(among).sum();
        assert_eq!(passes, 16 * times, "{:?}", drive.written());
        let last = moments(&drive, 1_000_016, 16)[15];
        assert_eq!(settled.0 == last, !twice, "{settled} {last}");
    }
}

#[test]
fn durable_by_counts_the_blocks_of_a_run() {
    let mut drive = drive("seagate_cheetah_9lp");
    drive.submit(Ms::ZERO, Request::write(Lbn(50), 12)).expect("in range");
    let run = drive.written()[0];
    assert_eq!(run.durable_by(Ms(run.at(0).0 - 1e-6)), 0);
    for blocks in 0..run.blocks {
        assert_eq!(run.durable_by(run.at(blocks)), blocks + 1);
    }
    assert_eq!(run.durable_by(Ms(1e9)), run.blocks);
}

#[test]
fn the_record_can_be_shortened() {
    let mut drive = drive("hp_c2247a");
    let first = drive.submit(Ms::ZERO, Request::write(Lbn(0), 8)).expect("in range").at;
    drive.submit(first, Request::write(Lbn(90_000), 8)).expect("in range");
    drive.forget_written(first);
    assert!(drive.written().iter().all(|run| run.lbn.0 >= 90_000));
    assert!(!drive.written().is_empty());
    let mut silent = Drive::new(Profile::named("hp_c2247a").expect("built in"));
    silent.submit(Ms::ZERO, Request::write(Lbn(0), 8)).expect("in range");
    assert!(silent.written().is_empty());
}

#[test]
fn flash_with_a_volatile_cache_is_durable_after_a_flush_only() {
    let mut drive = drive("nvme_ssd_consumer");
    let done = drive.submit(Ms::ZERO, Request::write(Lbn(80), 8)).expect("in range").at;
    assert_eq!(done, Ms(0.0167));
    assert!(drive.written().is_empty() && drive.settled().is_none());
    let flushed = drive.flush(done).expect("free");
    assert!((flushed.0 - done.0 - 0.9).abs() < 1e-9, "the block has left the cache by itself: {flushed}");
    assert!(moments(&drive, 80, 8).iter().all(|at| *at == flushed.0));
    let long = drive.submit(flushed, Request::write(Lbn(80_000), 16_384)).expect("in range").at;
    let dirty = 16_384.0 * 512.0 - (long - flushed).0 * 1_700_000.0;
    let paid = drive.flush(long).expect("free");
    assert!((paid.0 - long.0 - 0.9 - dirty / 1_700_000.0).abs() < 1e-9, "{paid}");
    let flushed = paid;
    let forced = drive.submit(flushed, Request::write(Lbn(800), 8).forced()).expect("in range").at;
    assert!((forced.0 - flushed.0 - 0.9).abs() < 1e-9);
    assert!(moments(&drive, 800, 8).iter().all(|at| *at == forced.0));
}

#[test]
fn flash_with_power_loss_protection_is_durable_at_once() {
    let mut drive = drive("nvme_ssd_plp");
    let done = drive.submit(Ms::ZERO, Request::write(Lbn(80), 8)).expect("in range").at;
    assert_eq!(done, Ms(0.02));
    assert!(moments(&drive, 80, 8).iter().all(|at| *at == done.0));
    let flushed = drive.flush(done).expect("free");
    assert!((flushed.0 - done.0 - 0.02).abs() < 1e-9);
    let read = drive.submit(flushed, Request::read(Lbn(0), 2048)).expect("in range").at;
    assert!((read.0 - flushed.0 - 0.085 - (1_048_576.0 - 4096.0) / 3_200_000.0).abs() < 1e-9);
}

#[test]
fn a_request_that_cannot_be_served_changes_nothing() {
    for name in ordo_drive::names() {
        let mut drive = drive(name);
        let size = drive.blocks();
        let before = drive.clone();
        let empty = drive.submit(Ms::ZERO, Request::read(Lbn(1), 0));
        assert!(matches!(empty, Err(RequestError::Empty { .. })));
        for (lbn, blocks) in [(size, 1), (size - 1, 2), (u64::MAX, 1), (0, u64::MAX)] {
            let beyond = drive.submit(Ms::ZERO, Request::write(Lbn(lbn), blocks));
            assert!(matches!(beyond, Err(RequestError::Beyond { .. })), "{name} {lbn} {blocks}");
        }
        for now in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(drive.submit(Ms(now), Request::read(Lbn(0), 1)), Err(RequestError::Early { .. })));
        }
        for lbn in [Lbn(size), Lbn(u64::MAX)] {
            assert!(drive.positioning(Ms::ZERO, lbn, Op::Read).is_err() && drive.seek_distance(Ms::ZERO, lbn).is_err());
        }
        let mut before = before;
        let last = Request::read(Lbn(size - 1), 1);
        let answer = drive.submit(Ms(1.0), last).expect("the last block");
        assert_eq!(answer, before.submit(Ms(1.0), last).expect("the last block"), "{name}");
        assert!(matches!(drive.submit(Ms::ZERO, last), Err(RequestError::Early { .. })));
    }
}

#[test]
fn the_parts_of_a_request_are_its_service_time() {
    for name in ordo_drive::names() {
        let mut drive = drive(name);
        let mut now = Ms(0.5);
        for step in 0..200_u64 {
            let lbn = Lbn((step * 7_919_333 + step % 5 * 16) % (drive.blocks() - 300));
            let op = if step % 3 == 0 { Op::Write } else { Op::Read };
            let request = Request { op, lbn, blocks: 1 + step % 200, fua: step % 11 == 0 };
            let done = drive.submit(now, request).expect("in range");
            assert!((done.phases.sum().0 - (done.at - now).0).abs() < 1e-9, "{name} {request:?}: {done:?}");
            let phases = done.phases;
            let parts = [phases.wait, phases.overhead, phases.seek, phases.rotation, phases.transfer];
            assert!(parts.iter().all(|part| part.0 >= 0.0), "{name}: {phases:?}");
            now = done.at + Ms((step % 13) as f64);
        }
    }
}

#[test]
fn positioning_foretells_the_seek_and_the_rotation_of_a_miss() {
    for name in ["hp_c2247a", "dec_rz26", "quantum_atlas_10k", "seagate_cheetah_15k5"] {
        let mut drive = drive(name);
        let mut now = Ms(3.0);
        for step in 1..50_u64 {
            let lbn = Lbn(step * 104_729_777 % (drive.blocks() - 8));
            // Long after the previous request: nothing is in flight.
            let foretold = drive.positioning(now, lbn, Op::Read).expect("in range");
            let done = drive.submit(now, Request::read(lbn, 1)).expect("in range");
            assert!(!done.buffered);
            let real = done.phases.seek + done.phases.rotation;
            assert!((real - foretold).0.abs() < 1e-6, "{name}: {foretold}, {done:?}");
            now = done.at + Ms(200.0);
        }
        let distance = |lbn| drive.seek_distance(now, Lbn(lbn)).expect("in range");
        assert!(distance(0) > 0 && distance(1) > 0);
    }
}

#[test]
fn a_large_volatile_cache_answers_at_once_and_a_flush_pays() {
    let mut drive = drive("nearline_sata_7200");
    let mut now = Ms::ZERO;
    let blocks = |step: u64| step * 400_000_008 % drive.blocks() / 8 * 8;
    let lbns: Vec<u64> = (0..10).map(blocks).collect();
    for lbn in &lbns {
        let done = drive.submit(now, Request::write(Lbn(*lbn), 8)).expect("in range");
        assert!(done.buffered);
        assert!((done.at - now).0 < 0.2, "{done:?}");
        now = done.at;
    }
    let read = drive.submit(now, Request::read(Lbn(lbns[9]), 8)).expect("in range");
    assert!(read.buffered && (read.at - now).0 < 0.2, "what waits in the cache is read from it: {read:?}");
    // A read of other blocks goes before the writes that wait.
    let read = drive.clone().submit(read.at, Request::read(Lbn(3_000_000_000), 8)).expect("in range");
    assert!((read.at - now).0 < 70.0, "{read:?}");

    let flushed = drive.flush(read.at).expect("free");
    let mechanical = (flushed - now).0 / 10.0;
    assert!((2.0..25.0).contains(&mechanical), "{mechanical} ms an extent");
    for lbn in lbns {
        assert!(moments(&drive, lbn, 8).iter().all(|at| *at <= flushed.0), "block {lbn}");
    }
    let idle = drive.flush(flushed).expect("free");
    assert!((idle.0 - flushed.0 - 0.1).abs() < 1e-9, "an empty cache answers after the command");
}

#[test]
fn a_full_cache_makes_a_write_wait_for_the_mechanism() {
    let mut drive = drive("nearline_sata_7200");
    let (mut now, mut slow) = (Ms::ZERO, 0);
    for step in 0..40_u64 {
        let lbn = Lbn(step * 190_000_016 % (drive.blocks() - 8) / 8 * 8);
        let done = drive.submit(now, Request::write(lbn, 8)).expect("in range");
        slow += u32::from((done.at - now).0 > 1.0);
        now = done.at;
    }
    assert!((10..30).contains(&slow), "{slow}");
}

#[test]
fn a_write_of_half_a_physical_sector_costs_a_revolution() {
    let time = |lbn: u64, blocks: u64| {
        let mut drive = drive("nearline_sata_7200");
        drive.submit(Ms::ZERO, Request::write(Lbn(lbn), blocks).forced()).expect("in range").at.0
    };
    let (whole, half) = (time(8_000, 8), time(8_000, 4));
    assert!((half - whole - 8.333).abs() < 0.05, "{whole}, {half}");
}

#[test]
fn the_record_names_the_write_that_a_block_comes_from() {
    for name in ["seagate_cheetah_9lp", "nearline_sata_7200", "hp_c2447", "nvme_ssd_plp"] {
        let mut drive = drive(name);
        let mut now = Ms::ZERO;
        let mut newest = std::collections::BTreeMap::new();
        for step in 0..300_u64 {
            // A few places only: blocks are overwritten while they wait, in whole and in part, and appended to.
            let lbn = step * step % 17 * 100_000 + step % 5 * 8;
            let blocks = 8 + step % 3 * 8;
            let request = Request { op: Op::Write, lbn: Lbn(lbn), blocks, fua: step % 23 == 0 };
            let done = drive.submit(now, request).expect("in range");
            assert_eq!(done.number, step);
            newest.extend((lbn..lbn + blocks).map(|block| (block, step)));
            now = done.at + Ms((step % 4) as f64);
        }
        drive.flush(now).expect("free");
        let mut last = std::collections::BTreeMap::new();
        for run in drive.written() {
            for index in 0..run.blocks {
                let entry = last.entry(run.lbn.0 + index).or_insert((f64::MIN, 0));
                if run.at(index).0 >= entry.0 {
                    *entry = (run.at(index).0, run.number);
                }
            }
        }
        for (block, number) in newest {
            assert_eq!(last[&block].1, number, "{name}: the newest write of block {block} is the last on the medium");
        }
    }
}

#[test]
fn nothing_is_written_before_it_has_come() {
    let mut drive = drive("nearline_sata_7200");
    let first = drive.submit(Ms::ZERO, Request::write(Lbn(800), 8)).expect("in range").at;
    let long = drive.submit(first, Request::write(Lbn(80_000), 60_000)).expect("in range");
    assert!(long.buffered && (long.at - first).0 > 50.0, "its data take longer than the first write: {long:?}");
    assert!(moments(&drive, 80_000, 60_000).iter().all(|at| *at > long.at.0));
}

#[test]
fn any_requests_are_answered_on_any_drive() {
    let mut seed = 1_u64;
    let mut luck = |bound: u64| {
        seed = seed.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (seed >> 33) % bound
    };
    for name in ordo_drive::names() {
        for switches in 0..8 {
            let options = Options {
                tie_is_late: switches & 1 == 0,
                write_appended_twice: switches & 2 == 0,
                comes_round_by_blocks: switches & 1 == 0,
                read_on_arrival: switches & 4 == 0,
                record_writes: true,
            };
            let mut drive = Drive::with(Profile::named(name).expect("built in"), options);
            let (mut now, mut end) = (Ms::ZERO, 0);
            for _ in 0..150 {
                let most = if luck(10) == 0 { 5000 } else { 64 };
                let blocks = 1 + luck(most);
                let lbn = match luck(3) {
                    0 => end,
                    1 => drive.blocks() - blocks - luck(20_000),
                    _ => luck(500_000),
                };
                let lbn = lbn.min(drive.blocks() - blocks);
                let op = if luck(2) == 0 { Op::Read } else { Op::Write };
                let request = Request { op, lbn: Lbn(lbn), blocks, fua: luck(9) == 0 };
                let done = drive.submit(now, request).expect("in range").at;
                assert!(done.0.is_finite() && done > now, "{name} {request:?} at {now}: {done}");
                assert!((done - now).0 < 60_000.0, "{name} {request:?} at {now}: {done}");
                end = lbn + blocks;
                now = done + Ms(luck(30) as f64 / 3.0);
            }
            let flushed = drive.flush(now).expect("free");
            assert!(flushed.0.is_finite() && drive.settled().is_none_or(|settled| settled <= flushed), "{name}");
        }
    }
}
