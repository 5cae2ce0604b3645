//! Volumes in RAM: made, mounted, checked.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search;
use ordo_ondisk::{ByteOff, Endian, Format};
use ordofs::disk::{Disk, RamDisk};
use ordofs::rt::Rt;
use ordofs::{Located, MountOptions, Mounted, NewVolume};
use std::rc::Rc;

pub mod image;
pub mod slow;
pub mod tree;

/// The shapes that tests use: format, byte order, block and fragment size.
pub const SHAPES: &[(Format, Endian, u32, u32)] = &[
    (Format::Ufs2, Endian::Little, 32768, 4096),
    (Format::Ufs2, Endian::Big, 16384, 2048),
    (Format::Ufs1, Endian::Little, 8192, 1024),
    (Format::Ufs1, Endian::Big, 4096, 512),
    (Format::Ufs2, Endian::Little, 4096, 4096),
    (Format::Ufs2, Endian::Little, 65536, 8192),
];

/// A new volume of `bytes` in RAM.
pub fn fresh(rt: &Rt, shape: (Format, Endian, u32, u32), bytes: u64) -> RamDisk {
    let (format, endian, bsize, fsize) = shape;
    let ram = RamDisk::new(bytes);
    let params = NewfsParams { endian, bsize, fsize, ..NewfsParams::new(format, bytes) };
    NewVolume { params }.create_on(rt, Rc::new(ram.clone()), true).expect("the shape is possible");
    ram
}

/// The volume on `disk`, whose bytes are those of `ram`.
pub fn located(ram: &RamDisk, disk: Rc<dyn Disk>) -> Located {
    let size = disk.info().size;
    let mut read = |at: ByteOff, bytes: &mut [u8]| {
        ram.peek(at.0, bytes);
        Ok(())
    };
    Located { found: search::find(&mut read, size).expect("there is a volume").into(), disk, log: None, claim: None }
}

/// Mounts with this scheme.
pub fn mount(rt: &Rt, ram: &RamDisk, scheme: &str) -> Mounted {
    mount_on(rt, ram, Rc::new(ram.clone()), scheme)
}

/// Mounts with this scheme, through `disk`, which accesses `ram`.
pub fn mount_on(rt: &Rt, ram: &RamDisk, disk: Rc<dyn Disk>, scheme: &str) -> Mounted {
    let options = MountOptions { scheme: Some(scheme.into()), ..MountOptions::default() };
    rt.block_on(Mounted::mount(rt, located(ram, disk), &options)).expect("the volume can be mounted")
}

/// Runs fsck without changing the volume.
pub fn judge(rt: &Rt, ram: &RamDisk) -> ordo_fsck::Report {
    check(rt, ram, ordo_fsck::Mode::Check)
}

/// Runs fsck.
pub fn check(rt: &Rt, ram: &RamDisk, mode: ordo_fsck::Mode) -> ordo_fsck::Report {
    let disk: Rc<dyn Disk> = Rc::new(ram.clone());
    rt.block_on(ordo_fsck::check(rt, disk, ordo_fsck::Options::new(mode))).expect("the disk is well")
}

/// Asserts that fsck finds nothing.
pub fn assert_clean(rt: &Rt, ram: &RamDisk, what: &str) {
    let report = judge(rt, ram);
    assert!(report.findings.is_empty() && report.clean, "{what}: {report:#?}");
}
