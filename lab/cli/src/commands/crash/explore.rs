//! Explores scripts on disks, and shrinks the violations.

use super::args::{Args, explorer_error, status};
use super::document::Document;
use super::scripts::Work;
use super::settings::Set;
use super::{bar, disks, show};
use crate::made;
use crate::out::{Outcome, print};
use crate::sweep::shard;
use ordo_crash::{Counters, Device, Error, Id, Report, Violation, explore_on, shrink, sweep};
use ordo_papers::promised;
use ordo_workload::script::Script;
use ordofs::rt::Rt;
use std::collections::BTreeSet;
use std::sync::atomic::Ordering;

/// Explores, and prints the result.
pub(super) fn run(args: &Args) -> Outcome {
    let devices = disks::find(&args.disk)?;
    let (name, work) = Work::of(args)?;
    let rt = Rt::real_time();
    let began = rt.now();
    let counters = Counters::default();
    let (mut report, scripts) = bar::during(&counters, || whole(args, &work, &devices, &counters))?;
    let seconds = rt.now().since(began).as_secs_f64().max(1e-9);
    (report.workload, report.disk) = (name, args.disk.clone());
    let shown = report.violations_total;
    if !args.no_shrink {
        shrink_first(args, &mut report.violations)?;
    }
    let promises = args.plan(Script::default(), devices[0])?.subject.promises().map_err(explorer_error)?;
    let document = Document {
        states_per_second: Some(report.states as f64 / seconds),
        report,
        scripts,
        shards: vec![shard::name(args.sweep.shard)],
        disk_says: if let [one] = devices[..] { Some(one.says.to_owned()) } else { None },
        promises: Some(promised::of(&promises)),
        made: Some(made::in_virtual_time()),
    };
    print(|out| if args.json { out.json(&document) } else { show::report(out, &document) })?;
    Ok(status(shown))
}

/// Explores all scripts on all devices; also returns the number of scripts.
fn whole(args: &Args, work: &Work, devices: &[&Device], counters: &Counters) -> anyhow::Result<(Report, u64)> {
    let mut whole = None::<Report>;
    let count = match work {
        Work::Few(scripts) => scripts.len() as u64,
        Work::Many { count, .. } => *count,
    };
    for (device, before) in devices.iter().zip((0..).step_by(count.max(1) as usize)) {
        let mut report = match work {
            Work::Few(scripts) => few(args, scripts, device, counters)?,
            Work::Many { count, nth } => {
                let plan = args.plan(Script::default(), device)?;
                let cases = |at| nth(at, device);
                let swept = sweep(&plan, &cases, 0..*count, args.jobs(), counters).map_err(explorer_error)?;
                swept.unwrap_or_else(|| Report::nothing(&plan))
            }
        };
        report.violations.iter_mut().for_each(|violation| violation.script += before);
        whole = Some(match whole {
            Some(whole) => whole.and(report),
            None => report,
        });
    }
    // OK to expect: every name of disks stands for at least one.
    Ok((whole.expect("at least one disk"), counters.scripts.load(Ordering::Relaxed)))
}

/// Explores each script with all threads.
fn few(args: &Args, scripts: &[Script], device: &Device, counters: &Counters) -> anyhow::Result<Report> {
    counters.scripts_expected.fetch_add(scripts.len() as u64, Ordering::Relaxed);
    let mut whole = None::<Report>;
    for (script, number) in scripts.iter().zip(0..) {
        let plan = args.plan(script.clone(), device)?;
        let named = |error: Error| match error {
            error @ (Error::Shape(_) | Error::NoScheme(_) | Error::NoLog(_) | Error::Settings(_)) => error,
            error => Error::Script(script.name.clone(), error.into()),
        };
        let mut report = explore_on(&plan, args.jobs(), counters).map_err(|error| explorer_error(named(error)))?;
        report.violations.iter_mut().for_each(|violation| violation.script = number);
        counters.scripts.fetch_add(1, Ordering::Relaxed);
        whole = Some(match whole {
            Some(whole) => whole.and(report),
            None => report,
        });
    }
    // OK to expect: every name stands for at least one script.
    Ok(whole.expect("at least one script"))
}

/// Shrinks the script of the first violation of each oracle, with a thread for each.
pub(super) fn shrink_first(args: &Args, violations: &mut [Violation]) -> anyhow::Result<()> {
    let mut seen = BTreeSet::new();
    let mut first: Vec<&mut Violation> = violations.iter_mut().filter(|found| seen.insert(found.oracle)).collect();
    for some in first.chunks_mut(args.jobs() as usize) {
        std::thread::scope(|scope| {
            let shrinking: Vec<_> = some.iter_mut().map(|found| scope.spawn(move || shrink_one(args, found))).collect();
            let ended = shrinking.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::Run("a thread of the explorer panicked".into()).into()))
            });
            ended.collect::<anyhow::Result<()>>()
        })?;
    }
    Ok(())
}

fn shrink_one(args: &Args, violation: &mut Violation) -> anyhow::Result<()> {
    // The plan of the id names the script and the disk of this violation.
    let mut plan = violation.id.parse::<Id>().and_then(|id| id.plan()).map_err(explorer_error)?;
    let shape = plan.subject.shape.clone();
    Set::read(&args.set)?.apply_all(&mut plan);
    plan.subject.shape = shape;
    let shrunk = shrink(&plan, violation).map_err(explorer_error)?;
    violation.shrunk = Some(Box::new(Violation { script: violation.script, ..shrunk }));
    Ok(())
}
