//! Judges a run: its class, and what no fault excuses.

use super::effect::Effect;
use super::report::Class;
use super::stage::{Played, Stage, cold, repaired_tree};
use super::view::{Kept, View};
use crate::Error;
use crate::recover::{Traced, check};
use ordo_disk::{Kind, RamDisk};
use ordo_fsck::Mode;
use ordo_rt::Rt;
use ordo_workload::random::Outcome;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) class: Class,
    /// What is wrong, for a lie, or what is detected.
    pub(super) what: String,
    /// What no fault excuses: a panic, a hang, lost promises, a repair that leaves something.
    pub(super) broken: Option<String>,
}

impl Verdict {
    fn is(class: Class, what: String) -> Verdict {
        Verdict { class, what, broken: None }
    }

    fn broken(what: String) -> Verdict {
        Verdict { class: Class::Error, what: String::new(), broken: Some(what) }
    }
}

/// Runs `work`; a panic becomes an error.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T, Error>) -> Result<T, Stopped> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(answer) => answer.map_err(|error| Stopped::Error(error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(Stopped::Panic(format!("panic: {}", text.unwrap_or("no message"))))
        }
    }
}

/// Why a run has no result.
pub(super) enum Stopped {
    Error(String),
    Panic(String),
}

/// A disk after a run, and what was found on it.
struct After {
    /// The tree, read before any repair.
    tree: Result<View, String>,
    /// A finding of fsck, if there is one.
    found: Option<String>,
    /// The superblock says that the volume was unmounted cleanly.
    clean: bool,
    /// The tree after a repair, if one was needed.
    repaired: Option<View>,
}

impl Stage<'_> {
    /// Judges a run that met a fault and left the disk `ram`.
    pub(super) fn judge(&self, effect: Effect, played: Result<Played, Stopped>, ram: &RamDisk) -> Verdict {
        let played = match played {
            Ok(played) => played,
            Err(Stopped::Panic(what) | Stopped::Error(what)) => return Verdict::broken(what),
        };
        let after = match self.after(ram) {
            Ok(after) => after,
            Err(what) => return Verdict::broken(what),
        };
        let told = [&played.mount, &played.degraded, &played.unmount].into_iter().any(Option::is_some);
        let failed = played.outcomes.iter().position(|outcome| matches!(outcome, Outcome::Failed(_)));
        let right = played.outcomes.iter().zip(&self.outcomes).take_while(|(is, right)| is == right).count();
        if told || failed.is_some() {
            return self.after_an_error(effect, &played, &after, right);
        }
        let wrong = self.wrong_answer(&played, right);
        self.without_an_error(&after, wrong)
    }

    /// Judges damage at rest.
    pub(super) fn judge_rest(&self, ram: &RamDisk) -> Verdict {
        match self.after(ram) {
            Ok(after) => self.without_an_error(&after, None),
            Err(what) => Verdict::broken(what),
        }
    }

    fn wrong_answer(&self, played: &Played, right: usize) -> Option<String> {
        match (played.outcomes.get(right), self.outcomes.get(right)) {
            (Some(is), Some(should)) => Some(format!("{}: {is:?} instead of {should:?}", self.calls[right])),
            _ => match (&played.live, self.views.last()) {
                (None, _) => None,
                (Some(live), right) => right.and_then(|right| right.differs(live)),
            },
        }
    }

    fn without_an_error(&self, after: &After, wrong: Option<String>) -> Verdict {
        if let Some(seen) = after.tree.as_ref().err().or(after.found.as_ref()) {
            return Verdict::is(Class::Seen, seen.clone());
        }
        let stored = || self.views.last()?.differs(after.tree.as_ref().ok()?);
        match wrong.or_else(stored) {
            None => Verdict::is(Class::Truth, String::new()),
            Some(what) => Verdict::is(Class::Lie, what),
        }
    }

    fn after_an_error(&self, effect: Effect, played: &Played, after: &After, right: usize) -> Verdict {
        let promises = match self.plan.subject.promises() {
            Ok(promises) => promises,
            Err(error) => return Verdict::broken(error.to_string()),
        };
        let tree = after.repaired.as_ref().or(after.tree.as_ref().ok());
        let kept = Kept { views: &self.views, calls: &self.calls, promises: &promises };
        let error = Verdict::is(Class::Error, String::new());
        let lost = match tree {
            Some(tree) => kept.lost(right, tree),
            // What the disk has silently lost is told when it is read: a checksum of an active journal says so, where
            // fsck, which knows only the format, finds nothing. Other schemes know no more than fsck.
            None if !effect.is_told() && self.plan.subject.scheme == "active" => return error,
            None => Some("the tree cannot be read".into()),
        };
        if !effect.is_told() {
            return match lost.filter(|_| after.found.is_none()) {
                None => error,
                Some(what) => Verdict::is(Class::Lie, what),
            };
        }
        if let Some(what) = lost {
            return Verdict { broken: Some(what), ..error };
        }
        let ended_well = played.mount.is_none() && played.degraded.is_none() && played.unmount.is_none();
        let Some(live) = played.live.as_ref().filter(|_| ended_well) else { return error };
        let differs = match (&after.tree, &after.found) {
            // A volume that is marked as needing a check hides nothing.
            (_, Some(_)) if !after.clean => None,
            (_, Some(found)) => Some(format!("marked clean, and fsck finds: {found}")),
            (Err(why), _) => Some(why.clone()),
            (Ok(tree), None) => live.differs(tree).map(|what| format!("memory and disk differ: {what}")),
        };
        Verdict { broken: differs, ..error }
    }

    fn after(&self, ram: &RamDisk) -> Result<After, String> {
        let ram = ram.snapshot();
        let rt = Rt::virtual_time(1);
        let disks = || Traced::of(&self.plan.subject, ram.clone(), &[]).disks();
        let tree = guarded(|| cold(self.plan, &rt, &ram, disks()));
        rt.drop_tasks();
        let tree = match tree {
            Ok((tree, healed)) => {
                self.healed.set(self.healed.get() + healed);
                Ok(View::of(&tree))
            }
            Err(Stopped::Error(why)) => Err(why),
            Err(Stopped::Panic(what)) => return Err(format!("reading back: {what}")),
        };
        let run = |mode, what: &str| match guarded(|| check(&Rt::virtual_time(2), disks(), mode)) {
            Ok(report) => Ok(report),
            Err(Stopped::Error(why) | Stopped::Panic(why)) => Err(format!("fsck {what}: {why}")),
        };
        let report = run(Mode::Check, "-n")?;
        let found = match report.findings.first() {
            Some(found) => Some(found.finding.to_string()),
            None => (!report.clean).then(|| "the volume is not marked clean".into()),
        };
        let mut repaired = None;
        if found.is_some() {
            let repair = run(Mode::Repair, "-y")?;
            let again = run(Mode::Check, "-n after -y")?;
            if repair.left || !again.clean || !again.findings.is_empty() {
                let left = again.findings.first().map_or("no clean mark".into(), |found| found.finding.to_string());
                return Err(format!("fsck -y leaves: {left}"));
            }
            let tree = guarded(|| repaired_tree(self.plan, &rt, &ram, disks));
            rt.drop_tasks();
            repaired = match tree {
                Ok((tree, _)) => Some(View::of(&tree)),
                Err(Stopped::Error(why) | Stopped::Panic(why)) => return Err(format!("reading after fsck -y: {why}")),
            };
        }
        Ok(After { tree, found, clean: report.clean, repaired })
    }

    /// Whether the format could not show a lie about these structures.
    pub(super) fn excuse(&self, effect: Effect, struck: &BTreeSet<Kind>, over: &BTreeSet<Kind>) -> bool {
        effect.is_excused(&struck.union(over).copied().collect(), &self.geometry)
    }
}
