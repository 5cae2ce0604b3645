//! Every word of the structures that a mount reads first, set to extreme values: for each value the check ends, and
//! after a repair the next check finds nothing.

use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::{Error, Mode};
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
    assert!(repair.exit_code() <= 1, "{what}: -y leaves {:?}:\n{}", repair.refused, common::told(&repair));
    let again = common::run(disk, Mode::Check).unwrap_or_else(|why| panic!("{what}: second -n: {why}"));
    assert_eq!(again.exit_code(), 0, "{what}: after\n{}still\n{}", common::told(&repair), common::told(&again));
    true
}

fn substitute(name: &str, parts: &[Range<usize>]) {
    let pristine = RamDisk::from_bytes(&ordo_volumes::volume(name));
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

// Superblock, header and maps of group 0, inodes 2 to 9, the root directory.
ordo_volumes::freebsds_volumes!(
    every_word_of_the_first_structures_of_freebsd,
    substitute(
        "ufs-little",
        &[65536..65536 + 1376, 131_072..131_072 + 320, 163_840 + 512..163_840 + 2560, 0x40000..0x40200],
    )
);

/// Random damage of every kind: flipped bits, extreme words, sectors zeroed or copied.
pub(crate) fn damage(disk: &RamDisk, size: u64, superblock: u64, rng: &mut ordo_rt::Rng) {
    let times = [1, 1, 2, 8, 64][rng.below(5) as usize];
    for _ in 0..times {
        let at = match rng.below(3) {
            0 => superblock + rng.below(1376),
            1 => superblock + rng.below((1 << 20) - superblock),
            _ => rng.below(size - 512),
        };
        let mut sector = [0; 512];
        match rng.below(4) {
            0 => {
                let mut byte = [0];
                disk.peek(at, &mut byte);
                disk.poke(at, &[byte[0] ^ 1 << rng.below(8)]);
            }
            1 => disk.poke(at, &VALUES[rng.below(5) as usize].to_le_bytes()),
            2 => disk.poke(at, &sector),
            _ => {
                disk.peek(rng.below(size - 512), &mut sector);
                disk.poke(at, &sector);
            }
        }
    }
}

/// Images to try; set `FSCK_CAMPAIGN` for more.
fn count() -> u64 {
    std::env::var("FSCK_CAMPAIGN").ok().and_then(|count| count.parse().ok()).unwrap_or(150)
}

fn damaged_at_random(volumes: &[(&str, u64)]) {
    for &(name, superblock) in volumes {
        let good = ordo_volumes::volume(name);
        let pristine = RamDisk::from_bytes(&good);
        let mut refused = 0;
        let only = std::env::var("FSCK_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
        for seed in (0..count()).filter(|seed| only.is_none_or(|only| only == *seed)) {
            let disk = pristine.snapshot();
            damage(&disk, good.len() as u64, superblock, &mut ordo_rt::Rng::new(seed));
            refused += u64::from(!survives(&disk, &format!("{name}, seed {seed}")));
        }
        eprintln!("{name}: {refused} refused");
    }
}

#[test]
fn random_damage_is_repaired_or_refused() {
    damaged_at_random(&[("netbsd-ffs2-le", 65536), ("netbsd-ffs1-be", 8192)]);
}

ordo_volumes::freebsds_volumes!(
    random_damage_of_freebsds_volumes_is_repaired_or_refused,
    damaged_at_random(&[("ufs-little", 65536), ("ufs-big", 65536)])
);
