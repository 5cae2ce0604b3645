//! Checks of a disk in memory.

pub(crate) mod build;
use ordo_disk::{Disk, DiskOp, Effect, Fault, FaultPlan, Faulty, RamDisk};
use ordo_fsck::{Error, Mode, Options, Report};
use std::rc::Rc;

/// One check of `disk`.
pub(crate) fn run(disk: &RamDisk, mode: Mode) -> Result<Report, Error> {
    let rt = ordo_rt::Rt::virtual_time(1);
    let disk: Rc<dyn Disk> = Rc::new(disk.clone());
    let inner = rt.clone();
    rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(mode)).await })
}

/// A repair of `ram` that ends at its `nth` write; `false` if it made fewer.
pub(crate) fn cut(ram: &RamDisk, nth: u64, seed: u64) -> bool {
    let plan = FaultPlan::new(seed).with(Fault::new(DiskOp::Write, nth, Effect::PowerCut));
    let cache = ram.clone();
    let faulty = Faulty::new(Rc::new(ram.clone()), plan).on_power_cut(move |rng| cache.power_cut_at_random(rng));
    let rt = ordo_rt::Rt::virtual_time(seed);
    let (inner, disk): (ordo_rt::Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(faulty.clone()));
    let result = rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(Mode::Repair)).await });
    assert_eq!(result.is_err(), faulty.power_is_off());
    faulty.power_is_off()
}

/// The findings, one per line.
pub(crate) fn told(report: &Report) -> String {
    report.findings.iter().map(|found| format!("{:?} {}\n", found.severity, found.finding)).collect()
}
