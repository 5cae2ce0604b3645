//! Selects a partition: the suffix after `@` in an image path.
//!
//! `@p2` and `@s2` both mean entry 2, whatever the table's kind: users of different systems name it differently. `@s1a`
//! (or `@p1a`) is partition `a` of the disklabel in entry 1, `@a` that of a disk without slices, of a Sun label or of
//! NeXT's, and `@gpt:LABEL` selects by name. Slice 0 of Solaris is `a`.

use super::{Partition, Table};
use std::fmt;
use std::str::FromStr;

/// A partition as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Select {
    /// Entry of an MBR, a GPT or Apple's map, from 1.
    Number(u32),
    /// Partition of a disklabel, or slice of a Sun or NeXT label.
    Lettered {
        /// The slice that holds the label; `None` if the label describes the whole disk.
        slice: Option<u32>,
        /// `a` to `z`.
        letter: char,
    },
    /// Name in a GPT.
    Label(String),
}

/// The text after `@` is not a partition name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("\"{0}\" does not name a partition; use p2, s1, s1a, a or gpt:LABEL")]
pub struct SelectError(pub String);

/// No partition has that name, or several have it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{problem} {wanted}; the disk has {present}")]
pub struct NoSuchPartition {
    problem: &'static str,
    wanted: String,
    present: String,
}

impl FromStr for Select {
    type Err = SelectError;

    fn from_str(text: &str) -> Result<Select, SelectError> {
        let unclear = || SelectError(text.into());
        if let Some(label) = text.strip_prefix("gpt:") {
            return if label.is_empty() { Err(unclear()) } else { Ok(Select::Label(label.into())) };
        }
        if let [letter @ b'a'..=b'z'] = text.as_bytes() {
            return Ok(Select::Lettered { slice: None, letter: char::from(*letter) });
        }
        let rest = text.strip_prefix(['p', 's']).ok_or_else(unclear)?;
        let letter = rest.chars().last().filter(char::is_ascii_lowercase);
        let digits = rest.trim_end_matches(|c| Some(c) == letter);
        let canonical = digits.bytes().all(|b| b.is_ascii_digit()) && rest.len() - digits.len() <= 1;
        let number = digits.parse().ok().filter(|&number: &u32| canonical && number > 0).ok_or_else(unclear)?;
        Ok(letter.map_or(Select::Number(number), |letter| Select::Lettered { slice: Some(number), letter }))
    }
}

impl fmt::Display for Select {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Select::Number(number) => write!(f, "p{number}"),
            Select::Lettered { slice: Some(number), letter } => write!(f, "s{number}{letter}"),
            Select::Lettered { slice: None, letter } => write!(f, "{letter}"),
            Select::Label(label) => write!(f, "gpt:{label}"),
        }
    }
}

impl Select {
    fn names(&self, partition: &Partition) -> bool {
        match self {
            Select::Label(label) => partition.label == *label,
            // Names in the list begin with the kind of table, which a user need not know.
            _ => partition.name.parse().is_ok_and(|own: Select| own == *self),
        }
    }
}

/// The partition of `table` that `select` names; an error lists the available partitions, and the refused ones with
/// reasons.
pub fn select<'a>(table: &'a Table, select: &Select) -> Result<&'a Partition, NoSuchPartition> {
    let mut matching = table.partitions.iter().filter(|partition| select.names(partition));
    let failure = |problem| NoSuchPartition { problem, wanted: select.to_string(), present: describe(table) };
    match (matching.next(), matching.next()) {
        (Some(partition), None) => Ok(partition),
        (None, _) => Err(failure("no partition")),
        (Some(_), Some(_)) => Err(failure("more than one partition")),
    }
}

fn describe(table: &Table) -> String {
    let usable = table.partitions.iter().map(|p| {
        let label = if p.label.is_empty() { String::new() } else { format!(", gpt:{}", p.label.escape_debug()) };
        format!("{} ({}, {} bytes at {}{label})", p.name, p.kind, p.len, p.start)
    });
    let refused = table.refused.iter().map(|r| format!("{} (unusable: {})", r.name, r.reason));
    let all: Vec<String> = usable.chain(refused).collect();
    if all.is_empty() { "no partition table".into() } else { all.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::super::Refused;
    use super::*;

    fn partition(name: &str, label: &str) -> Partition {
        Partition { name: name.into(), start: 512, len: 1024, kind: "4.2BSD".into(), label: label.into() }
    }

    #[test]
    fn suffixes_are_parsed() {
        let lettered = |slice, letter| Ok(Select::Lettered { slice, letter });
        assert_eq!("p2".parse(), Ok(Select::Number(2)));
        assert_eq!("s12".parse(), Ok(Select::Number(12)));
        assert_eq!("s1a".parse(), lettered(Some(1), 'a'));
        assert_eq!("e".parse(), lettered(None, 'e'));
        assert_eq!("gpt:root fs".parse(), Ok(Select::Label("root fs".into())));
        for wrong in ["", "p0", "pa", "s1aa", "s-1", "s+1", "q1", "gpt:", "s99999999999", "1", "s1A", "sé"] {
            assert_eq!(wrong.parse::<Select>(), Err(SelectError(wrong.into())));
        }
    }

    #[test]
    fn partition_is_selected_by_number_letter_and_label() {
        let partitions = vec![partition("s1", ""), partition("s1a", ""), partition("p3", "root")];
        let table = Table { partitions, refused: vec![], is_read: true };
        for (text, index) in [("p1", 0), ("s1", 0), ("s1a", 1), ("p1a", 1), ("s3", 2), ("gpt:root", 2)] {
            assert_eq!(select(&table, &text.parse().expect(text)), Ok(&table.partitions[index]), "{text}");
        }
    }

    #[test]
    fn missing_partition_error_lists_what_there_is() {
        let refused = vec![Refused { name: "s2".into(), reason: "too long".into() }];
        let table = Table { partitions: vec![partition("s1", "")], refused, is_read: true };
        let error = select(&table, &Select::Number(2)).expect_err("s2 is refused").to_string();
        assert!(
            error.contains("s1 (4.2BSD, 1024 bytes at 512)") && error.contains("s2 (unusable: too long)"),
            "{error}"
        );
    }

    #[test]
    fn label_that_two_partitions_share_is_refused() {
        let partitions = vec![partition("p1", "x"), partition("p2", "x")];
        let table = Table { partitions, refused: vec![], is_read: true };
        assert!(select(&table, &Select::Label("x".into())).is_err());
    }
}
