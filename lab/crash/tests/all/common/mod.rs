//! Helpers shared by the tests of the explorer.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The budget of a sweep: the whole one where `ORDO_WHOLE` is set, and otherwise that of every commit.
pub(crate) fn short<T>(whole: T, short: T) -> T {
    if std::env::var_os("ORDO_WHOLE").is_some() { whole } else { short }
}

/// The results of `work` for 0 to `count`, in order, computed by two threads.
pub(crate) fn by_two<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    if at >= count {
                        return;
                    }
                    let answer = work(at);
                    answers.lock().unwrap().push((at, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().unwrap();
    answers.sort_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
