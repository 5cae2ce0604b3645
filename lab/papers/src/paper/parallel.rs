//! Runs many jobs on as many threads as the machine has.
//!
//! E1. Every run is independent and depends on its parameters only, so neither the number of threads nor their order
//!     affects a result. What runs share is made by a function of their parameters, and no run changes it.
//! E2. No lock is held while anything runs or is made. A job whose shared part is being made by another thread waits;
//!     the thread takes the next one that can run.
//! E3. What jobs share is made before the first of them and freed after the last, so few are in memory at a time if
//!     the jobs of each lie together.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The results of `one` for each of `jobs`, in order. `progress` receives the number of finished jobs and the total.
///
/// # Errors
/// The first failure, in the order of the jobs.
pub fn run_all<J: Sync, T: Send, E: Send>(
    jobs: &[J],
    progress: &(dyn Fn(usize, usize) + Sync),
    one: impl Fn(&J) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    run_sharing(jobs, |_| None::<()>, progress, |()| Ok(()), |job, _: Option<&()>| one(job))
}

/// The same for jobs of which several share something: those with equal values of `of` share what `make` makes of it.
///
/// # Errors
/// The first failure, in the order of the jobs; if nothing could be made, it is that of each job that needs it.
pub(crate) fn run_sharing<J: Sync, K: PartialEq + Sync, S: Send + Sync, T: Send, E: Send>(
    jobs: &[J],
    of: impl Fn(&J) -> Option<K>,
    progress: &(dyn Fn(usize, usize) + Sync),
    make: impl Fn(&K) -> Result<S, E> + Sync,
    one: impl Fn(&J, Option<&S>) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let mut keys: Vec<K> = Vec::new();
    let mut group_of = |job: &J| {
        let key = of(job)?;
        let found = keys.iter().position(|known| *known == key);
        Some(found.unwrap_or_else(|| {
            keys.push(key);
            keys.len() - 1
        }))
    };
    let waiting: Vec<(usize, Option<usize>)> = jobs.iter().map(&mut group_of).enumerate().collect();
    let plan = Plan::new(waiting, keys.len());
    let done = AtomicUsize::new(0);
    let outcomes: Mutex<BTreeMap<usize, Result<T, E>>> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some((at, group)) = plan.take() {
            let outcome = match group {
                None => one(&jobs[at], None),
                Some(group) => {
                    let part = Part { plan: &plan, group };
                    part.made(|| make(&keys[group])).and_then(|shared| one(&jobs[at], Some(&shared)))
                }
            };
            if let Ok(mut outcomes) = outcomes.lock() {
                outcomes.insert(at, outcome);
            }
            progress(done.fetch_add(1, Ordering::Relaxed) + 1, jobs.len());
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    // A thread that panicked has ended the scope by its panic already.
    outcomes.into_inner().unwrap_or_default().into_values().collect()
}

/// Which jobs wait, and what they share.
struct Plan<S> {
    state: Mutex<State<S>>,
    changed: Condvar,
}

struct State<S> {
    /// Jobs that no thread has taken, in their order, with their groups.
    waiting: Vec<(usize, Option<usize>)>,
    groups: Vec<Group<S>>,
}

struct Group<S> {
    shared: Shared<S>,
    /// Jobs that have not ended.
    left: usize,
}

enum Shared<S> {
    Not,
    /// A thread that has taken one of its jobs is making it.
    Making,
    Made(Arc<S>),
}

impl<S> Plan<S> {
    fn new(waiting: Vec<(usize, Option<usize>)>, groups: usize) -> Plan<S> {
        let count = |group| waiting.iter().filter(|(_, of)| *of == Some(group)).count();
        let groups = (0..groups).map(|group| Group { shared: Shared::Not, left: count(group) }).collect();
        Plan { state: Mutex::new(State { waiting, groups }), changed: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<S>> {
        // Each change of the state is a single step, so a panic elsewhere leaves it whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first job that can run, or be the one for which the shared part is made. `None` when all are taken.
    fn take(&self) -> Option<(usize, Option<usize>)> {
        let mut state = self.state();
        loop {
            let can_run =
                |group: &Option<usize>| group.is_none_or(|group| !matches!(state.groups[group].shared, Shared::Making));
            match state.waiting.iter().position(|(_, group)| can_run(group)) {
                Some(place) => {
                    let (at, group) = state.waiting.remove(place);
                    let shared = group.map(|group| &mut state.groups[group].shared);
                    if let Some(shared @ Shared::Not) = shared {
                        *shared = Shared::Making;
                    }
                    return Some((at, group));
                }
                None if state.waiting.is_empty() => return None,
                None => state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }
}

/// A job's part in what its group shares; it ends with the job, however that ends.
struct Part<'a, S> {
    plan: &'a Plan<S>,
    group: usize,
}

impl<S> Part<'_, S> {
    /// What the group shares, made now if this job was taken for that.
    fn made<E>(&self, make: impl FnOnce() -> Result<S, E>) -> Result<Arc<S>, E> {
        if let Shared::Made(shared) = &self.plan.state().groups[self.group].shared {
            return Ok(shared.clone());
        }
        let shared = Arc::new(make()?);
        self.plan.state().groups[self.group].shared = Shared::Made(shared.clone());
        self.plan.changed.notify_all();
        Ok(shared)
    }
}

impl<S> Drop for Part<'_, S> {
    fn drop(&mut self) {
        let mut state = self.plan.state();
        let group = &mut state.groups[self.group];
        group.left -= 1;
        // What could not be made is tried again for the next job.
        let failed = matches!(group.shared, Shared::Making);
        let freed = if failed || group.left == 0 { std::mem::replace(&mut group.shared, Shared::Not) } else { return };
        drop(state);
        drop(freed);
        self.plan.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::LabError;

    #[test]
    fn outcomes_come_in_the_order_of_the_jobs_and_the_first_failure_counts() {
        let jobs: Vec<u32> = (0..50).collect();
        let last = AtomicUsize::new(0);
        let progress = |done: usize, all: usize| {
            assert_eq!(all, 50);
            last.fetch_max(done, Ordering::Relaxed);
        };
        let twice = run_all(&jobs, &progress, |job| Ok::<_, LabError>(job * 2));
        assert_eq!(twice.unwrap(), (0..50).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!(last.into_inner(), 50);
        let odd = |job: &u32| if job.is_multiple_of(2) { Ok(()) } else { Err(LabError::NoPaper(job.to_string())) };
        let failed = run_all(&jobs, &|_, _| (), odd);
        assert!(matches!(failed, Err(LabError::NoPaper(no)) if no == "1"));
    }

    #[test]
    fn what_jobs_share_is_made_once_and_freed_after_the_last() {
        /// Counts those that exist.
        struct Held<'a>(u32, &'a AtomicUsize);
        impl Drop for Held<'_> {
            fn drop(&mut self) {
                self.1.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let jobs: Vec<u32> = (0..60).collect();
        let (exist, made) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let make = |tens: &u32| {
            made.fetch_add(1, Ordering::Relaxed);
            exist.fetch_add(1, Ordering::Relaxed);
            Ok::<_, LabError>(Held(*tens, &exist))
        };
        // Every seventh needs nothing.
        let of = |job: &u32| (!job.is_multiple_of(7)).then_some(job / 10);
        let one = |job: &u32, shared: Option<&Held<'_>>| {
            assert_eq!(shared.map(|shared| shared.0), of(job));
            Ok(job * 2)
        };
        let twice = run_sharing(&jobs, of, &|_, _| (), make, one);
        assert_eq!(twice.unwrap(), (0..60).map(|n| n * 2).collect::<Vec<_>>());
        assert_eq!((made.into_inner(), exist.load(Ordering::Relaxed)), (6, 0));
    }

    #[test]
    fn what_cannot_be_made_fails_every_job_that_needs_it_and_no_other() {
        let failed = AtomicUsize::new(0);
        let make = |tens: &u32| if *tens == 1 { Err(LabError::NoPaper(tens.to_string())) } else { Ok(()) };
        let jobs: Vec<u32> = (0..30).collect();
        let counted = |job: &u32, _: Option<&()>| {
            failed.fetch_add(1, Ordering::Relaxed);
            Ok(*job)
        };
        let outcome = run_sharing(&jobs, |job| Some(job / 10), &|_, _| (), make, counted);
        assert!(matches!(outcome, Err(LabError::NoPaper(no)) if no == "1"));
        assert_eq!(failed.into_inner(), 20);
    }
}
