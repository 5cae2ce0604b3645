//! Both rules of learning, on reads that are few enough to follow by hand.

use super::*;

const NEAR: u64 = 1000;

/// Terms with short runs: at most 64, and a dock is longer than 15.
fn terms(rule: Rule, times: u32) -> Terms {
    Terms { rule, near: NEAR, window: Terms::WINDOW, dock: 15, longest: 64, times, pairs: 4096, wishes: 256 }
}

/// Reads of `len` each at these homes, a millisecond apart from `from` on.
fn read(learning: &mut Learning, from: u64, len: u64, homes: &[u64]) {
    for (n, at) in homes.iter().enumerate() {
        learning.read(Read { now: Duration::from_millis(from + n as u64), at: *at, len, served: None });
    }
}

fn wishes(learning: &mut Learning) -> Vec<(u64, u64, u64)> {
    std::iter::from_fn(|| learning.take()).map(|wish| (wish.dock, wish.at, wish.len)).collect()
}

/// What is learnt from reads of blocks, `gap` microseconds apart, twice, by the paper's rule.
fn learnt(homes: &[u64], gap: u64) -> Vec<(u64, u64, u64)> {
    let mut learning = Learning::new(Terms { longest: 1, ..terms(Rule::Docks, 2) });
    for again in [0, 1_000_000_000] {
        assert_eq!(wishes(&mut learning), [], "once is not enough");
        for (n, at) in homes.iter().enumerate() {
            let now = Duration::from_micros(again + n as u64 * gap);
            learning.read(Read { now, at: *at, len: 1, served: None });
        }
    }
    learning.pause();
    wishes(&mut learning)
}

fn then(dock: u64, rest: &[u64]) -> Vec<u64> {
    (0..dock).chain(rest.iter().copied()).collect()
}

#[test]
fn a_block_that_is_read_after_a_dock_twice_prefers_to_lie_there() {
    let far = [900_000, 400_000];
    let both = [(15, 900_000, 1), (15, 400_000, 1)];
    assert_eq!(learnt(&then(16, &far), 1000), both);
    assert_eq!(learnt(&then(15, &far), 1000), [], "fifteen blocks are no dock");
    assert_eq!(learnt(&then(16, &far), 100_100), [], "a pause ends the window");
    assert_eq!(learnt(&then(16, &far), 100_000), both);
}

#[test]
fn blocks_closer_than_a_group_belong_together() {
    assert_eq!(learnt(&then(16, &[15 + NEAR - 1, 900_000]), 1000), [(15 + NEAR - 1, 900_000, 1)], "one dock");
    let apart = learnt(&then(16, &[15 + NEAR, 900_000]), 1000);
    assert_eq!(apart, [(15, 15 + NEAR, 1), (15, 900_000, 1)]);
}

#[test]
fn a_block_that_follows_two_docks_in_turn_prefers_both() {
    let mut learning = Learning::new(Terms { longest: 1, ..terms(Rule::Docks, 2) });
    for (round, dock) in [0, 500_000, 0, 500_000].into_iter().enumerate() {
        let homes: Vec<u64> = (dock..dock + 16).chain([2_000_000]).collect();
        read(&mut learning, round as u64 * 1000, 1, &homes);
    }
    learning.pause();
    assert_eq!(wishes(&mut learning), [(15, 2_000_000, 1), (500_015, 2_000_000, 1)]);
}

#[test]
fn what_a_short_sequence_reads_without_a_gap_is_one_run_and_what_was_served_at_the_dock_is_not_wished() {
    let mut learning = Learning::new(terms(Rule::Docks, 2));
    for round in 0..4 {
        read(&mut learning, round * 1000, 20, &[0]);
        let at =
            |n: u64, served| Read { now: Duration::from_millis(round * 1000 + n), at: 5000 + n * 4, len: 4, served };
        (0..3).for_each(|n| learning.read(at(n, (round > 1).then_some(40))));
        learning.pause();
        let found = wishes(&mut learning);
        assert_eq!(found, if round == 1 { vec![(19, 5000, 12)] } else { vec![] }, "round {round}");
    }
}

#[test]
fn a_run_that_is_read_from_the_same_place_three_times_prefers_it() {
    let mut learning = Learning::new(terms(Rule::Jumps, 3));
    for round in 1..=3 {
        assert_eq!(wishes(&mut learning), [], "before round {round}");
        read(&mut learning, round * 1000, 10, &[500, 5000, 5010, 5020]);
        learning.pause();
    }
    assert_eq!(wishes(&mut learning), [(510, 5000, 30)]);
    // It is served near its dock from now on: the head is there for the next jump, and nothing is wished.
    for round in 10..13 {
        read(&mut learning, round * 1000, 10, &[500]);
        let now = Duration::from_millis(round * 1000 + 1);
        learning.read(Read { now, at: 5000, len: 30, served: Some(600) });
        read(&mut learning, round * 1000 + 2, 10, &[9000]);
        learning.pause();
    }
    assert_eq!(wishes(&mut learning), [(630, 9000, 10)]);
}

#[test]
fn what_goes_on_or_is_near_or_long_or_comes_after_a_pause_is_no_jump() {
    let mut learning = Learning::new(terms(Rule::Jumps, 3));
    for round in 0..9 {
        let now = round * 10_000;
        read(&mut learning, now, 10, &(0..200).map(|n| n * 10).collect::<Vec<u64>>());
        read(&mut learning, now + 200, 10, &[1000 + NEAR - 1]);
        // Eight reads of ten are longer than 64.
        read(&mut learning, now + 201, 10, &(0..8).map(|n| 7000 + n * 10).collect::<Vec<u64>>());
        // A longer time than the window, and a pause that is told.
        read(&mut learning, now + 309, 10, &[90_000]);
        learning.pause();
        read(&mut learning, now + 310, 10, &[50_000]);
        learning.pause();
    }
    assert_eq!(wishes(&mut learning), []);
}

#[test]
fn a_pair_that_is_not_seen_any_more_is_counted_anew_and_what_is_remembered_is_bounded() {
    let mut learning = Learning::new(terms(Rule::Jumps, 3));
    let pair = |learning: &mut Learning| {
        read(learning, 0, 10, &[500, 5000]);
        learning.pause();
    };
    let noise = |learning: &mut Learning, from: u64, jumps: u64| {
        for n in from..from + jumps {
            read(learning, 0, 10, &[1 << 40, n * 2 * NEAR]);
            learning.pause();
        }
    };
    pair(&mut learning);
    pair(&mut learning);
    noise(&mut learning, 0, 3 * 4096);
    assert!(learning.preferences.tally.len() <= 4097);
    pair(&mut learning);
    assert_eq!(wishes(&mut learning), [], "long ago");
    pair(&mut learning);
    noise(&mut learning, 50_000, 4096 / 2 - 2);
    pair(&mut learning);
    assert_eq!(wishes(&mut learning), [(510, 5000, 10)]);
    for n in 0..256 + 9 {
        (0..3).for_each(|_| noise(&mut learning, 100_000 + n, 1));
    }
    assert_eq!(wishes(&mut learning).len(), 256);
}
