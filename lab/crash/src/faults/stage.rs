//! A script and the volume on which it is played, again and again from the same bytes.
//!
//! G1. Up to the fault every run makes the same requests as the run without one: same base, same seed, virtual time. So
//!     "the n-th write" is the same write in both, and its contents are known beforehand.
//! G2. The expected answers come from the model as long as the volume is not full; then from the run without a fault.

use super::view::View;
use crate::disks::Disks;
use crate::mount::{mount, policy};
use crate::tree::Tree;
use crate::{Error, Plan, volume};
use ordo_disk::{Disk, DiskOp, Kind, RamDisk};
use ordo_model::MemFs;
use ordo_ondisk::{Cgx, Geometry};
use ordo_rt::Rt;
use ordo_simdisk::Event;
use ordo_vfs::{Caller, Refusal};
use ordo_workload::random::{Op, Outcome, Player, compare_trees};
use ordofs::{LayoutName, Located, MountOptions, Mounted};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Duration;

/// Virtual time after the last call: the syncer writes what it delays (30 s).
const IDLE: Duration = Duration::from_secs(40);
/// Virtual time in which requests that are in flight at the end complete.
const SETTLE: Duration = Duration::from_secs(2);
/// Size of the cache, in bytes: small, so that structures are read more than once.
const CACHE: usize = 128 << 10;

/// A request of the run without a fault.
pub(super) struct Request {
    pub(super) op: DiskOp,
    /// Byte where it begins.
    pub(super) at: u64,
    /// Bytes and kind of each part.
    pub(super) parts: Vec<(u64, Kind)>,
}

impl Request {
    pub(super) fn len(&self) -> u64 {
        self.parts.iter().map(|(len, _)| len).sum()
    }

    pub(super) fn kinds(&self) -> BTreeSet<Kind> {
        self.parts.iter().map(|(_, kind)| *kind).collect()
    }

    /// Where each part lies.
    fn places(&self) -> impl Iterator<Item = (u64, u64, Kind)> {
        self.parts.iter().scan(self.at, |at, (len, kind)| {
            let from = *at;
            *at += len;
            Some((from, *len, *kind))
        })
    }
}

/// The answers of a run.
#[derive(Default)]
pub(super) struct Played {
    pub(super) outcomes: Vec<Outcome>,
    /// The tree as read before the unmount, if it could be read.
    pub(super) live: Option<Rc<View>>,
    /// Why the volume could not be mounted, turned read-only, or could not be unmounted.
    pub(super) mount: Option<String>,
    pub(super) degraded: Option<String>,
    pub(super) unmount: Option<String>,
    /// Reads that were right because of another copy.
    pub(super) healed: u64,
}

/// Makes another seed of that of a plan.
const SET_UP: u64 = 0x0073_6574_2d75_7000;

/// See the head of the module.
pub(super) struct Stage<'a> {
    pub(super) plan: &'a Plan,
    /// The volume after the set-up, clean.
    pub(super) base: RamDisk,
    /// The volume at the end of the run without a fault, clean.
    pub(super) end: RamDisk,
    pub(super) geometry: Geometry,
    /// The calls that are played: what the set-up held open is opened again first.
    pub(super) calls: Vec<Op>,
    /// What is expected: the answers, and the trees before the first call and after each.
    pub(super) outcomes: Vec<Outcome>,
    pub(super) views: Vec<Rc<View>>,
    /// The requests of the run without a fault.
    pub(super) requests: Vec<Request>,
    /// Which kind of structure was at which place at some time: byte, length, kind.
    pub(super) map: Vec<(u64, u64, Kind)>,
    /// The same at the end.
    pub(super) stored: Vec<(u64, u64, Kind)>,
    /// Reads of all runs that were right because of another copy.
    pub(super) healed: Cell<u64>,
}

impl<'a> Stage<'a> {
    pub(super) fn new(plan: &'a Plan) -> Result<Stage<'a>, Error> {
        if plan.subject.layout() == LayoutName::Lfs {
            return Err(Error::OnlyUfs("--faults"));
        }
        let (memory, base) = (MemFs::timeless(), volume::of(&plan.subject)?);
        let mut model = Model { player: Player::new(&memory, root()), full: false };
        model.set_up(plan, &base)?;
        let mut calls = plan.script.setup.clone();
        calls.retain(|op| matches!(op, Op::Open { .. } | Op::Tmpfile { .. }));
        calls.extend(plan.script.calls.iter().cloned());
        let (rt, ram) = (Rt::virtual_time(plan.budget.seed), base.snapshot());
        let mut views = vec![];
        let tree = |mounted: &Mounted| {
            let tree = rt.block_on(Tree::read(&**mounted.fs()));
            tree.map(|tree| Rc::new(View::of(&tree))).map_err(|error| Error::Run(error.to_string()))
        };
        let mut look = |mounted: &Mounted, outcome: Option<&Outcome>| {
            if let Some(outcome) = outcome {
                let op = &calls[views.len() - 1];
                model.agrees(op, outcome)?;
                if !model.full {
                    let compared = rt.block_on(compare_trees(&**mounted.fs(), &memory));
                    compared.map_err(|why| Error::Model { call: op.to_string(), what: why.to_string() })?;
                }
            }
            views.push(tree(mounted)?);
            Ok(())
        };
        play(
            plan,
            &calls,
            &rt,
            &ram,
            plan.subject.split().devices(&plan.subject.device, &rt, &ram, plan.budget.seed),
            &mut look,
        )?;
        rt.drop_tasks();
        let geometry = geometry(&base)?;
        let mut stage = Stage {
            plan,
            end: base.snapshot(),
            base,
            geometry,
            calls,
            outcomes: Vec::new(),
            views,
            requests: Vec::new(),
            map: Vec::new(),
            stored: Vec::new(),
            healed: Cell::new(0),
        };
        stage.without_fault()?;
        Ok(stage)
    }

    /// Plays the script like every run, without reading trees, and keeps the requests (G1).
    fn without_fault(&mut self) -> Result<(), Error> {
        let (rt, ram) = (Rt::virtual_time(self.plan.budget.seed), self.base.snapshot());
        let (recorder, disks) = self.devices(&rt, &ram).recorded(&rt, self.plan.subject.split(), false);
        let played = self.play(&rt, &ram, disks)?;
        rt.drop_tasks();
        let told = [&played.mount, &played.degraded, &played.unmount].into_iter().flatten().next();
        if let Some(why) = told {
            return Err(Error::Run(format!("without a fault: {why}")));
        }
        self.requests = requests(recorder.take());
        self.outcomes = played.outcomes;
        self.end = ram;
        self.stored = self.look(&self.end)?;
        self.map = self.look(&self.base)?;
        self.map.extend(self.requests.iter().flat_map(Request::places));
        Ok(())
    }

    /// The disks over `ram`, without a fault.
    pub(super) fn devices(&self, rt: &Rt, ram: &RamDisk) -> Disks {
        self.plan.subject.split().devices(&self.plan.subject.device, rt, ram, self.plan.budget.seed)
    }

    /// Plays the calls on disks over `ram`.
    ///
    /// # Errors
    /// The superblock cannot be found.
    pub(super) fn play(&self, rt: &Rt, ram: &RamDisk, disks: Disks) -> Result<Played, Error> {
        play(self.plan, &self.calls, rt, ram, disks, &mut |_, _| Ok(()))
    }

    /// Which structures are where on a sound volume: found by reading everything, and from the geometry.
    fn look(&self, ram: &RamDisk) -> Result<Vec<(u64, u64, Kind)>, Error> {
        let g = &self.geometry;
        let rt = Rt::virtual_time(1);
        let split = self.plan.subject.split();
        let (recorder, disks) = split.disks(Rc::new(ram.clone())).recorded(&rt, split, false);
        let tree = cold(self.plan, &rt, ram, disks).map(|(tree, _)| tree);
        rt.drop_tasks();
        tree?;
        let mut map = vec![(g.sblockloc.0, u64::from(g.sbsize), Kind::Superblock)];
        map.push((g.byte(g.csaddr).0, u64::from(g.cssize), Kind::Summary));
        map.extend((0..g.ncg).map(|c| (g.byte(g.cgtod(Cgx(c))).0, u64::from(g.cgsize), Kind::Maps)));
        map.extend(requests(recorder.take()).iter().flat_map(Request::places));
        Ok(map)
    }

    /// The kinds of structure that were at these bytes at some time.
    pub(super) fn kinds_at(&self, at: u64, len: u64) -> BTreeSet<Kind> {
        let all = self.map.iter().chain(&self.stored);
        all.filter(|(from, size, _)| *from < at + len && at < from + size).map(|(_, _, kind)| *kind).collect()
    }
}

/// The tree of a volume that was unmounted, read with an empty cache; and how many reads were right because of another
/// copy. A volume with an active journal is read with that: without it nothing is verified.
///
/// # Errors
/// Mounting or reading fails.
pub(super) fn cold(plan: &Plan, rt: &Rt, ram: &RamDisk, disks: Disks) -> Result<(Tree, u64), Error> {
    read_with(plan, if plan.subject.scheme == "active" { "active" } else { "async" }, rt, ram, disks)
}

fn read_with(plan: &Plan, scheme: &str, rt: &Rt, ram: &RamDisk, disks: Disks) -> Result<(Tree, u64), Error> {
    let mounted = mount(rt, ram, disks, plan.subject.honest(scheme)?, true)?;
    let tree = rt.block_on(Tree::read(&**mounted.fs())).map_err(|error| Error::Run(error.to_string()))?;
    Ok((tree, mounted.active().map_or(0, |active| active.healed)))
}

/// The same after a repair. If an active journal cannot be used any more, or knows that a block is nowhere right, this
/// was told as an error; what is at home must then be readable without it.
///
/// # Errors
/// Mounting or reading fails.
pub(super) fn repaired_tree(
    plan: &Plan,
    rt: &Rt,
    ram: &RamDisk,
    disks: impl Fn() -> Disks,
) -> Result<(Tree, u64), Error> {
    match cold(plan, rt, ram, disks()) {
        Err(_) if plan.subject.scheme == "active" => read_with(plan, "async", rt, ram, disks()),
        answer => answer,
    }
}

fn root() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

/// Called after the mount and after each call.
type Look<'l> = &'l mut dyn FnMut(&Mounted, Option<&Outcome>) -> Result<(), Error>;

fn play(plan: &Plan, calls: &[Op], rt: &Rt, ram: &RamDisk, disks: Disks, look: Look<'_>) -> Result<Played, Error> {
    let mut played = Played::default();
    let (found, log, disk) = (find(ram)?, disks.home(), disks.volume);
    let options = MountOptions { cache: CACHE, noatime: true, policy: policy(), ..MountOptions::default() };
    let mounted = match rt.block_on(Mounted::mount_with(
        rt,
        Located { found: found.into(), disk, log, claim: None },
        plan.subject.scheme()?,
        &options,
    )) {
        Ok(mounted) => mounted,
        Err(error) => {
            played.mount = Some(error.to_string());
            return Ok(played);
        }
    };
    look(&mounted, None)?;
    let mut player = Player::new(&**mounted.fs(), root());
    for op in calls {
        if let Op::Pause { millis } = op {
            rt.block_on(rt.sleep(Duration::from_millis(*millis)));
        }
        let outcome = rt.block_on(player.apply(op));
        look(&mounted, Some(&outcome))?;
        played.outcomes.push(outcome);
    }
    drop(player);
    rt.block_on(rt.sleep(IDLE));
    played.live = rt.block_on(Tree::read(&**mounted.fs())).ok().map(|tree| Rc::new(View::of(&tree)));
    played.degraded = mounted.degraded().map(|why| why.to_string());
    played.healed = mounted.active().map_or(0, |active| active.healed);
    played.unmount = rt.block_on(mounted.unmount()).err().map(|error| error.to_string());
    rt.block_on(rt.sleep(SETTLE));
    Ok(played)
}

fn find(ram: &RamDisk) -> Result<ordo_ondisk::superblock::search::FoundUfs, Error> {
    let mut read = |at: ordo_ondisk::ByteOff, bytes: &mut [u8]| {
        ram.peek(at.0, bytes);
        Ok(())
    };
    let found = ordo_ondisk::superblock::search::find(&mut read, ram.info().size);
    found.map_err(|error| Error::Mount(error.to_string()))
}

fn geometry(ram: &RamDisk) -> Result<Geometry, Error> {
    Ok(find(ram)?.superblock.geometry())
}

fn requests(events: Vec<Event>) -> Vec<Request> {
    let begin = |event| match event {
        Event::Begin { op, at, parts, .. } => {
            let parts = parts.iter().map(|part| (part.len, part.tag.kind)).collect();
            Some(Request { op, at: at.0, parts })
        }
        Event::End { .. } => None,
    };
    events.into_iter().filter_map(begin).collect()
}

/// Computes what is expected (G2).
struct Model<'m> {
    player: Player<'m, MemFs>,
    /// The volume was full; the model never is.
    full: bool,
}

impl Model<'_> {
    /// Plays the set-up on `base` and unmounts it.
    fn set_up(&mut self, plan: &Plan, base: &RamDisk) -> Result<(), Error> {
        // Of another seed: a mount gives its log a random name, and no two mounts have the same one.
        let rt = Rt::virtual_time(plan.budget.seed ^ SET_UP);
        let mounted =
            mount(&rt, base, plan.subject.split().disks(Rc::new(base.clone())), plan.subject.order()?, false)?;
        let fs = mounted.fs().clone();
        let mut player = Player::new(&*fs, root());
        for op in &plan.script.setup {
            let outcome = rt.block_on(player.apply(op));
            self.agrees(op, &outcome)?;
        }
        drop(player);
        drop(fs);
        rt.block_on(mounted.unmount()).map_err(|error| Error::Run(format!("unmount: {error}")))?;
        rt.drop_tasks();
        Ok(())
    }

    fn agrees(&mut self, op: &Op, outcome: &Outcome) -> Result<(), Error> {
        match outcome {
            Outcome::Failed(why) => return Err(Error::Run(format!("{op}: {why}"))),
            Outcome::Refused(Refusal::NoSpace) => self.full = true,
            _ => {}
        }
        if !self.full {
            let right = ordo_model::ready(self.player.apply(op));
            if std::mem::discriminant(outcome) != std::mem::discriminant(&right) {
                return Err(Error::Model { call: op.to_string(), what: format!("{outcome:?}, the model {right:?}") });
            }
        }
        Ok(())
    }
}
