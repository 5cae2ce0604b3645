//! The reclaim beside random calls: the model agrees, and fsck finds nothing.

use crate::common::{SHAPES, assert_clean, fresh, mount};
use crate::leaks::plant::Raw;
use crate::leaks::scheme::{AtOnce, Late};
use crate::leaks::{BYTES, WHO, dir, file, mount_at_once, settle};
use ordo_model::{MemFs, Options};
use ordo_ondisk::{Cgx, Ino};
use ordo_workload::random::{Features, Generator, Op, Outcome, Player, Seen, Shape, compare_trees};
use ordofs::rt::{Rng, Rt};
use ordofs::vfs::{FileSystem, Name, Stamp};
use ordofs::{LeaksPhase, Mounted};

/// Runs operations on both, with a pause now and then in which the scan makes a step.
async fn play(rt: &Rt, model: &MemFs, mounted: &Mounted, ops: &[Op], pauses: (u64, &mut Rng), what: &str) {
    let (mut left, mut right) = (Player::new(model, WHO), Player::new(&**mounted.fs(), WHO));
    for (step, op) in ops.iter().enumerate() {
        let answers = (left.apply(op).await, right.apply(op).await);
        assert_eq!(without_links(answers.0), without_links(answers.1), "{what}, step {step}: {op}");
        if pauses.1.chance(1, pauses.0) {
            rt.yield_now().await;
        }
    }
}

fn run(shape: usize, seed: u64, late: bool, scheme: &str) -> u64 {
    let what = format!("shape {shape}, seed {seed}, {scheme}, late: {late}");
    let rt = Rt::virtual_time(seed);
    let ram = fresh(&rt, SHAPES[shape], BYTES);
    let mounted = mount(&rt, &ram, "async");
    let clock = rt.clone();
    let model = MemFs::new(Options::default(), move || {
        let (secs, nanos) = clock.wall();
        Stamp { secs, nanos }
    });
    let (_, _, block, frag) = SHAPES[shape];
    let features = rt.block_on(async {
        let fs = mounted.fs();
        fs.rmdir(fs.root(), Name::new(b".snap").expect("a name")).await.expect("newfs made it");
        let ours = Features::probe(&**fs).await.expect("the volume can be tried");
        ours.and(Features::probe(&MemFs::timeless()).await.expect("the model can be tried"))
    });
    let features = Features { devices: features.devices && SHAPES[shape].0 == ordo_ondisk::Format::Ufs2, ..features };
    let kinds = Shape { block: block.into(), frag: frag.into(), ..Shape::default() };
    let ops: Vec<Op> = Generator::new(seed, kinds, features).take(1600).collect();
    let mut rng = Rng::new(seed);
    let (before, after) = ops.split_at(800);
    rt.block_on(play(&rt, &model, &mounted, before, (3, &mut rng), &what));
    rt.block_on(async {
        dir(&mounted, "/", "zz leaked").await;
        dir(&mounted, "/zz leaked", "below").await;
        for i in 0..30 {
            file(&mounted, "/zz leaked/below", &format!("file {i}"), 1000 * i).await;
        }
    });
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, &what);
    let mut raw = Raw::of(&ram);
    raw.unname(Ino::ROOT, b"zz leaked");
    for c in 0..raw.g.ncg {
        raw.leak_frags(Cgx(c), 1 + c % 3, 60, c % 2 == 1);
        raw.leak_numbers(Cgx(c), 9);
        // Every file with a name has one link too many.
        let used: Vec<u32> =
            raw.look(Cgx(c), |cg| (0..raw.g.ipg).filter(|&i| ordo_ondisk::cg::map::get(cg.iused(), i)).collect());
        for i in used {
            let ino = Ino(c * raw.g.ipg + i);
            if ino.0 >= 2 && rng.chance(1, 3) && raw.inode(ino).mode != 0 {
                raw.set_inode(ino, |dinode| dinode.nlink += 1);
            }
        }
    }
    raw.crash();
    let scheme = if late { Late::over(scheme) } else { AtOnce::over(scheme) };
    let mounted = mount_at_once(&rt, &ram, scheme);
    let overlap = rt.block_on(async {
        let (mut rest, mut overlap) = (after, 0);
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(50));
            play(&rt, &model, &mounted, now, ([3, 10, 40][seed as usize % 3], &mut rng), &what).await;
            overlap += usize::from(!mounted.leaks().phase.is_over()) * now.len();
            rest = later;
        }
        overlap as u64
    });
    let ended = rt.block_on(mounted.leaks_ended());
    assert_eq!((ended.phase, &ended.failure), (LeaksPhase::Done, &None), "{what}");
    assert!(ended.inodes_freed >= 32 && ended.frags_freed > 0 && ended.links_lowered > 0, "{what}: {ended:?}");
    rt.block_on(settle(&mounted));
    rt.block_on(mounted.unmount()).expect("the disk is well");
    assert_clean(&rt, &ram, &what);
    let again = mount(&rt, &ram, "async");
    rt.block_on(compare_trees(&model, &**again.fs())).unwrap_or_else(|difference| panic!("{what}: {difference}"));
    rt.block_on(again.unmount()).expect("the disk is well");
    rt.drop_tasks();
    overlap
}

/// An answer without the link count, which is too high until the scan ends.
fn without_links(answer: Outcome) -> Outcome {
    match answer {
        Outcome::Attr(seen) => Outcome::Attr(Seen { nlink: 0, ..seen }),
        other => other,
    }
}

fn seeds(short: u64) -> std::ops::Range<u64> {
    let more = std::env::var("ORDO_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    0..short + more
}

#[test]
fn calls_beside_the_scan_make_nothing_look_leaked() {
    let mut overlap = 0;
    for shape in 0..SHAPES.len() {
        for seed in seeds(4) {
            overlap += run(shape, seed, false, "async");
            overlap += run(shape, seed, false, "sync");
        }
    }
    assert!(overlap > 1000, "only {overlap} operations fell into the time of a scan");
}

#[test]
fn tickets_that_ripen_late_make_nothing_look_leaked() {
    let mut overlap = 0;
    for shape in 0..SHAPES.len() {
        for seed in seeds(6) {
            overlap += run(shape, 100 + seed, true, "async");
        }
    }
    assert!(overlap > 1000, "only {overlap} operations fell into the time of a scan");
}
