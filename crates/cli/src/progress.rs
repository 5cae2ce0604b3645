//! How far a long copy is: a line on the terminal, once it takes longer than a second.
//!
//! P1. A line that a command prints meanwhile is never mixed with it: [`aside`] takes it away and puts it back.
//! P2. Where standard error is no terminal, nothing is shown.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

/// Shorter work needs no line.
const PATIENCE: Duration = Duration::from_secs(1);

struct Line {
    bar: ProgressBar,
    shown: bool,
}

thread_local! {
    static LINE: RefCell<Option<Line>> = const { RefCell::new(None) };
}

/// So many more bytes are done.
pub(crate) fn add(bytes: u64) {
    LINE.with_borrow_mut(|line| {
        let line = line.get_or_insert_with(|| {
            let target = ProgressDrawTarget::hidden();
            Line { bar: ProgressBar::with_draw_target(None, target), shown: !std::io::stderr().is_terminal() }
        });
        line.bar.inc(bytes);
        if !line.shown && line.bar.elapsed() > PATIENCE {
            line.shown = true;
            if let Ok(style) = ProgressStyle::with_template("{binary_bytes} done, {binary_bytes_per_sec}") {
                line.bar.set_style(style);
            }
            line.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
}

/// Runs `print` with the line out of the way.
pub(crate) fn aside<T>(print: impl FnOnce() -> T) -> T {
    LINE.with_borrow(|line| match line {
        Some(line) => line.bar.suspend(print),
        None => print(),
    })
}

/// The work is over: the line goes.
pub(crate) fn end() {
    if let Some(line) = LINE.take() {
        line.bar.finish_and_clear();
    }
}
