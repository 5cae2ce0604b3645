//! The command line of `ordo crash`, and the plan that it makes.

use super::settings;
use crate::layout::{self, LayoutArg};
use crate::out::{Status, usage};
use crate::sweep;
use clap::value_parser;
use ordo_crash::{Error, Plan, Shape};
use ordo_workload::script::Script;
use std::path::PathBuf;

/// Cuts the power at every moment, recovers, and checks the result against the scheme's promises
///
/// A script of calls runs under a scheme, on a disk that records all writes. Then the power is cut at every moment;
/// writes that were not durable are lost, kept or torn in the ways that the disk allows; the volume is recovered, and
/// its contents are compared with the promises. The same arguments give the same output, whatever --jobs is, except for
/// states_per_second, and made, which has the command line.
///
/// --layout lfs explores a log-structured volume, which has rules and promises of its own (--layout lfs --list-rules).
/// A recovery is there the roll-forward of a mount. --mutants and --faults are for UFS volumes.
///
/// With --jsonl it is a sweep: shards on many machines write files that ordo merge joins (docs/sweeps.md). Without it,
/// distinct images of seq1 to seq3, moves1 to moves3 and random are counted in groups of 32 scripts, and a shard is
/// only a part of the work.
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = "Examples:\n  ordo crash --workload mixed\n  ordo crash --scheme async --workload rename,create\n  \
    ordo crash --workload all --disk honest --states 20000 --json\n  \
    ordo crash --workload seq3 --sample 5000 --shard 1/4 --jsonl 1.jsonl\n  ordo merge 1.jsonl 2.jsonl 3.jsonl 4.jsonl\n  \
    ordo crash --scheme sync --without inode-before-name --workload create\n  \
    ordo crash --layout lfs --workload clean --disk nvme\n  ordo crash --replay 'ID'\n  \
    ordo crash --scheme softupdates --cuts 200 --hours 2\n\n\
    Exit status: 0 no violation, 1 a violation."
)]
pub(crate) struct Args {
    /// The scheme (ordo schemes), or several, joined by commas: one after the other [default: softupdates]
    #[arg(long, value_parser = schemes)]
    pub(super) scheme: Option<String>,
    /// The layout of the volume [default: ffs]
    #[arg(long, value_enum)]
    pub(super) layout: Option<LayoutArg>,
    /// allocinit=, logmode=, data= and commit= as for mount -o; log=separate: the log is on a second disk; log=stream:
    /// in a stream of messages there; size=, bsize=, fsize=, format=ufs1|ufs2, version=1|2|64 (of an lfs),
    /// endian=little|big: the volume; profile=NAME|all: the kind of random scripts; steer=yes|no: every other random
    /// script is varied from one that reached something new; pauses=yes|no: time passes between calls, so that the
    /// syncer writes; recovery=N: the recovery of one image in N is cut, too (0: none); exhaustive=N: every subset of
    /// up to N writes that are not durable is tried; through=nbd: the disks are behind the NBD client, and connections
    /// are lost
    #[arg(long, value_name = "KEY=VALUE")]
    pub(super) set: Vec<String>,
    /// Scripts between commas, or a set: hand, bugs, ufs, all of these, seq1 to seq3, moves1 to moves3, random
    #[arg(long, value_name = "NAME,...", value_delimiter = ',')]
    pub(super) workload: Vec<String>,
    /// A script of your own, in the form that --list-workloads --json shows
    #[arg(long, value_name = "FILE", conflicts_with = "workload")]
    pub(super) script: Option<PathBuf>,
    /// Run this many scripts of a set of sequences or random scripts, chosen by the seed [default: all; of seq3 2000,
    /// of random 100]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..=1 << 26))]
    pub(super) sample: Option<u64>,
    /// The disk; honest: all disks that obey flushes; all: also liar, which ignores them (--list-disks)
    #[arg(long, default_value = ordo_crash::DEFAULT_DEVICE)]
    pub(super) disk: String,
    /// States to try for each script, not counting those of cut recoveries [default: 5000; with --cuts: 20 for each
    /// cut]
    #[arg(long, value_name = "N")]
    pub(super) states: Option<u64>,
    #[command(flatten)]
    pub(super) sweep: sweep::Args,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub(super) jobs: Option<u32>,
    /// Switch off a rule of the scheme (--list-rules)
    #[arg(long, value_name = "RULE")]
    pub(super) without: Vec<String>,
    /// Do not shrink a violation to its shortest script
    #[arg(long)]
    pub(super) no_shrink: bool,
    /// Reconstruct one state and show what is wrong with it
    #[arg(long, value_name = "ID", group = "other")]
    pub(super) replay: Option<String>,
    /// Another name of ordo merge
    #[arg(long, value_name = "FILE", num_args = 1.., group = "other", hide = true)]
    pub(super) merge: Vec<PathBuf>,
    /// Seed bugs into the scheme, one after the other, and show which of them the explorer finds with the scripts of
    /// hand and ufs
    #[arg(long, group = "other", conflicts_with_all = ["workload", "script", "shard", "jsonl"])]
    pub(super) mutants: bool,
    /// Leave the power on; in each run one disk request fails, is torn, is lost, goes to a wrong place or rots later
    #[arg(long, group = "other", conflicts_with = "without")]
    pub(super) faults: bool,
    /// Let one volume work for hours and cut its power N times; after each cut it goes on with what is left
    #[arg(long, value_name = "N", group = "other", value_parser = value_parser!(u32).range(1..),
        conflicts_with_all = ["workload", "script", "shard", "jsonl"])]
    pub(super) cuts: Option<u32>,
    /// Virtual hours that --cuts takes
    #[arg(long, value_name = "HOURS", default_value_t = 2.0, requires = "cuts")]
    pub(super) hours: f64,
    /// List the rules of all schemes
    #[arg(long, group = "other")]
    pub(super) list_rules: bool,
    /// List the disks
    #[arg(long, group = "other")]
    pub(super) list_disks: bool,
    /// List the scripts and sets
    #[arg(long, group = "other")]
    pub(super) list_workloads: bool,
    /// One JSON document
    #[arg(long)]
    pub(super) json: bool,
}

/// Names of schemes, checked before anything else is missed.
fn schemes(list: &str) -> Result<String, String> {
    match list.split(',').find(|name| crate::mount_options::scheme(name).is_err()) {
        Some(wrong) => {
            Err(crate::mount_options::scheme(wrong).err().map_or_else(String::new, |error| error.to_string()))
        }
        None => Ok(list.to_owned()),
    }
}

/// States to try for each script.
const STATES: u64 = 5000;

impl Args {
    pub(super) fn jobs(&self) -> u32 {
        let processors = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        self.jobs.unwrap_or_else(processors)
    }

    /// The volume is log-structured.
    pub(super) fn is_lfs(&self) -> bool {
        self.layout == Some(LayoutArg::Lfs) || self.scheme() == ordofs::LFS_SCHEME
    }

    pub(super) fn scheme(&self) -> &str {
        self.scheme.as_deref().unwrap_or(ordofs::DEFAULT_SCHEME)
    }

    /// Refuses what does not go with a log-structured volume.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let schemes: Vec<&str> = self.scheme.as_deref().into_iter().collect();
        let log = layout::is_lfs(self.layout, &schemes)?;
        if self.faults && settings::Set::read(&self.set)?.is_through_nbd() {
            return Err(usage("--set through=nbd: not with --faults, whose requests fail at the disk"));
        }
        let unfit = [("--mutants", self.mutants), ("--faults", self.faults)];
        match unfit.iter().find(|(_, given)| *given && log) {
            Some((option, _)) => Err(usage(format!("{option} is for the schemes of UFS volumes only"))),
            None if log => settings::Set::read(&self.set)?.check_for_log(),
            None => Ok(()),
        }
    }

    /// The plan for exploring a script on a device.
    pub(super) fn plan(&self, script: Script, device: &ordo_crash::Device) -> anyhow::Result<Plan> {
        // This script needs few segments.
        let few = script.name == "clean";
        let mut plan = match self.is_lfs() {
            true => Plan::on_log(script, device),
            false => Plan::new(self.scheme(), script, device),
        };
        if self.is_lfs() && few {
            plan.subject.shape = Shape::few_segments(device);
        }
        let budget = &mut plan.budget;
        (budget.states, budget.seed) = (self.states.unwrap_or(STATES), self.sweep.seed);
        budget.shard = self.sweep.shard;
        plan.subject.settings.without = self.without.iter().cloned().collect();
        settings::Set::read(&self.set)?.apply_all(&mut plan);
        if self.is_lfs() {
            // Its segments follow from the sizes that were set.
            plan.subject.shape = plan.subject.shape.into_log();
        }
        plan.subject.promises().map_err(explorer_error)?;
        Ok(plan)
    }
}

/// Whether there was a violation, as an exit status.
pub(super) fn status(violations: u64) -> Status {
    Status(u8::from(violations > 0))
}

/// Converts to wrong usage what the user can correct.
pub(super) fn explorer_error(error: Error) -> anyhow::Error {
    match error {
        Error::NoScheme(name) => {
            let known: Vec<_> = ordofs::schemes::ALL.iter().map(|known| known.name).collect();
            usage(format!("no scheme is called {name:?}; there are: {}", known.join(", ")))
        }
        Error::Settings(_) | Error::Shape(_) | Error::OnlyUfs(_) | Error::BadId(..) => usage(error.to_string()),
        error => error.into(),
    }
}
