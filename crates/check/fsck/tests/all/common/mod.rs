//! Checks of a disk in memory.

pub(crate) mod build;
pub(crate) mod cut;
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Error, Mode, Options, Report};
use std::rc::Rc;

/// One check of `disk`.
pub(crate) fn run(disk: &RamDisk, mode: Mode) -> Result<Report, Error> {
    let rt = ordo_rt::Rt::virtual_time(1);
    let disk: Rc<dyn Disk> = Rc::new(disk.clone());
    let inner = rt.clone();
    rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(mode)).await })
}

/// The findings, one per line.
pub(crate) fn told(report: &Report) -> String {
    report.findings.iter().map(|found| format!("{:?} {}\n", found.severity, found.finding)).collect()
}
