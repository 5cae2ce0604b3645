//! The main loop: walks through the moments of a recording, cuts the power at each place, and runs the oracles on every
//! future tried there. The words are defined in the head of the crate.

use crate::cut::Cuts;
use crate::fate::{Fates, Futures};
use crate::id::Id;
use crate::judge::Judge;
use crate::oracle::Breach;
use crate::plan::Plan;
use crate::promise::Promised;
use crate::record::{Recording, record};
use crate::report::{Report, Violation};
use crate::structure::Class;
use crate::verdict::{Memory, Verdict};
use crate::{Error, older, story};
use ordo_buf::Promises;
use ordo_rt::Rng;
use rustc_hash::FxHashSet;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Progress of an exploration, for display; several threads may share one.
#[derive(Debug, Default)]
pub struct Counters {
    /// States that were tried.
    pub states: AtomicU64,
    /// States that will be tried, as far as is known.
    pub expected: AtomicU64,
    /// Scripts that are finished.
    pub scripts: AtomicU64,
    /// Scripts in total.
    pub scripts_expected: AtomicU64,
    /// Violations so far.
    pub violations: AtomicU64,
}

/// Explores a plan with an empty memory.
///
/// # Errors
/// See [`Error`]; a violation is not an error.
pub fn explore(plan: &Plan) -> Result<Report, Error> {
    explore_with(plan, &mut Memory::default(), &Counters::default())
}

/// Explores a plan, reusing the verdicts on images from earlier plans with the same scheme, settings, device and shape.
///
/// # Errors
/// See [`Error`].
pub fn explore_with(plan: &Plan, memory: &mut Memory, counters: &Counters) -> Result<Report, Error> {
    memory.bound();
    let promises = plan.subject.promises()?;
    let recording = record(plan)?;
    Ok(counted(memory, |memory| {
        let mut exploration = Exploration::new(plan, &recording, &promises, memory, counters);
        exploration.run();
        exploration.report
    }))
}

/// The report of an exploration, with what `memory` counted while it ran.
pub(crate) fn counted(memory: &mut Memory, explore: impl FnOnce(&mut Memory) -> Report) -> Report {
    let before = (memory.distinct, memory.nested, std::mem::take(&mut memory.findings));
    let cleaned = memory.cleaned;
    let mut report = explore(memory);
    (report.distinct, report.nested) = (memory.distinct - before.0, memory.nested - before.1);
    report.segments_cleaned = report.segments_cleaned.map(|by_script| by_script + memory.cleaned - cleaned);
    let findings = std::mem::replace(&mut memory.findings, before.2);
    report.findings = findings.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    report
}

/// A place to cut the power: after how many moments, and the last of them that changed what the disk may hold.
#[derive(Clone, Copy)]
struct CutAt {
    moments: usize,
    /// Seeds the random choice of futures: cuts between which the disk does not change try the same futures.
    epoch: usize,
}

pub(crate) struct Exploration<'a> {
    plan: &'a Plan,
    pub(crate) recording: &'a Recording,
    pub(crate) promises: &'a Promises,
    memory: &'a mut Memory,
    counters: &'a Counters,
    pub(crate) report: Report,
    /// Trees that were checked at this cut and break no promise.
    right: FxHashSet<*const crate::tree::Tree>,
    /// Those of older superblocks.
    right_older: FxHashSet<*const crate::tree::Tree>,
}

impl<'a> Exploration<'a> {
    pub(crate) fn new(
        plan: &'a Plan,
        recording: &'a Recording,
        promises: &'a Promises,
        memory: &'a mut Memory,
        counters: &'a Counters,
    ) -> Exploration<'a> {
        memory.hold_to(promises);
        let report = Report::of(plan, recording);
        Exploration {
            plan,
            recording,
            promises,
            memory,
            counters,
            report,
            right: FxHashSet::default(),
            right_older: FxHashSet::default(),
        }
    }

    fn places(&self) -> Vec<CutAt> {
        let (mut cuts, mut promised) =
            (Cuts::new(self.recording, &self.plan.subject.device), Promised::new(self.recording, self.promises));
        promised.go_on(0);
        let mut places = vec![CutAt { moments: 0, epoch: 0 }];
        for moments in 1..=self.recording.moments.len() {
            let (disk, floors) = (cuts.step(), promised.go_on(moments));
            let epoch = if disk { moments } else { places[places.len() - 1].epoch };
            if disk || floors {
                places.push(CutAt { moments, epoch });
            }
        }
        places
    }

    pub(crate) fn run(&mut self) {
        let places = self.places();
        self.report.cuts = places.len() as u64;
        let (mut cuts, mut promised) =
            (Cuts::new(self.recording, &self.plan.subject.device), Promised::new(self.recording, self.promises));
        let mut left = self.plan.budget.states;
        for (i, place) in places.iter().enumerate() {
            while cuts.at < place.moments {
                cuts.step();
            }
            promised.go_on(place.moments);
            self.right.clear();
            self.right_older.clear();
            let most = (left / (places.len() - i) as u64).max(4);
            let (units, sides) = (cuts.units(), cuts.sides());
            let exhaustive = self.plan.budget.exhaustive;
            let (device, most) = (&self.plan.subject.device, most as usize);
            let futures = Futures { device, units: &units, sides: &sides, most, exhaustive };
            let list = futures.list(&mut Rng::new(self.plan.budget.seed ^ (place.epoch as u64) << 20));
            left = left.saturating_sub(list.len() as u64);
            self.report.exist = self.report.exist.saturating_add(futures.exist());
            self.counters
                .expected
                .fetch_add(list.len() as u64 / u64::from(self.plan.budget.shard.of), Ordering::Relaxed);
            for (number, fates) in (0..).zip(list) {
                if let Some(breach) = self.try_state(&mut cuts, &promised, &fates) {
                    self.convict(&cuts, (place.moments, number), fates, &breach);
                    if self.plan.budget.looks_for == Some(breach.oracle)
                        || self.report.violations.len() >= self.plan.budget.enough
                    {
                        return;
                    }
                }
            }
        }
    }

    pub(crate) fn try_state(
        &mut self,
        cuts: &mut Cuts<'_>,
        promised: &Promised<'_>,
        fates: &Fates,
    ) -> Option<Rc<Breach>> {
        let fingerprint = cuts.fingerprint(fates);
        if !self.plan.budget.shard.takes(fingerprint) {
            return None;
        }
        self.report.states += 1;
        self.counters.states.fetch_add(1, Ordering::Relaxed);
        let verdict = self.verdict(cuts, fingerprint, fates);
        self.report.leaks_only &= verdict.worst <= Class::Leak;
        self.judge(promised, &verdict)
            .filter(|breach| self.plan.subject.question.is_none_or(|asked| asked.is_about(breach.oracle)))
    }

    fn verdict(&mut self, cuts: &mut Cuts<'_>, fingerprint: u128, fates: &Fates) -> Verdict {
        if let Some(known) = self.memory.known(fingerprint) {
            return known.clone();
        }
        let (disk, bad) = cuts.image(fates);
        self.memory.find_out(self.plan, fingerprint, disk, &bad)
    }

    fn judge(&mut self, promised: &Promised<'_>, verdict: &Verdict) -> Option<Rc<Breach>> {
        if let Some(breach) = &verdict.breach {
            return Some(breach.clone());
        }
        let tree = verdict.tree.as_ref()?;
        if self.right.contains(&Rc::as_ptr(tree)) {
            return self.judge_older(promised, verdict);
        }
        let judge = Judge { recording: self.recording, promises: self.promises, floors: &promised.floors };
        let breach = judge.judge(tree).map(Rc::new);
        if breach.is_none() {
            self.right.insert(Rc::as_ptr(tree));
        }
        breach.or_else(|| self.judge_older(promised, verdict))
    }

    /// What the older superblock of a log leads to by itself is held to what syncs have promised.
    fn judge_older(&mut self, promised: &Promised<'_>, verdict: &Verdict) -> Option<Rc<Breach>> {
        let tree = match verdict.older.as_ref()? {
            Ok(tree) => tree,
            Err(breach) => return Some(breach.clone()),
        };
        if self.right_older.contains(&Rc::as_ptr(tree)) {
            return None;
        }
        let floors = promised.floors.of_syncs();
        let judge = Judge { recording: self.recording, promises: self.promises, floors: &floors };
        let breach = judge.judge(tree).map(|breach| Rc::new(older::by_itself(breach)));
        if breach.is_none() {
            self.right_older.insert(Rc::as_ptr(tree));
        }
        breach
    }

    pub(crate) fn convict(&mut self, cuts: &Cuts<'_>, (moments, state): (usize, u64), fates: Fates, breach: &Breach) {
        self.counters.violations.fetch_add(1, Ordering::Relaxed);
        self.report.violations_total += 1;
        let known = self.report.violations.iter().filter(|v| v.oracle == breach.oracle).count();
        if known < crate::report::SHOWN_OF_EACH {
            let id = Id::new(self.plan, moments, fates);
            let violation = story::tell(&self.plan.subject, self.recording, self.promises, &cuts.pending, id, breach);
            self.report.violations.push(Violation { state, ..violation });
        }
    }
}
