//! Writes the file of a shard, and continues one that is there (cli-sweep-3, cli-sweep-4).

use super::done::Done;
use super::lines::{Counts, End, Head, UnitLine, digits, hash, read};
use super::{Sweep, SweepError, shard};
use ordo_crash::Shard;
use serde_json::value::to_raw_value;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the lines go.
pub(super) struct Writer {
    to: Box<dyn Write>,
    /// To make the lines durable at the end.
    file: Option<File>,
    path: PathBuf,
    /// Violations of the units that the file holds.
    units: BTreeMap<u64, u64>,
    /// The run has written something.
    begun: bool,
    head: Head,
}

impl Writer {
    /// Opens the file for this shard.
    ///
    /// # Errors
    /// It cannot be opened, or holds something else.
    pub(super) fn open(path: &Path, sweep: &Sweep, shard: Shard) -> Result<Writer, SweepError> {
        let head = Head { sweep: sweep.clone(), shard: shard::name(shard) };
        if path.as_os_str() == "-" {
            let (to, path) = (Box::new(std::io::stdout()), PathBuf::from("standard output"));
            let mut writer = Writer { to, file: None, path, units: BTreeMap::new(), begun: false, head };
            writer.begin()?;
            return Ok(writer);
        }
        let mut file =
            OpenOptions::new().append(true).create(true).read(true).open(path).map_err(SweepError::io(path))?;
        let contents = read(path, 0)?;
        let name = path.display().to_string();
        if let Some(there) = &contents.sweep {
            sweep.refuse_other("this command", there, &name)?;
        }
        if contents.sweep.is_none() && contents.torn > 0 {
            // A worker that was killed while it wrote its first line. Only that may be removed, no other's file.
            let there = std::fs::read(path).map_err(SweepError::io(path))?;
            let own = serde_json::to_vec(&head).map_err(std::io::Error::from).map_err(SweepError::io(path))?;
            match own.starts_with(&there) {
                true => file.set_len(0).map_err(SweepError::io(path))?,
                false => return Err(SweepError::NoSweep { path: name }),
            }
        } else if !contents.whole {
            // The torn line must not swallow the next one.
            file.write_all(b"\n").map_err(SweepError::io(path))?;
        }
        let falls = |unit: &u64| unit % u64::from(shard.of) == u64::from(shard.index);
        let units =
            contents.units.iter().filter(|(unit, _)| falls(unit)).map(|(unit, place)| (*unit, place.violations));
        let units: BTreeMap<u64, u64> = units.collect();
        let to = Box::new(file.try_clone().map_err(SweepError::io(path))?);
        let mut writer = Writer { to, file: Some(file), path: path.into(), units, begun: false, head };
        if !contents.shards.contains(&shard) {
            // Also a shard without units has a head: it was not lost.
            writer.begin()?;
        }
        Ok(writer)
    }

    /// Of a whole sweep, to a new file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn of(to: impl Write + 'static, path: &Path, sweep: &Sweep) -> Result<Writer, SweepError> {
        let head = Head { sweep: sweep.clone(), shard: shard::name(Shard::WHOLE) };
        let (to, path) = (Box::new(to), path.to_owned());
        let mut writer = Writer { to, file: None, path, units: BTreeMap::new(), begun: false, head };
        writer.begin()?;
        Ok(writer)
    }

    pub(super) fn has(&self, unit: u64) -> bool {
        self.units.contains_key(&unit)
    }

    /// The head, before the first line of a run: a file that has everything is not changed.
    fn begin(&mut self) -> Result<(), SweepError> {
        if self.begun {
            return Ok(());
        }
        self.begun = true;
        let line = serde_json::to_vec(&self.head);
        self.put(line)
    }

    /// One line in one call, so that it cannot be mixed with that of another writer.
    fn put(&mut self, line: serde_json::Result<Vec<u8>>) -> Result<(), SweepError> {
        let written = line.map_err(std::io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            self.to.write_all(&line)?;
            self.to.flush()
        });
        written.map_err(SweepError::io(&self.path))
    }

    pub(super) fn unit(&mut self, unit: u64, name: &str, done: &Done) -> Result<(), SweepError> {
        self.begin()?;
        let (violations, result) = (done.violations, &*done.result);
        let hash = digits(hash(unit, name, violations, result));
        let line = to_raw_value(&done.times).and_then(|times| {
            serde_json::to_vec(&UnitLine { unit, name: name.to_owned(), violations, result, hash, times: &times })
        });
        self.put(line)?;
        self.units.insert(unit, violations);
        Ok(())
    }

    /// The end; returns the numbers of units and violations.
    pub(super) fn end(mut self) -> Result<(u64, u64), SweepError> {
        let counts = Counts {
            units: self.units.len() as u64,
            violations: self.units.values().fold(0, |sum, one| sum.saturating_add(*one)),
        };
        if self.begun {
            self.put(serde_json::to_vec(&End { end: counts }))?;
            if let Some(file) = &self.file {
                // Not every kind of file can be made durable, and a pipe need not be.
                let _ = file.sync_data();
            }
        }
        Ok((counts.units, counts.violations))
    }
}
