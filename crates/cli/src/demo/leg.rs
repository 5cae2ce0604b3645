//! What the work under one scheme cost, and whether everything was there afterwards.

use super::findings;
use super::material::Tree;
use anyhow::Context;
use ordofs::disk::Requests;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, Volume};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// The phase that writes what the others have left in memory.
pub(crate) const UNMOUNT: &str = "unmount";

/// What disk and file system have done so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Cost {
    reads: u64,
    writes: u64,
    bytes_written: u64,
    flushes: u64,
    /// CPU time of the file system, in seconds.
    cpu: f64,
}

/// One part of the work, and what it cost.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Phase {
    phase: &'static str,
    /// Files, or entries.
    ops: u64,
    seconds: f64,
    /// CPU time of the file system, in seconds.
    cpu_seconds: f64,
    disk_reads: u64,
    disk_writes: u64,
    bytes_written: u64,
    flushes: u64,
}

impl Cost {
    /// These requests, and the CPU time of this thread.
    pub(crate) fn now(requests: Requests) -> Cost {
        let Requests { reads, writes, bytes_written, flushes } = requests;
        Cost { reads, writes, bytes_written, flushes, cpu: super::thread_cpu().as_secs_f64() }
    }
}

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
    /// Entries of the ledger per second, each durable when it returns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) entries: Option<f64>,
    /// Files that were replaced safely (written, fsync, renamed), per second: where there is no mount.
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
    /// Its phases.
    pub(super) phases: Vec<Phase>,
}

impl Leg {
    /// Keeps a phase: what it did, in how many seconds, and the costs before and after it.
    pub(crate) fn add(&mut self, phase: &'static str, ops: u64, seconds: f64, [before, after]: [Cost; 2]) {
        let done = Phase {
            phase,
            ops,
            seconds,
            cpu_seconds: (after.cpu - before.cpu).max(0.0),
            disk_reads: after.reads - before.reads,
            disk_writes: after.writes - before.writes,
            bytes_written: after.bytes_written - before.bytes_written,
            flushes: after.flushes - before.flushes,
        };
        self.cpu += done.cpu_seconds;
        self.disk_reads += done.disk_reads;
        self.disk_writes += done.disk_writes;
        self.bytes_written += done.bytes_written;
        self.flushes += done.flushes;
        self.phases.push(done);
    }

    /// Does the work of a phase, and keeps it with what it cost. Returns its seconds.
    pub(crate) fn phase(
        &mut self,
        rt: &Rt,
        (phase, ops): (&'static str, u64),
        so_far: &dyn Fn() -> anyhow::Result<Cost>,
        work: impl FnOnce() -> anyhow::Result<()>,
    ) -> anyhow::Result<f64> {
        let before = so_far()?;
        let seconds = super::timed(rt, work)?;
        self.add(phase, ops, seconds, [before, so_far()?]);
        Ok(seconds)
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
}
