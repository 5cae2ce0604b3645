//! `--cuts`: one volume that is used for hours, loses its power many times, and is used again after each recovery.

use super::args::{Args, explorer_error, status};
use super::{bar, disks};
use crate::out::{Out, Outcome, print, usage};
use crate::text::{self, one_line};
use ordo_crash::{Counters, Endurance, Endured, endure};
use ordo_workload::script::Script;
use std::time::Duration;

/// States that are tried at each cut by default.
const STATES: u64 = 20;

/// Runs it, and prints the result.
pub(super) fn run(args: &Args, cuts: u32) -> Outcome {
    let devices = disks::find(&args.disk)?;
    let [device] = devices[..] else { return Err(usage("--cuts needs one disk: name it with --disk")) };
    let mut plan = args.plan(Script::default(), device)?;
    plan.budget.states = args.states.unwrap_or(STATES);
    let time = Duration::try_from_secs_f64(args.hours * 3600.0)
        .map_err(|_| usage(format!("--hours {}: out of range", args.hours)))?;
    let counters = Counters::default();
    let lived = bar::during(&counters, || endure(&Endurance { plan, cuts, time }, &counters).map_err(explorer_error))?;
    print(|out| if args.json { out.json(&lived) } else { show(out, &lived) })?;
    Ok(status(lived.report.violations_total))
}

fn show(out: &mut Out, lived: &Endured) -> anyhow::Result<()> {
    let report = &lived.report;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![
        row("scheme", report.scheme.clone()),
        row("disk", report.disk.clone()),
        row("power cuts", report.cuts.to_string()),
        row("hours of work", format!("{:.2}", lived.seconds / 3600.0)),
        row("calls", lived.calls.to_string()),
        row("of them done", lived.done.to_string()),
        row("writes", report.writes.to_string()),
        row("states judged", report.states.to_string()),
        row("distinct images", report.distinct.to_string()),
        row("recoveries cut", report.nested.to_string()),
    ];
    rows.extend(report.findings.iter().map(|(name, count)| row(&format!("found: {name}"), count.to_string())));
    out.bytes(text::table(1, &rows).as_bytes())?;
    for found in &report.violations {
        out.line(format!("\nviolation of {}, {}", found.oracle, found.id))?;
        for line in found.calls.iter().chain(&found.writes) {
            out.line(format!("    {}", one_line(line)))?;
        }
        out.line(format!("  should be:  {}", one_line(&found.should)))?;
        out.line(format!("  is:         {}", one_line(&found.is)))?;
    }
    let scheme = &report.scheme;
    out.line(match (report.violations_total, report.leaks_only) {
        (0, true) if report.findings.is_empty() => {
            format!("\n{scheme} keeps every promise; nothing was left to repair.")
        }
        (0, true) => format!("\n{scheme} keeps every promise; only leaks were left."),
        (0, false) => format!("\n{scheme} keeps every promise."),
        (violations, _) => format!("\n{scheme} breaks its promises at the last cut: {violations} violations."),
    })
}
