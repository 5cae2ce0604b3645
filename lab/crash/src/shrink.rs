//! Shrinks a violation: the fewest calls first, then the fewest lost writes.

use crate::explore::explore_with;
use crate::id::Id;
use crate::one_cut::fewest_lost;
use crate::plan::{Budget, Plan, Shard};
use crate::report::Violation;
use crate::verdict::Memory;
use crate::{Counters, Error};
use ordo_workload::random::Op;
use ordo_workload::script::Script;
use std::ops::Range;

/// States that are tried for each shorter script.
const STATES: u64 = 1500;
/// Most shorter scripts that are tried.
const TRIES: usize = 120;
/// No shorter script is tried after so many distinct images: a scheme whose recovery writes much leaves dozens of them
/// for each state.
const IMAGES: u64 = 30_000;

/// A violation of the same oracle, with fewer calls and fewer lost writes. It has its own id.
///
/// # Errors
/// See [`Error`]; a run failed before its power was cut.
pub fn shrink(plan: &Plan, violation: &Violation) -> Result<Violation, Error> {
    let mut best = (plan.clone(), violation.clone());
    let mut memory = Memory::default();
    let mut tries = 0;
    // Leave out half of what is left at a time, then ever less (Zeller and Hildebrandt, TSE 2002, section 3, without
    // complements). Calls first, then their preparation, which a removed call makes needless.
    let mut run = best.0.script.steps().count().div_ceil(2);
    while run > 0 {
        let mut again = false;
        let mut end = best.0.script.steps().count();
        while end > 0 && tries < TRIES && memory.distinct < IMAGES {
            tries += 1;
            let leave_out = end.saturating_sub(run)..end;
            end = leave_out.start;
            let shorter = without(&best.0.script, &leave_out);
            if let Some(found) = try_script(plan, shorter, violation, &mut memory) {
                (best, again) = (found, true);
            }
        }
        // At the end, a call may have become needless because a later one is gone.
        if run > 1 || !again || tries >= TRIES || memory.distinct >= IMAGES {
            run /= 2;
        }
    }
    let (plan, found) = best;
    let id: Id = found.id.parse()?;
    Ok(fewest_lost(&plan, id.moments(), id.fates(), found.oracle)?.unwrap_or(found))
}

/// The script without some of its steps, counted from the beginning of the set-up.
fn without(script: &Script, leave_out: &Range<usize>) -> Script {
    let keep = |ops: &[Op], before: usize| -> Vec<Op> {
        ops.iter().enumerate().filter(|(i, _)| !leave_out.contains(&(before + i))).map(|(_, op)| op.clone()).collect()
    };
    Script {
        name: "shrunk".into(),
        says: script.says.clone(),
        setup: keep(&script.setup, 0),
        calls: keep(&script.calls, script.setup.len()),
        ..Script::default()
    }
}

fn try_script(plan: &Plan, script: Script, violation: &Violation, memory: &mut Memory) -> Option<(Plan, Violation)> {
    let looks_for = Some(violation.oracle);
    let budget = Budget { states: STATES, shard: Shard::WHOLE, looks_for, ..plan.budget };
    let plan = Plan { script, budget, ..plan.clone() };
    // A script that cannot run without what was left out does not count.
    let report = explore_with(&plan, memory, &Counters::default()).ok()?;
    let same = report.violations.into_iter().find(|found| found.oracle == violation.oracle)?;
    Some((plan, same))
}
