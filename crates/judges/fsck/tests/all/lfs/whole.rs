//! Volumes without damage: the check finds nothing.

use super::run;
use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::Endian;
use ordo_ondisk::lfs::Version;
use ordo_ondisk::lfs::newfs::{NewfsOptions, initial};

#[test]
fn volume_of_netbsd_is_whole() {
    let Some(bytes) = common::image("netbsd-lfs2") else { return };
    let disk = RamDisk::from_bytes(&bytes);
    let report = run(&disk, Mode::Check);
    assert_eq!(report.exit_code(), 0, "{}", common::told(&report));
    assert!(report.clean && report.scanned && !report.modified);
    eprintln!("{:?}", report.usage);
    assert!(disk.to_vec() == bytes, "-n wrote");
}

#[test]
fn new_volumes_are_whole() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            let of = NewfsOptions { endian, ident: 77, now: 1_000, ..NewfsOptions::new(version, 24 << 20) };
            let made = initial(&of).expect("a volume");
            let mut bytes = vec![0; 24 << 20];
            for (at, part) in made.psegs.iter().chain(&made.superblocks) {
                bytes[at.0 as usize..at.0 as usize + part.len()].copy_from_slice(part);
            }
            let report = run(&RamDisk::from_bytes(&bytes), Mode::Check);
            assert_eq!(report.exit_code(), 0, "{version:?} {endian:?}\n{}", common::told(&report));
        }
    }
}
