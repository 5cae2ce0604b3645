//! One run of a workload under a scheme on a modelled machine.
//!
//! X1. The same run gives the same result, to the nanosecond and the byte, on every machine that computes it.
//! X2. The measurement begins with everything prepared on the disk, and a cache that is cold ([`Start::Cold`]) or holds
//!     what the preparation or an earlier run left in it. Preparation does not count in any figure.
//! X3. A user's time ends with its last call. The disk's figures go on until everything that the users caused is on the
//!     disk: under some schemes most of it is not when they end, and a scheme must not look better for leaving more
//!     behind.
//! X4. A cold run begins on a volume that was prepared without it (`Preparation`), on a drive that was just switched
//!     on: of everything before the measurement only the mount is its own. So it is the same run whether it shares the
//!     prepared volume with others or has made it for itself.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use ordo_drive::Profile;
use ordo_simdisk::{Service, SimDisk};
use ordo_vfs::FileSystem;
use ordo_workload::{Cleaning, Counts, Params, PhaseResult, Reading, Session, Values, WorkloadError};
use ordofs::disk::{Counted, Disk, Requests, Slice, Stats};
use ordofs::lfs::Counters;
use ordofs::rt::{Rt, Time};
use ordofs::schemes::{DataMode, Settings};
use ordofs::{AllocInit, LFS_SCHEME, Located, LogKind, MountOptions, Mounted, OpenError, Tuning, locate_on, schemes};

use crate::cpu::{Cpu, Prices, Share, defers};
use crate::error::{LabError, Result};
use crate::log_drive::{LogDrive, UserLog};
use crate::machine::Machine;
use crate::prepared::{Preparation, Prepared, users};
use crate::user::User;
use ordofs::rt::together;

/// Size of a log outside of the volume, in bytes: what `ordo tune -o log=on` gives the largest volumes.
const LOG: u64 = 128 << 20;

/// Where the log of a scheme is, and that of a program that keeps one (`tpcb`); each has a drive of its own where logs
/// have one. No effect on schemes without one, nor on `suj`, whose log is always a file of the volume. A program's log
/// that has no drive is a file of the volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LogPlace {
    /// In a file of the volume.
    #[default]
    Volume,
    /// In a partition of its own behind the volume, on the same drive.
    Behind,
    /// On a second drive of the same kind.
    Drive,
    /// In non-volatile memory: the drive `nvram`.
    Nvram,
}

/// The drive profile of that memory.
const NVRAM: &str = "nvram";

/// The drive of the volume, and that of the log.
type Disks = (Rc<dyn Disk>, Option<Rc<dyn Disk>>);

/// The contents of the cache when the measured part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Empty: the volume was just mounted.
    Cold,
    /// What the preparation left there, all of it clean.
    Warm,
    /// What an earlier run of the same program, a shorter one ([`Params::for_rehearsal`]), left there, cleaned up
    /// afterwards: inodes and maps are cached.
    Again,
}

/// One run.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// The scheme's name; that of a log-structured volume chooses this layout.
    pub scheme: &'a str,
    /// Settings of the scheme; `allocinit` has the field below.
    pub settings: Settings,
    /// Where the scheme's log is.
    pub log: LogPlace,
    /// What is initialised on the disk before pointers to it; `None` for the scheme's default.
    pub alloc_init: Option<AllocInit>,
    /// The program's name.
    pub workload: &'a str,
    /// Its parameters; trees and random orders differ between users.
    pub params: Params,
    /// Concurrent programs, each in a directory of its own.
    pub users: u32,
    /// Cold or warm.
    pub start: Start,
    /// Size of the volume in bytes; `None` for the machine's.
    pub size: Option<u64>,
    /// What differs between repeated runs: the time at which the users begin, within the period of the syncer and the
    /// revolution of the drive.
    pub seed: u64,
    /// Keep a record of every request that the drive served.
    pub services: bool,
    /// What the users have left in memory is written by a sync at once, which is measured ([`Outcome::sync`]). `false`:
    /// by the syncer, when it is old enough (X3).
    pub sync: bool,
}

/// The results of a run.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Each user's phases.
    pub users: Vec<Vec<PhaseResult>>,
    /// From the first user's start to the last one's end.
    pub elapsed: Duration,
    /// Each user's elapsed time.
    pub user_elapsed: Vec<Duration>,
    /// CPU time charged to users, in total.
    pub cpu: Duration,
    /// Requests at the queue of the volume's disk, until everything was on it (X3).
    pub disk: Stats,
    /// Counters of drives, cache and scheme, as a bench shows them.
    pub counts: Counts,
    /// The sync after the work, if one was asked for. What it cost is in `cpu`, `disk` and `counts`, too.
    pub sync: Option<PhaseResult>,
    /// Time until everything was on the disk.
    pub drained: Duration,
    /// Time until the last block was free, to the second; zero if none became free after the last call.
    pub freed: Duration,
    /// The drive's requests one by one, if requested.
    pub services: Vec<Service>,
    /// Cylinders of the drive.
    pub cylinders: u32,
}

impl Outcome {
    /// The mean over the users of their elapsed time, in seconds.
    pub fn mean_elapsed(&self) -> f64 {
        let sum: f64 = self.user_elapsed.iter().map(Duration::as_secs_f64).sum();
        sum / self.user_elapsed.len().max(1) as f64
    }

    /// The mean over the users of the time of one phase, in seconds.
    pub fn mean_phase(&self, phase: &str) -> Option<f64> {
        let times: Vec<f64> =
            self.users.iter().flatten().filter(|result| result.phase == phase).map(|result| result.seconds).collect();
        (!times.is_empty()).then(|| times.iter().sum::<f64>() / times.len() as f64)
    }

    /// Operations of all users.
    pub fn ops(&self) -> u64 {
        self.users.iter().flatten().map(|phase| phase.ops).sum()
    }

    /// Requests to the disk that the file system made, before neighbours were merged.
    pub fn requests(&self) -> u64 {
        self.disk.reads + self.disk.writes
    }

    /// Mean time from a request's issue to its completion, in milliseconds.
    pub fn response_ms(&self) -> f64 {
        self.disk.response.as_secs_f64() * 1e3 / self.requests().max(1) as f64
    }

    /// Mean time from the drive's acceptance of a request to its completion, in milliseconds.
    pub fn service_ms(&self) -> f64 {
        self.disk.service.as_secs_f64() * 1e3 / self.disk.transfers.max(1) as f64
    }
}

impl Start {
    /// How the papers began this program: what is removed was made just before, throughput was measured repeatedly,
    /// everything else comes from the disk.
    pub fn of(workload: &str) -> Start {
        match workload {
            "remove-tree" | "remove-files" => Start::Warm,
            "create-files" | "create-remove" => Start::Again,
            _ => Start::Cold,
        }
    }
}

impl Run<'_> {
    /// Runs the workload.
    ///
    /// # Errors
    /// Unknown or impossible parameters, before anything is done; then errors of the file system.
    pub fn run(&self) -> Result<Outcome> {
        let prepared = self.preparation().map(|preparation| preparation.make()).transpose()?;
        self.run_on(prepared.as_ref())
    }

    /// What the volume must hold, which can be made once for all runs that need the same; `None` where the run has to
    /// make it itself: it needs the cache of its preparation, or it is about the layout.
    pub(crate) fn preparation(&self) -> Option<Preparation> {
        (self.start == Start::Cold && self.scheme != LFS_SCHEME).then(|| Preparation {
            machine: self.machine.clone(),
            size: self.size,
            log: self.wants_log().filter(|_| self.log_place() == LogPlace::Volume),
            workload: self.workload.to_owned(),
            params: self.params.clone(),
            users: self.users,
        })
    }

    /// Runs the workload on what was made of its [`Run::preparation`].
    ///
    /// # Errors
    /// As [`Run::run`].
    pub(crate) fn run_on(&self, prepared: Option<&Prepared>) -> Result<Outcome> {
        let rt = Rt::virtual_time(self.seed);
        let drive = SimDisk::tagged(&rt, self.machine.profile()?, self.machine.tags);
        let (disk, requests) = Counted::count(Rc::new(drive.clone()));
        let log: Option<Rc<dyn Disk>> = match self.log_place() {
            LogPlace::Volume => None,
            LogPlace::Behind => Some(behind(&disk, self.machine.volume_size(self.size, disk.info().size))?),
            LogPlace::Drive => Some(self.drive_for_log(&rt, &self.machine.drive, self.machine.tags, &requests)?),
            LogPlace::Nvram => Some(self.drive_for_log(&rt, NVRAM, 1, &requests)?),
        };
        match prepared {
            Some(prepared) => prepared.put_on(&drive),
            None => self.make(&rt, &disk)?,
        }
        if !self.needs_contents() {
            drive.times_only();
        }
        let own_log = self.drive_for_own_log(&rt, &requests)?;
        let has_work = prepared.is_some_and(|prepared| prepared.has_work);
        let outcome = self.on(&rt, &drive, (disk, log), own_log.as_ref(), &requests, has_work);
        // Tasks hold the executor, and through it all memory of the run.
        rt.drop_tasks();
        outcome
    }

    /// Whether the contents of files must be kept: the machine does so anyway, a log holds changes of them, or they
    /// share their writes with metadata.
    fn needs_contents(&self) -> bool {
        let in_log = self.settings.data == Some(DataMode::Journal);
        self.machine.keeps_contents || in_log || self.scheme == LFS_SCHEME
    }

    /// Makes an empty volume.
    fn make(&self, rt: &Rt, disk: &Rc<dyn Disk>) -> Result<()> {
        let size = self.machine.volume_size(self.size, disk.info().size);
        match self.scheme {
            LFS_SCHEME => self.machine.make_lfs(size).create_on(rt, disk.clone(), false)?,
            _ => self.machine.make(size).create_on(rt, disk.clone(), true)?,
        }
        if let Some(kind) = self.wants_log().filter(|_| self.log_place() == LogPlace::Volume) {
            Tuning::for_log(kind).apply_on(rt, disk.clone())?;
        }
        Ok(())
    }

    /// Where the log is, if there is one that has a choice.
    fn log_place(&self) -> LogPlace {
        if self.wants_log() == Some(LogKind::Redo) { self.log } else { LogPlace::Volume }
    }

    fn wants_log(&self) -> Option<LogKind> {
        schemes::by_name(self.scheme).and_then(schemes::Known::wants_log)
    }

    /// Starts a second drive, which works independently.
    fn drive_for_log(&self, rt: &Rt, name: &str, tags: u32, requests: &Rc<Cell<Requests>>) -> Result<Rc<dyn Disk>> {
        let drive = SimDisk::tagged(rt, Profile::named(name)?, tags);
        let size = drive.info().size.min(LOG);
        let log = Slice::new(Counted::beside(Rc::new(drive), requests), 0, size).map_err(OpenError::from)?;
        Ok(Rc::new(log))
    }

    /// A drive for the program's own log, if it keeps one and logs are apart.
    fn drive_for_own_log(&self, rt: &Rt, requests: &Rc<Cell<Requests>>) -> Result<Option<LogDrive>> {
        let (name, tags) = match self.log {
            LogPlace::Volume | LogPlace::Behind => return Ok(None),
            LogPlace::Drive => (&*self.machine.drive, self.machine.tags),
            LogPlace::Nvram => (NVRAM, 1),
        };
        let program = ordo_workload::find(self.workload)?;
        let bytes = Values::new(&program, &self.params)?.get("log");
        match bytes {
            0 => Ok(None),
            _ => Ok(Some(LogDrive::new(self.drive_for_log(rt, name, tags, requests)?))),
        }
    }

    fn on(
        &self,
        rt: &Rt,
        drive: &SimDisk,
        disks: Disks,
        own_log: Option<&LogDrive>,
        requests: &Cell<Requests>,
        prepared: bool,
    ) -> Result<Outcome> {
        let users = users(self.workload, &self.params, self.users)?;
        let mut mounted = self.mount(rt, disks.clone())?;
        if !prepared {
            rt.block_on(self.prepare(&mounted, &users))?;
            if self.start == Start::Cold {
                rt.block_on(mounted.unmount())?;
                mounted = self.mount(rt, disks)?;
            }
        }
        rt.block_on(self.measured(rt, drive, own_log, requests, Rc::new(mounted), &users))
    }

    /// Makes everything that the users need, and writes it.
    async fn prepare(&self, mounted: &Mounted, users: &[(String, Params)]) -> Result<()> {
        let session = Session::new(&**mounted.fs());
        let prepared = users.iter().map(|(base, params)| ordo_workload::prepare(self.workload, &session, base, params));
        match self.start {
            // One user after the other: the files of each are then close together, as after long use.
            Start::Cold => {
                for user in prepared {
                    user.await?;
                }
            }
            // All users concurrently, as if they had just done it: none has more of the cache than another.
            Start::Warm => all(prepared).await?,
            Start::Again => {
                all(users.iter().map(|(base, params)| self.rehearse(&session, base, params))).await?;
                all(prepared).await?;
            }
        }
        Ok(mounted.fs().syncfs().await?)
    }

    /// Runs the program once, for what it leaves in the cache.
    async fn rehearse<F: FileSystem>(
        &self,
        session: &Session<'_, F>,
        base: &str,
        params: &Params,
    ) -> std::result::Result<(), WorkloadError> {
        let params = &params.for_rehearsal(&ordo_workload::find(self.workload)?);
        ordo_workload::prepare(self.workload, session, base, params).await?;
        ordo_workload::work(self.workload, session, base, params, &Reading::default).await?;
        ordo_workload::clean(self.workload, session, base, params).await
    }

    async fn measured(
        &self,
        rt: &Rt,
        drive: &SimDisk,
        own_log: Option<&LogDrive>,
        requests: &Cell<Requests>,
        mounted: Rc<Mounted>,
        users: &[(String, Params)],
    ) -> Result<Outcome> {
        let prices = Prices::new(self.machine.costs, self.scheme, self.alloc_init == Some(AllocInit::All));
        let cpu = Cpu::new(rt, mounted.clone(), prices, users.len());
        rt.sleep(Duration::from_nanos(rt.rng().below(30_000_000_000))).await;
        if self.services {
            drive.note_services();
        }
        let so_far = || counts(&mounted, requests.get());
        let (start, queue, before) = (rt.now(), mounted.cache().queue_stats(), so_far());
        let shares: Vec<Share> = users.iter().map(|_| Share::new(&cpu)).collect();
        let users = users.iter().zip(&shares);
        let results = together(
            users.map(|((base, params), share)| self.user(rt, &mounted, base, params, (share, own_log), &so_far)),
        )
        .await;
        let elapsed = rt.now() - start;
        let sync = match shares.first().filter(|_| self.sync) {
            Some(share) => {
                let (fs, meter) = (User::new(&**mounted.fs(), share), || reading(rt, share, so_far()));
                Some(ordo_workload::sync(&Session::new(&fs), &meter).await?)
            }
            None => None,
        };
        let freed = drain(rt, &mounted).await.map_or(Duration::ZERO, |at| at - start);
        mounted.fs().syncfs().await?;
        let mut outcome = Outcome {
            elapsed,
            cpu: shares.iter().map(Share::used).sum(),
            disk: mounted.cache().queue_stats().since(&queue),
            counts: so_far().since(&before),
            sync,
            drained: rt.now() - start,
            freed,
            services: drive.take_services(),
            cylinders: drive.cylinders(),
            ..Outcome::default()
        };
        if let Some(why) = mounted.degraded() {
            return Err(LabError::Degraded(why.to_string()));
        }
        for result in results {
            let (phases, time) = result?;
            outcome.users.push(phases);
            outcome.user_elapsed.push(time);
        }
        Ok(outcome)
    }

    async fn user(
        &self,
        rt: &Rt,
        mounted: &Mounted,
        base: &str,
        params: &Params,
        (share, own_log): (&Share, Option<&LogDrive>),
        counts: &dyn Fn() -> Counts,
    ) -> Result<(Vec<PhaseResult>, Duration)> {
        let mut fs = User::new(&**mounted.fs(), share).in_pieces_of(self.machine.piece);
        if self.alloc_init == Some(AllocInit::All) && self.machine.zeroes_first && !defers(self.scheme) {
            fs = fs.zeroes_first(mounted.space().block_size);
        }
        let log = own_log.map(|drive| UserLog { drive, share });
        let session = Session::with_compute(&fs, share);
        let session = match &log {
            Some(log) => session.with_own_log(log),
            None => session,
        };
        let start = rt.now();
        let meter = || reading(rt, share, counts());
        let phases = ordo_workload::work(self.workload, &session, base, params, &meter).await?;
        Ok((phases, rt.now() - start))
    }

    fn mount(&self, rt: &Rt, (disk, log): Disks) -> Result<Mounted> {
        let options = MountOptions {
            scheme: Some(self.scheme.to_owned()),
            cache: self.machine.memory,
            settings: Settings { alloc_init: self.alloc_init, ..self.settings.clone() },
            policy: self.machine.policy,
            ..MountOptions::default()
        };
        let located = Located { log: log.map(Into::into), ..locate_on(rt, disk)? };
        Ok(rt.block_on(Mounted::mount(rt, located, &options))?)
    }
}

fn reading(rt: &Rt, share: &Share, counts: Counts) -> Reading {
    Reading { elapsed: rt.now().since(Time::ZERO), cpu: share.used(), own_cpu: share.own(), counts }
}

/// The partition for a log behind a volume of `size` bytes: the last one of the disk.
fn behind(disk: &Rc<dyn Disk>, size: u64) -> Result<Rc<dyn Disk>> {
    let len = LOG.min(disk.info().size.saturating_sub(size));
    Ok(Rc::new(Slice::new(disk.clone(), disk.info().size - len, len).map_err(OpenError::from)?))
}

/// All results, or the first failure.
async fn all<E>(
    stages: impl Iterator<Item = impl Future<Output = std::result::Result<(), E>>>,
) -> std::result::Result<(), E> {
    together(stages).await.into_iter().collect()
}

/// Waits until the syncer has written what the users left (X3). A sync would send all of it at once, and the queueing
/// delay would count as the requests' own. Returns when the last block became free.
async fn drain(rt: &Rt, mounted: &Mounted) -> Option<Time> {
    let free = || mounted.space().free_frags.saturating_sub(mounted.cache().ledger().frags());
    let (mut before, mut freed) = (free(), None);
    for _ in 0..PATIENCE.as_secs() {
        if mounted.cache().stats().dirty_bytes == 0 && mounted.cache().queue_stats().depth == 0 {
            break;
        }
        rt.sleep(Duration::from_secs(1)).await;
        if free() > before {
            freed = Some(rt.now());
        }
        before = free();
    }
    freed
}

/// A scheme may hold something back until a sync: then one is called.
const PATIENCE: Duration = Duration::from_secs(300);

/// What cleaning has cost so far, on a log-structured volume.
pub fn cleaning(mounted: &Mounted) -> Option<Cleaning> {
    let Counters { segments_cleaned, segments_read, segments_written, write_cost, .. } = mounted.lfs()?.counters;
    Some(Cleaning { segments_cleaned, segments_read, segments_written, write_cost })
}

/// The counters of drive, cache and scheme so far.
fn counts(mounted: &Mounted, requests: Requests) -> Counts {
    let cache = mounted.cache().stats();
    Counts {
        disk_reads: requests.reads,
        disk_writes: requests.writes,
        bytes_written: requests.bytes_written,
        rollbacks: cache.rollbacks,
        waits: cache.waits,
        flushes: requests.flushes,
        scheme: mounted.cache().capabilities().counters().into_iter().collect(),
        cleaning: cleaning(mounted),
    }
}
