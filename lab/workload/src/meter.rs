//! The cost of a phase of a program, by the caller's clocks and counters.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Counters of a disk and a scheme so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Read requests.
    pub disk_reads: u64,
    /// Write requests.
    pub disk_writes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// Writes in which a scheme rolled back changes of a buf.
    pub rollbacks: u64,
    /// Times that a call waited for the disk because of ordering.
    pub waits: u64,
    /// Flushes of the disk.
    pub flushes: u64,
    /// The scheme's own counters since the mount. Some are sums, some are current values: they are not subtracted.
    pub scheme: BTreeMap<&'static str, u64>,
    /// What cleaning has cost since the mount, on a log-structured volume. Not subtracted either.
    pub cleaning: Option<Cleaning>,
}

/// What cleaning a log-structured volume has cost.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Cleaning {
    /// Segments that became usable again.
    pub segments_cleaned: u64,
    /// Segments that the cleaner read.
    pub segments_read: u64,
    /// Segments that the log has entered.
    #[serde(default)]
    pub segments_written: u64,
    /// Bytes written and bytes read by the cleaner, over bytes of new data; `None` before there is any.
    pub write_cost: Option<f64>,
}

impl Counts {
    /// The counts since `start`; of the scheme's own counters, the current values.
    pub fn since(self, start: &Counts) -> Counts {
        Counts {
            disk_reads: self.disk_reads.saturating_sub(start.disk_reads),
            disk_writes: self.disk_writes.saturating_sub(start.disk_writes),
            bytes_written: self.bytes_written.saturating_sub(start.bytes_written),
            rollbacks: self.rollbacks.saturating_sub(start.rollbacks),
            waits: self.waits.saturating_sub(start.waits),
            flushes: self.flushes.saturating_sub(start.flushes),
            scheme: self.scheme,
            cleaning: self.cleaning,
        }
    }
}

/// Clocks and counters at one moment; only differences are meaningful.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// The clock that the program runs by, virtual or real.
    pub elapsed: Duration,
    /// CPU time spent.
    pub cpu: Duration,
    /// CPU time of the file system's own work, which is charged to no program; zero where it cannot be told apart.
    pub own_cpu: Duration,
    /// The disk's and the scheme's counters.
    pub counts: Counts,
}

/// Reads clocks and counters, once at each end of a phase.
pub type Meter<'a> = &'a dyn Fn() -> Reading;

/// One phase of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PhaseResult {
    /// Its name.
    pub phase: &'static str,
    /// Operations, in the unit of the program (files, pairs, transactions, transfers).
    pub ops: u64,
    /// Bytes of file contents moved.
    pub bytes: u64,
    /// Elapsed time in seconds.
    pub seconds: f64,
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// CPU time of the file system's own work, in seconds.
    pub own_cpu_seconds: f64,
    /// The counters of disk and scheme during the phase.
    pub counts: Counts,
}

impl PhaseResult {
    /// Operations a second; 0 when no time passed.
    pub fn rate(&self) -> f64 {
        self.a_second(self.ops)
    }

    /// `count` as a rate per second of this phase; 0 when no time passed.
    pub fn a_second(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }
}

/// The phase after the work: a sync, which writes what the work has left in memory. It has no operations of its own, so
/// that a total counts those of the work alone.
pub const SYNC: &str = "sync";

/// A phase that is running.
pub(crate) struct Phase<'a> {
    name: &'static str,
    meter: Meter<'a>,
    start: Reading,
    pub(crate) ops: u64,
    pub(crate) bytes: u64,
}

impl<'a> Phase<'a> {
    pub(crate) fn start(name: &'static str, meter: Meter<'a>) -> Phase<'a> {
        Phase { name, meter, start: meter(), ops: 0, bytes: 0 }
    }

    /// Counts one operation that moved `bytes`.
    pub(crate) fn done(&mut self, bytes: u64) {
        self.ops += 1;
        self.bytes += bytes;
    }

    pub(crate) fn end(self) -> PhaseResult {
        let (start, end) = (self.start, (self.meter)());
        PhaseResult {
            phase: self.name,
            ops: self.ops,
            bytes: self.bytes,
            seconds: end.elapsed.saturating_sub(start.elapsed).as_secs_f64(),
            cpu_seconds: end.cpu.saturating_sub(start.cpu).as_secs_f64(),
            own_cpu_seconds: end.own_cpu.saturating_sub(start.own_cpu).as_secs_f64(),
            counts: end.counts.since(&start.counts),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_become_differences_and_the_schemes_counters_stay_as_they_stand() {
        let at = |waits, flushes, pending| {
            let scheme = BTreeMap::from([("dependencies", pending)]);
            Counts { waits, flushes, scheme, ..Counts::default() }
        };
        assert_eq!(at(5, 9, 2).since(&at(3, 4, 7)), at(2, 5, 2));
    }
}
