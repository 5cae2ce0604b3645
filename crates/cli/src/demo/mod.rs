//! The two-minute tour: the same real work under every scheme, on volumes in files of a scratch directory.
//!
//! D1. Every number shown was measured in this run. What cannot be done here is skipped, and reported as skipped.
//! D2. Nothing is written outside the scratch directory, and nothing stays mounted.

pub(crate) mod inside;
pub(crate) mod material;
pub(crate) mod mounted;
pub(crate) mod served;

use anyhow::Context;
use material::Tree;
use ordofs::disk::FileOptions;
use ordofs::disk::Requests;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, Volume, locate};
use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;
use std::path::Path;
use std::time::Duration;

/// Size of a volume of the tour in bytes; the file is sparse.
pub(crate) const VOLUME: u64 = 1 << 30;
/// Transactions of the database.
pub(crate) const TRANSACTIONS: u32 = 300;

/// The results of one scheme. Times in seconds.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Leg {
    pub(crate) scheme: String,
    /// Copying the tree in.
    pub(crate) copy: f64,
    /// Removing a second copy of it.
    pub(crate) remove: f64,
    /// Compiling SQLite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) build: Option<f64>,
    /// Transactions per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) transactions: Option<f64>,
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
        let rt = Rt::real_time();
        let spec = ImageSpec::parse(image)?;
        let options = FileOptions { read_only: true, ..FileOptions::default() };
        let disk = locate(&rt, &spec, options)?.disk;
        let check = ordo_fsck::Options::new(ordo_fsck::Mode::Check);
        self.findings = rt.block_on(ordo_fsck::check(&rt, disk, check))?.count();
        let volume = Volume::at(spec).read_only().mount()?;
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

/// Seconds that `work` takes.
pub(crate) fn timed<T>(rt: &Rt, work: impl FnOnce() -> anyhow::Result<T>) -> anyhow::Result<f64> {
    let start = rt.now();
    work()?;
    Ok(rt.now().since(start).as_secs_f64())
}

/// CPU time of this thread.
pub(crate) fn thread_cpu() -> Duration {
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(cpu.tv_sec as u64, cpu.tv_nsec as u32)
}
