//! A progress bar for an exploration.

use indicatif::{ProgressBar, ProgressStyle};
use ordo_crash::Counters;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

const EVERY: Duration = Duration::from_millis(200);

/// Runs `work`; on a terminal, shows its `counters` meanwhile.
pub(super) fn during<T>(counters: &Counters, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let bar = ProgressBar::new(0);
    // OK to expect: the template is a constant.
    let style = ProgressStyle::with_template("{bar:24} {msg}, {per_sec}, {elapsed}").expect("a template");
    bar.set_style(style);
    let (done, ended) = channel::<()>();
    let line = &bar;
    let answer = std::thread::scope(|scope| {
        scope.spawn(move || {
            // Until the sender is dropped, even by a panic.
            while ended.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                show(line, counters);
            }
        });
        let answer = work();
        drop(done);
        answer
    });
    bar.finish_and_clear();
    answer
}

fn show(bar: &ProgressBar, counters: &Counters) {
    let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let (states, violations) = (of(&counters.states), of(&counters.violations));
    let (scripts, all) = (of(&counters.scripts), of(&counters.scripts_expected));
    let mut message = format!("{states} states, {violations} violations");
    if all > 1 {
        message = format!("{scripts} of {all} scripts, {message}");
    }
    bar.set_length(of(&counters.expected).max(states));
    bar.set_position(states);
    bar.set_message(message);
}
