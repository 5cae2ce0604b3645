//! Real images, and checks of a disk in memory.

pub(crate) mod build;
use ordo_disk::{Disk, DiskOp, Effect, Fault, FaultPlan, Faulty, RamDisk};
use ordo_fsck::{Error, Mode, Options, Report};
use std::path::PathBuf;
use std::rc::Rc;

/// The images that other systems made, unpacked.
pub(crate) fn image(name: &str) -> Option<Vec<u8>> {
    let packed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../../shared/images/{name}.img.zst"));
    if !packed.exists() {
        eprintln!("skipped: {} is not there", packed.display());
        return None;
    }
    match std::process::Command::new("zstd").args(["-dqc"]).arg(&packed).output() {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            eprintln!("skipped: zstd cannot unpack {}", packed.display());
            None
        }
    }
}

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
