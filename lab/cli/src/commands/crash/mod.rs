//! `ordo crash`
//!
//! `args`, `settings`, `scripts` and `disks` parse what to explore; `explore` runs it, with a `bar`; `document` is the
//! result, and `show` prints it. `units` runs it as a sweep. `life`, `replay`, `faults`, `mutants` and `lists` are the
//! other modes.

mod args;
mod bar;
mod disks;
mod document;
mod explore;
mod faults;
mod life;
mod lists;
mod mutants;
mod replay;
mod scripts;
mod settings;
mod show;
pub(crate) mod units;

pub(crate) use args::Args;

use super::merge;
use crate::out::{Outcome, Status, usage};

/// Runs the requested mode.
pub(crate) fn run(args: &Args) -> Outcome {
    if let Some(schemes) = args.scheme.as_ref().filter(|schemes| schemes.contains(',')) {
        if args.json || args.sweep.jsonl.is_some() {
            return Err(usage("--json and --jsonl are of one scheme"));
        }
        return schemes.split(',').try_fold(Status::DONE, |worst, scheme| {
            crate::out::print(|out| out.line(format!("== {scheme}")))?;
            Ok(worst.worse(run(&Args { scheme: Some(scheme.to_owned()), ..args.clone() })?))
        });
    }
    args.check()?;
    if args.list_rules {
        lists::rules(args)
    } else if args.list_disks {
        lists::disks(args)
    } else if args.list_workloads {
        lists::workloads(args)
    } else if let Some(id) = &args.replay {
        replay::run(id, args.json)
    } else if !args.merge.is_empty() {
        crate::out::say("crash --merge is ordo merge, for the files of --jsonl");
        let (files, json) = (args.merge.clone(), args.json);
        merge::run(&merge::Args { files, json, output: None, times: false })
    } else if let Some(cuts) = args.cuts {
        life::run(args, cuts)
    } else if args.faults && args.sweep.jsonl.is_some() {
        units::faults(args)
    } else if args.sweep.jsonl.is_some() {
        units::run(args)
    } else if args.faults {
        faults::run(args)
    } else if args.mutants {
        mutants::run(args)
    } else {
        explore::run(args)
    }
}
