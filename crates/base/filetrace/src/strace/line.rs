//! A line: who, when, and a call or a part of it.

use super::left::StraceError;

/// A line, without what says nothing about a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line<'a> {
    /// The process or thread, where the line says it.
    pub(super) pid: Option<u32>,
    pub(super) stamp: Stamp,
    pub(super) what: What<'a>,
}

/// A time as it is written, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stamp {
    /// Since 1970 (`-ttt`).
    Epoch(u64),
    /// Since midnight (`-t`, `-tt`).
    Day(u64),
    /// Since the line before (`-r`).
    Before(u64),
}

/// What a line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What<'a> {
    /// A whole call: its name, and what follows its `(`.
    Whole(&'a str, &'a str),
    /// A call that is not over: its name, and its arguments so far.
    Begun(&'a str, &'a str),
    /// The rest of a call.
    Resumed(&'a str, &'a str),
    /// A call that will never be over: the process ended in it, or strace left it.
    Lost,
    /// A signal.
    Signal,
    /// The process has ended.
    Ended,
    /// The thread of this number goes on as the process of this line.
    Superseded(u32),
}

/// Epoch times are larger than this many seconds, and times since the line before are not.
const LEAST_EPOCH: u64 = 100_000_000;

/// Reads a line; `None` if it is about strace itself.
pub(super) fn line(text: &str) -> Result<Option<Line<'_>>, &'static str> {
    // With -k the calls of the program's own functions follow, each with an arrow.
    let is_arrow = text.starts_with(" > ");
    let text = text.trim();
    if text.is_empty() || is_arrow || text.starts_with("strace: ") || is_attached(text) {
        return Ok(None);
    }
    let (pid, rest) = pid(text);
    let (stamp, rest) = stamp(rest).ok_or(StraceError::NO_TIME)?;
    Ok(Some(Line { pid, stamp, what: what(without_marks(rest))? }))
}

/// Whether a line has no time, and is otherwise one of strace's.
pub(super) fn lacks_only_time(text: &str) -> bool {
    let (_, rest) = pid(text.trim_start());
    stamp(rest).is_none() && what(rest).is_ok()
}

/// What strace says between the lines when it has no file of its own.
fn is_attached(text: &str) -> bool {
    text.starts_with("Process ") && [" attached", " detached"].iter().any(|end| text.ends_with(end))
}

/// `[pid 12] ` or `12 `, perhaps with the program's name, as `12<cat> `.
fn pid(text: &str) -> (Option<u32>, &str) {
    let inside = text.strip_prefix("[pid").map(str::trim_start);
    let digits = inside.unwrap_or(text);
    let end = digits.bytes().take_while(u8::is_ascii_digit).count();
    let (pid, mut rest) = (digits[..end].parse().ok(), &digits[end..]);
    if let Some((_, behind)) = rest.strip_prefix('<').and_then(|rest| rest.split_once('>')) {
        rest = behind;
    }
    if inside.is_some() {
        rest = rest.strip_prefix(']').unwrap_or("");
    }
    // Else the digits are those of a time.
    if pid.is_some() && rest.starts_with(' ') { (pid, rest.trim_start()) } else { (None, text) }
}

fn stamp(text: &str) -> Option<(Stamp, &str)> {
    let (word, rest) = text.split_once(' ')?;
    let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
    let part_us = part_us(part)?;
    let us = |seconds: u64| seconds.checked_mul(1_000_000)?.checked_add(part_us);
    let stamp = if whole.contains(':') {
        let mut fields = whole.splitn(3, ':').map(|field| field.parse::<u64>().ok().filter(|field| *field < 61));
        let (hours, minutes, seconds) = (fields.next()??, fields.next()??, fields.next()??);
        Stamp::Day(us((hours * 60 + minutes) * 60 + seconds)?)
    } else {
        // Whole seconds alone could be anything.
        let seconds: u64 = word.contains('.').then(|| whole.parse().ok())??;
        if seconds < LEAST_EPOCH { Stamp::Before(us(seconds)?) } else { Stamp::Epoch(us(seconds)?) }
    };
    Some((stamp, rest.trim_start()))
}

/// Digits behind the point as microseconds.
fn part_us(digits: &str) -> Option<u64> {
    let is_part = (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    let value: u64 = is_part.then(|| digits.parse().ok())??;
    Some(value * 10_u64.pow(9 - digits.len() as u32) / 1000)
}

/// Without the time since the line before (`-r` beside another), the place in the program (`-i`) and the call's number
/// (`-n`).
fn without_marks(mut text: &str) -> &str {
    if let Some(behind) = text.strip_prefix("(+").and_then(|text| text.split_once(')')) {
        text = behind.1.trim_start();
    }
    while let Some(behind) = text.strip_prefix('[').and_then(|text| text.split_once(']')) {
        text = behind.1.trim_start();
    }
    text
}

fn what(text: &str) -> Result<What<'_>, &'static str> {
    let text = text.trim_end();
    if let Some(inside) = text.strip_prefix("+++ ").and_then(|text| text.strip_suffix(" +++")) {
        let by = inside.strip_prefix("superseded by execve in pid ");
        return Ok(by.and_then(|pid| pid.parse().ok()).map_or(What::Ended, What::Superseded));
    }
    if text.starts_with("--- ") && text.ends_with(" ---") {
        return Ok(What::Signal);
    }
    if let Some((name, rest)) = text.strip_prefix("<... ").and_then(|text| text.split_once(" resumed>")) {
        return Ok(What::Resumed(name, rest));
    }
    let (name, rest) = text.split_once('(').ok_or(StraceError::NO_CALL)?;
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'?';
    if name.is_empty() || !name.bytes().all(is_letter) {
        return Err(StraceError::NO_CALL);
    }
    if let Some(head) = rest.strip_suffix("<unfinished ...>") {
        return Ok(What::Begun(name, head));
    }
    let is_left = rest.ends_with("<detached ...>") || rest.ends_with("<unfinished ...>) = ?");
    Ok(if is_left || rest.ends_with(":No such process>") { What::Lost } else { What::Whole(name, rest) })
}
