//! Explores many scripts, with many threads.
//!
//! W1. One script is split among threads by image, many scripts by rows of scripts. Either way the parts are disjoint
//!     and give the same whole with any number of threads (lab-crash-4), to the byte.
//! W2. Neighbouring scripts begin alike, and leave many of the same images. So a row of them shares one memory, and
//!     "distinct" in a sweep means distinct within a row. With a memory for each thread the count would depend on the
//!     threads.
//! W3. What several machines share is divided into units ([`part`], [`row`]) that do not depend on the number of
//!     machines, so that a unit which was lost or done twice is known by its number. A unit lists its images, each as a
//!     hash of its disk, its volume and its contents: the union over all units is the exact number of distinct images.

use crate::explore::explore_with;
use crate::fate::Fates;
use crate::id::Id;
use crate::plan::{Budget, Case, Plan, Shard};
use crate::report::Report;
use crate::steer::Steering;
use crate::subject::Subject;
use crate::verdict::Memory;
use crate::{Counters, Error};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::atomic::Ordering;
use xxhash_rust::xxh3::xxh3_128;

/// Scripts in a row, which one thread explores; more if they are steered, since those learn from each other.
const ROW: u64 = 32;
const STEERED_ROW: u64 = 512;

/// The result of a unit (W3).
#[derive(Debug, Clone)]
pub struct Explored {
    /// What was found; `None` if no script falls to the unit.
    pub report: Option<Report>,
    /// The distinct images that were recovered and checked.
    pub images: BTreeSet<u128>,
}

impl Explored {
    fn note(&mut self, memory: &Memory, plan: &Plan) {
        // Equal contents are the same image on volumes of one shape only, which begin alike.
        let ground = format!("{}:{:?}:", plan.subject.device.name, plan.subject.shape).into_bytes();
        self.images.extend(memory.counted().map(|image| xxh3_128(&[&ground[..], &image.to_le_bytes()].concat())));
    }
}

/// Explores one script, or the part of its images that is the plan's shard, with one thread.
///
/// # Errors
/// See [`Error`].
pub fn part(plan: &Plan, counters: &Counters) -> Result<Explored, Error> {
    let mut memory = Memory::listing();
    let report = Some(explore_with(plan, &mut memory, counters)?);
    let mut explored = Explored { report, images: BTreeSet::new() };
    explored.note(&memory, plan);
    Ok(explored)
}

/// Scripts in each row of a sweep; the last may be shorter.
pub fn row_length(plan: &Plan) -> u64 {
    if plan.budget.steered { STEERED_ROW } else { ROW }
}

/// Explores one row of the cases below `count`, with one thread.
///
/// # Errors
/// The first error of any script, with the script's name.
pub fn row(
    plan: &Plan,
    cases: &(dyn Fn(u64) -> Case + Sync),
    count: u64,
    row: u64,
    counters: &Counters,
) -> Result<Explored, Error> {
    let length = row_length(plan);
    let range = (row * length).min(count)..(row + 1).saturating_mul(length).min(count);
    let mut explored = Explored { report: None, images: BTreeSet::new() };
    explored.report = rows(plan, cases, range, Shard::WHOLE, counters, Some(&mut explored))?;
    Ok(explored)
}

/// Explores one script with `jobs` threads.
///
/// # Errors
/// See [`Error`].
pub fn explore_on(plan: &Plan, jobs: u32, counters: &Counters) -> Result<Report, Error> {
    let part = |shard| {
        let plan = Plan { budget: Budget { shard, ..plan.budget }, ..plan.clone() };
        explore_with(&plan, &mut Memory::default(), counters)
    };
    let mut reports = in_parts(plan.budget.shard, jobs, part)?.into_iter();
    // OK to expect: there is at least one part.
    let first = reports.next().expect("at least one part");
    Ok(reports.fold(first, Report::merge))
}

/// Explores the cases of `range` with `jobs` threads; the plan's shard takes its rows of them. `None` if that leaves no
/// script.
///
/// # Errors
/// The first error of any script, with the script's name.
pub fn sweep(
    plan: &Plan,
    cases: &(dyn Fn(u64) -> Case + Sync),
    range: Range<u64>,
    jobs: u32,
    counters: &Counters,
) -> Result<Option<Report>, Error> {
    counters.scripts_expected.fetch_add((range.end - range.start) / u64::from(plan.budget.shard.of), Ordering::Relaxed);
    let parts = in_parts(plan.budget.shard, jobs, |shard| rows(plan, cases, range.clone(), shard, counters, None))?;
    Ok(parts.into_iter().flatten().reduce(Report::and))
}

fn rows(
    plan: &Plan,
    cases: &(dyn Fn(u64) -> Case + Sync),
    range: Range<u64>,
    shard: Shard,
    counters: &Counters,
    mut list: Option<&mut Explored>,
) -> Result<Option<Report>, Error> {
    let empty = if list.is_some() { Memory::listing } else { Memory::default };
    let (mut memory, mut row, mut last, mut whole) = (empty(), u64::MAX, None::<Plan>, None::<Report>);
    let length = row_length(plan);
    let mut end = |memory: &mut Memory, plan: Option<&Plan>| {
        if let (Some(list), Some(plan)) = (&mut list, plan) {
            list.note(memory, plan);
        }
        *memory = empty();
    };
    let mut steering = None;
    for at in range.filter(|at| shard.takes(u128::from(at / length))) {
        if row != at / length {
            end(&mut memory, last.as_ref());
            row = at / length;
            steering = plan.budget.steered.then(|| Steering::new(plan.budget.seed, row));
        }
        let case = match &mut steering {
            Some(steering) => steering.next(cases(at)),
            None => cases(at),
        };
        let Case { script, shape } = case.clone();
        let shape = shape.unwrap_or(plan.subject.shape.clone());
        let subject = Subject { shape, ..plan.subject.clone() };
        let budget = Budget { shard: Shard::WHOLE, ..plan.budget };
        let plan = Plan { subject, script, budget, ..plan.clone() };
        // Images of different volumes are unrelated, and their fingerprints could be equal.
        if last.as_ref().is_none_or(|last| last.subject.shape != plan.subject.shape) {
            end(&mut memory, last.as_ref());
        }
        last = Some(plan.clone());
        // A script that was generated for its volume, or varied, is identified by its calls only.
        let name = || match case.shape {
            Some(_) => Id::new(&plan, 0, Fates(Vec::new())).to_string(),
            None => plan.script.name.clone(),
        };
        let explored = explore_with(&plan, &mut memory, counters);
        let mut report = explored.map_err(|error| Error::Script(name(), error.into()))?;
        report.violations.iter_mut().for_each(|violation| violation.script = at);
        counters.scripts.fetch_add(1, Ordering::Relaxed);
        steering.iter_mut().for_each(|steering| report.reached += steering.learn(case.clone()) as u64);
        whole = Some(match whole {
            Some(whole) => whole.and(report),
            None => report,
        });
        if whole.as_ref().is_some_and(|whole| whole.violations.len() >= plan.budget.enough) {
            break;
        }
    }
    end(&mut memory, last.as_ref());
    Ok(whole)
}

/// Runs `work` for each part of `shard`, one thread per part, and returns the results in the order of the parts.
fn in_parts<T: Send>(
    shard: Shard,
    jobs: u32,
    work: impl Fn(Shard) -> Result<T, Error> + Sync,
) -> Result<Vec<T>, Error> {
    let (jobs, work) = (jobs.max(1), &work);
    if jobs == 1 {
        return Ok(vec![work(shard)?]);
    }
    std::thread::scope(|scope| {
        let parts: Vec<_> = (0..jobs).map(|part| scope.spawn(move || work(shard.split(part, jobs)))).collect();
        parts
            .into_iter()
            .map(|part| part.join().unwrap_or_else(|_| Err(Error::Run("a thread of the explorer panicked".into()))))
            .collect()
    })
}
