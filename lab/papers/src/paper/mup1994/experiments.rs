//! The experiments: systems by the paper's names, workloads, and their repeated runs.

use std::collections::BTreeMap;

use ordo_workload::Params;
use ordofs::AllocInit;
use ordofs::schemes::Settings;

use super::systems::{FIVE, system};
use super::timelines;
use crate::error::Result;
use crate::paper::parallel;
use crate::prepared::Preparation;
use crate::{Machine, Outcome, Run, Start};
use ordo_report::results::Timeline;

/// Runs of what a claim gives a deviation of: copies and removals under the systems that it names, and Sdet (there the
/// paper says three).
pub(super) const RUNS: u64 = 3;

/// Users of the throughput benchmarks. Eight is the most that the paper mentions.
pub(super) const THROUGHPUT_USERS: [u32; 5] = [1, 2, 4, 6, 8];
/// Users of Sdet.
pub(super) const SDET_USERS: [u32; 3] = [1, 4, 8];
/// Files of the throughput benchmarks, of all users together (paper, section 5.2).
const THROUGHPUT_FILES: u64 = 10_000;

/// A workload under a system, with a number of users.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) workload: &'static str,
    pub(super) users: u32,
    /// The paper's name for it.
    pub(super) system: String,
}

impl Key {
    /// Number of runs. They differ in the time at which they start; a number without a deviation needs one.
    fn runs(&self) -> u64 {
        match (self.workload, self.users) {
            ("copy" | "remove", 4) if FIVE.contains(&&*self.system) => RUNS,
            ("sdet", _) => RUNS,
            _ => 1,
        }
    }

    /// Whether the requests of its first run are drawn.
    fn is_drawn(&self) -> bool {
        self.workload == "remove" && self.users == 1 && FIVE.contains(&&*self.system)
    }
}

/// The results of one run.
#[derive(Debug, Clone, Default)]
pub(super) struct Sample {
    pub(super) elapsed_s: f64,
    pub(super) cpu_s: f64,
    pub(super) requests: f64,
    pub(super) response_ms: f64,
    pub(super) service_ms: f64,
    /// Operations per second, all users together.
    pub(super) rate: f64,
    pub(super) phases: BTreeMap<&'static str, f64>,
}

/// The samples of every key, and the time lines of those that are drawn.
#[derive(Debug, Default)]
pub(super) struct Results {
    samples: BTreeMap<Key, Vec<Sample>>,
    pub(super) timelines: BTreeMap<String, Timeline>,
}

impl Results {
    fn samples(&self, workload: &str, users: u32, system: &str) -> Option<&[Sample]> {
        let found =
            self.samples.iter().find(|(key, _)| key.workload == workload && key.users == users && key.system == system);
        found.map(|(_, samples)| &samples[..])
    }

    /// The mean of one number over the runs.
    pub(super) fn mean(&self, workload: &str, users: u32, system: &str, what: impl Fn(&Sample) -> f64) -> Option<f64> {
        let samples = self.samples(workload, users, system)?;
        Some(samples.iter().map(what).sum::<f64>() / samples.len().max(1) as f64)
    }

    /// Standard deviation over mean, over the runs; `None` if there is only one.
    pub(super) fn variation(&self, workload: &str, users: u32, system: &str) -> Option<f64> {
        self.samples(workload, users, system).filter(|samples| samples.len() > 1)?;
        let mean = self.mean(workload, users, system, |sample| sample.elapsed_s)?;
        let square = self.mean(workload, users, system, |sample| (sample.elapsed_s - mean).powi(2))?;
        Some(square.sqrt() / mean)
    }

    /// The time lines, in the order of the paper.
    pub(super) fn take_timelines(&mut self) -> Vec<Timeline> {
        FIVE.iter().filter_map(|name| self.timelines.remove(*name)).collect()
    }

    /// Everything that was run.
    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.samples.keys()
    }
}

const WITH_INIT: [&str; 4] = ["conventional+ai", "flag-part-nr-cb+ai", "chains+ai", "soft-updates+ai"];
const MEANINGS: [&str; 4] = ["flag-full-cb", "flag-back-cb", "flag-part-cb", "flag-ignore-cb"];
const MEANINGS_NR: [&str; 3] = ["flag-full-nr-cb", "flag-back-nr-cb", "flag-part-nr-cb"];
const PARTS: [&str; 4] = ["flag-part", "flag-part-nr", "flag-part-cb", "flag-part-nr-cb"];

/// Everything that is run, in a fixed order.
fn keys() -> Vec<Key> {
    let mut keys = Vec::new();
    let mut add = |workload, users, systems: &[&[&str]]| {
        let systems = systems.iter().flat_map(|systems| systems.iter());
        keys.extend(systems.map(|system| Key { workload, users, system: (*system).to_owned() }));
    };
    add("copy", 4, &[&FIVE, &WITH_INIT, &MEANINGS, &MEANINGS_NR, &PARTS, &["chains-nocb"]]);
    add("remove", 4, &[&FIVE, &PARTS, &["chains-nocb", "chains-barrier"]]);
    add("remove", 1, &[&MEANINGS, &MEANINGS_NR, &FIVE]);
    // Initialisation is enforced under soft updates only (section 5.2).
    let throughput = ["conventional", "flag-part-nr-cb", "chains", "soft-updates+ai", "no-order"];
    for users in THROUGHPUT_USERS {
        for workload in ["create", "delete", "create-delete"] {
            add(workload, users, &[&throughput]);
        }
    }
    add("andrew", 1, &[&throughput]);
    for users in SDET_USERS {
        add("sdet", users, &[&throughput]);
    }
    keys.sort();
    keys.dedup();
    keys
}

/// The tree that is copied and removed. The paper does not give its directories; that a removal under Conventional
/// costs 2.02 requests for each file, two of which are the file's own (Table 2), leaves room for few.
fn tree() -> Params {
    Params::default().with("per_dir", 40)
}

/// Andrew with as many temporary files for each compilation as make Conventional wait as long as the paper says: a
/// write takes 11 ms here, where all of them are in one directory, and 17 in the paper.
fn compiles() -> Params {
    Params::default().with("temps", 13).with("compile_ms", 6_500)
}

/// The scripts of Sdet. The paper's mix is not known; this one has commands that are short enough for No Order to be as
/// far ahead of Conventional as the paper says, and is long enough for a queue to fill.
fn scripts() -> Params {
    let short = [("process_us", 8_000), ("compile_ms", 100), ("link_ms", 50), ("nroff_ms", 50), ("spell_ms", 50)];
    short.iter().fold(Params::default().with("scripts", 6), |params, (key, value)| params.with(key, *value))
}

fn run_of<'a>(machine: &'a Machine, key: &Key, scheme: &'a str, init: AllocInit, seed: u64) -> Run<'a> {
    let files = THROUGHPUT_FILES / u64::from(key.users);
    let (workload, params) = match key.workload {
        "copy" => ("copy-tree", tree()),
        "remove" => ("remove-tree", tree()),
        "create" => ("create-files", Params::default().with("files", files)),
        "delete" => ("remove-files", Params::default().with("files", files)),
        "create-delete" => ("create-remove", Params::default().with("files", files)),
        "sdet" => ("sdet", scripts()),
        "andrew" => ("andrew", compiles()),
        other => (other, Params::default()),
    };
    Run {
        machine,
        scheme,
        settings: Settings::default(),
        log: crate::LogPlace::Volume,
        alloc_init: Some(init),
        workload,
        params,
        users: key.users,
        start: Start::of(workload),
        size: None,
        seed,
        services: key.is_drawn(),
        sync: false,
    }
}

fn sample(outcome: &Outcome) -> Sample {
    let elapsed_s = outcome.mean_elapsed();
    let phases = outcome.users.iter().flatten().map(|phase| phase.phase);
    Sample {
        elapsed_s,
        cpu_s: outcome.cpu.as_secs_f64(),
        requests: outcome.requests() as f64,
        response_ms: outcome.response_ms(),
        service_ms: outcome.service_ms(),
        rate: outcome.ops() as f64 / outcome.elapsed.as_secs_f64(),
        phases: phases.filter_map(|phase| Some((phase, outcome.mean_phase(phase)?))).collect(),
    }
}

/// Runs everything. `progress` receives the number of finished runs and the total.
///
/// # Errors
/// The first failure of any run.
pub(super) fn run_all(machine: &Machine, seed: u64, progress: &(dyn Fn(usize, usize) + Sync)) -> Result<Results> {
    let keys = keys();
    let mut jobs: Vec<(&Key, u64)> =
        keys.iter().flat_map(|key| (0..key.runs()).map(move |run| (key, seed + run))).collect();
    // The long ones first, so that no thread is left alone with one at the end.
    jobs.sort_by_key(|(key, _)| rank(key));
    let systems: BTreeMap<&str, (String, AllocInit)> =
        keys.iter().map(|key| (&*key.system, system(&key.system))).collect();
    let run = |(key, seed): &(&Key, u64)| {
        let (scheme, init) = &systems[&*key.system];
        run_of(machine, key, scheme, *init, *seed)
    };
    let outcomes = parallel::run_sharing(
        &jobs,
        |job| run(job).preparation(),
        progress,
        Preparation::make,
        |job, prepared| {
            let (outcome, (key, _)) = (run(job).run_on(prepared)?, job);
            Ok((sample(&outcome), key.is_drawn().then(|| timelines::timeline(&key.system, &outcome))))
        },
    )?;
    let mut results = Results::default();
    for ((key, _), (sample, timeline)) in jobs.iter().zip(outcomes) {
        results.samples.entry((*key).clone()).or_default().push(sample);
        if let Some(timeline) = timeline {
            results.timelines.entry(key.system.clone()).or_insert(timeline);
        }
    }
    Ok(results)
}

fn rank(key: &Key) -> u32 {
    match key.workload {
        "remove" | "create" | "delete" | "create-delete" => 0,
        _ => 1,
    }
}
