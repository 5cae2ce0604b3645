//! Real images, and checks of a disk in memory.

pub(crate) mod build;
use ordo_disk::RamDisk;
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
    let disk: Rc<dyn ordo_disk::Disk> = Rc::new(disk.clone());
    let inner = rt.clone();
    rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(mode)).await })
}

/// The findings, one per line.
pub(crate) fn told(report: &Report) -> String {
    report.findings.iter().map(|found| format!("{:?} {}\n", found.severity, found.finding)).collect()
}
