//! One cut: replays the state that an id names, and finds the fewest lost writes that still break a promise there.

use crate::cut::Cuts;
use crate::explore::{Counters, Exploration};
use crate::fate::{Fate, Fates};
use crate::id::Id;
use crate::oracle::{Breach, Oracle};
use crate::plan::{Budget, Plan, Shard};
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
    let (promises, counters, mut memory) = (plan.subject.promises()?, Counters::default(), Memory::default());
    let recording = record(plan)?;
    let mut exploration = Exploration::new(plan, &recording, &promises, &mut memory, &counters);
    let (mut cuts, mut promised) = (Cuts::new(&recording, &plan.subject.device), Promised::new(&recording, &promises));
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
        story::tell(&plan.subject, &recording, &promises, &cuts.pending, id, &breach)
    }))
}

/// Reproduces the state that an id names, and returns what is wrong with it, if anything is.
///
/// # Errors
/// See [`Error`]; also if the id does not fit the recording.
pub fn replay(id: &Id) -> Result<Option<Violation>, Error> {
    let (plan, fates) = (whole(&id.plan()?, 1), id.fates());
    at_cut(&plan, id.moments(), fates.0.len(), |try_it| try_it(fates).map(|breach| (fates.clone(), breach)))
}

/// The plan of all images, with so many recoveries cut.
fn whole(plan: &Plan, recovery_cuts: u32) -> Plan {
    Plan { budget: Budget { shard: Shard::WHOLE, recovery_cuts, ..plan.budget }, ..plan.clone() }
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
    let plan = whole(plan, u32::from(oracle == Oracle::RecoveryCut));
    at_cut(&plan, moments, fates.0.len(), |try_it| {
        let mut breaks = |fates: &Fates| try_it(fates).filter(|breach| breach.oracle == oracle);
        let (mut fates, mut best) = (fates.clone(), breaks(fates)?);
        if !plan.subject.device.reorders {
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
