//! A bank in SQLite: transfers between accounts, each one transaction that is durable when it returns.
//!
//! B1. Money is neither made nor lost: the balances have the same sum after each transaction.
//! B2. Transfer `n` is recorded in its own transaction, so a database says how many it has.

use anyhow::Context;
use rusqlite::Connection;
use std::path::Path;

const ACCOUNTS: u32 = 1000;
const BALANCE: u32 = 100;
/// A transaction ends when the journal is cut off and synced. If it ended with the journal's removal, SQLite would sync
/// the directory, but take it for done when the directory cannot be opened: in the moment of a kill.
const SAFELY: &str = "PRAGMA journal_mode = TRUNCATE; PRAGMA synchronous = FULL";

/// An open database.
pub(crate) struct Bank(Connection);

/// What is in a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Books {
    /// The number of the last transfer; 0 before the first.
    pub(crate) transfers: u32,
    /// What is wrong: with its pages, as SQLite says it, or with the sum (B1).
    pub(crate) wrong: Option<String>,
}

impl Bank {
    /// A new database with all accounts.
    pub(crate) fn found(path: &Path) -> anyhow::Result<Bank> {
        let db = Connection::open(path).with_context(|| path.display().to_string())?;
        db.execute_batch(SAFELY)?;
        db.execute_batch(&format!(
            "CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note TEXT); \
             CREATE TABLE transfer (n INTEGER PRIMARY KEY); BEGIN; \
             WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < {ACCOUNTS}) \
             INSERT INTO account SELECT n, {BALANCE}, 'opened with one hundred' FROM number; COMMIT"
        ))?;
        Ok(Bank(db))
    }

    /// The database that is there.
    pub(crate) fn again(path: &Path) -> anyhow::Result<Bank> {
        // Without `create`: a database that is gone must not look like a new one.
        let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE;
        let db = Connection::open_with_flags(path, flags).with_context(|| path.display().to_string())?;
        db.execute_batch(SAFELY)?;
        Ok(Bank(db))
    }

    /// Transfer number `n`, from 1.
    ///
    /// # Errors
    /// Those of the database; what was not acknowledged may have happened or not.
    pub(crate) fn transfer(&self, n: u32) -> rusqlite::Result<()> {
        let (from, to) = (n * 7 % ACCOUNTS, n * 13 % ACCOUNTS);
        self.0.execute_batch(&format!(
            "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = {from}; \
             UPDATE account SET balance = balance + 1 WHERE id = {to}; INSERT INTO transfer VALUES ({n}); COMMIT"
        ))
    }

    /// Counts the money and the transfers.
    pub(crate) fn books(&self) -> rusqlite::Result<Books> {
        let said: String = self.0.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        let sum: u32 = self.0.query_row("SELECT sum(balance) FROM account", [], |row| row.get(0))?;
        let transfers = self.0.query_row("SELECT coalesce(max(n), 0) FROM transfer", [], |row| row.get(0))?;
        let wrong = match said == "ok" {
            false => Some(said),
            true => (sum != ACCOUNTS * BALANCE).then(|| format!("the balances have a sum of {sum}")),
        };
        Ok(Books { transfers, wrong })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn books_are_right_until_somebody_takes_money_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("bank.db");
        assert!(Bank::again(&path).is_err());
        let bank = Bank::found(&path).unwrap();
        (1..=20).for_each(|n| bank.transfer(n).unwrap());
        drop(bank);
        let bank = Bank::again(&path).unwrap();
        assert_eq!(bank.books().unwrap(), Books { transfers: 20, wrong: None });
        bank.0.execute_batch("UPDATE account SET balance = balance - 1 WHERE id = 3").unwrap();
        assert!(bank.books().unwrap().wrong.unwrap().contains("99999"));
    }
}
