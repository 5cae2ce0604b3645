//! Sweeps: work in independent units that many machines share, with results as lines of JSON.
//!
//! A file holds runs of a sweep, one after the other: a head, which says which sweep it is and which shard of it; a
//! line for each unit, with its number, name and result; and an end. `ordo merge` joins the files that are there.
//!
//! E1. A unit depends on the sweep's parameters and its own number, never on the shard. Unit U belongs to shard I of N
//!     where U modulo N is I - 1. So shards are disjoint, together they are the whole, and files of different N can be
//!     joined.
//! E2. The same unit has the same result, to the byte. What differs from run to run, times above all, is apart.
//!     Each line has a hash of what is the same, so one that was damaged is refused, and not joined as something else.
//! E3. A line is written in one call when its unit is done. A worker that is killed leaves whole lines and at most one
//!     torn line, which counts as lost.
//! E4. A file that holds lines is continued: units that it has are not run again. So a retry is the same command.
//! E5. Only what belongs to the same sweep, by the same program, is joined (`head`); the error names both.

mod done;
mod error;
mod head;
mod join;
mod lines;
pub(crate) mod shard;
mod whole;
mod write;

pub(crate) use done::Done;
pub(crate) use error::SweepError;
pub(crate) use head::{Kind, Sweep};
pub(crate) use join::{Account, Joined, UnitThere};
pub(crate) use whole::Whole;

use crate::out::{Outcome, Status, print, usage};
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use write::Writer;

/// What every sweep takes.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(crate) struct Args {
    /// Run only part I of N, counted from 1
    #[arg(long, value_name = "I/N", value_parser = shard::parse, default_value = "1/1")]
    pub(crate) shard: ordo_crash::Shard,
    /// Seed of the random numbers
    #[arg(long, value_name = "K", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Run as a sweep: a line of JSON for each unit is appended to this file (-: standard output) as soon as the unit
    /// is done; units that the file has are not run again; ordo merge joins the files of all shards
    #[arg(long, value_name = "OUT", conflicts_with = "json")]
    pub(crate) jsonl: Option<PathBuf>,
}

/// What a sweep runs.
pub(crate) struct Work<'a> {
    pub(crate) kind: Kind,
    /// What decides the results, beside the seed.
    pub(crate) parameters: Map<String, Value>,
    /// Number of units.
    pub(crate) units: u64,
    pub(crate) name: &'a (dyn Fn(u64) -> String + Sync),
    /// Runs a unit.
    pub(crate) one: &'a (dyn Fn(u64) -> anyhow::Result<Done> + Sync),
}

/// Refuses more units than fit in memory as a list.
///
/// # Errors
/// Wrong usage.
pub(crate) fn check_number(units: u64) -> anyhow::Result<()> {
    match units <= head::MOST_UNITS {
        true => Ok(()),
        false => Err(usage(format!(
            "a sweep of {units} units, where {} is the most; divide it by seeds, or ask for less",
            head::MOST_UNITS
        ))),
    }
}

/// Parameters of a sweep, as JSON has them.
pub(crate) fn parameters<const N: usize>(given: [(&str, Value); N]) -> Map<String, Value> {
    given.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Args {
    /// For a command that has shards only as a sweep.
    ///
    /// # Errors
    /// Wrong usage: a shard without a file.
    pub(crate) fn needs_file(&self) -> anyhow::Result<()> {
        match self.shard == ordo_crash::Shard::WHOLE || self.jsonl.is_some() {
            true => Ok(()),
            false => Err(usage("--shard is for a sweep; name its file with --jsonl OUT")),
        }
    }

    /// Runs the units of the shard, `jobs` at a time, and writes them in their order.
    pub(crate) fn run(&self, work: &Work<'_>, jobs: u32) -> Outcome {
        let path = self.jsonl.as_deref().ok_or_else(|| usage("a sweep needs --jsonl OUT"))?;
        let (units, violations) = self.write(work, jobs, path)?;
        if path.as_os_str() != "-" {
            let said = format!("{units} units, {violations} violations, in {}", path.display());
            print(|out| out.line(format!("shard {}: {said}", shard::name(self.shard))))?;
        }
        Ok(Status(u8::from(violations > 0)))
    }

    /// Returns the numbers of units and violations of the shard, with those that were there.
    fn write(&self, work: &Work<'_>, jobs: u32, path: &Path) -> anyhow::Result<(u64, u64)> {
        check_number(work.units)?;
        let sweep = Sweep::here(work.kind, self.seed, work.parameters.clone(), work.units)?;
        let (of, index) = (u64::from(self.shard.of), u64::from(self.shard.index));
        let mut writer = Writer::open(path, &sweep, self.shard)?;
        let own = (index..work.units).step_by(of as usize);
        let units: Vec<u64> = own.filter(|unit| !writer.has(*unit)).collect();
        work.in_order(&units, jobs, &mut |unit, done| Ok(writer.unit(unit, &(work.name)(unit), &done)?))?;
        Ok(writer.end()?)
    }
}

impl Work<'_> {
    /// Runs all units, `jobs` at a time, and gives the results to `take` in their order.
    ///
    /// # Errors
    /// The first failure.
    pub(crate) fn each(&self, jobs: u32, take: &mut dyn FnMut(UnitThere) -> anyhow::Result<()>) -> anyhow::Result<()> {
        self.in_order(&(0..self.units).collect::<Vec<_>>(), jobs, &mut |unit, done| {
            let Done { result, times, violations } = done;
            take(UnitThere { unit, name: (self.name)(unit), violations, result: result.get().to_owned(), times })
        })
    }

    fn in_order(
        &self,
        units: &[u64],
        jobs: u32,
        take: &mut dyn FnMut(u64, Done) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        let (send, receive) = channel();
        std::thread::scope(|scope| {
            for _ in 0..(jobs.max(1) as usize).min(units.len()) {
                let (next, stop, send) = (&next, &stop, send.clone());
                scope.spawn(move || {
                    while let Some((at, unit)) = Some(next.fetch_add(1, Ordering::Relaxed))
                        .filter(|_| !stop.load(Ordering::Relaxed))
                        .and_then(|at| Some((at, *units.get(at)?)))
                    {
                        // If nobody receives any more, something has failed, and says so.
                        let _ = send.send((at, timed(|| (self.one)(unit))));
                    }
                });
            }
            drop(send);
            let mut waiting = BTreeMap::new();
            let mut taken = || {
                for (place, unit) in units.iter().enumerate() {
                    while !waiting.contains_key(&place) {
                        let (at, done) = receive.recv().map_err(|_| anyhow::anyhow!("a thread of the sweep ended"))?;
                        waiting.insert(at, done);
                    }
                    if let Some(done) = waiting.remove(&place) {
                        take(*unit, done?)?;
                    }
                }
                Ok(())
            };
            let taken = taken();
            stop.store(true, Ordering::Relaxed);
            taken
        })
    }
}

/// Hashes of 32 digits each.
pub(crate) fn hashes(digits: &str) -> impl Iterator<Item = u128> {
    let one = |digits| u128::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
    digits.as_bytes().chunks(32).filter_map(one)
}

/// Adds the CPU time that `work` took of this thread.
fn timed(work: impl FnOnce() -> anyhow::Result<Done>) -> anyhow::Result<Done> {
    let cpu = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let before = cpu();
    let done = work()?;
    // To a tenth of a millisecond.
    let spent = ((cpu() - before) * 1e4).round() / 1e4;
    Ok(done.with_time("cpu_seconds", spent.into()))
}

#[cfg(test)]
mod tests;
