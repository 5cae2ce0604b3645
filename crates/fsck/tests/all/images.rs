//! Volumes that FreeBSD's and NetBSD's own kernels made and unmounted: nothing is wrong with them.

use crate::common;
use disk::RamDisk;
use fsck::Mode;

const NAMES: [&str; 5] = ["ufs-little", "ufs-big", "netbsd-ffs2-le", "netbsd-ffs1-be", "netbsd-ffs0-be"];

#[test]
fn volumes_of_other_systems_are_whole() {
    for name in NAMES {
        let Some(bytes) = common::image(name) else { continue };
        let disk = RamDisk::from_bytes(&bytes);
        let report = common::run(&disk, Mode::Check).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(report.exit_code(), 0, "{name}:\n{}", common::told(&report));
        assert!(report.clean && report.scanned && !report.modified, "{name}");
        eprintln!("{name}: {:?}", report.usage);
        assert!(disk.to_vec() == bytes, "{name}: -n wrote");
    }
}

#[test]
fn volume_of_the_old_format_is_checked_and_never_repaired() {
    let Some(mut bytes) = common::image("netbsd-ffs0-be") else { return };
    // A count of the superblock: free fragments.
    bytes[8192 + 192 + 15] ^= 1;
    let disk = RamDisk::from_bytes(&bytes);
    let check = common::run(&disk, Mode::Check).expect("a volume");
    assert_eq!(check.exit_code(), 4);
    let repair = common::run(&disk, Mode::Repair).expect("a volume");
    assert!(repair.refused.is_some() && repair.exit_code() == 4, "{:?}", repair.refused);
    assert!(disk.to_vec() == bytes, "it was written to");
}
