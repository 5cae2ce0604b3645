//! `--jsonl`: the units of an exploration, and of a campaign of faults; and how their results are joined.
//!
//! U1. A script that is given by name is divided by image, into so many parts that each of these units takes seconds.
//!     Sets of many scripts are divided into rows. Neither depends on the number of shards.

use super::args::{Args, explorer_error};
use super::document::Document;
use super::scripts::Work;
use super::{bar, disks, explore, show};
use crate::out::{Out, Outcome, usage};
use crate::sweep::{self, Done, Kind, Sweep, UnitThere, Whole, parameters};
use ordo_crash::{Counters, Device, Explored, Plan, Report, Shard, faults, part, row, row_length};
use ordo_workload::script::Script;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// States of a part of a script.
const PART: u64 = 20_000;
/// Runs with a fault, of which each takes longer.
const FAULTS: u64 = 1000;

/// A unit: what to explore, and which part of it.
#[derive(Debug, Clone, Copy)]
struct Unit {
    device: usize,
    /// The script or the row.
    at: u64,
    part: Shard,
}

/// Result of a unit.
#[derive(Debug, Serialize, Deserialize)]
struct Part<R> {
    /// Units with the same number are parts of the same script.
    script: u64,
    /// Scripts that ran, counted once for all parts.
    scripts: u64,
    report: Option<R>,
    /// The hashes of the distinct images, 32 digits each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    images: String,
}

/// What decides the results.
fn swept(args: &Args) -> anyhow::Result<Map<String, Value>> {
    let script = args.script.as_ref().map(std::fs::read_to_string).transpose()?;
    Ok(parameters([
        ("scheme", args.scheme().into()),
        ("layout", args.is_lfs().into()),
        ("set", args.set.clone().into()),
        ("workload", args.workload.join(",").into()),
        ("script", script.into()),
        ("sample", args.sample.into()),
        ("disk", args.disk.clone().into()),
        ("states", args.states.into()),
        ("without", args.without.clone().into()),
        ("shrink", (!args.no_shrink).into()),
    ]))
}

/// All units: of each device every script in its parts, or every row.
fn units(devices: usize, scripts: u64, parts: u32) -> anyhow::Result<Vec<Unit>> {
    sweep::check_number((devices as u64).saturating_mul(scripts).saturating_mul(parts.into()))?;
    let of = |device, at| (0..parts).map(move |index| Unit { device, at, part: Shard { index, of: parts } });
    Ok((0..devices).flat_map(|device| (0..scripts).flat_map(move |at| of(device, at))).collect())
}

fn hex(images: &BTreeSet<u128>) -> String {
    images.iter().map(|image| format!("{image:032x}")).collect()
}

/// Explores the units of the shard.
pub(super) fn run(args: &Args) -> Outcome {
    let (devices, (_, work)) = (disks::find(&args.disk)?, Work::of(args)?);
    // A plan that cannot be made is wrong usage, also for a shard without units.
    let mut plan = args.plan(Script::default(), devices[0])?;
    plan.budget.shard = Shard::WHOLE;
    let parts = |states: u64| u32::try_from(states.div_ceil(PART).max(1)).unwrap_or(u32::MAX);
    let (scripts, units) = match &work {
        Work::Few(scripts) => {
            (scripts.len() as u64, units(devices.len(), scripts.len() as u64, parts(plan.budget.states))?)
        }
        Work::Many { count, .. } => (*count, units(devices.len(), count.div_ceil(row_length(&plan)), 1)?),
    };
    let name = |unit: u64| named(&work, &devices, &plan, units[unit as usize]);
    let counters = Counters::default();
    let one = |number: u64| {
        let unit = units[number as usize];
        let before = unit.device as u64 * scripts;
        let (script, Explored { mut report, images }) = explored(args, &work, &devices, unit, &counters)?;
        let first = unit.part.index == 0;
        let count = match &work {
            Work::Few(_) => u64::from(first),
            Work::Many { count, .. } => row_length(&plan).min(count - unit.at * row_length(&plan)),
        };
        if let Some(report) = &mut report {
            report.violations.iter_mut().for_each(|violation| violation.script += before);
            if !args.no_shrink {
                explore::shrink_first(args, &mut report.violations)?;
            }
        }
        let violations = report.as_ref().map_or(0, |report| report.violations_total);
        Done::new(&Part { script: before + script, scripts: count, report, images: hex(&images) }, violations)
    };
    let work =
        sweep::Work { kind: Kind::Crash, parameters: swept(args)?, units: units.len() as u64, name: &name, one: &one };
    bar::during(&counters, || args.sweep.run(&work, args.jobs()))
}

fn named(work: &Work, devices: &[&Device], plan: &Plan, unit: Unit) -> String {
    let disk = devices[unit.device].name;
    match work {
        Work::Few(scripts) => named_part(&scripts[unit.at as usize].name, disk, unit.part),
        Work::Many { count, .. } => {
            let (first, length) = (unit.at * row_length(plan), row_length(plan));
            format!("scripts {first} to {} on {disk}", (first + length).min(*count) - 1)
        }
    }
}

fn named_part(script: &str, disk: &str, part: Shard) -> String {
    match part.of {
        1 => format!("{script} on {disk}"),
        of => format!("{script} on {disk}, part {} of {of}", part.index + 1),
    }
}

/// Also the number of the script, or of the first of the row.
fn explored(
    args: &Args,
    work: &Work,
    devices: &[&Device],
    unit: Unit,
    counters: &Counters,
) -> anyhow::Result<(u64, Explored)> {
    let device = devices[unit.device];
    let explored = match work {
        Work::Few(scripts) => {
            let script = &scripts[unit.at as usize];
            let mut plan = args.plan(script.clone(), device)?;
            plan.budget.shard = unit.part;
            let mut explored = part(&plan, counters).map_err(explorer_error)?;
            let found = explored.report.iter_mut().flat_map(|report| &mut report.violations);
            found.for_each(|violation| violation.script = unit.at);
            (unit.at, explored)
        }
        Work::Many { count, nth } => {
            let plan = args.plan(Script::default(), device)?;
            let cases = |at| nth(at, device);
            let first = unit.at * row_length(&plan);
            (first, row(&plan, &cases, *count, unit.at, counters).map_err(explorer_error)?)
        }
    };
    Ok(explored)
}

/// Runs the units of a campaign of faults that fall to the shard.
pub(super) fn faults(args: &Args) -> Outcome {
    let (_, Work::Few(scripts)) = Work::of(args)? else {
        return Err(usage("--faults takes scripts by name, or the sets hand, bugs, ufs, all"));
    };
    let devices = disks::find(&args.disk)?;
    let most = args.plan(Script::default(), devices[0])?.budget.states;
    let parts = u32::try_from(most.div_ceil(FAULTS).clamp(1, 64)).unwrap_or(1);
    let units = units(devices.len(), scripts.len() as u64, parts)?;
    let name = |unit: u64| {
        let unit = units[unit as usize];
        named_part(&scripts[unit.at as usize].name, devices[unit.device].name, unit.part)
    };
    let counters = Counters::default();
    let one = |number: u64| {
        let unit = units[number as usize];
        let mut plan = args.plan(scripts[unit.at as usize].clone(), devices[unit.device])?;
        plan.budget.shard = unit.part;
        let report = faults::campaign(&plan, &counters).map_err(explorer_error)?;
        let violations = report.violations_total;
        let script = unit.device as u64 * scripts.len() as u64 + unit.at;
        let scripts = u64::from(unit.part.index == 0);
        Done::new(&Part { script, scripts, report: Some(report), images: String::new() }, violations)
    };
    let work =
        sweep::Work { kind: Kind::Faults, parameters: swept(args)?, units: units.len() as u64, name: &name, one: &one };
    bar::during(&counters, || args.sweep.run(&work, args.jobs()))
}

/// Explorations, joined.
#[derive(Default)]
pub(crate) struct Crashes {
    whole: Option<Report>,
    /// Parts of one script, until the next begins.
    script: Option<(u64, Report)>,
    scripts: u64,
    images: Vec<u128>,
    cpu_seconds: f64,
    workload: String,
    disk: String,
}

impl Crashes {
    pub(crate) fn of(sweep: &Sweep) -> Crashes {
        let text = |name: &str| sweep.parameters.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        Crashes { workload: text("workload"), disk: text("disk"), ..Crashes::default() }
    }

    fn end_script(&mut self) {
        if let Some((_, report)) = self.script.take() {
            self.whole = Some(match self.whole.take() {
                Some(whole) => whole.and(report),
                None => report,
            });
        }
    }

    /// Adds a unit.
    pub(crate) fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        let part: Part<Report> = unit.parsed()?;
        self.scripts += part.scripts;
        self.cpu_seconds += unit.cpu_seconds();
        self.images.extend(sweep::hashes(&part.images));
        let Some(report) = part.report else { return Ok(()) };
        match self.script.take() {
            Some((script, before)) if script == part.script => self.script = Some((script, before.merge(report))),
            before => {
                self.script = before;
                self.end_script();
                self.script = Some((part.script, report));
            }
        }
        Ok(())
    }

    /// The joined exploration; nothing without a report.
    fn document(&mut self, times: bool) -> Option<Document> {
        self.end_script();
        self.images.sort_unstable();
        self.images.dedup();
        let mut report = self.whole.clone()?;
        report.distinct = self.images.len() as u64;
        (report.workload, report.disk) = (self.workload.clone(), self.disk.clone());
        // As in an undivided exploration, the first violation of each oracle is the one that was shrunk.
        let mut seen = BTreeSet::new();
        for violation in &mut report.violations {
            if !seen.insert(violation.oracle) {
                violation.shrunk = None;
            }
        }
        let speed = report.states as f64 / self.cpu_seconds.max(1e-9);
        let states_per_second = times.then_some(speed);
        let (scripts, shards) = (self.scripts, Vec::new());
        Some(Document { report, scripts, shards, states_per_second, disk_says: None, promises: None, made: None })
    }
}

impl Whole for Crashes {
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        Crashes::add(self, unit)
    }

    fn json(&mut self, times: bool) -> anyhow::Result<Value> {
        Ok(self.document(times).map(|document| serde_json::to_value(&document)).transpose()?.unwrap_or(json!({})))
    }

    fn show(&mut self, out: &mut Out) -> anyhow::Result<()> {
        self.document(true).map_or(Ok(()), |document| show::report(out, &document))
    }
}

/// Campaigns of faults, joined.
#[derive(Default)]
pub(crate) struct Campaigns {
    whole: Option<faults::Report>,
    named: Crashes,
}

impl Campaigns {
    pub(crate) fn of(sweep: &Sweep) -> Campaigns {
        Campaigns { whole: None, named: Crashes::of(sweep) }
    }

    fn report(&self) -> Option<faults::Report> {
        let (workload, disk) = (self.named.workload.clone(), self.named.disk.clone());
        self.whole.clone().map(|whole| faults::Report { workload, disk, ..whole })
    }
}

impl Whole for Campaigns {
    fn add(&mut self, unit: &UnitThere) -> anyhow::Result<()> {
        let part: Part<faults::Report> = unit.parsed()?;
        self.whole = match (self.whole.take(), part.report) {
            (Some(whole), Some(report)) => Some(whole.and(report)),
            (whole, report) => whole.or(report),
        };
        Ok(())
    }

    fn json(&mut self, _: bool) -> anyhow::Result<Value> {
        Ok(self.report().map(|report| serde_json::to_value(&report)).transpose()?.unwrap_or(json!({})))
    }

    fn show(&mut self, out: &mut Out) -> anyhow::Result<()> {
        self.report().map_or(Ok(()), |report| out.line(report.to_string()))
    }
}
