//! How far a long command is: a line on the terminal, once it takes longer than a second.
//!
//! P1. A line that a command prints meanwhile is never mixed with it: [`aside`] takes it away and puts it back.
//! P2. Where standard error is no terminal, nothing is shown, and nothing is counted beforehand ([`is_seen`]).
//! P3. Where the whole is known, the line has it, with the share that is done and the time that is left.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::cell::RefCell;
use std::io::IsTerminal;
use std::time::Duration;

/// Shorter work needs no line.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, with suffixes.
    Bytes,
    /// Files, counted.
    Files,
}

struct Line {
    bar: ProgressBar,
    unit: Unit,
    shown: bool,
}

thread_local! {
    static LINE: RefCell<Option<Line>> = const { RefCell::new(None) };
}

/// Whether anybody sees it: otherwise nobody has to find out how much there is to do.
pub fn is_seen() -> bool {
    std::io::stderr().is_terminal()
}

fn begun(unit: Unit, whole: Option<u64>) -> Line {
    let bar = ProgressBar::with_draw_target(whole, ProgressDrawTarget::hidden());
    Line { bar, unit, shown: !is_seen() }
}

/// The text of the line (P3).
fn template(unit: Unit, whole: bool) -> &'static str {
    match (unit, whole) {
        (Unit::Bytes, true) => "{percent}% of {binary_total_bytes}, {binary_bytes_per_sec}, {eta} left",
        (Unit::Bytes, false) => "{binary_bytes} done, {binary_bytes_per_sec}",
        (Unit::Files, true) => "{percent}% of {human_len} files, {eta} left",
        (Unit::Files, false) => "{human_pos} files done, {elapsed}",
    }
}

/// Work begins of which so much is to be done; 0 if that is not known.
pub fn begin(unit: Unit, whole: u64) {
    end();
    LINE.set(Some(begun(unit, (whole > 0).then_some(whole))));
}

/// So many more bytes are done, or files if work of files has begun.
pub fn add(amount: u64) {
    change(|bar| bar.inc(amount));
}

/// So much is done in all.
pub fn reach(done: u64) {
    change(|bar| bar.set_position(done));
}

fn change(how: impl FnOnce(&ProgressBar)) {
    LINE.with_borrow_mut(|line| {
        let line = line.get_or_insert_with(|| begun(Unit::Bytes, None));
        how(&line.bar);
        if !line.shown && line.bar.elapsed() > PATIENCE {
            line.shown = true;
            if let Ok(style) = ProgressStyle::with_template(template(line.unit, line.bar.length().is_some())) {
                line.bar.set_style(style);
            }
            line.bar.set_draw_target(ProgressDrawTarget::stderr());
        }
    });
}

/// Runs `print` with the line out of the way.
pub fn aside<T>(print: impl FnOnce() -> T) -> T {
    LINE.with_borrow(|line| match line {
        Some(line) => line.bar.suspend(print),
        None => print(),
    })
}

/// The work is over: the line goes.
pub fn end() {
    if let Some(line) = LINE.take() {
        line.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_that_can_be_drawn_and_a_whole_has_its_share_and_rest() {
        for unit in [Unit::Bytes, Unit::Files] {
            for whole in [true, false] {
                let template = template(unit, whole);
                assert!(ProgressStyle::with_template(template).is_ok(), "{template}");
                assert_eq!(template.contains("{percent}") && template.contains("{eta}"), whole, "{template}");
            }
        }
    }

    #[test]
    fn work_that_begins_replaces_the_work_before() {
        begin(Unit::Bytes, 100);
        add(30);
        reach(70);
        let at =
            || LINE.with_borrow(|line| line.as_ref().map(|line| (line.bar.position(), line.bar.length(), line.unit)));
        assert_eq!(at(), Some((70, Some(100), Unit::Bytes)));
        begin(Unit::Files, 0);
        add(2);
        assert_eq!(at(), Some((2, None, Unit::Files)));
        end();
        assert_eq!(at(), None);
    }
}
