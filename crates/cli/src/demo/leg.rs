//! What the work under one scheme cost, and whether everything was there afterwards.

use super::findings;
use super::material::Tree;
use anyhow::Context;
use ordo_workload::Row;
use ordofs::disk::Requests;
use ordofs::{ImageSpec, Volume};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// The results of one scheme. Times in seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Leg {
    pub(crate) scheme: String,
    /// Copying the tree in.
    pub(crate) copy: f64,
    /// Removing a second copy of it.
    pub(crate) remove: f64,
    /// Compiling the archiver, its tests, and an archive of the tree, made and taken out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<f64>,
    /// Checks of the archiver's own tests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) checks: Option<u32>,
    /// Transactions of SQLite per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transactions: Option<f64>,
    /// Files that were replaced safely (written, fsync, renamed), per second: where there is no mount for SQLite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) replaced: Option<f64>,
    /// Unmounting, which writes what is left.
    pub(crate) unmount: f64,
    /// CPU time of the file system.
    pub(crate) cpu: f64,
    pub(crate) disk_reads: u64,
    pub(crate) disk_writes: u64,
    pub(crate) bytes_written: u64,
    pub(crate) flushes: u64,
    /// Number of fsck's findings afterwards.
    pub(crate) findings: u64,
    /// Files that were read from the closed image and are equal to those on the host.
    pub(crate) files_compared: usize,
}

impl Leg {
    pub(crate) fn set_cost(&mut self, requests: Requests, cpu: Duration) {
        self.cpu = cpu.as_secs_f64();
        self.disk_reads = requests.reads;
        self.disk_writes = requests.writes;
        self.bytes_written = requests.bytes_written;
        self.flushes = requests.flushes;
    }

    /// Checks the image after the unmount, and compares the tree in it with the host's.
    pub(crate) fn verify(&mut self, image: &Path, tree: &Tree) -> anyhow::Result<()> {
        self.findings = findings(image)?;
        let volume = Volume::at(ImageSpec::parse(image)?).read_only().mount()?;
        for file in &tree.files {
            let path = Path::new("tree").join(file);
            let shown = || path.display().to_string();
            let copy = volume.read(&path).with_context(shown)?;
            anyhow::ensure!(copy == std::fs::read(tree.root.join(file))?, "{}: differs from what was copied", shown());
            self.files_compared += 1;
        }
        Ok(())
    }

    /// The rates, as rows of a benchmark: for the report.
    pub(crate) fn rows(&self, files: usize, disk: &str) -> Vec<Row> {
        let whole = |rate: f64| rate.round() as u64;
        let timed = |phase: &str, ops: u64, seconds: f64| (phase.to_owned(), ops, seconds);
        let mut phases =
            vec![timed("copy", files as u64, self.copy), timed("remove a copy", files as u64, self.remove)];
        phases.extend(self.build.map(|seconds| timed("build and test", 1, seconds)));
        let a_second = |phase, rate: f64| timed(phase, whole(rate), whole(rate) as f64 / rate.max(1e-9));
        phases.extend(self.transactions.map(|rate| a_second("SQLite transactions", rate)));
        phases.extend(self.replaced.map(|rate| a_second("files replaced", rate)));
        let row = |(phase, ops, seconds): (String, u64, f64)| Row {
            scheme: self.scheme.clone(),
            workload: "the tour's work".to_owned(),
            disk: disk.to_owned(),
            phase,
            ops,
            seconds,
            rate: ops as f64 / seconds.max(1e-9),
            cpu_seconds: 0.0,
            disk_reads: 0,
            disk_writes: 0,
            bytes_written: 0,
            rollbacks: 0,
            waits: 0,
            flushes_per_second: 0.0,
            scheme_counters: std::collections::BTreeMap::new(),
            cleaning: None,
        };
        phases.into_iter().map(row).collect()
    }
}
