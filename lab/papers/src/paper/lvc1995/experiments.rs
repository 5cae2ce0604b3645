//! The experiments, and what is kept of each run.
//!
//! Z1. The steps of a benchmark follow each other on one mount, as the paper ran them: only what no longer fits into
//!     the buffers is read again.
//! Z2. With the cleaner the log begins with all free segments used up once: before that there is nothing to clean.

use super::systems::{BEYOND, Disk, LFS, M8R0, System, THREE, VALIDATED, VARIED};
use crate::error::Result;
use crate::paper::parallel;
use crate::{LogPlace, Machine, Outcome, Run, Start};
use ordo_workload::{Cleaning, Params, PhaseResult};
use std::collections::{BTreeMap, BTreeSet};

/// Sizes of files in section 3, in KB. Twelve blocks of 8 KB are 96 KB: above that a file has an indirect block.
pub(super) const KIB: [u32; 15] = [1, 2, 4, 8, 16, 32, 64, 96, 104, 128, 256, 512, 1024, 2048, 4096];

/// Sizes at which other ways to keep metadata in order are compared, in KB.
pub(super) const BEYOND_KIB: [u32; 4] = [1, 8, 64, 1024];

/// Sizes at which FFS is varied, in KB.
pub(super) const VARIED_KIB: [u32; 4] = [64, 104, 256, 1024];

/// How full the disk is in section 4, in per cent.
pub(super) const FULL: [u32; 4] = [48, 52, 56, 60];

/// The account file, in MiB.
const DATA_BASE: f64 = 238.0;

/// Bytes that the log writes for a transaction (section 4): 700 KB for 115 of them.
const LOG_PER_TRANSACTION: f64 = 700.0 * 1024.0 / 115.0;

/// Transactions that are measured, and those before, which fill the cache of the data base.
pub(super) const TRANSACTIONS: u64 = 5_000;
const WARM: u64 = 1_500;
/// Bytes that a transaction appends to the data base's log: three records of 100 bytes before and after, one of the
/// history, and headers. Assumed.
const LOG_OF_DATA_BASE: u64 = 900;
/// Transactions that one write of that log makes durable.
pub(super) const GROUPS: [u32; 2] = [1, 16];
/// Memory of today's machine where the large file must not fit into it.
const LITTLE: usize = 32 << 20;

/// What is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    /// 10,000 files of 1 KB (section 2, figure 1).
    Small,
    /// One file of 100 MB, and passes over it (section 2, figure 2).
    Large,
    /// Files of so many KB made, read and overwritten (section 3, figures 3 to 5).
    Files(u32),
    /// The same removed, by a system that has just been started (figure 6): the paper says that indirect blocks must
    /// be read.
    Removed(u32),
    /// Transactions on a disk that has room for all that is written (section 4).
    Fresh,
    /// Transactions on a disk that is so full, in per cent; a log is cleaned (section 4, figure 7).
    Full(u32),
    /// The same on a disk with this state, `None` for a fresh one, and with a log of the data base on a drive of its
    /// own, which is written for so many transactions at a time. In section 4 no time passes for it.
    Logged(Option<u32>, u32),
}

impl Work {
    /// The work in which a step with files of so many KB is done.
    pub(super) fn files(step: &str, kib: u32) -> Work {
        if step == "delete" { Work::Removed(kib) } else { Work::Files(kib) }
    }
}

/// What is run three times, from different seeds, for its deviation.
pub(super) const REPEATED: Work = Work::Files(8);
const REPEATS: u64 = 3;

/// The results of one phase.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Phase {
    pub(super) seconds: f64,
    /// CPU time of program and file system over elapsed time.
    pub(super) cpu: f64,
    /// Operations a second.
    pub(super) rate: f64,
    /// Megabytes of contents a second.
    pub(super) mb_s: f64,
    pub(super) ops: f64,
    pub(super) reads: f64,
    pub(super) writes: f64,
    pub(super) bytes_written: f64,
    /// Since the mount.
    pub(super) cleaning: Option<Cleaning>,
}

/// All results: by work, system and disk, each phase by its name.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Of the first seed.
    phases: BTreeMap<(Work, &'static str, Disk), Phases>,
    /// Elapsed seconds of every run of what is repeated.
    repeated: BTreeMap<(Work, &'static str), Vec<f64>>,
}

type Phases = BTreeMap<&'static str, Phase>;

impl Results {
    /// A phase on the paper's disk.
    pub(super) fn phase(&self, work: Work, system: &str, phase: &str) -> Option<&Phase> {
        self.on(work, system, Disk::Theirs, phase)
    }

    pub(super) fn on(&self, work: Work, system: &str, disk: Disk, phase: &str) -> Option<&Phase> {
        let found = self.phases.iter().find(|((w, key, d), _)| *w == work && *key == system && *d == disk)?;
        found.1.get(phase)
    }

    /// The largest standard deviation over mean among the systems, and whose it is.
    pub(super) fn most_varied(&self, work: Work) -> Option<(String, f64)> {
        let of = |((_, system), seconds): (&(Work, &'static str), &Vec<f64>)| {
            let mean = seconds.iter().sum::<f64>() / seconds.len() as f64;
            let square = seconds.iter().map(|second| (second - mean).powi(2)).sum::<f64>() / seconds.len() as f64;
            ((*system).to_owned(), square.sqrt() / mean)
        };
        self.repeated.iter().filter(|((done, _), _)| *done == work).map(of).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}

/// A run to be done.
#[derive(Debug, Clone, Copy)]
struct Job {
    work: Work,
    system: System,
    disk: Disk,
    seed: u64,
}

impl Job {
    /// Bytes of a block: 4 KB in section 4 and under the log in section 2, 8 KB elsewhere.
    fn block(&self) -> u32 {
        match self.work {
            Work::Small | Work::Large if self.system.is_lfs() => 4096,
            Work::Fresh | Work::Full(_) | Work::Logged(..) => 4096,
            _ => 8192,
        }
    }

    fn size(&self) -> Option<u64> {
        match self.work {
            Work::Full(per_cent) | Work::Logged(Some(per_cent), _) => {
                Some((DATA_BASE * 100.0 / f64::from(per_cent)) as u64 * (1 << 20))
            }
            // As large as theirs; the drive has room for a log behind it.
            _ => Some(1000 << 20).filter(|_| self.disk == Disk::Today),
        }
    }

    fn program(&self) -> (&'static str, Params) {
        let set = Params::default();
        let files = |size: u64, count: u64| set.clone().with("size", size).with("files", count).with("per_dir", 100);
        let sized = |kib: u32| files(u64::from(kib) << 10, (32_768 / u64::from(kib)).max(10));
        match self.work {
            Work::Small => ("small-files", files(1024, 10_000)),
            Work::Large => ("large-file", set),
            Work::Files(kib) => ("small-files", sized(kib).with("last", 2)),
            Work::Removed(kib) => ("small-files", sized(kib).with("first", 3)),
            Work::Fresh | Work::Full(_) => ("tpcb", self.tpcb()),
            Work::Logged(_, group) => ("tpcb", self.tpcb().with("log", LOG_OF_DATA_BASE).with("group", group.into())),
        }
    }

    fn tpcb(&self) -> Params {
        let warm = if self.system.is_lfs() { self.used_up() } else { WARM };
        Params::default().with("transactions", TRANSACTIONS).with("warm", warm)
    }

    /// Transactions after which the log has used each free segment once (Z2).
    fn used_up(&self) -> u64 {
        match self.work {
            Work::Full(per_cent) | Work::Logged(Some(per_cent), _) => {
                let free = DATA_BASE * (100.0 / f64::from(per_cent) - 1.0) * f64::from(1 << 20);
                (free / LOG_PER_TRANSACTION) as u64
            }
            _ => WARM,
        }
    }

    fn machine(&self) -> Machine {
        let machine = self.system.machine(self.disk, self.block());
        match (self.work, self.disk) {
            (Work::Large, Disk::Today) => Machine { memory: LITTLE, ..machine },
            _ => machine,
        }
    }

    /// The log of a scheme is behind the volume, and that of the data base on a drive of its own.
    fn log(&self) -> LogPlace {
        if matches!(self.work, Work::Logged(..)) { LogPlace::Drive } else { LogPlace::Behind }
    }

    fn run(&self) -> Result<Phases> {
        let machine = self.machine();
        Ok(phases(&self.on(&machine).run()?))
    }

    fn on<'a>(&self, machine: &'a Machine) -> Run<'a> {
        let (workload, params) = self.program();
        Run {
            machine,
            scheme: self.system.scheme,
            settings: self.system.settings(),
            log: self.log(),
            alloc_init: self.system.alloc_init(),
            workload,
            params,
            users: 1,
            start: Start::Cold,
            size: self.size(),
            seed: self.seed,
            services: false,
            sync: false,
        }
    }
}

fn phases(outcome: &Outcome) -> Phases {
    let of = |phase: &PhaseResult| Phase {
        seconds: phase.seconds,
        cpu: (phase.cpu_seconds + phase.own_cpu_seconds) / phase.seconds,
        rate: phase.rate(),
        mb_s: phase.a_second(phase.bytes) / 1e6,
        ops: phase.ops as f64,
        reads: phase.counts.disk_reads as f64,
        writes: phase.counts.disk_writes as f64,
        bytes_written: phase.counts.bytes_written as f64,
        cleaning: phase.counts.cleaning,
    };
    outcome.users.iter().flatten().map(|phase| (phase.phase, of(phase))).collect()
}

fn jobs(seed: u64) -> Vec<Job> {
    let theirs = |work: Work, system: System| Job { work, system, disk: Disk::Theirs, seed };
    // The long ones first.
    let mut jobs: Vec<Job> = FULL.into_iter().map(|full| theirs(Work::Full(full), LFS)).collect();
    jobs.push(theirs(Work::Fresh, LFS));
    jobs.extend(FULL.into_iter().map(|full| theirs(Work::Full(full), M8R0)));
    for system in VALIDATED {
        jobs.extend([theirs(Work::Small, system), theirs(Work::Large, system)]);
    }
    let files = |kib: u32| [Work::Files(kib), Work::Removed(kib)];
    let sizes = KIB.into_iter().flat_map(files);
    jobs.extend(sizes.flat_map(|work| THREE.map(|system| theirs(work, system))));
    for system in THREE {
        jobs.extend((1..REPEATS).map(|more| Job { seed: seed + more, ..theirs(REPEATED, system) }));
    }
    for system in BEYOND {
        for disk in [Disk::Theirs, Disk::Today] {
            let works = BEYOND_KIB.into_iter().flat_map(files).chain([Work::Large, Work::Full(FULL[0])]);
            jobs.extend(works.map(|work| Job { work, system, disk, seed }));
        }
    }
    for group in GROUPS {
        jobs.push(theirs(Work::Logged(None, group), LFS));
        jobs.extend([LFS, M8R0].map(|system| theirs(Work::Logged(Some(FULL[0]), group), system)));
    }
    jobs.extend(VARIED.into_iter().flat_map(|system| VARIED_KIB.map(|kib| theirs(Work::Files(kib), system))));
    // What several parts need is run once.
    let mut known = BTreeSet::new();
    jobs.retain(|job| known.insert((job.work, job.system.key, job.disk, job.seed)));
    jobs
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run_all(seed: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Results> {
    run_jobs(seed, &jobs(seed), progress)
}

/// Some runs on the paper's disk.
#[cfg(test)]
pub(super) fn run_some(seed: u64, what: &[(Work, System)]) -> Result<Results> {
    let jobs: Vec<Job> =
        what.iter().map(|(work, system)| Job { work: *work, system: *system, disk: Disk::Theirs, seed }).collect();
    run_jobs(seed, &jobs, &|_, _| ())
}

/// The phases of a work on a volume made with this `cpc` in its superblock: cylinders after which tables of the
/// positions on a turn start over, 0 for none.
#[cfg(test)]
pub(super) fn run_with_cpc(work: Work, system: System, cpc: i32) -> Vec<(&'static str, Phase)> {
    use crate::prepared::Prepared;
    use ordofs::disk::{Block, Disk, DiskOff, Kind, RamDisk, Tag, WritePart};
    use ordofs::rt::Rt;
    use std::rc::Rc;
    use std::sync::Arc;

    /// Where a superblock of UFS1 begins, and the field in it.
    const AT: u64 = 8192;
    const FIELD: usize = 856;
    let job = Job { work, system, disk: super::systems::Disk::Theirs, seed: 1 };
    let (machine, rt) = (job.machine(), Rt::virtual_time(1));
    let drive = ordo_drive::Drive::new(machine.profile().expect("a drive")).blocks() * 512;
    let ram = RamDisk::new(drive);
    machine.make(machine.volume_size(None, drive)).create_on(&rt, Rc::new(ram.clone()), true).expect("it fits");
    let mut bytes = Block::zeroed(AT as usize);
    ram.peek(AT, &mut bytes);
    assert_eq!(bytes[FIELD..FIELD + 4], [0; 4], "newfs makes none");
    bytes[FIELD..FIELD + 4].copy_from_slice(&cpc.to_le_bytes());
    let part = WritePart { image: Arc::new(bytes), tag: Tag::of(Kind::Superblock) };
    rt.block_on(ram.write(DiskOff(AT), vec![part], true)).expect("the disk is well");
    let outcome = job.on(&machine).run_on(Some(&Prepared::without_work(ram.frozen()))).expect("it is a volume");
    phases(&outcome).into_iter().collect()
}

fn run_jobs(seed: u64, jobs: &[Job], progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Results> {
    let found = parallel::run_all(jobs, progress, Job::run)?;
    let mut results = Results::default();
    for (job, phases) in jobs.iter().zip(found) {
        if job.work == REPEATED && job.disk == Disk::Theirs {
            let seconds = phases.values().map(|phase: &Phase| phase.seconds).sum();
            results.repeated.entry((job.work, job.system.key)).or_default().push(seconds);
        }
        if job.seed == seed {
            results.phases.insert((job.work, job.system.key, job.disk), phases);
        }
    }
    Ok(results)
}
