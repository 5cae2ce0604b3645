//! `--mutants`: seeds bugs into a scheme, and counts those that the explorer detects.

use super::args::{Args, explorer_error};
use super::{bar, disks};
use crate::out::{Out, Outcome, Status, print, usage};
use crate::text;
use ordo_crash::{Counters, Device, Error, Plan, explore_on, explore_with};
use ordo_probe::{Mutant, MutantSpec, mutants};
use ordo_workload::script;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The percentage of seeded bugs that must be detected.
const ENOUGH: usize = 95;

#[derive(Serialize)]
struct Seeded {
    name: String,
    says: String,
    /// What detected it: an oracle, or the script itself, which stops.
    oracle: Option<String>,
    /// The script that detected it.
    workload: Option<String>,
}

#[derive(Serialize)]
struct Found {
    scheme: String,
    mutants: usize,
    found: usize,
    missed: Vec<String>,
    seeded: Vec<Seeded>,
}

/// Explores the scheme with each bug until the bug is detected.
pub(super) fn run(args: &Args) -> Outcome {
    let devices = disks::find(&args.disk)?;
    let plans = plans(args, &devices)?;
    let specs = mutants(args.scheme());
    let counters = Counters::default();
    counters.scripts_expected.fetch_add(specs.len() as u64, Ordering::Relaxed);
    let seeded = bar::during(&counters, || {
        refuse_convicted(args, &plans, &counters)?;
        all(args, &plans, &specs, &counters).map_err(explorer_error)
    })?;
    let missed: Vec<String> =
        seeded.iter().filter(|seeded| seeded.oracle.is_none()).map(|seeded| seeded.name.clone()).collect();
    let (scheme, mutants) = (args.scheme().to_owned(), seeded.len());
    let found = Found { scheme, mutants, found: mutants - missed.len(), missed, seeded };
    print(|out| if args.json { out.json(&found) } else { show(out, &found) })?;
    Ok(Status(u8::from(found.found * 100 < mutants * ENOUGH)))
}

/// Scripts that take seconds each.
const LARGE: [&str; 2] = ["u20", "u04"];

fn plans(args: &Args, devices: &[&Device]) -> anyhow::Result<Vec<Plan>> {
    let mut plans = Vec::new();
    // Those with large files come last: few bugs need them.
    let (large, small): (Vec<_>, Vec<_>) = script::ufs().into_iter().partition(|script| LARGE.contains(&&*script.name));
    for script in script::all().into_iter().chain(small).chain(large) {
        for device in devices {
            let mut plan = args.plan(script.clone(), device)?;
            plan.budget.enough = 1;
            plans.push(plan);
        }
    }
    Ok(plans)
}

/// Refuses a scheme that already breaks a promise: it would do so with any bug.
fn refuse_convicted(args: &Args, plans: &[Plan], counters: &Counters) -> anyhow::Result<()> {
    for plan in plans {
        if explore_on(plan, args.jobs(), counters).map_err(explorer_error)?.violations_total > 0 {
            let (scheme, script) = (args.scheme(), &plan.script.name);
            return Err(usage(format!(
                "{scheme} breaks its promises without a seeded bug, in {script}: a seeded bug would show nothing"
            )));
        }
    }
    Ok(())
}

/// Explores one bug per thread.
fn all(args: &Args, plans: &[Plan], specs: &[MutantSpec], counters: &Counters) -> Result<Vec<Seeded>, Error> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        while let Some((at, spec)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, specs.get(at)?)))
        {
            done.push((at, find(plans, spec, counters)?));
            counters.scripts.fetch_add(1, Ordering::Relaxed);
        }
        Ok(done)
    };
    let parts: Vec<Result<Vec<_>, Error>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..args.jobs()).map(|_| scope.spawn(work)).collect();
        let panicked = |_| Err(Error::Run("a thread of the explorer panicked".into()));
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(panicked)).collect()
    });
    let mut all: Vec<(usize, Seeded)> =
        parts.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
    all.sort_by_key(|(at, _)| *at);
    Ok(all.into_iter().map(|(_, seeded)| seeded).collect())
}

fn find(plans: &[Plan], spec: &MutantSpec, counters: &Counters) -> Result<Seeded, Error> {
    let mut seeded = Seeded { name: spec.name.clone(), says: spec.says.clone(), oracle: None, workload: None };
    for plan in plans {
        let spec = spec.clone();
        let mut plan = plan.clone();
        plan.subject.mutilate = Some(Arc::new(move |scheme| Mutant::new(scheme, spec.clone())));
        let found = match explore_with(&plan, &mut ordo_crash::Memory::default(), counters) {
            Ok(report) => report.violations.first().map(|violation| violation.oracle.to_string()),
            // The same script ran to its end without the bug: the bug caused an endless wait, or a wrong answer.
            Err(Error::Mount(_) | Error::Run(_) | Error::Model { .. }) => Some("the script stops".into()),
            Err(error) => return Err(error),
        };
        if found.is_some() {
            (seeded.oracle, seeded.workload) = (found, Some(plan.script.name));
            break;
        }
    }
    Ok(seeded)
}

fn show(out: &mut Out, found: &Found) -> anyhow::Result<()> {
    let row = |seeded: &Seeded| {
        let oracle = seeded.oracle.clone().unwrap_or_else(|| "not found".into());
        vec![seeded.name.clone(), oracle, seeded.workload.clone().unwrap_or_default(), seeded.says.clone()]
    };
    out.bytes(text::table(4, &found.seeded.iter().map(row).collect::<Vec<_>>()).as_bytes())?;
    let share = found.found * 100 / found.mutants.max(1);
    out.line(format!("\n{} of {} seeded bugs of {} are found, {share} %.", found.found, found.mutants, found.scheme))
}
