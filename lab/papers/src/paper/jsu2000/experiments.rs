//! The experiments: every workload under every system that we have.

use std::collections::{BTreeMap, BTreeSet};

use ordo_simdisk::Service;
use ordo_workload::Params;
use ordofs::disk::{DiskOp, Kind};
use ordofs::{BufCounts, Policy};

use super::systems::{NO_RULE, SYSTEMS, System};
use crate::error::Result;
use crate::paper::parallel;
use crate::prepared::Preparation;
use crate::{Machine, Outcome, Run, Start};

/// A step of the benchmark of file sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Step {
    Create,
    Read,
    Write,
    Delete,
}

/// A workload. Numbers are KiB of a file, or users.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Work {
    Micro(Step, u32),
    /// Empty files created and removed by so many users.
    Zero(u32),
    Ssh,
    Netnews,
    Sdet(u32),
    PostmarkSmall,
    PostmarkLarge,
    /// Removal of a tree that was just made.
    RemoveTree,
    /// One file created: the time until it is on the disk.
    OneCreate,
    /// One file created in a new directory: the same.
    OneInNew,
    /// One file removed: the time until its blocks are free.
    OneRemove,
}

/// Sizes of the files that are created, in KiB. The paper does not list its own; its text names 64, 96, 104, 1024 and
/// 4096.
pub(super) const CREATE_KIB: [u32; 13] = [1, 2, 4, 8, 16, 32, 64, 96, 104, 256, 512, 1024, 4096];
/// Sizes of those that are deleted.
pub(super) const DELETE_KIB: [u32; 8] = [8, 16, 32, 64, 96, 104, 256, 512];
/// Sizes of those that are read and overwritten.
pub(super) const READ_KIB: [u32; 3] = [8, 64, 1024];
/// Users of Sdet.
pub(super) const SDET_USERS: [u32; 4] = [1, 2, 4, 8];
/// Users of the benchmark of empty files; the paper has one, and says what more would show about group commit.
const ZERO_USERS: [u32; 2] = [1, 8];

/// FreeBSD's bufs on a machine of 512 MB, each of up to 8 KB. The rest of its memory caches pages of files, of which
/// Netnews reads none; so this is its cache, and its metadata does not fit.
const NBUF: usize = 7_832;

/// Bytes of all files of one size: 128 MiB, at least 512 files, and not more than 512 MiB.
fn files_of(kib: u32) -> u64 {
    let kib = u64::from(kib);
    ((128 << 10) / kib).max(512).min((512 << 10) / kib)
}

/// One phase of a run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PhaseSample {
    pub(super) seconds: f64,
    pub(super) cpu_s: f64,
    /// Operations a second.
    pub(super) rate: f64,
    /// Megabytes of contents a second.
    pub(super) mb_s: f64,
    /// Write requests during the phase.
    pub(super) writes: f64,
}

/// The results of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) elapsed_s: f64,
    pub(super) cpu_s: f64,
    /// Operations per second, all users together.
    pub(super) rate: f64,
    /// From the last call until all was on the disk.
    pub(super) left_s: f64,
    /// From the last call until the last block was free, by the second.
    pub(super) freed_s: f64,
    /// Write requests until everything was on the disk.
    pub(super) writes: f64,
    /// Those that wrote metadata in place.
    pub(super) metadata_writes: f64,
    pub(super) log: Log,
    /// Bytes of the largest write of contents.
    pub(super) largest: f64,
    pub(super) phases: BTreeMap<&'static str, PhaseSample>,
    /// The scheme's own counters at the end.
    pub(super) counters: BTreeMap<&'static str, u64>,
}

/// Writes to a log on the same drive.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Log {
    pub(super) writes: f64,
    /// Writes that began where the previous one ended.
    pub(super) in_order: f64,
    /// Sizes of the smallest and the largest, in bytes.
    pub(super) smallest: f64,
    pub(super) largest: f64,
}

/// The samples of every workload and system.
#[derive(Debug, Default)]
pub(super) struct Results(BTreeMap<(Work, &'static str), Vec<Sample>>);

impl Results {
    pub(super) fn push(&mut self, work: Work, system: &'static str, sample: Sample) {
        self.0.entry((work, system)).or_default().push(sample);
    }

    /// The mean of one number over the runs.
    pub(super) fn mean(&self, work: Work, system: &str, what: impl Fn(&Sample) -> Option<f64>) -> Option<f64> {
        let samples =
            self.0.iter().find(|((done, of), _)| *done == work && *of == system).map(|(_, samples)| samples)?;
        let numbers: Option<Vec<f64>> = samples.iter().map(what).collect();
        numbers.map(|numbers| numbers.iter().sum::<f64>() / numbers.len().max(1) as f64)
    }

    /// Standard deviation over mean of the elapsed time, where there is more than one run.
    pub(super) fn variations(&self) -> Vec<(String, f64)> {
        let several = self.0.iter().filter(|(_, samples)| samples.len() > 1);
        let of = |((work, system), samples): (&(Work, &str), &Vec<Sample>)| {
            let count = samples.len() as f64;
            let mean = samples.iter().map(|sample| sample.elapsed_s).sum::<f64>() / count;
            let square = samples.iter().map(|sample| (sample.elapsed_s - mean).powi(2)).sum::<f64>() / count;
            (format!("{work:?} {system}"), square.sqrt() / mean)
        };
        several.map(of).collect()
    }

    /// Systems that were run.
    pub(super) fn systems(&self) -> BTreeSet<&'static str> {
        self.0.keys().map(|(_, system)| *system).collect()
    }
}

/// All workloads that are run under a system.
pub(super) fn works_of(system: &System) -> Vec<Work> {
    match system.key {
        // A few are enough to show the difference.
        NO_RULE => vec![Work::Ssh, Work::Netnews],
        "group-commit" => ZERO_USERS.map(Work::Zero).to_vec(),
        "lffs-wafs-nvram" => vec![Work::Zero(1), Work::Ssh, Work::Netnews],
        _ => {
            let steps = [
                (Step::Create, &CREATE_KIB[..]),
                (Step::Delete, &DELETE_KIB),
                (Step::Read, &READ_KIB),
                (Step::Write, &READ_KIB),
            ];
            let micro =
                steps.into_iter().flat_map(|(step, sizes)| sizes.iter().map(move |kib| Work::Micro(step, *kib)));
            let others = [Work::Ssh, Work::Netnews, Work::PostmarkSmall, Work::PostmarkLarge, Work::RemoveTree];
            let users = ZERO_USERS.map(Work::Zero).into_iter().chain(SDET_USERS.map(Work::Sdet));
            micro.chain(others).chain(users).chain([Work::OneCreate, Work::OneInNew, Work::OneRemove]).collect()
        }
    }
}

/// Number of runs: five, as the paper has, of two short micro-benchmarks, which stand for all in the claim about their
/// deviations. Of creating and removing files of 16 and 64 KB, removing those of 16 KB differed most between runs.
fn repeats(work: Work) -> u64 {
    match work {
        Work::Micro(Step::Create, 64) | Work::Micro(Step::Delete, 16) => 5,
        _ => 1,
    }
}

/// The scripts of Sdet, with computing times for a machine 25 times as fast as that of 1994.
fn scripts() -> Params {
    let short = [
        ("scripts", 6),
        ("process_us", 1_500),
        ("look_us", 140),
        ("byte_ns", 12),
        ("compile_ms", 20),
        ("link_ms", 10),
        ("nroff_ms", 10),
        ("spell_ms", 10),
    ];
    short.iter().fold(Params::default(), |params, (key, value)| params.with(key, *value))
}

/// The transactions of the large PostMark. The paper has 20,000 of the small one in 21 s, and says that a large one has
/// "nearly" a fifteenth of the transactions a second: in its 1,572 s these are 99,800.
const LARGE_TRANSACTIONS: u64 = 100_000;

fn postmark(files: u64, transactions: u64) -> Params {
    let sizes = [("files", files), ("transactions", transactions), ("size_min", 512), ("size_max", 16 << 10)];
    sizes.iter().fold(Params::default(), |params, (key, value)| params.with(key, *value))
}

/// The program, its parameters, and the number of users.
fn program(work: Work) -> (&'static str, Params, u32) {
    let set = Params::default();
    match work {
        Work::Micro(step, kib) => {
            let step = step as u64;
            let set = set.with("size", u64::from(kib) << 10).with("files", files_of(kib));
            ("small-files", set.with("first", step).with("last", step), 1)
        }
        Work::Zero(users) => ("create-delete", set.with("pairs", 50_000 / u64::from(users)), users),
        Work::Ssh => ("ssh", set, 1),
        Work::Netnews => ("netnews", set.with("scale", 1), 1),
        Work::Sdet(users) => ("sdet", scripts(), users),
        Work::PostmarkSmall => ("postmark", postmark(10_000, 20_000), 1),
        Work::PostmarkLarge => ("postmark", postmark(150_000, LARGE_TRANSACTIONS), 1),
        Work::RemoveTree => ("remove-tree", set, 1),
        Work::OneCreate => ("create-files", set.with("files", 1), 1),
        Work::OneInNew => ("small-files", set.with("files", 1).with("last", 0), 1),
        Work::OneRemove => ("small-files", set.with("files", 1).with("first", 3), 1),
    }
}

/// The machine on which a workload runs.
fn machine_of(machine: &Machine, work: Work) -> Machine {
    match work {
        // It reads no contents: all memory that it needs is that of the bufs, and of these there are too few.
        Work::Netnews => {
            let counts = machine.policy.counts.map(|counts| BufCounts { most: NBUF, ..counts });
            let policy = Policy { counts, ..machine.policy };
            Machine { memory: NBUF * 8192, policy, ..machine.clone() }
        }
        _ => machine.clone(),
    }
}

fn run_of<'a>(machine: &'a Machine, work: Work, system: &'a System, seed: u64) -> Run<'a> {
    let (workload, params, users) = program(work);
    Run {
        machine,
        scheme: system.scheme,
        settings: system.set_up().unwrap_or_default(),
        log: system.log,
        alloc_init: system.alloc_init,
        workload,
        params,
        users,
        start: match work {
            // The paper's figures are of repeated runs: the inodes of the pool are in memory.
            Work::PostmarkSmall | Work::PostmarkLarge => Start::Again,
            _ => Start::of(workload),
        },
        size: None,
        seed,
        services: true,
        sync: false,
    }
}

fn sample(outcome: &Outcome) -> Sample {
    let elapsed_s = outcome.elapsed.as_secs_f64();
    let phase = |result: &ordo_workload::PhaseResult| {
        let sample = PhaseSample {
            seconds: result.seconds,
            cpu_s: result.cpu_seconds,
            rate: result.rate(),
            mb_s: result.a_second(result.bytes) / 1e6,
            writes: result.counts.disk_writes as f64,
        };
        (result.phase, sample)
    };
    let writes = || outcome.services.iter().filter(|service| service.op == DiskOp::Write);
    let contents = writes().filter(|service| service.kind == Kind::Data).map(|service| service.len);
    Sample {
        elapsed_s,
        cpu_s: outcome.cpu.as_secs_f64(),
        rate: outcome.ops() as f64 / elapsed_s,
        left_s: outcome.drained.saturating_sub(outcome.elapsed).as_secs_f64(),
        freed_s: outcome.freed.saturating_sub(outcome.elapsed).as_secs_f64(),
        writes: outcome.counts.disk_writes as f64,
        metadata_writes: writes().filter(|service| is_metadata(service.kind)).count() as f64,
        log: log(writes().filter(|service| service.kind == Kind::Log)),
        largest: contents.max().unwrap_or(0) as f64,
        phases: outcome.users.first().into_iter().flatten().map(phase).collect(),
        counters: outcome.counts.scheme.clone(),
    }
}

fn is_metadata(kind: Kind) -> bool {
    use Kind::{Directory, Indirect, Inodes, Maps, Summary, Superblock};
    matches!(kind, Directory | Indirect | Inodes | Maps | Summary | Superblock)
}

fn log<'s>(writes: impl Iterator<Item = &'s Service>) -> Log {
    let mut log = Log { smallest: f64::INFINITY, ..Log::default() };
    let mut end = None;
    for write in writes {
        log.writes += 1.0;
        log.in_order += if end == Some(write.place.0) { 1.0 } else { 0.0 };
        log.smallest = log.smallest.min(write.len as f64);
        log.largest = log.largest.max(write.len as f64);
        end = Some(write.place.0 + write.len);
    }
    log
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run_all(machine: &Machine, seed: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Results> {
    let mut jobs = Vec::new();
    for system in SYSTEMS.iter().filter(|system| system.is_there()) {
        for work in works_of(system) {
            jobs.extend((0..repeats(work)).map(|run| (work, system, seed + run)));
        }
    }
    // The long ones first, and all systems of one together: they need the same memory.
    jobs.sort_by_key(|(work, system, seed)| (rank(*work), *work, system.key, *seed));
    let samples = parallel::run_sharing(
        &jobs,
        |(work, system, seed)| run_of(&machine_of(machine, *work), *work, system, *seed).preparation(),
        progress,
        Preparation::make,
        |(work, system, seed), prepared| {
            let machine = machine_of(machine, *work);
            run_of(&machine, *work, system, *seed).run_on(prepared).map(|outcome| sample(&outcome))
        },
    )?;
    let mut results = Results::default();
    for ((work, system, _), sample) in jobs.iter().zip(samples) {
        results.push(*work, system.key, sample);
    }
    Ok(results)
}

fn rank(work: Work) -> u32 {
    match work {
        Work::PostmarkLarge => 0,
        Work::Netnews => 1,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_size_are_those_of_the_paper_up_to_half_a_gigabyte() {
        assert_eq!([1, 64, 104, 256, 1024, 4096].map(files_of), [131_072, 2_048, 1_260, 512, 512, 128]);
    }

    #[test]
    fn every_workload_has_a_program_that_takes_its_parameters() {
        for system in &SYSTEMS {
            for work in works_of(system) {
                let (name, params, users) = program(work);
                let program = ordo_workload::find(name).unwrap();
                assert!(ordo_workload::Values::new(&program, &params).is_ok() && users > 0, "{work:?}");
            }
        }
    }

    #[test]
    fn the_same_run_is_the_same_and_what_waits_is_slower() {
        let machine = Machine::of_2000();
        let of = |key: &str| {
            let system = SYSTEMS.iter().find(|system| system.key == key).unwrap();
            sample(&run_of(&machine, Work::OneCreate, system, 1).run().unwrap())
        };
        let (once, again) = (of("soft-updates"), of("soft-updates"));
        assert_eq!((once.elapsed_s, once.left_s, once.writes), (again.elapsed_s, again.left_s, again.writes));
        assert!(of("ffs").elapsed_s > once.elapsed_s);
        assert!(of("ffs-async").left_s > 20.0, "the syncer waits for 30 seconds");
    }
}
