//! A ledger: entries, each one line that is durable when it is acknowledged.
//!
//! L1. A line is appended whole and synced before the next: so a ledger that was kept by the rules is all its
//!     acknowledged lines, and at most one piece of a line behind them, which was not.
//! L2. A line follows from its number, so that every byte of a ledger is known: a lost line, one of another place and a
//!     hole are all seen.

use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

/// An open ledger.
pub(crate) struct Ledger(File);

/// What is in a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Books {
    /// The number of the last entry; 0 before the first.
    pub(crate) entries: u32,
    /// What is wrong with its lines.
    pub(crate) wrong: Option<String>,
}

fn line(n: u32) -> String {
    let amount = n.wrapping_mul(2_654_435_761);
    format!("entry {n}: {amount:010} received, and written before it was said\n")
}

impl Ledger {
    /// A new, empty ledger, whose name is durable.
    pub(crate) fn found(path: &Path) -> anyhow::Result<Ledger> {
        let shown = || path.display().to_string();
        let file = OpenOptions::new().append(true).create_new(true).open(path).with_context(shown)?;
        file.sync_all().with_context(shown)?;
        File::open(path.parent().context("a ledger lies in a directory")?)?.sync_all().with_context(shown)?;
        Ok(Ledger(file))
    }

    /// Entry number `n`, from 1.
    ///
    /// # Errors
    /// What was not acknowledged may have happened or not.
    pub(crate) fn enter(&mut self, n: u32) -> io::Result<()> {
        self.0.write_all(line(n).as_bytes())?;
        self.0.sync_data()
    }
}

/// Reads a ledger that nobody keeps at the moment.
///
/// # Errors
/// When it cannot be read at all.
pub(crate) fn books(path: &Path) -> anyhow::Result<Books> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    let mut books = Books { entries: 0, wrong: None };
    let mut left = &text[..];
    loop {
        let next = line(books.entries + 1);
        match left.strip_prefix(next.as_bytes()) {
            Some(rest) => left = rest,
            None => {
                if !next.as_bytes().starts_with(left) {
                    let shown = String::from_utf8_lossy(&left[..left.len().min(next.len())]).into_owned();
                    books.wrong = Some(format!("behind entry {} stands {shown:?}", books.entries));
                }
                return Ok(books);
            }
        }
        books.entries += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_are_right_until_somebody_changes_a_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("ledger");
        assert!(books(&path).is_err());
        let mut ledger = Ledger::found(&path).unwrap();
        assert!(Ledger::found(&path).is_err());
        (1..=20).for_each(|n| ledger.enter(n).unwrap());
        let whole = Books { entries: 20, wrong: None };
        assert_eq!(books(&path).unwrap(), whole);
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&text[..], b"entry 2"].concat()).unwrap();
        assert_eq!(books(&path).unwrap(), whole, "a piece of the next line was not acknowledged");
        std::fs::write(&path, [&text[..], &[0; 16]].concat()).unwrap();
        assert!(books(&path).unwrap().wrong.is_some());
        std::fs::write(&path, &text[..text.len() - 90]).unwrap();
        assert!(books(&path).unwrap().entries < 20);
    }
}
