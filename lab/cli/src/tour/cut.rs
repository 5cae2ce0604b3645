//! The power is cut: on a modelled disk, at every moment of a script, by the explorer of `ordo crash`.

use ordo_crash::{Counters, DEFAULT_DEVICE, Device, Plan, Report, Subject, explore_on};
use ordo_workload::script;
use ordofs::CrashLeaves;

/// One call of each kind.
pub(crate) const SCRIPT: &str = "mixed";
/// How often a recovery is cut in its turn.
pub(crate) const RECOVERY_CUTS: u32 = 16;
/// A scheme, a rule of it that is left out, and the script that shows what it was for.
pub(crate) const BROKEN: (&str, &str, &str) = ("softupdates", "link-addition", "create");

/// Whether the scheme promises that what was synced survives.
pub(crate) fn promises(scheme: &str) -> anyhow::Result<bool> {
    Ok(Subject::new(scheme, device()?).promises()?.crash_leaves != CrashLeaves::Anything)
}

/// Explores a script under a scheme, and leaves out one of its rules.
pub(crate) fn explore(scheme: &str, without: Option<&str>, name: &str, states: u64) -> anyhow::Result<Report> {
    let script = script::find(name).ok_or_else(|| anyhow::anyhow!("no script is called {name}"))?;
    let mut plan = Plan::new(scheme, script, device()?);
    (plan.budget.states, plan.budget.recovery_cuts) = (states, RECOVERY_CUTS);
    plan.subject.settings.without = without.into_iter().map(str::to_owned).collect();
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
    let mut report = explore_on(&plan, jobs, &Counters::default())?;
    (report.workload, report.disk) = (name.to_owned(), DEFAULT_DEVICE.to_owned());
    Ok(report)
}

/// The disk.
pub(crate) fn device() -> anyhow::Result<&'static Device> {
    Device::by_name(DEFAULT_DEVICE).ok_or_else(|| anyhow::anyhow!("no disk is called {DEFAULT_DEVICE}"))
}
