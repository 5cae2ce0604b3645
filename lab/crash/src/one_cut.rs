//! One cut: replays the state that an id names, and finds the fewest lost writes that still break a promise there.

use crate::cut::Cuts;
use crate::explore::{Counters, Exploration};
use crate::fate::{Fate, Fates};
use crate::id::Id;
use crate::oracle::{Breach, Oracle};
use crate::plan::{Plan, Shard};
use crate::promise::Promised;
use crate::record::record;
use crate::report::Violation;
use crate::verdict::Memory;
use crate::{Error, story};
use std::rc::Rc;

/// Tries a future at the cut, and returns the promise that it breaks.
type Try<'a> = dyn FnMut(&Fates) -> Option<Rc<Breach>> + 'a;

/// Goes to the cut after `moments` moments and lets `search` try futures there, each with a fate for each of `writes`
/// undurable writes. Reports the one that it chooses as a violation.
fn at_cut(
    plan: &Plan,
    moments: usize,
    writes: usize,
    search: impl FnOnce(&mut Try<'_>) -> Option<(Fates, Rc<Breach>)>,
) -> Result<Option<Violation>, Error> {
    let (promises, counters, mut memory) = (plan.promises()?, Counters::default(), Memory::default());
    let recording = record(plan, &plan.fresh()?)?;
    let mut exploration = Exploration::new(plan, &recording, &promises, &mut memory, &counters);
    let (mut cuts, mut promised) = (Cuts::new(&recording, &plan.device), Promised::new(&recording, &promises));
    while cuts.at < moments.min(recording.moments.len()) {
        cuts.step();
    }
    if cuts.at != moments || cuts.pending.len() != writes {
        let why = "the script has no such cut, or another number of undurable writes";
        return Err(Error::BadId(format!("{}, cut {moments}", plan.script.name), why));
    }
    promised.go_on(moments);
    let found = search(&mut |fates| exploration.try_state(&mut cuts, &promised, fates));
    Ok(found.map(|(fates, breach)| {
        let id = Id::new(plan, moments, fates);
        story::tell(plan, &recording, &promises, &cuts.pending, id, &breach)
    }))
}

/// The result of one state.
///
/// # Errors
/// See [`Error`]; also if the id does not fit the recording.
pub(crate) fn replay(plan: &Plan, moments: usize, fates: &Fates) -> Result<Option<Violation>, Error> {
    let plan = Plan { shard: Shard::WHOLE, recovery_cuts: 1, ..plan.clone() };
    at_cut(&plan, moments, fates.0.len(), |try_it| try_it(fates).map(|breach| (fates.clone(), breach)))
}

/// The fewest lost writes at one cut that still break a promise of the same oracle: each in turn is kept instead, the
/// newest first, and a write that must stay torn is tried as wholly lost.
///
/// # Errors
/// Those of [`replay`].
pub(crate) fn fewest_lost(
    plan: &Plan,
    moments: usize,
    fates: &Fates,
    oracle: Oracle,
) -> Result<Option<Violation>, Error> {
    let recovery_cuts = u32::from(oracle == Oracle::RecoveryCut);
    let plan = Plan { shard: Shard::WHOLE, recovery_cuts, ..plan.clone() };
    at_cut(&plan, moments, fates.0.len(), |try_it| {
        let mut breaks = |fates: &Fates| try_it(fates).filter(|breach| breach.oracle == oracle);
        let (mut fates, mut best) = (fates.clone(), breaks(fates)?);
        if !plan.device.reorders {
            return Some((fates, best));
        }
        for simpler in [Fate::Kept, Fate::Lost] {
            for i in (0..fates.0.len()).rev() {
                let torn = !matches!(fates.0[i], Fate::Kept | Fate::Lost);
                if fates.0[i] == Fate::Kept || simpler == Fate::Lost && !torn {
                    continue;
                }
                let was = std::mem::replace(&mut fates.0[i], simpler);
                match breaks(&fates) {
                    Some(found) => best = found,
                    None => fates.0[i] = was,
                }
            }
        }
        Some((fates, best))
    })
}
