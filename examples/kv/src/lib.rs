//! A small durable key-value store: a table in memory, a log of its changes, now and then a snapshot of the table.
//!
//! It is here to show that the log `wafs` serves others than file systems. All that it knows of durability is in four
//! rules:
//!
//! K1. A change is in the log, durably, before it is in the table, and before the caller is told. What anybody has read
//!     from the table survives a crash.
//! K2. The later record wins, whichever thread comes to the table first.
//! K3. A snapshot holds all changes before its number: while it is made, nobody is between log and table.
//! K4. The log gives back what a snapshot holds only when that has its name, durably.
#![forbid(unsafe_code)]

mod record;
mod snapshot;
mod table;

pub use table::KvError;

use ordo_disk::FileOptions;
use ordo_wafs::{Error, Log, Lsn, MakeOptions, MountOptions, SharedLog};
use record::Change;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};
use table::{Entry, Table};

/// A store. Threads share it by reference.
pub struct Kv {
    dir: PathBuf,
    log: SharedLog,
    table: Mutex<Table>,
    /// Shared by those between log and table, held alone for a snapshot (K3).
    gate: RwLock<()>,
}

impl Kv {
    /// Opens the store in the directory `dir`; with `log_bytes` for its log, if it is made now.
    ///
    /// # Errors
    /// When files cannot be made or read, or are damaged, or somebody else has the store.
    pub fn open(dir: impl AsRef<Path>, log_bytes: u64, options: MountOptions) -> Result<Kv, KvError> {
        let dir = dir.as_ref().to_owned();
        let path = dir.join("kv.log");
        if !path.exists() {
            Log::create(&path, log_bytes, MakeOptions::default())?;
        }
        let log = SharedLog::mount(&path, &FileOptions::default(), options)?;
        let (from, mut table) = snapshot::load(&dir)?;
        let changes = log.call(move |log| async move {
            let (mut scan, mut changes) = (log.scan(from), Vec::new());
            while let Some(record) = scan.next().await? {
                let change = Change::decode(&record.data).ok_or(KvError::Record(record.lsn))?;
                changes.push((record.lsn, change));
            }
            Ok::<_, KvError>(changes)
        })?;
        changes.into_iter().for_each(|(lsn, change)| apply(&mut table, lsn, change));
        Ok(Kv { dir, log, table: Mutex::new(table), gate: RwLock::new(()) })
    }

    /// The value of `key`.
    pub fn get(&self, key: &[u8]) -> Option<Vec<u8>> {
        self.table().get(key)?.value.clone()
    }

    /// All keys, in order.
    pub fn keys(&self) -> Vec<Vec<u8>> {
        let mut keys: Vec<Vec<u8>> =
            self.table().iter().filter(|(_, entry)| entry.value.is_some()).map(|(key, _)| key.clone()).collect();
        keys.sort();
        keys
    }

    /// Sets `key` to `value`; durable when this returns.
    ///
    /// # Errors
    /// Those of the log.
    pub fn put(&self, key: &[u8], value: &[u8]) -> Result<(), KvError> {
        self.change(Change { key: key.to_vec(), value: Some(value.to_vec()) })
    }

    /// Removes `key`; durable when this returns.
    ///
    /// # Errors
    /// Those of the log.
    pub fn remove(&self, key: &[u8]) -> Result<(), KvError> {
        self.change(Change { key: key.to_vec(), value: None })
    }

    /// Writes the table to a file, and gives the log's room back.
    ///
    /// # Errors
    /// Those of the log and of the directory.
    pub fn snapshot(&self) -> Result<(), KvError> {
        let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        let end = self.log.call(|log| async move { log.end() });
        let mut table = self.table();
        table.retain(|_, entry| entry.value.is_some());
        snapshot::store(&self.dir, end, &table)?;
        self.log.reclaim(end)?;
        Ok(self.log.sync()?)
    }

    fn change(&self, change: Change) -> Result<(), KvError> {
        let is_full = loop {
            match self.try_change(&change) {
                Err(KvError::Log(Error::Full { .. })) => self.snapshot()?,
                outcome => break outcome?,
            }
        };
        if is_full { self.snapshot() } else { Ok(()) }
    }

    /// K1. True if the log is three quarters full.
    fn try_change(&self, change: &Change) -> Result<bool, KvError> {
        let _between = self.gate.read().unwrap_or_else(PoisonError::into_inner);
        let record = change.encode();
        let (lsn, space) = self.log.call(|log| async move {
            let lsn = log.commit(&record).await?;
            Ok::<_, Error>((lsn, log.space()))
        })?;
        apply(&mut self.table(), lsn, change.clone());
        Ok(space.free + space.reclaimable < space.size / 4)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// K2.
fn apply(table: &mut Table, lsn: Lsn, change: Change) {
    let entry = table.entry(change.key).or_insert(Entry { lsn: Lsn::NONE, value: None });
    if entry.lsn < lsn {
        *entry = Entry { lsn, value: change.value };
    }
}
