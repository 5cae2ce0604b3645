//! `--faults`: no power cuts; one request of each run fails.

use super::args::{Args, explorer_error, status};
use super::scripts::Work;
use super::{bar, disks};
use crate::out::{Outcome, print, usage};
use ordo_crash::{Counters, Device, faults};
use ordo_workload::script::Script;

/// Runs every script on every disk, with each fault in turn.
pub(super) fn run(args: &Args) -> Outcome {
    let (name, Work::Few(scripts)) = Work::of(args)? else {
        return Err(usage("--faults takes scripts by name, or the sets hand, bugs, ufs, all"));
    };
    let (devices, counters) = (disks::find(&args.disk)?, Counters::default());
    let mut report = bar::during(&counters, || whole(args, &scripts, &devices, &counters))?;
    (report.workload, report.disk) = (name, args.disk.clone());
    let violations = report.violations_total;
    print(|out| if args.json { out.json(&report) } else { out.line(report.to_string()) })?;
    Ok(status(violations))
}

fn whole(args: &Args, scripts: &[Script], devices: &[&Device], counters: &Counters) -> anyhow::Result<faults::Report> {
    let mut reports = Vec::new();
    for device in devices {
        for script in scripts {
            let plan = args.plan(script.clone(), device)?;
            reports.push(faults::campaign(&plan, counters).map_err(explorer_error)?);
        }
    }
    // OK to expect: every name stands for at least one script or disk.
    Ok(reports.into_iter().reduce(faults::Report::and).expect("at least one campaign"))
}
