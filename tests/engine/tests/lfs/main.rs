//! The calls of `ufs` on the log answer as the model does; what was unmounted, and what the log alone has after a
//! crash, is the same tree.

mod accounts;
mod busy;
mod cleaner;
mod crash;
mod cuts;
mod damage;
mod faults;
mod flight;
mod growth;
mod round;
mod space;
mod sparse;
mod superblocks;
mod versions;

use ordo_buf::{Cache, Health, Policy, Syncer};
use ordo_disk::{Disk, Queue, QueueOptions, RamDisk};
use ordo_lfs::{Lfs, OpenOptions};
use ordo_model::{MemFs, Options};
use ordo_ondisk::Endian;
use ordo_ondisk::lfs::{NewfsOptions, Version, newfs};
use ordo_rt::{Rng, Rt};
use ordo_ufs::Ufs;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, Stamp};
use ordo_workload::random::{Divergence, Features, Generator, Op, Rules, Shape, compare_trees, differential, shrink};
use std::rc::Rc;
use std::time::Duration;

const SIZE: u64 = 96 << 20;

/// A volume's geometry: bytes of block, fragment and segment, and the byte order.
#[derive(Clone, Copy, Debug)]
struct Made {
    block: u32,
    fragment: u32,
    segment: u32,
    endian: Endian,
    size: u64,
}

const SMALL: Made = Made { block: 4096, fragment: 1024, segment: 256 << 10, endian: Endian::Little, size: SIZE };
const NEWFS: Made = Made { block: 8192, fragment: 1024, segment: 1 << 20, endian: Endian::Little, size: SIZE };
const BIG: Made = Made { block: 16384, fragment: 2048, segment: 512 << 10, endian: Endian::Big, size: SIZE };
/// As NetBSD's newfs_lfs makes small volumes.
const SHORT: Made = Made { block: 8192, fragment: 1024, segment: 32 << 10, endian: Endian::Little, size: 24 << 20 };
/// No segment can be shorter: label, superblock, a summary, a block.
const SHORTEST: Made = Made { block: 8192, fragment: 1024, segment: 25 << 10, endian: Endian::Big, size: 24 << 20 };
const WHOLE: Made = Made { block: 4096, fragment: 4096, segment: 128 << 10, endian: Endian::Big, size: SIZE };

fn made(of: Made) -> RamDisk {
    made_in(Version::V2, of)
}

fn made_in(version: Version, of: Made) -> RamDisk {
    let options = NewfsOptions {
        endian: of.endian,
        segment: Some(of.segment),
        block: Some(of.block),
        fragment: Some(of.fragment),
        ident: 0x5eed,
        now: 1_000_000,
        ..NewfsOptions::new(version, of.size)
    };
    let initial = newfs::initial(&options).expect("the options are good");
    let mut bytes = vec![0; of.size as usize];
    for (at, what) in initial.psegs.iter().chain(&initial.superblocks) {
        bytes[at.0 as usize..at.0 as usize + what.len()].copy_from_slice(what);
    }
    disk_of(&bytes)
}

fn disk_of(bytes: &[u8]) -> RamDisk {
    RamDisk::from_bytes(bytes)
}

struct Mount {
    fs: Rc<Ufs<Lfs>>,
    cache: Rc<Cache>,
    rolled: Option<u64>,
}

impl Mount {
    fn counters(&self) -> ordo_lfs::Counters {
        self.fs.layout().counters()
    }
}

async fn mount(rt: &Rt, ram: &RamDisk) -> Mount {
    // So little memory that much is written and read again.
    mount_on(rt, Rc::new(ram.clone()), 1 << 20).await
}

async fn mount_on(rt: &Rt, disk: Rc<dyn Disk>, memory: usize) -> Mount {
    let queue = Queue::new(rt, disk, QueueOptions::default());
    let policy = Policy { syncer: Syncer::Age(Duration::from_secs(2)), ..Policy::default() };
    let cache = Cache::new(rt.clone(), queue, Health::default(), memory, policy);
    let opened = ordo_lfs::open(&cache, OpenOptions::default()).await.expect("the volume is good");
    let fs = Rc::new(Ufs::new(opened.layout, ordo_ufs::Atime::default()));
    rt.spawn(Cache::run_syncer(Rc::downgrade(&cache)));
    rt.spawn(Ufs::run_upkeep(Rc::downgrade(&fs)));
    Mount { fs, cache, rolled: opened.rolled_forward }
}

/// What fsck finds wrong.
async fn wrong(rt: &Rt, ram: &RamDisk) -> Vec<String> {
    let options = ordo_fsck::Options::new(ordo_fsck::Mode::Check);
    let report = ordo_fsck::check(rt, Rc::new(ram.snapshot()), options).await.expect("it can be checked");
    report.findings.iter().map(|found| format!("{found:?}")).collect()
}

/// Runs `ops` on both; then compares what a crash and what an unmount leaves. Returns the partial segments that were
/// rolled forward.
fn play(of: Made, seed: u64, ops: &[Op]) -> Result<u64, Divergence> {
    play_on(&made(of), seed, ops)
}

fn play_on(ram: &RamDisk, seed: u64, ops: &[Op]) -> Result<u64, Divergence> {
    let rt = Rt::virtual_time(seed);
    let mounted = rt.block_on(mount(&rt, ram));
    let clock = rt.clone();
    let options = Options { max_file_size: 1 << 40, ..Options::default() };
    let model = MemFs::new(options, move || {
        let (secs, nanos) = clock.wall();
        Stamp { secs, nanos }
    });
    let rules = Rules { who: Caller { privileged: true, ..Caller::default() }, every: 200 };
    rt.block_on(differential(&model, &*mounted.fs, ops, rules))?;
    // Everything is in the log, and no superblock knows of it.
    let crashed = rt.block_on(async {
        mounted.cache.write_all(mounted.cache.unsettled()).await.expect("there is room");
        ram.to_vec()
    });
    rt.block_on(mounted.fs.unmount()).expect("the disk is well");
    assert_eq!(rt.block_on(wrong(&rt, ram)), [""; 0], "after an unmount");
    assert_eq!(rt.block_on(wrong(&rt, &disk_of(&crashed))), [""; 0], "after a crash");
    let again = rt.block_on(mount(&rt, ram));
    assert_eq!(again.rolled, None, "it was unmounted");
    rt.block_on(compare_trees(&model, &*again.fs)).expect("an unmounted volume has the same tree");
    rt.block_on(again.fs.unmount()).expect("the disk is well");
    let crashed = disk_of(&crashed);
    let after = rt.block_on(mount(&rt, &crashed));
    rt.block_on(compare_trees(&model, &*after.fs)).expect("the log alone gives the same tree");
    assert_eq!(accounts::miscounted(&after.fs, &crashed), [""; 0], "after a roll-forward");
    rt.block_on(after.fs.unmount()).expect("the disk is well");
    assert_eq!(rt.block_on(wrong(&rt, &crashed)), [""; 0], "after a roll-forward");
    rt.drop_tasks();
    Ok(after.rolled.unwrap_or(0))
}

fn features() -> Features {
    let rt = Rt::virtual_time(0);
    rt.block_on(async {
        let mounted = mount(&rt, &made(NEWFS)).await;
        let ours = Features::probe(&*mounted.fs).await.expect("the volume can be tried");
        mounted.fs.unmount().await.expect("the disk is well");
        ours.and(Features::probe(&MemFs::timeless()).await.expect("the model can be tried"))
    })
}

fn sweep(of: Made, seeds: std::ops::Range<u64>, steps: usize) {
    let features = features();
    let kinds = Shape { block: of.block.into(), ..Shape::default() };
    let mut rolled = 0;
    for seed in seeds {
        let ops: Vec<Op> = Generator::new(seed, kinds.clone(), features).take(steps).collect();
        match play(of, seed, &ops) {
            Ok(psegs) => rolled += psegs,
            Err(first) => {
                eprintln!("{first}");
                let short = shrink(&ops[..first.steps()], |ops| play(of, seed, ops).is_err());
                let lines: Vec<String> = short.iter().map(Op::to_string).collect();
                panic!("{of:?}, seed {seed}: {first}\nshrunk:\n{}", lines.join("\n"));
            }
        }
    }
    assert!(rolled > 3, "{rolled} partial segments were rolled forward: it was no test");
}

#[test]
fn random_calls_on_a_log_answer_as_the_model_does() {
    sweep(SMALL, 0..3, 600);
    sweep(NEWFS, 10..13, 600);
}

#[test]
fn random_calls_on_a_log_of_short_segments_answer_as_the_model_does() {
    sweep(SHORT, 80..82, 600);
    sweep(SHORTEST, 90..92, 600);
}

#[test]
fn random_calls_on_a_log_of_the_other_byte_order_answer_as_the_model_does() {
    sweep(BIG, 20..22, 600);
    sweep(WHOLE, 30..33, 600);
}

/// Overwrites blocks of a file at random, on a volume that is filled to `percent`.
fn overwrite(of: Made, percent: u64, turns: u64, seed: u64) -> ordo_lfs::Counters {
    overwrite_on(made(of), of, percent, turns, seed)
}

fn overwrite_on(ram: RamDisk, of: Made, percent: u64, turns: u64, seed: u64) -> ordo_lfs::Counters {
    let rt = Rt::virtual_time(seed);
    let mounted = rt.block_on(mount(&rt, &ram));
    let (fs, who) = (mounted.fs.clone(), Caller { privileged: true, ..Caller::default() });
    let block = u64::from(of.block);
    let stat = rt.block_on(fs.statfs()).unwrap();
    let blocks = stat.frags * u64::from(stat.frag_size) * percent / 100 / block;
    let text = |i: u64, turn: u64| format!("{i:07} {turn:07} ").into_bytes().repeat(of.block as usize / 16);
    let mut turn_of = vec![0; blocks as usize];
    let counters = rt.block_on(async {
        let name = Name::new(b"big").unwrap();
        let big = fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node;
        for i in 0..blocks {
            fs.write(&who, big, i * block, &text(i, 0)).await.unwrap();
        }
        let mut rng = Rng::new(seed);
        for turn in 1..=turns {
            let i = rng.below(blocks);
            turn_of[i as usize] = turn;
            fs.write(&who, big, i * block, &text(i, turn)).await.unwrap_or_else(|error| panic!("{turn}: {error}"));
            if turn % 500 == 0 {
                fs.fsync(big, false).await.unwrap();
            }
        }
        mounted.counters()
    });
    let crashed = rt.block_on(async {
        mounted.cache.write_all(mounted.cache.unsettled()).await.unwrap();
        disk_of(&ram.to_vec())
    });
    rt.block_on(mounted.fs.unmount()).expect("the disk is well");
    for disk in [ram, crashed] {
        let again = rt.block_on(mount(&rt, &disk));
        rt.block_on(async {
            let big = again.fs.lookup(again.fs.root(), Name::new(b"big").unwrap()).await.unwrap().node;
            for i in 0..blocks {
                let read = again.fs.read(big, i * block, of.block).await.unwrap().concat();
                assert!(read == text(i, turn_of[i as usize]), "block {i} is not what was written last");
            }
            again.fs.unmount().await.unwrap();
        });
        assert_eq!(rt.block_on(wrong(&rt, &disk)), [""; 0], "after cleaning");
    }
    rt.drop_tasks();
    counters
}

#[test]
fn a_log_of_short_segments_is_cleaned() {
    for of in [SHORT, SHORTEST] {
        let counters = overwrite(of, 60, 6_000, 8);
        assert!(counters.segments_cleaned > 300, "{counters:?}");
    }
}

#[test]
fn a_log_that_is_full_of_old_versions_is_cleaned() {
    let of = Made { segment: 128 << 10, size: 24 << 20, ..SMALL };
    let counters = overwrite(of, 75, 20_000, 7);
    assert!(counters.segments_cleaned > 300 && counters.segments_read > 100, "{counters:?}");
    let cost = counters.write_cost.expect("something was written");
    assert!(cost > 1.2 && cost < 12.0, "{counters:?}");
}
