//! A file trace, done again on a modelled drive in virtual time, under a scheme of the engine.
//!
//! R1. An open model, as the simulator's: a call comes at its time, and what counts is how long it takes from then. It
//!     waits for calls before it on the same thing (`order`), and that counts.
//! R2. The volume is new, and has what the trace found there (`before`), with zeros for contents. The cache is empty.
//! R3. What the simulator takes for a request is a request here, so that the two can be compared. Syncs are counted
//!     apart; everything else is done, and not counted.
//! R4. A call that was refused is not done again, unless it only asks. One that was done and is refused here counts.
//! R5. The CPU takes no time: only the drive does.

mod before;
mod order;

use crate::error::{LabError, Result};
use crate::machine::Machine;
use ordo_drive::{DiskProfile, Kind as DriveKind, Location};
use ordo_filetrace::{Call, Cast, Found, Op};
use ordo_sim::{Seeks, summary};
use ordo_simdisk::{Service, SimDisk};
use ordo_vfs::{
    Caller, Entry, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, SetAttr, Whence,
    XattrMode,
};
use ordofs::disk::{Disk, DiskOp, Frozen};
use ordofs::rt::sync::Notify;
use ordofs::rt::{Rt, Time};
use ordofs::schemes::{self, Settings};
use ordofs::{Fs, LFS_SCHEME, LogKind, MountOptions, Mounted, Notices, Tuning, locate_on};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;

/// The scheme under which a volume is prepared.
const PREPARES: &str = "async";
const WHO: Caller = Caller { uid: 0, gid: 0, umask: 0, privileged: true };
const SECTOR: u64 = 512;
/// The longest trace: virtual time is worked through second by second.
const LONGEST_US: u64 = 31 * 86_400 * 1_000_000;

/// What is replayed, and where.
#[derive(Debug, Clone)]
pub struct Replay<'a> {
    /// The machine: its drive and its memory. Its CPU costs nothing.
    pub machine: &'a Machine,
    /// The scheme's name, or that of a log-structured volume.
    pub scheme: &'a str,
    /// Its settings.
    pub settings: Settings,
    /// Bytes of the volume; `None` for the whole drive.
    pub size: Option<u64>,
    /// What is on the volume before is adopted by its active journal, if it has one: its checksums are known.
    pub adopted: bool,
    /// The trace.
    pub cast: &'a Cast,
}

/// The result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Replayed {
    /// Calls that were done.
    pub calls: usize,
    /// Requests (R3).
    pub requests: usize,
    /// Their mean response time in milliseconds.
    pub mean_response_ms: f64,
    /// 95 per cent took at most so long.
    pub p95_ms: f64,
    /// The longest.
    pub max_ms: f64,
    /// Syncs, and their mean response time in milliseconds.
    pub syncs: usize,
    /// See above.
    pub mean_sync_ms: f64,
    /// Calls that were done in the trace, and refused here (R4).
    pub refused: usize,
    /// Requests to the drive.
    pub reads: u64,
    /// See above.
    pub writes: u64,
    /// Movements of its arm until the last call was done.
    pub seeks: Seeks,
    /// Of an active journal: fragments in replicas at the end, and reads that were served from one.
    pub replicas: Option<(u64, u64)>,
}

impl Replay<'_> {
    /// Replays it.
    ///
    /// # Errors
    /// What the drive, the volume or the scheme refuses; a volume on which what was there before has no room; a trace
    /// that is too long.
    pub fn run(&self) -> Result<Replayed> {
        if self.cast.calls.iter().any(|call| call.at_us > LONGEST_US) {
            return Err(LabError::Program("the trace lasts longer than 31 days".into()));
        }
        let prepared = self.prepare()?;
        let rt = Rt::virtual_time(1);
        let drive = SimDisk::tagged(&rt, self.machine.profile()?, self.machine.tags);
        drive.contents().begin_with(&prepared);
        if !self.keeps_contents() {
            drive.times_only();
        }
        let outcome = self.on(&rt, &drive);
        // Tasks hold the executor, and through it all memory of the run.
        rt.drop_tasks();
        outcome
    }

    fn keeps_contents(&self) -> bool {
        self.settings.data == Some(schemes::DataMode::Journal) || self.scheme == LFS_SCHEME || self.scheme == "active"
    }

    /// The volume as it was before (R2).
    fn prepare(&self) -> Result<Frozen> {
        let rt = Rt::virtual_time(1);
        let drive = SimDisk::tagged(&rt, self.machine.profile()?, self.machine.tags);
        let ram = drive.contents().clone().volatile(false).with(|info| {
            info.immediate = true;
            info.times_only = !self.keeps_contents();
        });
        let disk: Rc<dyn Disk> = Rc::new(ram.clone());
        let made = (|| {
            let size = self.machine.volume_size(self.size, disk.info().size);
            let files = self.cast.objects.iter().fold(0, |sum: u64, object| sum.saturating_add(object.size));
            if files > size {
                return Err(LabError::Program("what the trace found there has no room on the volume".into()));
            }
            match self.scheme {
                LFS_SCHEME => self.machine.make_lfs(size).create_on(&rt, disk.clone(), false)?,
                _ => self.machine.make(size).create_on(&rt, disk.clone(), true)?,
            }
            let mounted =
                self.mount(&rt, disk.clone(), if self.scheme == LFS_SCHEME { LFS_SCHEME } else { PREPARES })?;
            rt.block_on(before::make(&**mounted.fs(), self.cast))?;
            rt.block_on(mounted.unmount())?;
            if let Some(kind) = schemes::by_name(self.scheme).and_then(schemes::Known::wants_log) {
                Tuning::for_log(kind).apply_on(&rt, disk.clone())?;
                if self.adopted && kind == LogKind::Active {
                    ordofs::scrub_and_adopt(&rt, locate_on(&rt, disk.clone())?, &Notices::default())?;
                }
            }
            Ok::<_, LabError>(())
        })();
        rt.drop_tasks();
        made.map(|()| ram.frozen())
    }

    fn mount(&self, rt: &Rt, disk: Rc<dyn Disk>, scheme: &str) -> Result<Mounted> {
        let settings = if scheme == self.scheme { self.settings.clone() } else { Settings::default() };
        let options = MountOptions {
            scheme: Some(scheme.to_owned()),
            cache: self.machine.memory,
            settings,
            policy: self.machine.policy,
            ..MountOptions::default()
        };
        Ok(rt.block_on(Mounted::mount(rt, locate_on(rt, disk)?, &options))?)
    }

    fn on(&self, rt: &Rt, drive: &SimDisk) -> Result<Replayed> {
        let mounted = self.mount(rt, Rc::new(drive.clone()), self.scheme)?;
        drive.note_services();
        let stage = Rc::new(Stage::new(rt, mounted.fs().clone(), self.cast));
        rt.block_on(stage.clone().play(rt));
        let services = drive.take_services();
        stage.leave();
        if let Some(why) = mounted.degraded() {
            return Err(LabError::Degraded(why.to_string()));
        }
        let mut replayed = stage.result();
        let is_read = |service: &&Service| service.op == DiskOp::Read;
        replayed.reads = services.iter().filter(is_read).count() as u64;
        replayed.writes = services.len() as u64 - replayed.reads;
        if let DriveKind::Disk(profile) = &self.machine.profile()?.kind {
            replayed.seeks = seeks(profile, &services);
        }
        replayed.replicas = mounted.active().map(|state| (state.replicas, state.from_replica));
        drop(stage);
        rt.block_on(mounted.unmount())?;
        Ok(replayed)
    }
}

/// The movements of the arm, counted as the simulator does.
fn seeks(profile: &DiskProfile, services: &[Service]) -> Seeks {
    let (mut seeks, mut arm) = (Seeks::default(), Location::default());
    for service in services.iter().filter(|service| !(service.op == DiskOp::Read && service.buffered)) {
        let to = profile.geometry.locate(service.place.0 / SECTOR);
        let cylinders = to.cylinder.abs_diff(arm.cylinder);
        seeks.count(cylinders, profile.seek.time(cylinders, to.head != arm.head, service.op != DiskOp::Read));
        arm = profile.geometry.locate((service.place.0 + service.len) / SECTOR - 1);
    }
    seeks
}

/// The calls under way.
struct Stage {
    fs: Rc<Fs>,
    cast: Cast,
    places: HashMap<u32, (u32, Vec<u8>)>,
    waits: Vec<Vec<u32>>,
    began: Time,
    over: Vec<(Cell<bool>, Notify)>,
    left: Cell<usize>,
    last: Notify,
    /// The node of each object, and how many lookups of it are out.
    live: RefCell<HashMap<u64, (NodeId, u64)>>,
    responses: RefCell<Vec<f64>>,
    syncs: RefCell<Vec<f64>>,
    calls: Cell<usize>,
    refused: Cell<usize>,
}

impl Stage {
    fn new(rt: &Rt, fs: Rc<Fs>, cast: &Cast) -> Stage {
        let calls = cast.calls.len();
        Stage {
            fs,
            cast: cast.clone(),
            places: before::places(cast),
            waits: order::of(cast),
            began: rt.now(),
            over: (0..calls).map(|_| Default::default()).collect(),
            left: Cell::new(calls),
            last: Notify::new(),
            live: RefCell::default(),
            responses: RefCell::default(),
            syncs: RefCell::default(),
            calls: Cell::new(0),
            refused: Cell::new(0),
        }
    }

    async fn play(self: Rc<Stage>, rt: &Rt) {
        for at in 0..self.cast.calls.len() {
            rt.sleep_until(self.time(at)).await;
            let (stage, clock) = (self.clone(), rt.clone());
            rt.spawn(async move { stage.turn(&clock, at).await });
        }
        while self.left.get() > 0 {
            self.last.notified().await;
        }
    }

    fn time(&self, at: usize) -> Time {
        self.began + Duration::from_micros(self.cast.calls[at].at_us)
    }

    /// One call, from its time to its end.
    async fn turn(&self, rt: &Rt, at: usize) {
        let call = &self.cast.calls[at];
        for wait in &self.waits[at] {
            let (over, told) = &self.over[*wait as usize];
            while !over.get() {
                told.notified().await;
            }
        }
        if call.is_done() || matches!(call.op, Op::Lookup | Op::Getattr | Op::Getxattr) {
            let outcome = self.call(call).await;
            self.calls.set(self.calls.get() + 1);
            self.refused.set(self.refused.get() + usize::from(outcome.is_err() && call.is_done()));
            let ms = rt.now().since(self.time(at)).as_secs_f64() * 1e3;
            if matches!(call.op, Op::Fsync | Op::Syncfs) {
                self.syncs.borrow_mut().push(ms);
            } else if ordo_sim::trace::is_request(call, &self.cast) {
                self.responses.borrow_mut().push(ms);
            }
        }
        self.over[at].0.set(true);
        self.over[at].1.notify_all();
        self.left.set(self.left.get() - 1);
        if self.left.get() == 0 {
            self.last.notify_all();
        }
    }

    /// The node of an object. One that no lookup has found yet is looked up where it was.
    async fn node(&self, object: u64) -> ordo_vfs::Result<NodeId> {
        let mut way = Vec::new();
        let mut at = object;
        let mut node = loop {
            let live = self.live.borrow().get(&at).map(|live| live.0);
            match (live, self.places.get(&(at as u32))) {
                (Some(node), _) => break node,
                _ if at == 0 => break self.fs.root(),
                (None, None) => return Err(Refusal::NotFound.into()),
                (None, Some((directory, name))) => {
                    way.push((at, name));
                    at = u64::from(*directory);
                }
            }
        };
        for (at, name) in way.into_iter().rev() {
            let entry = self.fs.lookup(node, Name::new(name)?).await?;
            node = self.found(at, entry);
        }
        Ok(node)
    }

    fn found(&self, object: u64, entry: Entry) -> NodeId {
        let mut live = self.live.borrow_mut();
        let known = live.entry(object).or_insert((entry.node, 0));
        if known.0 == entry.node {
            known.1 += 1;
        } else {
            // The name leads to another file here: it is not the object that the trace means.
            self.fs.forget(entry.node, 1);
        }
        known.0
    }

    fn forget(&self, object: u64, count: u64) {
        let mut live = self.live.borrow_mut();
        if let Some((node, held)) = live.get_mut(&object) {
            let (node, count) = (*node, count.min(*held));
            *held -= count;
            if *held == 0 {
                live.remove(&object);
            }
            if count > 0 {
                self.fs.forget(node, count);
            }
        }
    }

    /// Gives everything back.
    fn leave(&self) {
        let objects: Vec<u64> = self.live.borrow().keys().copied().collect();
        objects.into_iter().for_each(|object| self.forget(object, u64::MAX));
    }

    fn made(&self, found: Option<Found>, entry: Entry) {
        match found {
            Some(found) => drop(self.found(found.node, entry)),
            None => self.fs.forget(entry.node, 1),
        }
    }

    async fn call(&self, call: &Call) -> ordo_vfs::Result<()> {
        let fs = &*self.fs;
        let name = || Name::new(&call.name);
        match call.op {
            Op::Forget => self.forget(call.node, call.len),
            Op::Statfs => drop(fs.statfs().await?),
            Op::Syncfs => fs.syncfs().await?,
            _ => {
                let node = self.node(call.node).await?;
                match call.op {
                    Op::Lookup | Op::Entry => self.made(call.found(), fs.lookup(node, name()?).await?),
                    Op::Unlink => fs.unlink(node, name()?).await?,
                    Op::Rmdir => fs.rmdir(node, name()?).await?,
                    Op::Create | Op::Mkdir | Op::Symlink | Op::Tmpfile => self.make(call, node).await?,
                    Op::Link => {
                        let entry = fs.link(self.node(call.to).await?, node, name()?).await?;
                        self.found(call.to, entry);
                    }
                    Op::Rename => {
                        let mode = match call.how {
                            0 => RenameMode::Replace,
                            1 => RenameMode::NoReplace,
                            _ => RenameMode::Exchange,
                        };
                        let to = self.node(call.to).await?;
                        fs.rename(node, name()?, to, Name::new(&call.to_name)?, mode).await?;
                    }
                    _ => self.on_file(call, node).await?,
                }
            }
        }
        Ok(())
    }

    async fn make(&self, call: &Call, node: NodeId) -> ordo_vfs::Result<()> {
        let fs = &*self.fs;
        let entry = match call.op {
            Op::Mkdir => fs.mkdir(&WHO, node, Name::new(&call.name)?, Mode::new(0o755)).await?,
            Op::Symlink => fs.symlink(&WHO, node, Name::new(&call.name)?, &before::target(call.len)).await?,
            Op::Tmpfile => fs.tmpfile(&WHO, node, Mode::new(0o644)).await?,
            _ => fs.mknod(&WHO, node, Name::new(&call.name)?, Kind::Regular, Mode::new(0o644), 0).await?,
        };
        self.made(call.found(), entry);
        Ok(())
    }

    async fn on_file(&self, call: &Call, node: NodeId) -> ordo_vfs::Result<()> {
        let fs = &*self.fs;
        match call.op {
            Op::Getattr | Op::Flags => drop(fs.getattr(node).await?),
            Op::Readlink => drop(fs.readlink(node).await?),
            Op::Read => drop(fs.read(node, call.offset, call.len.min(u32::MAX.into()) as u32).await?),
            Op::Write => self.write(node, call).await?,
            Op::Setattr if call.how & 1 != 0 => {
                fs.setattr(node, &SetAttr { size: Some(call.len), ..SetAttr::default() }).await?;
            }
            // Which attributes it sets is not in the trace; a change of the mode writes the inode, as each does.
            Op::Setattr => {
                let mode = Some(fs.getattr(node).await?.mode);
                fs.setattr(node, &SetAttr { mode, ..SetAttr::default() }).await?;
            }
            Op::Fallocate => {
                let keep_size = call.how & 1 != 0;
                let mode = match call.how & !1 {
                    0 => FallocMode::Allocate { keep_size },
                    2 => FallocMode::PunchHole,
                    _ => FallocMode::ZeroRange { keep_size },
                };
                fs.fallocate(&WHO, node, call.offset, call.len, mode).await?;
            }
            Op::Copy => {
                let to = self.node(call.to).await?;
                fs.copy_range(&WHO, node, call.offset, to, call.to_offset, call.len).await?;
            }
            Op::Seek => {
                let whence = if call.how == 3 { Whence::Data } else { Whence::Hole };
                fs.seek(node, call.offset, whence).await?;
            }
            Op::Readdir => fs.readdir(node, 0, &mut |_| true).await?,
            Op::Fsync => fs.fsync(node, call.how & 1 != 0).await?,
            Op::Setxattr => {
                let value = vec![0; call.len.min(64 << 10) as usize];
                fs.setxattr(&WHO, node, &call.name, &value, XattrMode::Set).await?;
            }
            Op::Getxattr => match fs.getxattr(node, &call.name).await {
                Ok(_) | Err(Error::Refused(_)) => {}
                Err(other) => return Err(other),
            },
            Op::Listxattr => drop(fs.listxattr(node).await?),
            Op::Removexattr => fs.removexattr(node, &call.name).await?,
            _ => {}
        }
        Ok(())
    }

    async fn write(&self, node: NodeId, call: &Call) -> ordo_vfs::Result<()> {
        /// The most that is written at once.
        const PIECE: u64 = 1 << 20;
        let zeros = vec![0; call.len.min(PIECE) as usize];
        let mut done = 0;
        while done < call.len {
            let piece = &zeros[..(call.len - done).min(PIECE) as usize];
            done += u64::from(self.fs.write(&WHO, node, call.offset.saturating_add(done), piece).await?);
        }
        Ok(())
    }

    fn result(&self) -> Replayed {
        let (mean_response_ms, p95_ms, max_ms, _) = summary(&mut self.responses.borrow_mut());
        let (mean_sync_ms, ..) = summary(&mut self.syncs.borrow_mut());
        Replayed {
            calls: self.calls.get(),
            requests: self.responses.borrow().len(),
            mean_response_ms,
            p95_ms,
            max_ms,
            syncs: self.syncs.borrow().len(),
            mean_sync_ms,
            refused: self.refused.get(),
            ..Replayed::default()
        }
    }
}
