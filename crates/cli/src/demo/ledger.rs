//! A ledger: transfers between accounts, each one line that is durable when it is acknowledged.
//!
//! L1. A line is appended whole and synced before the next: so a ledger that was kept by the rules is all its
//!     acknowledged lines, and at most one piece of a line behind them, which was not.
//! L2. A line says its number and the sum of all balances after it, which no transfer changes.

use anyhow::Context;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

const ACCOUNTS: u32 = 1000;
const SUM: u32 = ACCOUNTS * 100;

/// An open ledger.
pub(crate) struct Ledger(File);

/// What is in a ledger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Books {
    /// The number of the last transfer; 0 before the first.
    pub(crate) transfers: u32,
    /// What is wrong with its lines.
    pub(crate) wrong: Option<String>,
}

fn line(n: u32) -> String {
    let (from, to) = (n * 7 % ACCOUNTS, n * 13 % ACCOUNTS);
    format!("transfer {n}: 1 from account {from} to account {to}; all have {SUM}\n")
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

    /// Transfer number `n`, from 1.
    ///
    /// # Errors
    /// What was not acknowledged may have happened or not.
    pub(crate) fn transfer(&mut self, n: u32) -> io::Result<()> {
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
    let mut books = Books { transfers: 0, wrong: None };
    let mut left = &text[..];
    loop {
        let next = line(books.transfers + 1);
        match left.strip_prefix(next.as_bytes()) {
            Some(rest) => left = rest,
            None => {
                if !next.as_bytes().starts_with(left) {
                    let shown = String::from_utf8_lossy(&left[..left.len().min(next.len())]).into_owned();
                    books.wrong = Some(format!("behind transfer {} stands {shown:?}", books.transfers));
                }
                return Ok(books);
            }
        }
        books.transfers += 1;
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
        (1..=20).for_each(|n| ledger.transfer(n).unwrap());
        let whole = Books { transfers: 20, wrong: None };
        assert_eq!(books(&path).unwrap(), whole);
        let text = std::fs::read(&path).unwrap();
        std::fs::write(&path, [&text[..], b"transfer 2"].concat()).unwrap();
        assert_eq!(books(&path).unwrap(), whole, "a piece of the next line was not acknowledged");
        std::fs::write(&path, [&text[..], &[0; 16]].concat()).unwrap();
        assert!(books(&path).unwrap().wrong.is_some());
        std::fs::write(&path, &text[..text.len() - 90]).unwrap();
        assert!(books(&path).unwrap().transfers < 20);
    }
}
