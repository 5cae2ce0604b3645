//! Power cuts at any write, while checkpoints, superblocks and the cleaner's copies are under way, and during the
//! recovery itself. What is found after it has the names of one moment, not before the last sync; a recovery that is
//! cut as well, several times, ends in the same tree as one that is not.

use crate::crash::Jitter;
use crate::{Made, SMALL, features, made, mount_on, wrong};
use ordo_buf::{Cache, Health, Policy, Syncer};
use ordo_disk::{Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Queue, QueueOptions};
use ordo_disk::{RamDisk, ReadPart, WritePart};
use ordo_lfs::OpenOptions;
use ordo_model::{MemFs, Options};
use ordo_rt::{Rng, Rt};
use ordo_simdisk::{Effect, Fault, FaultPlan, Faulty};
use ordo_vfs::{Caller, FileSystem, Kind, Name, Refusal, Stamp};
use ordo_workload::random::{Generator, Op, Outcome, Player, Shape, compare_trees};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

const OF: Made = Made { segment: 64 << 10, size: 96 * (64 << 10) + 8192, ..SMALL };

/// A moment of the disk, and the moments of the tree that it may show: from the last sync to the last call.
struct Moment {
    ram: RamDisk,
    synced: usize,
    started: usize,
}

/// Takes a snapshot before some of the writes and flushes.
struct Tap {
    below: Rc<dyn Disk>,
    ram: RamDisk,
    rng: RefCell<Rng>,
    synced: Rc<Cell<usize>>,
    started: Rc<Cell<usize>>,
    moments: Rc<RefCell<Vec<Moment>>>,
}

impl Tap {
    fn look(&self) {
        if self.moments.borrow().len() < 6 && self.rng.borrow_mut().chance(1, 40) {
            let (ram, synced, started) = (self.ram.snapshot(), self.synced.get(), self.started.get());
            self.moments.borrow_mut().push(Moment { ram, synced, started });
        }
    }
}

impl Disk for Tap {
    fn info(&self) -> DiskInfo {
        self.below.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.below.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let done = self.below.write(at, parts, fua);
        self.look();
        done
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.look();
        self.below.flush()
    }
}

/// All names, with the kind of each and which is the same file.
async fn names<F: FileSystem>(fs: &F) -> Vec<String> {
    let (mut lines, mut first) = (Vec::new(), BTreeMap::new());
    let mut waiting = vec![(String::new(), fs.root())];
    while let Some((path, dir)) = waiting.pop() {
        let mut found = Vec::new();
        let mut take = |entry: ordo_vfs::DirEntry<'_>| {
            found.push(entry.name.to_vec());
            true
        };
        fs.readdir(dir, 0, &mut take).await.unwrap_or_else(|error| panic!("{path}: {error}"));
        found.retain(|name| name != b"." && name != b"..");
        found.sort_unstable();
        for name in found {
            let below = format!("{path}/{}", String::from_utf8_lossy(&name));
            let entry = fs.lookup(dir, Name::new(&name).unwrap()).await;
            let entry = entry.unwrap_or_else(|error| panic!("{below}: {error}"));
            let same = first.entry(entry.attr.ino).or_insert_with(|| below.clone()).clone();
            lines.push(format!("{below} {:?} {same}", entry.attr.kind));
            match entry.attr.kind {
                Kind::Directory => waiting.push((below, entry.node)),
                _ => fs.forget(entry.node, 1),
            }
        }
        if dir != fs.root() {
            fs.forget(dir, 1);
        }
    }
    lines
}

/// Mounts on a disk whose power fails at its `nth` write, or at a later one of the calls that follow.
async fn cut_recovery(rt: &Rt, ram: &RamDisk, rng: &mut Rng, nth: u64) {
    let (seed, hit) = (rng.next_u64(), ram.clone());
    let plan = FaultPlan::new(seed).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
    let faulty = Faulty::new(Rc::new(ram.clone()), plan).on_power_cut(move |rng| hit.power_cut_at_random(rng));
    let queue = Queue::new(rt, Rc::new(faulty.clone()), QueueOptions::default());
    let policy = Policy { syncer: Syncer::Age(Duration::from_secs(30)), ..Policy::default() };
    let cache = Cache::new(rt.clone(), queue, Health::default(), 1 << 20, policy);
    let opened = ordo_lfs::open(&cache, OpenOptions::default()).await;
    if !faulty.power_is_off() {
        assert!(opened.is_ok(), "{:?}", opened.err());
        faulty.cut_power();
    }
}

async fn judge(rt: &Rt, moment: Moment, states: &[Vec<String>], rng: &mut Rng) {
    let Moment { ram, synced, started } = moment;
    ram.power_cut_at_random(rng);
    let base = ram.to_vec();
    assert_eq!(wrong(rt, &ram).await, [""; 0], "fsck of what the power cut left");
    let whole = mount_on(rt, Rc::new(ram.clone()), 1 << 20).await;
    let found = names(&*whole.fs).await;
    let known = states[synced..].iter().take(started - synced + 1).any(|state| *state == found);
    if !known {
        let all = states.iter().position(|state| *state == found);
        panic!("the tree of no moment from {synced} to {started}, but of {all:?}: {found:#?}");
    }
    let again = RamDisk::from_bytes(&base).volatile(true);
    for _ in 0..rng.range(1, 4) {
        let nth = rng.range(1, 7);
        cut_recovery(rt, &again, rng, nth).await;
        let mut judged = wrong(rt, &again).await;
        // The newer superblock has the serial number behind the jump, where the older one does not lead.
        judged.retain(|found| !found.contains("LogBreaks"));
        assert_eq!(judged, [""; 0], "fsck after a recovery that was cut at write {nth}");
    }
    let cut = mount_on(rt, Rc::new(again.clone()), 1 << 20).await;
    compare_trees(&*whole.fs, &*cut.fs).await.expect("a recovery that was cut finds the same tree");
    for mounted in [whole, cut] {
        mounted.fs.unmount().await.expect("the disk is well");
    }
    assert_eq!(wrong(rt, &ram).await, [""; 0], "fsck after a recovery");
    assert_eq!(wrong(rt, &again).await, [""; 0], "fsck after the last recovery");
}

/// How many moments were judged, and segments cleaned.
fn play(seed: u64, steps: usize) -> (u64, u64) {
    let rt = Rt::virtual_time(seed);
    let mut rng = Rng::new(seed);
    let ram = made(OF).volatile(true);
    let (synced, started): (Rc<Cell<usize>>, Rc<Cell<usize>>) = Default::default();
    let moments: Rc<RefCell<Vec<Moment>>> = Rc::default();
    let jitter = Jitter::new(Rc::new(ram.clone()), &rt, rng.fork());
    let tap = Tap {
        below: Rc::new(jitter),
        ram: ram.clone(),
        rng: RefCell::new(rng.fork()),
        synced: synced.clone(),
        started: started.clone(),
        moments: moments.clone(),
    };
    let shape = Shape { block: 4096, frag: 1024, max_offset: 1 << 19, max_transfer: 1 << 14, ..Shape::default() };
    let mut calls = Generator::new(seed, shape, features());
    let memory = *rng.pick(&[256 << 10, 1 << 20]);
    let judged = rt.block_on(async {
        let mounted = mount_on(&rt, Rc::new(tap), memory).await;
        let clock = rt.clone();
        let model = MemFs::new(Options { max_file_size: 1 << 40, ..Options::default() }, move || {
            let (secs, nanos) = clock.wall();
            Stamp { secs, nanos }
        });
        let who = Caller { privileged: true, ..Caller::default() };
        let (mut ours, mut its) = (Player::new(&*mounted.fs, who), Player::new(&model, who));
        let mut states = vec![names(&model).await];
        let mut judged = 0;
        let big = "big".to_owned();
        let mut ops = vec![Op::Create { path: big.clone(), mode: 0o644 }];
        ops.extend((0..40).map(|i| Op::Write { path: "big".into(), offset: i << 16, len: 1 << 16, seed: i }));
        'steps: for step in 0..steps {
            match rng.below(12) {
                0 => ops.push(Op::Sync),
                1 | 2 => ops.extend(calls.by_ref().take(1)),
                _ => ops.extend((0..6).map(|_| Op::Write {
                    path: big.clone(),
                    offset: rng.below(40 << 4) << 12,
                    len: 4096,
                    seed: step as u64,
                })),
            }
            for op in ops.drain(..) {
                if op.to_string().contains("xattr") || matches!(op, Op::SetAcl { .. }) {
                    continue;
                }
                started.set(states.len());
                let (mine, right) = (ours.apply(&op).await, its.apply(&op).await);
                if mine == Outcome::Refused(Refusal::NoSpace) {
                    break 'steps;
                }
                assert_eq!(mine, right, "{op}");
                states.push(names(&model).await);
                if matches!(op, Op::Sync) {
                    synced.set(states.len() - 1);
                    if rng.chance(1, 4) {
                        let after = ram.snapshot();
                        after.power_cut_at_random(&mut rng);
                        let again = mount_on(&rt, Rc::new(after.clone()), 1 << 20).await;
                        compare_trees(&model, &*again.fs).await.expect("what was synced is there");
                        again.fs.unmount().await.expect("the disk is well");
                    }
                }
            }
            let wait = rng.below(400_000);
            rt.sleep(Duration::from_micros(wait)).await;
            let taken = std::mem::take(&mut *moments.borrow_mut());
            for moment in taken {
                judged += 1;
                judge(&rt, moment, &states, &mut rng).await;
            }
        }
        drop((ours, its));
        let cleaned = mounted.counters().segments_cleaned;
        mounted.fs.unmount().await.expect("the disk is well");
        (judged, cleaned)
    });
    rt.drop_tasks();
    judged
}

#[test]
fn power_cuts_of_the_log_and_of_its_recovery_leave_the_tree_of_a_moment() {
    // Another range for a longer search: CUTS_SEED is the first, CUTS_COUNT how many.
    let number = |name| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let first = number("CUTS_SEED").unwrap_or(0);
    let (mut judged, mut cleaned) = (0, 0);
    for seed in first..first + number("CUTS_COUNT").unwrap_or(3) {
        let ran = std::panic::catch_unwind(|| play(seed, 250)).unwrap_or_else(|_| panic!("seed {seed}"));
        (judged, cleaned) = (judged + ran.0, cleaned + ran.1);
    }
    assert!(judged > 10 && cleaned > 10, "{judged} moments, {cleaned} segments: it was no test");
}
