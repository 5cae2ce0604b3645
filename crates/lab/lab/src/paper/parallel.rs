//! Runs many jobs on as many threads as the machine has.
//!
//! E1. Every run is independent and depends on its parameters only; runs share threads, not state, so the number of
//!     threads affects only the time.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
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
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let outcomes: Mutex<BTreeMap<usize, Result<T, E>>> = Mutex::default();
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let work = || {
        while let Some((at, job)) = take(&next, jobs) {
            let outcome = one(job);
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

fn take<'a, T>(next: &AtomicUsize, jobs: &'a [T]) -> Option<(usize, &'a T)> {
    let at = next.fetch_add(1, Ordering::Relaxed);
    jobs.get(at).map(|job| (at, job))
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
}
