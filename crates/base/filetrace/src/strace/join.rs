//! From lines to whole calls, with times that begin at 0.

use super::left::StraceError;
use super::line::{Line, Stamp, What, line};
use super::text::{Descriptor, arguments, descriptor, number};
use std::borrow::Cow;
use std::collections::HashMap;

/// What happened, in the order in which it was over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Event<'a> {
    /// The line in which it began, from 1.
    pub(super) line: usize,
    pub(super) pid: Option<u32>,
    /// When it began.
    pub(super) at_us: u64,
    pub(super) what: Happened<'a>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Happened<'a> {
    /// A call: its name, and what follows its `(`.
    Call(&'a str, Cow<'a, str>),
    /// The process has ended.
    Ended,
    /// The thread of this number goes on as this process.
    Superseded(u32),
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending<'a> {
    /// With a number, which may be that of a descriptor.
    Done(u64, Option<Descriptor>),
    /// With this error.
    Refused(&'a str),
    /// Nobody knows.
    Unknown,
}

/// Splits a call into its arguments and how it ended.
pub(super) fn split(call: &str) -> Result<(Vec<&str>, Ending<'_>), &'static str> {
    let (arguments, rest) = arguments(call).ok_or(StraceError::CUT)?;
    let result = rest.trim_start().strip_prefix('=').ok_or(StraceError::CUT)?.trim_start();
    let word = result.split(' ').next().unwrap_or_default();
    let error = || result.split(' ').nth(1).unwrap_or_default();
    let ending = match word {
        _ if word.starts_with('-') => Ending::Refused(error()),
        "?" => Ending::Unknown,
        // A path may have a blank.
        _ => match descriptor(result).filter(|found| found.said.is_some()) {
            Some(found) => Ending::Done(found.number.unwrap_or(0).into(), Some(found)),
            None => Ending::Done(number(word).ok_or("its result is no number: the line is damaged")?, None),
        },
    };
    Ok((arguments, ending))
}

/// All that happened, and how many calls have no beginning or no end.
pub(super) fn join(text: &str) -> Result<(Vec<Event<'_>>, u64), StraceError> {
    let (mut clock, mut events, mut halves) = (Clock::default(), Vec::new(), 0);
    let mut begun: HashMap<Option<u32>, (usize, u64, &str, &str)> = HashMap::new();
    for (at, text) in text.lines().enumerate() {
        let bad = |what| StraceError { line: at + 1, what };
        let Some(Line { pid, stamp, what }) = line(text).map_err(bad)? else { continue };
        let at_us = clock.read(stamp).map_err(bad)?;
        let event = |what| Event { line: at + 1, pid, at_us, what };
        match what {
            What::Whole(name, rest) => events.push(event(Happened::Call(name, Cow::Borrowed(rest)))),
            What::Begun(name, head) => halves += u64::from(begun.insert(pid, (at + 1, at_us, name, head)).is_some()),
            What::Resumed(name, tail) => match begun.remove(&pid) {
                Some((line, at_us, first, head)) if first == name => {
                    let whole = format!("{}{}", head.trim_end(), tail);
                    events.push(Event { line, pid, at_us, what: Happened::Call(name, Cow::Owned(whole)) });
                }
                // It began before strace came.
                _ => halves += 1,
            },
            What::Lost => halves += 1,
            What::Signal => {}
            What::Ended => {
                halves += u64::from(begun.remove(&pid).is_some());
                events.push(event(Happened::Ended));
            }
            What::Superseded(thread) => {
                halves += u64::from(begun.remove(&pid).is_some());
                if let Some(call) = begun.remove(&Some(thread)) {
                    begun.insert(pid, call);
                }
                events.push(event(Happened::Superseded(thread)));
            }
        }
    }
    Ok((events, halves + begun.len() as u64))
}

/// Times as microseconds since the first line.
#[derive(Debug, Default)]
struct Clock {
    first: Option<Stamp>,
    /// Of days, the last time and how many have passed; of times since the line before, their sum.
    last: u64,
    days: u64,
}

const DAY_US: u64 = 86_400 * 1_000_000;

impl Clock {
    fn read(&mut self, stamp: Stamp) -> Result<u64, &'static str> {
        let first = *self.first.get_or_insert(stamp);
        match (first, stamp) {
            // Of several processors, one may be a little ahead.
            (Stamp::Epoch(first), Stamp::Epoch(now)) => Ok(now.saturating_sub(first)),
            (Stamp::Day(first), Stamp::Day(now)) => {
                // More than half a day back is the next day.
                if now.saturating_add(DAY_US / 2) < self.last {
                    self.days += 1;
                }
                self.last = now;
                Ok((self.days * DAY_US + now).saturating_sub(first))
            }
            (Stamp::Before(_), Stamp::Before(now)) => {
                self.last = self.last.saturating_add(now);
                Ok(self.last)
            }
            _ => Err("its time has another form than that of the first line: give strace one of -ttt, -tt and -r"),
        }
    }
}
