//! The tour: real work under each scheme and a server that is killed, on volumes in files of a scratch directory. Where
//! the laboratory is, it goes on: the power is cut, and the schemes are compared on a modelled drive.
//!
//! D1. Every number shown was measured in this run. What cannot be done here is skipped, and reported as skipped.
//! D2. Nothing but the report is written outside the scratch directory, and nothing stays mounted.
//! D3. The tour brings what it copies, builds and runs: a tree of files, and the source of an archiver (`pak`). Of the
//!     machine it asks only for a C compiler and a mount, and does without them.

pub(crate) mod amount;
pub(crate) mod inside;
pub(crate) mod killed;
pub(crate) mod ledger;
pub(crate) mod leg;
pub(crate) mod material;
pub(crate) mod mounted;
pub(crate) mod served;

use crate::image;
use ordofs::disk::FileOptions;
use ordofs::rt::Rt;
use ordofs::{ImageSpec, locate};
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::time::Duration;

/// Size of a volume of the tour in bytes; the file is sparse.
pub(crate) const VOLUME: u64 = 1 << 30;

/// The number of things that fsck finds wrong in an image.
pub(crate) fn findings(image: &Path) -> anyhow::Result<u64> {
    let rt = Rt::real_time();
    let options = FileOptions { read_only: true, ..FileOptions::default() };
    let disk = locate(&rt, &ImageSpec::parse(image)?, options).map_err(|error| image::open_error(image, error))?.disk;
    let check = ordo_fsck::Options::new(ordo_fsck::Mode::Check);
    Ok(rt.block_on(ordo_fsck::check(&rt, disk, check))?.count())
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
