//! What cannot be followed, and what is not in the trace.

use crate::call::Call;
use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// A line that strace does not write, or that cannot be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the output of strace: {what}")]
pub struct StraceError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it, and what to do.
    pub what: &'static str,
}

impl StraceError {
    pub(super) const NO_TIME: &'static str = "it has no time: record with strace -f -ttt -y -o FILE";
    pub(super) const NO_CALL: &'static str =
        "it is no call: what the program wrote may have come between; record with strace -o FILE, or remove the line";
    pub(super) const CUT: &'static str = "its call has no end: if strace was killed, remove the line";
}

/// What is not in the trace, and what in it is a guess (strace-2, strace-3).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Left {
    /// Calls on files outside of the root, or on what is no file.
    pub outside: u64,
    /// Calls that were refused.
    pub failed: u64,
    /// Calls on a descriptor, or in a directory, that the text does not name.
    pub unplaced: u64,
    /// Calls of which the beginning or the end is missing.
    pub halves: u64,
    /// Calls that nothing here knows, by name.
    pub not_followed: BTreeMap<String, u64>,
    /// Mappings of files: what goes through memory is not seen.
    pub maps: u64,
    /// Writes at the end of a file whose size is not known.
    pub ends: u64,
    /// Descriptors that were opened unseen, and taken to be at the beginning of the file.
    pub positions: u64,
}

impl Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let by_name: Vec<String> = self.not_followed.iter().map(|(name, count)| format!("{name} {count}")).collect();
        let all = self.not_followed.values().sum();
        let parts = [
            (self.outside, "outside of the root", String::new()),
            (self.failed, "refused", String::new()),
            (self.unplaced, "on descriptors or directories that are not named (strace -y names them)", String::new()),
            (self.halves, "without a beginning or an end", String::new()),
            (all, "not followed", format!(" ({})", by_name.join(", "))),
        ];
        let parts: Vec<String> = parts
            .iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, what, more)| format!("{count} {what}{more}"))
            .collect();
        let guesses = [
            (self.maps, "mappings, through which files are read and written unseen"),
            (self.ends, "writes at an end that is not known"),
            (self.positions, "descriptors that were opened unseen, taken to be at the beginning"),
        ];
        let guesses: Vec<String> =
            guesses.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        match parts.is_empty() {
            true => f.write_str("no call was left out")?,
            false => write!(f, "left out: {}", parts.join(", "))?,
        }
        if !guesses.is_empty() {
            write!(f, "; in the trace: {}", guesses.join(", "))?;
        }
        Ok(())
    }
}

/// The output of strace as a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strace {
    /// The lines of a file trace, in the order in which they came.
    pub calls: Vec<Call>,
    /// The calls of the programs that were followed.
    pub seen: u64,
    /// The others.
    pub left: Left,
}
