//! The seam between the calls and a layout serves a second layout: one that is append-only, whose inodes move, and that
//! writes in batches. The calls of `ufs` above it answer as the model does, under a scheme without order and under a
//! journal; and its log alone, read again, gives the same tree.

mod crash;
mod layout;
mod log;

use layout::{Append, LARGEST};
use log::{BLOCK, Log};
use ordo_buf::{Cache, Health, LogFile, Policy, Scheme, Syncer};
use ordo_disk::{Disk, DiskOff, Queue, QueueOptions, RamDisk};
use ordo_model::{MemFs, Options};
use ordo_rt::Rt;
use ordo_schemes::Settings;
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, Stamp};
use ordo_workload::random::{Divergence, Features, Generator, Op, Rules, Shape, compare_trees, differential, shrink};
use std::rc::Rc;
use std::time::Duration;

/// Bytes of the disk: each write goes to a new place, and none is used again.
const DISK: u64 = 1 << 31;

struct Mount {
    fs: Rc<Ufs<Append>>,
    log: Rc<Log>,
}

fn scheme(name: &str) -> Rc<dyn Scheme> {
    let known = ordo_schemes::by_name(name).expect("it is known");
    known.make(Settings::default()).expect("its defaults are good")
}

/// Mounts what the log on `ram` says; a journal keeps its own log on another disk.
async fn mount(rt: &Rt, ram: &RamDisk, log: Log, name: &str) -> Mount {
    // So little memory that much is written and read again.
    mount_on(rt, Rc::new(ram.clone()), log, name, 1 << 20).await
}

async fn mount_on(rt: &Rt, disk: Rc<dyn Disk>, log: Log, name: &str, memory: usize) -> Mount {
    let scheme = scheme(name);
    if let Some(journal) = scheme.clone().capabilities().log {
        let on = Queue::new(rt, Rc::new(RamDisk::new(8 << 20)), QueueOptions::default());
        let (block, frag, endian) = (BLOCK as u32, 512, log.g.endian);
        let file = LogFile {
            on,
            extents: vec![(DiskOff(0), 8 << 20)],
            block,
            frag,
            stamp: 1,
            endian,
            copies: None,
            stream: None,
        };
        journal.begin_log(file).await.expect("there is room for it");
    }
    let queue = Queue::new(rt, disk, QueueOptions::default());
    let policy = Policy { syncer: Syncer::Age(Duration::from_secs(2)), ..Policy::default() };
    let cache = Cache::new(rt.clone(), queue, Health::default(), memory, policy);
    let log = Rc::new(log);
    let layout = Append::open(&cache, scheme, log.clone()).await.expect("the log is good");
    let fs = Rc::new(Ufs::new(layout, ordo_ufs::Atime::default()));
    rt.spawn(Cache::run_syncer(Rc::downgrade(&cache)));
    rt.spawn(Ufs::run_upkeep(Rc::downgrade(&fs)));
    Mount { fs, log }
}

/// Runs `ops` on both; returns the first difference.
fn play(name: &str, seed: u64, ops: &[Op]) -> Result<[u64; 3], Divergence> {
    let rt = Rt::virtual_time(seed);
    let ram = RamDisk::new(DISK);
    let mounted = rt.block_on(mount(&rt, &ram, Log::new(), name));
    let clock = rt.clone();
    let options = Options { max_file_size: LARGEST, ..Options::default() };
    let model = MemFs::new(options, move || {
        let (secs, nanos) = clock.wall();
        Stamp { secs, nanos }
    });
    let rules = Rules { who: Caller { privileged: true, ..Caller::default() }, every: 200 };
    let outcome = rt.block_on(differential(&model, &*mounted.fs, ops, rules));
    let ended = rt.block_on(mounted.fs.unmount());
    outcome?;
    ended.expect("the disk is well");
    assert_eq!(mounted.log.running.get(), 0, "each call that began has ended");
    let read = Log::read(&ram);
    assert_eq!(read.places(), mounted.log.places(), "the summaries say where each inode is");
    let again = rt.block_on(mount(&rt, &ram, read, "async"));
    rt.block_on(compare_trees(&model, &*again.fs)).expect("the log alone gives the same tree");
    rt.block_on(again.fs.unmount()).expect("the disk is well");
    rt.drop_tasks();
    Ok(mounted.log.counts.get())
}

fn features() -> Features {
    let rt = Rt::virtual_time(0);
    rt.block_on(async {
        let mounted = mount(&rt, &RamDisk::new(DISK), Log::new(), "async").await;
        let ours = Features::probe(&*mounted.fs).await.expect("the volume can be tried");
        mounted.fs.unmount().await.expect("the disk is well");
        ours.and(Features::probe(&MemFs::timeless()).await.expect("the model can be tried"))
    })
}

fn sweep(name: &str, seeds: std::ops::Range<u64>, steps: usize) {
    let features = features();
    // Within the largest file: what a write across that limit returns is not the layout's.
    let kinds = Shape { block: BLOCK as u64, ..Shape::default() };
    let kinds = Shape { max_offset: LARGEST - kinds.max_transfer, ..kinds };
    let mut sums = [0; 3];
    for seed in seeds {
        let ops: Vec<Op> = Generator::new(seed, kinds.clone(), features).take(steps).collect();
        match play(name, seed, &ops) {
            Ok(counts) => sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count),
            Err(first) => {
                let short = shrink(&ops[..first.steps()], |ops| play(name, seed, ops).is_err());
                let lines: Vec<String> = short.iter().map(Op::to_string).collect();
                panic!("{name}, seed {seed}: {first}\nshrunk:\n{}", lines.join("\n"));
            }
        }
    }
    let [batches, bufs, moves] = sums;
    assert!(batches > 20 && bufs > 3 * batches && moves > 10, "{sums:?}: it was no log, or nothing moved");
}

#[test]
fn a_layout_that_appends_answers_as_the_model_does_without_order() {
    sweep("async", 0..4, 1000);
}

#[test]
fn a_layout_that_appends_answers_as_the_model_does_under_a_journal() {
    sweep("wafs", 100..103, 600);
    sweep("block-journal", 200..203, 600);
}

#[test]
fn a_scheme_that_needs_fixed_places_is_refused_and_one_without_order_is_not() {
    let fits = |name| ordo_ufs::check_fit::<Append>(&scheme(name));
    assert_eq!(fits("async"), Ok(()));
    let unfit = fits("softupdates").expect_err("its rollbacks need the older image in place");
    assert!(unfit.to_string().contains("softupdates") && unfit.to_string().contains("the skeleton"), "{unfit}");
    // The journals above run here all the same: they show what the seam lets wait, not that a crash can be repaired.
    assert!(fits("wafs").is_err() && fits("sync").is_err());
}
