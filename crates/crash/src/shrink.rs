//! From a violation to its smallest form: the fewest calls, then the fewest lost writes.

use crate::explore::explore_with;
use crate::id::Id;
use crate::one_cut::fewest_lost;
use crate::plan::{Plan, Shard};
use crate::report::Violation;
use crate::verdict::Memory;
use crate::{Counters, Error};
use workload::random::Op;
use workload::script::Script;

/// States that each shorter script is given to show the same violation.
const STATES: u64 = 1500;
/// Shorter scripts that are tried at most.
const TRIES: usize = 120;

/// A violation of the same oracle, by fewer calls and fewer lost writes. It has an id of its own.
///
/// # Errors
/// See [`Error`]; the engine has failed before it was cut.
pub fn shrink(plan: &Plan, violation: &Violation) -> Result<Violation, Error> {
    let mut best = (plan.clone(), violation.clone());
    let mut memory = Memory::default();
    let mut tries = 0;
    // Calls first, then what prepares them: a call that goes makes its preparation needless.
    let mut again = true;
    while again {
        again = false;
        let count = best.0.script.calls.len() + best.0.script.setup.len();
        for leave_out in (0..count).rev() {
            tries += 1;
            if tries > TRIES {
                break;
            }
            let shorter = without(&best.0.script, leave_out);
            if let Some(found) = try_script(plan, shorter, violation, &mut memory) {
                (best, again) = (found, true);
            }
        }
        again &= tries <= TRIES;
    }
    let (plan, found) = best;
    let id: Id = found.id.parse()?;
    Ok(fewest_lost(&plan, id.moments(), id.fates(), found.oracle)?.unwrap_or(found))
}

/// The script without call number `index`, counted from the end of the calls to the beginning of the set-up.
fn without(script: &Script, index: usize) -> Script {
    let keep = |ops: &[Op], but: Option<usize>| -> Vec<Op> {
        ops.iter().enumerate().filter(|(i, _)| Some(*i) != but).map(|(_, op)| op.clone()).collect()
    };
    let setup = script.setup.len();
    let (from_setup, from_calls) = (Some(index).filter(|i| *i < setup), index.checked_sub(setup));
    Script {
        name: "shrunk".into(),
        says: script.says.clone(),
        setup: keep(&script.setup, from_setup),
        calls: keep(&script.calls, from_calls),
        ..Script::default()
    }
}

fn try_script(plan: &Plan, script: Script, violation: &Violation, memory: &mut Memory) -> Option<(Plan, Violation)> {
    let plan = Plan { script, states: STATES, shard: Shard::WHOLE, looks_for: Some(violation.oracle), ..plan.clone() };
    // A script that cannot run without what was left out is no shorter way to the violation.
    let report = explore_with(&plan, memory, &Counters::default()).ok()?;
    let same = report.violations.into_iter().find(|found| found.oracle == violation.oracle)?;
    Some((plan, same))
}
