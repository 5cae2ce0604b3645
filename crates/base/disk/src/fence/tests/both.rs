//! Two writers, both stopped: each before one of its requests, for shorter or longer than the waits, and continued.
//! No two ever write in turns: that would be two which both believe that they have the disk.

use super::*;

/// How long the first and the second are stopped, in quarters of an interval: below VALID, between it and what a
/// watcher waits, around a takeover, and far beyond.
const STOPS: [(u32, u32); 8] = [(1, 1), (3, 9), (7, 2), (9, 9), (14, 3), (17, 17), (60, 5), (5, 60)];

/// Continues a machine so many quarters of an interval after it has stopped.
async fn continued(rt: Rt, stopper: Stopper, quarters: u32) {
    while !stopper.is_stopped() {
        rt.sleep(SECOND / 10).await;
    }
    rt.sleep(SECOND / 4 * quarters).await;
    stopper.go_on();
}

/// Works, and tries again while another one has the disk.
async fn tries(rt: Rt, record: Rc<dyn Disk>, disk: Rc<dyn Disk>, who: char, log: Log) {
    for _ in 0..4 {
        let before = log.borrow().len();
        work(&rt, record.clone(), disk.clone(), who, 4, &log).await;
        if log.borrow()[before..].iter().any(|(_, wrote)| *wrote == who) {
            return;
        }
        rt.sleep(SECOND / 2).await;
    }
}

#[test]
fn of_two_that_are_both_stopped_anywhere_for_any_time_no_two_write_in_turns() {
    let (mut both, mut nobody) = (0, 0);
    for first in (1..40).step_by(2) {
        for second in (1..40).step_by(3) {
            for (i, quarters) in STOPS.into_iter().enumerate() {
                let rt = Rt::virtual_time(first * 1000 + second * 10 + i as u64);
                let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
                let log: Log = Rc::default();
                let machines = [('a', first, quarters.0), ('b', second, quarters.1)];
                for (who, at, quarters) in machines {
                    let stopper = Stopper::new(ram.clone(), at);
                    rt.spawn(continued(rt.clone(), stopper.clone(), quarters));
                    rt.spawn(tries(rt.clone(), Rc::new(stopper), ram.clone(), who, log.clone()));
                }
                rt.block_on(rt.sleep(SECOND * 180));
                let wrote: String = log.borrow().iter().map(|(_, who)| *who).collect();
                let mut turns: Vec<char> = wrote.chars().collect();
                turns.dedup();
                assert!(turns.len() <= 2, "stopped at {first} and {second}, {quarters:?} quarters: {wrote}");
                both += u32::from(turns.len() == 2);
                nobody += u32::from(turns.is_empty());
                rt.drop_tasks();
            }
        }
    }
    // Otherwise it would show nothing.
    assert!(both > 500 && nobody < 100, "both wrote in {both} runs, nobody in {nobody}");
}

/// The time of day decides nothing: it jumps by years between beats, and the holder is alive all the same; a claim from
/// the future is taken over like any other.
#[test]
fn a_clock_that_jumps_neither_saves_nor_costs_a_claim() {
    const YEAR: i64 = 365 * 86_400;
    let rt = Rt::virtual_time(4);
    let ram: Rc<dyn Disk> = Rc::new(protected(&rt));
    rt.block_on(async {
        let claim = take(&rt, ram.clone(), "first").await.unwrap();
        for jump in [YEAR, -3 * YEAR, i64::MAX, i64::MIN, 2 * YEAR] {
            rt.jump_wall(jump);
            let refused = take(&rt, ram.clone(), "second").await.err().unwrap();
            assert!(matches!(refused, ClaimError::Held { .. }) && !refused.to_string().is_empty(), "{refused}");
            rt.sleep(SECOND * 2).await;
            claim.fence(ram.clone()).write(DiskOff(0), data(1), false).await.unwrap();
        }
        drop(claim);
        rt.sleep(SECOND * 2).await;
        rt.jump_wall(-10 * YEAR);
        take(&rt, ram.clone(), "second").await.unwrap().release().await.unwrap();
    });
}

/// A power cut has left a sector that cannot be read: writing it mends that.
#[test]
fn a_record_that_the_disk_cannot_read_is_refused_and_made_anew_on_request() {
    let rt = Rt::virtual_time(6);
    let ram = protected(&rt);
    let failing = || -> Rc<dyn Disk> { Rc::new(Unread::new(&ram, 1..=1)) };
    rt.block_on(async {
        let refused = take(&rt, failing(), "x").await.err().unwrap();
        assert!(matches!(refused, ClaimError::Unread(_)), "{refused}");
        let claim = Claim::take(&rt, failing(), place(), "x", true, |_| {}).await.unwrap();
        claim.release().await.unwrap();
        take(&rt, Rc::new(ram.clone()), "x").await.unwrap().release().await.unwrap();
    });
}
