//! `ordo-lab tour`: what the laboratory adds to `ordo demo`, which runs it and gives it its own results.

use crate::out::{Outcome, Status, print};
use crate::text;
use crate::tour::page::{self, Results};
use crate::tour::{Amount, Told, compared, cut};
use anyhow::Context;
use ordo_crash::Report;
use ordo_report::results::LeftOut;
use ordo_workload::Row;
use serde::Serialize;
use std::path::PathBuf;

/// Goes on with the tour of ordo demo, whose results it reads: cuts the power, compares, reports
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where the page goes, as index.html
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Less of everything
    #[arg(long)]
    short: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Found {
    cut: Vec<Report>,
    compared: Vec<Row>,
    page: PathBuf,
}

struct Stage<'a> {
    args: &'a Args,
    amount: Amount,
    schemes: Vec<String>,
}

impl Stage<'_> {
    fn tell(&self, line: impl AsRef<str>) -> anyhow::Result<()> {
        if self.args.json { Ok(()) } else { print(|out| out.line(line)) }
    }
}

/// Goes on.
pub(crate) fn run(args: &Args) -> Outcome {
    let told: Told = serde_json::from_reader(std::io::stdin().lock()).context("the results of ordo demo")?;
    let amount = if args.short { Amount::SHORT } else { Amount::USUAL };
    let schemes = told.legs.iter().map(|leg| leg.scheme.clone()).collect();
    let stage = Stage { args, amount, schemes };
    let cut = cut_power(&stage)?;
    let (compared, left_out) = compare(&stage)?;
    let page = write_page(&stage, &Results { told: &told, cut: &cut, compared: &compared, left_out: &left_out })?;
    let kept = cut.iter().all(is_as_promised);
    if args.json {
        print(|out| out.json(&Found { cut, compared, page }))?;
    }
    Ok(Status(u8::from(!kept)))
}

fn cut_power(stage: &Stage<'_>) -> anyhow::Result<Vec<Report>> {
    stage.tell(
        "\n3. A power cut. What kill -9 cannot show: a disk loses what it had not made durable. On a modelled disk",
    )?;
    stage.tell("   the power is cut at every moment of a script, and its writes lost, kept and torn; each state is")?;
    stage.tell("   recovered and held to the scheme's promises (ordo crash).\n")?;
    let mut reports = Vec::new();
    for scheme in &stage.schemes {
        let report = cut::explore(scheme, None, cut::SCRIPT, stage.amount.states)?;
        let said = match (report.violations_total, cut::promises(scheme)?) {
            (0, _) => "no violation".to_owned(),
            (n, true) => format!("{n} violations"),
            (n, false) => format!("{n} are damaged: this scheme promises nothing"),
        };
        stage.tell(format!("{scheme}: {} states, {said}", report.states))?;
        reports.push(report);
    }
    let (scheme, rule, script) = cut::BROKEN;
    let report = cut::explore(scheme, Some(rule), script, stage.amount.states)?;
    stage.tell(format!(
        "{scheme} without its rule {rule}, to see that the judge can convict: {} of {} states are violations",
        report.violations_total, report.states
    ))?;
    reports.push(report);
    Ok(reports)
}

/// A scheme that promises something keeps it, and one without a rule is convicted.
fn is_as_promised(report: &Report) -> bool {
    match report.without.is_empty() {
        true => report.violations_total == 0 || !cut::promises(&report.scheme).unwrap_or(true),
        false => report.violations_total > 0,
    }
}

fn compare(stage: &Stage<'_>) -> anyhow::Result<(Vec<Row>, Vec<LeftOut>)> {
    stage.tell(
        "\n4. What it costs. The same work on a modelled drive of 1994, and a sync, in virtual time: these numbers are",
    )?;
    stage.tell(format!("   the same on every machine ({}, {}).\n", stage.amount.workload, compared::DRIVE))?;
    let (rows, left_out) = compared::run(&stage.schemes, &stage.amount)?;
    left_out.iter().try_for_each(|left| stage.tell(left.to_string()))?;
    let heading = ["scheme", "files/s", "writes", "flushes/s"].map(str::to_owned).to_vec();
    let shown = rows.iter().filter(|row| row.phase == "total");
    let cells = |row: &Row| {
        let numbers = [row.rate, row.disk_writes as f64, row.flushes_per_second].map(|number| format!("{number:.1}"));
        std::iter::once(row.scheme.clone()).chain(numbers).collect::<Vec<_>>()
    };
    let table: Vec<_> = std::iter::once(heading).chain(shown.map(cells)).collect();
    stage.tell(text::table(1, &table))?;
    Ok((rows, left_out))
}

/// Writes the page of all results; returns its path.
fn write_page(stage: &Stage<'_>, results: &Results<'_>) -> anyhow::Result<PathBuf> {
    let page = page::of(results, &stage.amount)?;
    let path = stage.args.output.join("index.html");
    let written = std::fs::create_dir_all(&stage.args.output).and_then(|()| std::fs::write(&path, page));
    written.with_context(|| format!("{}: cannot write the page; choose another directory with -o", path.display()))?;
    stage.tell(format!("5. The report, with pictures: {}\n", path.display()))?;
    Ok(path)
}
