//! The laboratory's part of the tour of `ordo demo`: a power that is cut, the costs on a modelled drive, and the page
//! of all results.

pub(crate) mod compared;
pub(crate) mod cut;
pub(crate) mod page;

use ordo_workload::{Counts, PhaseResult, Row};
use serde::Deserialize;

/// How much of everything it does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Amount {
    /// States of the explorer, for each scheme.
    pub(crate) states: u64,
    /// What the modelled drive does.
    pub(crate) workload: &'static str,
    /// Its parameters.
    pub(crate) params: &'static str,
}

impl Amount {
    /// A minute and a half.
    pub(crate) const USUAL: Amount = Amount { states: 600, workload: "copy-tree", params: "" };
    /// Seconds.
    pub(crate) const SHORT: Amount = Amount { states: 40, workload: "copy-tree", params: "files=40,mean=4k" };
}

/// What `ordo demo` has found.
#[derive(Debug, Deserialize)]
pub(crate) struct Told {
    /// Its arguments.
    pub(crate) command: Vec<String>,
    pub(crate) mounted: bool,
    pub(crate) legs: Vec<Leg>,
}

/// The work under one scheme.
#[derive(Debug, Deserialize)]
pub(crate) struct Leg {
    pub(crate) scheme: String,
    phases: Vec<Phase>,
}

#[derive(Debug, Deserialize)]
struct Phase {
    phase: String,
    ops: u64,
    seconds: f64,
    cpu_seconds: f64,
    disk_reads: u64,
    disk_writes: u64,
    bytes_written: u64,
    flushes: u64,
}

impl Leg {
    /// The phases as rows of a benchmark, and their total.
    pub(crate) fn rows(&self, disk: &str) -> Vec<Row> {
        let phases: Vec<PhaseResult> = self.phases.iter().map(Phase::result).collect();
        ordo_workload::rows(&self.scheme, "the tour's work", disk, &phases)
    }
}

impl Phase {
    fn result(&self) -> PhaseResult {
        PhaseResult {
            // There are a few names, and the program ends soon.
            phase: self.phase.clone().leak(),
            ops: self.ops,
            bytes: 0,
            seconds: self.seconds,
            cpu_seconds: self.cpu_seconds,
            own_cpu_seconds: 0.0,
            counts: Counts {
                disk_reads: self.disk_reads,
                disk_writes: self.disk_writes,
                bytes_written: self.bytes_written,
                flushes: self.flushes,
                ..Counts::default()
            },
        }
    }
}
