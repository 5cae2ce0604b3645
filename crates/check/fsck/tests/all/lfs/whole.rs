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
    let bytes = ordo_volumes::volume("netbsd-lfs2");
    let disk = RamDisk::from_bytes(&bytes);
    let report = run(&disk, Mode::Check);
    assert_eq!(report.exit_code(), 0, "{}", common::told(&report));
    assert!(report.clean && report.scanned && !report.modified);
    eprintln!("{:?}", report.usage);
    assert!(disk.to_vec() == bytes, "-n wrote");
}

fn new(version: Version, endian: Endian) -> Vec<u8> {
    let of = NewfsOptions { endian, ident: 77, now: 1_000, ..NewfsOptions::new(version, 24 << 20) };
    let made = initial(&of).expect("a volume");
    let mut bytes = vec![0; 24 << 20];
    for (at, part) in made.psegs.iter().chain(&made.superblocks) {
        bytes[at.0 as usize..at.0 as usize + part.len()].copy_from_slice(part);
    }
    bytes
}

#[test]
fn new_volumes_are_whole() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            let bytes = new(version, endian);
            let report = run(&RamDisk::from_bytes(&bytes), Mode::Check);
            assert_eq!(report.exit_code(), 0, "{version:?} {endian:?}\n{}", common::told(&report));
        }
    }
}

/// Changes the link count of the root.
fn damage(bytes: &mut [u8], version: Version, endian: Endian) {
    let head = endian.u16_bytes(0o040_755);
    let at = (0..bytes.len() - 4).step_by(128).find(|at| bytes[*at..*at + 2] == head).expect("the root's inode");
    let nlink = at + 2;
    bytes[nlink..nlink + 2].copy_from_slice(&endian.u16_bytes(7));
    assert!(version != Version::Lfs64 || at % 256 == 0);
}

#[test]
fn all_forms_but_the_first_are_repaired() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            let mut bytes = new(version, endian);
            damage(&mut bytes, version, endian);
            let disk = RamDisk::from_bytes(&bytes);
            let report = run(&disk, Mode::Repair);
            if version == Version::V1 {
                assert!(report.refused.is_some() && report.exit_code() == 4 && disk.to_vec() == bytes);
                continue;
            }
            assert_eq!(report.exit_code(), 1, "{version:?} {endian:?}\n{}", common::told(&report));
            let after = run(&disk, Mode::Check);
            assert_eq!(after.exit_code(), 0, "{version:?} {endian:?}\n{}", common::told(&after));
        }
    }
}
