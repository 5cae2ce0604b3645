//! The values of `--workload` and `--script`.

use super::args::Args;
use super::disks;
use super::settings::Set;
use crate::out::usage;
use anyhow::Context;
use ordo_crash::{Case, Device, Shape};
use ordo_workload::random::Op;
use ordo_workload::script::ace::{self, Bounds, Space};
use ordo_workload::script::{self, Script, moves, random};

/// Makes a case by its number, for a disk.
type Nth = Box<dyn Fn(u64, &Device) -> Case + Sync>;

/// Scripts, and how they are divided among shards.
pub(super) enum Work {
    /// A few: every shard and thread runs each of them and takes some of its images.
    Few(Vec<Script>),
    /// Many: every shard and thread takes rows of scripts.
    Many {
        /// Their number.
        count: u64,
        /// Returns a script by its number.
        nth: Nth,
    },
}

/// Sets, with descriptions.
pub(super) const SETS: [(&str, &str); 11] = [
    ("hand", "scripts written by hand, one for each kind of change, and one with all kinds"),
    ("bugs", "scripts of bugs that file systems had (Mohan et al., OSDI 2018)"),
    ("ufs", "scripts of features that only this format has"),
    ("all", "hand, bugs and ufs"),
    ("seq1", "all sequences of one call within ACE's bounds"),
    ("seq2", "of two calls"),
    ("seq3", "of three calls; a sample"),
    ("moves1", "all calls that make, move, exchange or remove one of five directories, or make it durable"),
    ("moves2", "sequences of two of them"),
    ("moves3", "of three"),
    ("random", "random calls by the seed, each script on a volume of its own; --set profile=NAME for one kind"),
];

/// Default number of sampled sequences of three calls.
const SEQ3_SAMPLE: u64 = 2000;
/// The same for random scripts.
const RANDOM_SAMPLE: u64 = 100;

impl Work {
    /// The requested scripts, and their name.
    ///
    /// # Errors
    /// Wrong usage, with the possible values; the file cannot be read.
    pub(super) fn of(args: &Args) -> anyhow::Result<(String, Work)> {
        let name = args.workload.join(",");
        let (work, by_sample) = match (&args.script, &args.workload[..]) {
            (Some(path), _) => {
                let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
                let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
                let script = Script::parse(&name, &text).map_err(|bad| usage(bad.to_string()))?;
                return Ok((name, Work::Few(vec![script])));
            }
            (None, []) => {
                return Err(usage(format!(
                    "name what to run: --workload NAME or --script FILE; workloads: {}",
                    known()
                )));
            }
            (None, [set]) => match sampled(set, args)? {
                Some(work) => (work, true),
                None => (Work::Few(few(std::slice::from_ref(set), args)?), false),
            },
            (None, names) => (Work::Few(few(names, args)?), false),
        };
        match args.sample {
            Some(_) if !by_sample => {
                Err(usage("--sample needs exactly one of seq1 to seq3, moves1 to moves3 and random"))
            }
            _ => Ok((name, work)),
        }
    }
}

/// Scripts by name and of small sets, each once. A set contains only those that this volume supports.
fn few(names: &[String], args: &Args) -> anyhow::Result<Vec<Script>> {
    let attributes = Set::read(&args.set)?.has_attributes();
    let mut scripts: Vec<Script> = Vec::new();
    for name in names {
        let mut found = match name.as_str() {
            "hand" => script::all(),
            "bugs" => script::bugs(),
            "ufs" => script::ufs(),
            "all" => [script::all(), script::bugs(), script::ufs()].concat(),
            name => {
                scripts.push(one(name, args)?);
                continue;
            }
        };
        found.retain(|script| attributes || !uses_attributes(script));
        scripts.extend(found);
    }
    let mut seen = std::collections::BTreeSet::new();
    scripts.retain(|script| seen.insert(script.name.clone()));
    Ok(scripts)
}

fn uses_attributes(script: &Script) -> bool {
    script.steps().any(|(op, _)| matches!(op, Op::SetXattr { .. } | Op::RemoveXattr { .. } | Op::SetAcl { .. }))
}

fn one(name: &str, args: &Args) -> anyhow::Result<Script> {
    let found = script::find(name).or_else(|| ace::find(name)).or_else(|| moves::find(name));
    let found = match random::named(name) {
        // On the volume that is explored: a sweep over random scripts has its own volume for each.
        Some((profile, seed)) => {
            let [device] = disks::find(&args.disk)?[..] else {
                return Err(usage(format!("{name} needs one disk: name it with --disk")));
            };
            Some(random::on(args.plan(Script::default(), device)?.subject.shape.ground(), profile, seed))
        }
        None => found,
    };
    found.ok_or_else(|| usage(format!("no script is called {name:?}; there are: {}", known())))
}

fn known() -> String {
    let hand = script::all();
    let names = hand.iter().map(|script| script.name.as_str()).chain(SETS.iter().map(|(name, _)| *name));
    format!("{}; --list-workloads lists them all", names.collect::<Vec<_>>().join(", "))
}

/// A set that can be sampled.
fn sampled(set: &str, args: &Args) -> anyhow::Result<Option<Work>> {
    Ok(Some(match set {
        "seq1" => sequences(1, args.sample, args.sweep.seed),
        "seq2" => sequences(2, args.sample, args.sweep.seed),
        "seq3" => sequences(3, Some(args.sample.unwrap_or(SEQ3_SAMPLE)), args.sweep.seed),
        "moves1" => moves_of(1, args.sample, args.sweep.seed),
        "moves2" => moves_of(2, args.sample, args.sweep.seed),
        "moves3" => moves_of(3, args.sample, args.sweep.seed),
        "random" => {
            let (set, log) = (Set::read(&args.set)?, args.is_lfs());
            let seeds = random::seeds(args.sweep.seed, args.sample.unwrap_or(RANDOM_SAMPLE));
            let count = seeds.len() as u64;
            let nth = move |at: u64, device: &Device| {
                let (seed, profile) = (seeds[at as usize], set.profile().unwrap_or(random::by_turns(at)));
                let ground = set.ground(seed, device);
                let shape: Shape = ground.into();
                let shape = if log { set.log(shape.into_log_of(seed, device)) } else { shape };
                Case { script: random::on(ground, profile, seed), shape: Some(shape) }
            };
            Work::Many { count, nth: Box::new(nth) }
        }
        _ => return Ok(None),
    }))
}

fn sequences(length: usize, sample: Option<u64>, seed: u64) -> Work {
    let bounds = Bounds::length(length);
    match sample {
        Some(n) => listed(ace::sample(&bounds, seed, n).collect()),
        None => {
            let space = Space::new(&bounds);
            // OK to unwrap: a space has a sequence for every number below its count.
            Work::Many { count: space.count(), nth: Box::new(move |at, _| space.nth(at).unwrap_or_default().into()) }
        }
    }
}

fn moves_of(length: usize, sample: Option<u64>, seed: u64) -> Work {
    let space = moves::Space::new(length);
    match sample {
        Some(n) => listed(space.sample(seed, n).collect()),
        // OK to unwrap: as above.
        None => {
            Work::Many { count: space.count(), nth: Box::new(move |at, _| space.nth(at).unwrap_or_default().into()) }
        }
    }
}

fn listed(scripts: Vec<Script>) -> Work {
    Work::Many { count: scripts.len() as u64, nth: Box::new(move |at, _| scripts[at as usize].clone().into()) }
}
