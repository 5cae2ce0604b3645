//! Prints an exploration.

use super::document::Document;
use crate::out::Out;
use crate::text::{self, one_line};
use ordo_crash::{Device, Report, Violation};
use std::collections::BTreeSet;

/// The figures, the verdict, and the violations.
pub(super) fn report(out: &mut Out, document: &Document) -> anyhow::Result<()> {
    let report = &document.report;
    out.bytes(text::table(1, &figures(document)).as_bytes())?;
    if !report.findings.is_empty() {
        out.line("\nfsck found, in distinct images:")?;
        let rows: Vec<_> =
            report.findings.iter().map(|(name, count)| vec![format!("  {name}"), count.to_string()]).collect();
        out.bytes(text::table(1, &rows).as_bytes())?;
    }
    out.line("")?;
    for line in verdict(document) {
        out.line(line)?;
    }
    violations(out, report)
}

fn figures(document: &Document) -> Vec<Vec<String>> {
    let report = &document.report;
    let row = |name: &str, value: String| vec![name.to_owned(), value];
    let mut rows = vec![row("scheme", report.scheme.clone())];
    if !report.without.is_empty() {
        rows.push(row("without", report.without.join(", ")));
    }
    rows.extend([row("workload", report.workload.clone()), row("disk", report.disk.clone())]);
    if !document.shards.is_empty() && document.shards != ["1/1"] {
        rows.push(row("shards", document.shards.join(" ")));
    }
    let exist = if report.exist == u64::MAX { "more than 10^19".into() } else { report.exist.to_string() };
    rows.extend([
        row("scripts", document.scripts.to_string()),
        row("writes", report.writes.to_string()),
        row("flushes", report.flushes.to_string()),
        row("cuts", report.cuts.to_string()),
        row("states that exist", exist),
        row("states tried", report.states.to_string()),
        row("distinct images", report.distinct.to_string()),
        row("recoveries cut", report.nested.to_string()),
    ]);
    if let (Some(lost), Some(in_flushes)) = (report.connections_lost, report.flushes_lost) {
        rows.push(row("connections lost", format!("{lost}, {in_flushes} of them in flushes")));
    }
    if report.reached > 0 {
        rows.push(row("features reached", report.reached.to_string()));
    }
    if let Some(speed) = document.states_per_second {
        let images = speed * report.distinct as f64 / report.states.max(1) as f64;
        rows.extend([row("states/s", format!("{speed:.0}")), row("distinct/s", format!("{images:.0}"))]);
    }
    rows
}

fn verdict(document: &Document) -> Vec<String> {
    let report = &document.report;
    let Report { scheme, states, violations_total, .. } = report;
    let scheme = match report.without.is_empty() {
        true => scheme.clone(),
        false => format!("{scheme} without {}", report.without.join(" and ")),
    };
    let mut lines = Vec::new();
    let oracles: BTreeSet<String> = report.violations.iter().map(|violation| violation.oracle.to_string()).collect();
    let oracles = oracles.into_iter().collect::<Vec<_>>().join(", ");
    lines.push(match violations_total {
        0 if *states == 0 => format!("{scheme} was not tried: this shard has no states."),
        0 => format!("{scheme} keeps every promise in {states} states."),
        _ => format!("{scheme} breaks its promises: {violations_total} of {states} states are violations ({oracles})."),
    });
    if report.violations.iter().any(|violation| !violation.promised) {
        lines.push(
            "The scheme declares nothing about its structure; it is checked against the minimum that any file system must keep.".into(),
        );
    }
    if report.disk == "all" || Device::by_name(&report.disk).is_some_and(|device| !device.honest) {
        lines.push(
            "The disk liar ignores flushes: anything may be lost there, and a violation is not the scheme's fault."
                .into(),
        );
    }
    lines
}

/// The first violation of each oracle as a story, in its shrunk form if there is one; then the ids of the others.
fn violations(out: &mut Out, report: &Report) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    let (first, others): (Vec<_>, Vec<_>) = report.violations.iter().partition(|found| seen.insert(found.oracle));
    for found in first {
        out.line("")?;
        violation(out, found.shrunk.as_deref().unwrap_or(found))?;
        if found.shrunk.is_some() {
            out.line(format!("  first seen as:  {}", command(found)))?;
        }
    }
    if !others.is_empty() {
        out.line("\nothers:")?;
    }
    for other in others {
        out.line(format!("  {}: {}", other.oracle, command(other)))?;
    }
    Ok(())
}

/// One violation as a story.
pub(super) fn violation(out: &mut Out, found: &Violation) -> anyhow::Result<()> {
    out.line(format!("violation of {}", found.oracle))?;
    let mut list = |head: &str, lines: &[String]| -> anyhow::Result<()> {
        out.line(format!("  {head}"))?;
        lines.iter().try_for_each(|line| out.line(format!("    {}", one_line(line))))
    };
    list("calls:", &found.calls)?;
    match found.writes.is_empty() {
        true => list("writes that were not durable: none", &[])?,
        false => list("writes that were not durable, in the order of issue:", &found.writes)?,
    }
    out.line(format!("  should be:  {}", one_line(&found.should)))?;
    out.line(format!("  is:         {}", one_line(&found.is)))?;
    out.line(format!("  promise:    {}", one_line(&found.promise)))?;
    out.line(format!("  again:      {}", command(found)))
}

/// The shell command that replays it.
fn command(found: &Violation) -> String {
    format!("ordo crash --replay '{}'", one_line(&found.id.replace('\'', "'\\''")))
}
