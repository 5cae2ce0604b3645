//! Several tasks at once in one small tree, while syncs, fsyncs and the cleaner run. Afterwards the log is read anew,
//! and has exactly what the calls left.

use crate::crash::Jitter;
use crate::{Made, SMALL, features, made, mount_on, wrong};
use ordo_rt::{Rng, Rt};
use ordo_vfs::{Caller, FileSystem};
use ordo_workload::random::{Generator, Op, Outcome, Player, Shape, compare_trees};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

const OF: Made = Made { segment: 64 << 10, size: 200 * (64 << 10) + 8192, ..SMALL };

/// Segments that were cleaned.
fn play(seed: u64, steps: usize) -> u64 {
    let rt = Rt::virtual_time(seed);
    let mut rng = Rng::new(seed);
    let ram = made(OF);
    let disk = Jitter::new(Rc::new(ram.clone()), &rt, rng.fork());
    let memory = *rng.pick(&[128 << 10, 256 << 10, 1 << 20]);
    let features = features();
    let cleaned = rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(disk), memory).await;
        let running = Rc::new(Cell::new(5));
        for number in 0..5 {
            let (fs, mut rng, running, rt2) = (mounted.fs.clone(), rng.fork(), running.clone(), rt.clone());
            let max_offset = if number == 0 { 1 << 40 } else { 1 << 20 };
            let shape = Shape { frag: 1024, max_offset, max_transfer: 1 << 16, ..Shape::default() };
            let calls = Generator::new(seed * 8 + number, shape, features);
            rt.spawn(async move {
                let mut player = Player::new(&*fs, Caller { privileged: true, ..Caller::default() });
                for op in calls.take(steps) {
                    let outcome = player.apply(&op).await;
                    assert!(!matches!(outcome, Outcome::Failed(_)), "{op}: {outcome:?}");
                    match rng.below(40) {
                        0 => drop(player.apply(&Op::Sync).await),
                        1 => fs.layout().clean().await.expect("there is something to clean"),
                        _ => rt2.sleep(Duration::from_micros(rng.below(50_000))).await,
                    }
                }
                running.set(running.get() - 1);
            });
        }
        for _ in 0..3000 {
            if running.get() == 0 {
                break;
            }
            rt.sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(running.get(), 0, "calls that never end");
        mounted.fs.syncfs().await.expect("the disk is well");
        assert_eq!(wrong(&rt, &ram).await, [""; 0], "fsck after a sync");
        let after = ram.snapshot();
        let again = mount_on(&rt, Rc::new(after.clone()), 1 << 20).await;
        compare_trees(&*mounted.fs, &*again.fs).await.expect("what was synced is there");
        for mounted in [&mounted, &again] {
            mounted.fs.unmount().await.expect("the disk is well");
        }
        assert_eq!(wrong(&rt, &ram).await, [""; 0], "fsck after the unmount");
        mounted.counters().segments_cleaned
    });
    rt.drop_tasks();
    cleaned
}

#[test]
fn tasks_that_change_one_tree_at_once_leave_it_whole() {
    // Another range for a longer search: BUSY_SEED is the first, BUSY_COUNT how many.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("BUSY_SEED").unwrap_or(0);
    let mut cleaned = 0;
    for seed in first..first + number("BUSY_COUNT").unwrap_or(4) {
        let ran = std::panic::catch_unwind(|| play(seed, 150));
        cleaned += ran.unwrap_or_else(|_| panic!("seed {seed}"));
    }
    assert!(cleaned > 10, "{cleaned} segments were cleaned");
}
