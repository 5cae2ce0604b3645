//! Every word of the structures that a mount reads first, set to extreme values: whatever it says, the check ends, and
//! after a repair the next check finds nothing.

mod common;

use disk::RamDisk;
use fsck::{Error, Mode};
use std::ops::Range;

const VALUES: [u32; 5] = [0, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];

/// Checks, repairs, checks again. The panic message names what failed.
fn survives(disk: &RamDisk, what: &str) -> bool {
    match common::run(disk, Mode::Check) {
        Ok(_) => {}
        Err(Error::NoSuperblock { .. } | Error::TooShort { .. }) => return false,
        Err(why) => panic!("{what}: -n: {why}"),
    }
    let repair = common::run(disk, Mode::Repair).unwrap_or_else(|why| panic!("{what}: -y: {why}"));
    assert!(repair.exit_code() <= 1, "{what}: -y leaves {}:\n{}", repair.rounds, common::told(&repair));
    let again = common::run(disk, Mode::Check).unwrap_or_else(|why| panic!("{what}: second -n: {why}"));
    assert_eq!(again.exit_code(), 0, "{what}: after\n{}still\n{}", common::told(&repair), common::told(&again));
    true
}

fn substitute(name: &str, parts: &[Range<usize>]) {
    let Some(good) = common::image(name) else { return };
    let pristine = RamDisk::from_bytes(&good);
    let (mut runs, mut refused) = (0, 0);
    for at in parts.iter().cloned().flat_map(|part| part.step_by(4)) {
        for value in VALUES {
            let disk = pristine.snapshot();
            disk.poke(at as u64, &value.to_le_bytes());
            runs += 1;
            refused += u32::from(!survives(&disk, &format!("{name}, word at {at} set to {value:#x}")));
        }
    }
    eprintln!("{name}: {runs} images, {refused} refused");
    assert_eq!(refused, 0, "{name}: a backup superblock is there");
}

#[test]
fn every_word_of_the_first_structures_of_freebsd() {
    // Superblock, header and maps of group 0, inodes 2 to 9, the root directory.
    substitute("ufs-little", &[65536..65536 + 1376, 131_072..131_072 + 320, 163_840 + 512..163_840 + 2560, 0x40000..0x40200]);
}
