//! Random operations on a volume and on the model: every answer is the same, the trees are the same, also after a
//! remount, and fsck finds nothing. Each shape of volume, each scheme; a failure names its seed.

use crate::common;

use common::{SHAPES, assert_clean, fresh, mount};
use ordo_model::{MemFs, Options};
use ordo_vfs::{Caller, FileSystem, Name, Stamp};
use ordo_workload::random::{Divergence, Features, Generator, Op, Rules, Shape, compare_trees, differential, shrink};
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::{JournalChange, Mounted, Tuning};
use std::rc::Rc;

/// Runs `ops` on both, and mounts again after each `pause` of them, so that calls meet blocks that are not in the
/// cache; returns the first difference, or the findings of fsck.
fn play(shape: usize, scheme: &str, seed: u64, ops: &[Op], pause: usize) -> Result<(), Divergence> {
    let rt = Rt::virtual_time(seed);
    let ram = fresh(&rt, SHAPES[shape], 24 << 20);
    if scheme == "suj" {
        with_journal(&rt, &ram);
    }
    let mut mounted = mount(&rt, &ram, scheme);
    rt.block_on(without_snap(&mounted));
    let clock = rt.clone();
    let model = MemFs::new(Options::default(), move || {
        let (secs, nanos) = clock.wall();
        Stamp { secs, nanos }
    });
    let rules = Rules { who: Caller { privileged: true, ..Caller::default() }, every: 200 };
    for (part, ops) in ops.chunks(pause).enumerate() {
        if part > 0 {
            rt.block_on(mounted.unmount()).expect("the disk is well");
            mounted = mount(&rt, &ram, scheme);
        }
        if let Err(first) = rt.block_on(differential(&model, &**mounted.fs(), ops, rules)) {
            // Dropping it now would panic about its outstanding tickets, and hide the difference.
            let _ = rt.block_on(mounted.unmount());
            return Err(first.after(part * pause));
        }
    }
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, &format!("shape {shape}, {scheme}, seed {seed}"));
    let again = mount(&rt, &ram, scheme);
    rt.block_on(compare_trees(&model, &**again.fs())).expect("the trees are the same after a remount");
    rt.block_on(again.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, "after a remount");
    rt.drop_tasks();
    Ok(())
}

/// The seeds to run; `ORDO_SEEDS=500` adds that many, for the full test.
fn seeds(from: u64, short: u64) -> std::ops::Range<u64> {
    let more = std::env::var("ORDO_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    from..from + short + more
}

/// The model starts empty; newfs leaves a directory for snapshots.
async fn without_snap(mounted: &Mounted) {
    let fs = mounted.fs();
    fs.rmdir(fs.root(), Name::new(b".snap").expect("a name")).await.expect("newfs made it, and it is empty");
}

fn with_journal(rt: &Rt, ram: &RamDisk) {
    let journal = Tuning { journal: Some(JournalChange::On(None)), ..Tuning::default() };
    journal.apply_on(rt, Rc::new(ram.clone())).expect("there is room for a journal");
}

fn features(shape: usize) -> Features {
    let rt = Rt::virtual_time(0);
    let ram = fresh(&rt, SHAPES[shape], 24 << 20);
    let mounted = mount(&rt, &ram, "async");
    let both = rt.block_on(async {
        let ours = Features::probe(&**mounted.fs()).await.expect("the volume can be tried");
        ours.and(Features::probe(&MemFs::timeless()).await.expect("the model can be tried"))
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    // FreeBSD's UFS1 has no room for the device numbers that the generator uses.
    Features { devices: both.devices && SHAPES[shape].0 == ordo_ondisk::Format::Ufs2, ..both }
}

fn sweep(scheme: &str, seeds: std::ops::Range<u64>, steps: usize, pause: usize) {
    for (shape, &(_, _, block, frag)) in SHAPES.iter().enumerate() {
        let features = features(shape);
        for seed in seeds.clone() {
            let kinds = Shape { block: block.into(), frag: frag.into(), ..Shape::default() };
            let ops: Vec<Op> = Generator::new(seed, kinds, features).take(steps).collect();
            if let Err(first) = play(shape, scheme, seed, &ops, pause) {
                let short = shrink(&ops[..first.steps()], |ops| play(shape, scheme, seed, ops, pause).is_err());
                let lines: Vec<String> = short.iter().map(Op::to_string).collect();
                panic!("shape {shape}, {scheme}, seed {seed}: {first}\nshrunk:\n{}", lines.join("\n"));
            }
        }
    }
}

#[test]
fn softupdates_answers_as_the_model_does() {
    sweep("softupdates", seeds(0, 12), 1500, usize::MAX);
}

#[test]
fn suj_answers_as_the_model_does() {
    sweep("suj", seeds(20_000, 6), 1500, usize::MAX);
}

#[test]
fn async_answers_as_the_model_does() {
    sweep("async", seeds(0, 24), 1500, usize::MAX);
}

#[test]
fn sync_answers_as_the_model_does() {
    sweep("sync", seeds(10_000, 8), 800, usize::MAX);
}

#[test]
fn a_cold_cache_changes_no_answer() {
    sweep("softupdates", seeds(30_000, 24), 800, 10);
}
