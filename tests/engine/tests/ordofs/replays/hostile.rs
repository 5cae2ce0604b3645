//! Damaged logs: the reason is said, nothing is written, and `fsck -y` gives the log up.

use crate::common::{assert_clean, check, located};
use crate::replays::log::Log;
use crate::replays::replay;
use crate::replays::volumes::{Bed, Case, VOLUME, cases, in_use, patch, plain, superblock};
use ordo_fsck::{Journal, Mode};
use ordo_recover::NotReplayed;
use ordofs::disk::RamDisk;
use ordofs::rt::Rng;
use ordofs::{MountOptions, Mounted};
use std::rc::Rc;

/// The log is refused for this field; nothing is written, by anyone.
fn refused(bed: &Bed, disk: &RamDisk, field: &str) {
    let before = disk.to_vec();
    let why = replay(&bed.rt, disk).expect_err(field);
    assert!(matches!(&why, NotReplayed::Corrupt(damage) if damage.field == field), "{field}: {why}");
    assert!(why.to_string().starts_with("NetBSD's log (WAPBL) at byte "), "{why}");
    let located = located(disk, Rc::new(disk.clone()));
    let mounted = bed.rt.block_on(Mounted::mount(&bed.rt, located, &MountOptions::default())).expect("read-only");
    let said = mounted.why_read_only().expect("it cannot be written").to_owned();
    assert!(said.contains(field) && said.contains("fsck"), "{said}");
    assert!(mounted.unread_log().is_some());
    bed.rt.block_on(mounted.unmount()).expect("nothing is written");
    for mode in [Mode::Check, Mode::Preen] {
        let report = check(&bed.rt, disk, mode);
        let told = matches!(&report.journal, Some(Journal::NotReplayed(why)) if why.contains(field));
        assert!(told && report.left && report.exit_code() == 4, "{field}: {report:?}");
    }
    assert!(disk.to_vec() == before, "{field}: something was written");
}

#[test]
fn damage_is_refused_and_the_log_is_given_up_only_on_request() {
    let bed = Bed::new(plain());
    let mut log = bed.log();
    log.blocks(&bed.images());
    log.inodes(true, &[]);
    let records = log.records.len() as u64 / 512;
    let write = |log: &Log| bed.crashed(log);
    // The log has the headers at 0 and 512, and the first record at 1024.
    type Change<'a> = (&'a str, u64, &'a [u8]);
    let changes: [Change<'_>; 13] = [
        ("wc_type", 0, &[0; 4]),
        ("wc_type", 512, &[0; 4]),
        ("wc_checksum", 512 + 8, &[1]),
        ("wc_version", 512 + 36, &[2]),
        ("wc_len", 4, &[0, 4]),
        ("wc_circ_size", 512 + 72, &[0, 0, 0, 0x7f]),
        ("wc_head", 512 + 48, &[1]),
        ("wc_tail", 512 + 56, &[0, 2, 0, 0]),
        ("wc_type", 1024, &[0x50]),
        ("wc_len", 1024 + 4, &[0, 2]),
        ("count", 1024 + 8, &[0xff, 0xff]),
        ("wc_dlen", 1024 + 28, &[0, 0]),
        ("wc_daddr", 1024 + 20, &[1]),
    ];
    for (field, at, bytes) in changes {
        let disk = write(&log);
        disk.poke(bed.start + at, bytes);
        refused(&bed, &disk, field);
        let report = check(&bed.rt, &disk, Mode::Repair);
        assert!(report.clean, "{field}: {report:?}");
        assert_clean(&bed.rt, &disk, field);
        assert!(!superblock(&disk).features().wapbl, "{field}");
    }
    // A head within the last record, and one behind it.
    for wrong in [records - 2, records + 1] {
        let disk = write(&log);
        disk.poke(bed.start + 512, &log.header(7, 1024 + wrong * 512, 1024));
        let why = replay(&bed.rt, &disk).expect_err("a head that is not behind a record");
        assert!(matches!(why, NotReplayed::Corrupt(_)), "{why}");
    }
}

#[test]
fn images_over_the_log_or_beyond_the_volume_are_refused() {
    for within in [false, true] {
        let bed = Bed::new(Case { within, ..plain() });
        let (first, last) = (bed.start, bed.start + bed.len);
        let volume = VOLUME;
        for (at, len) in
            [(volume - 512, 1024), (volume, 512), (first, 512), (last - 512, 512), (first - 512, 1024), (0, 512)]
        {
            let mut log = bed.log();
            log.blocks(&[(at, vec![0x11; len])]);
            refused(&bed, &bed.crashed(&log), "wc_daddr");
        }
        let mut log = bed.log();
        log.revoke(&[(volume, 512)]);
        refused(&bed, &bed.crashed(&log), "wc_daddr");
    }
}

#[test]
fn a_superblock_of_another_volume_in_the_log_is_refused() {
    let bed = Bed::new(plain());
    let at = superblock(&bed.before).at.0;
    // The number of groups, the place of the log, the magic.
    for (field, value) in [(44, 1_u8), (872, 9), (1375, 0)] {
        let mut images = bed.images();
        patch(&mut images, at + field, &[value]);
        let mut log = bed.log();
        log.blocks(&images);
        let disk = bed.crashed(&log);
        let before = disk.to_vec();
        replay(&bed.rt, &disk).expect_err("another superblock");
        assert!(disk.to_vec() == before, "{field}");
    }
}

#[test]
fn a_place_of_the_log_that_is_none_is_refused() {
    let bed = Bed::new(plain());
    let mut log = bed.log();
    log.blocks(&bed.images());
    let at = superblock(&bed.before).at.0;
    // Within the volume, beyond the disk, too few blocks.
    for (field, number) in [(872, 100_u64), (872, 1 << 40), (880, 1 << 30), (880, 1), (880, 2)] {
        let disk = bed.crashed(&log);
        disk.poke(at + field, &number.to_le_bytes());
        let before = disk.to_vec();
        let why = replay(&bed.rt, &disk).expect_err("a wrong place");
        assert!(why.to_string().starts_with("NetBSD's log"), "{why}");
        assert!(disk.to_vec() == before, "{field} {number}");
        assert!(check(&bed.rt, &disk, Mode::Repair).clean);
    }
}

/// Gigabytes of images in a sparse file cost no memory.
#[test]
fn only_images_that_count_are_read() {
    let bed = Bed::new(plain());
    let disk = RamDisk::new(200 << 30);
    let mut bytes = bed.before.to_vec();
    bytes.truncate(VOLUME as usize);
    disk.poke(0, &bytes);
    in_use(&disk);
    let at = superblock(&disk).at.0;
    let len: u64 = 100 << 30;
    disk.poke(at + 880, &(len / 512).to_le_bytes());
    let mut log = Log { len, ..bed.log() };
    log.blocks(&[(1 << 20, vec![1; 512])]);
    // 31 entries of 8 MiB each, again and again.
    let each: u32 = 8 << 20;
    log.put32(4, 512 + 31 * each);
    log.put32(8, 31);
    for n in 0..31 {
        log.put32(16 + 16 * n, 2048);
        log.put32(28 + 16 * n, each);
    }
    log.records.truncate(512);
    let record = u64::from(512 + 31 * each);
    for n in 0..len / record - 1 {
        disk.poke(VOLUME + 1024 + n * record, &log.records);
    }
    let head = 1024 + (len / record - 1) * record;
    disk.poke(VOLUME, &log.header(6, 0, 0));
    disk.poke(VOLUME + 512, &log.header(7, head, 1024));
    // All are images of the same 8 MiB, and only the last one is written.
    assert_eq!(replay(&bed.rt, &disk).expect("a log").records, 1);
}

/// Bytes of the log and of its place, changed at random: what cannot be replayed changes nothing, and what can leaves a
/// volume that can be checked.
#[test]
fn random_damage_is_survived() {
    let mut rng = Rng::new(5);
    let (mut failed, mut rounds) = (0, 0);
    for case in cases().into_iter().step_by(2) {
        let bed = Bed::new(case);
        let mut log = bed.log();
        log.blocks(&bed.images());
        log.revoke(&[(1 << 20, 8192)]);
        log.inodes(true, &[(9, 0o100_644), (5, 0o040_755)]);
        let whole = bed.crashed(&log);
        let at = superblock(&bed.before).at.0;
        let heads: Vec<u64> = [0, 512, 1024].map(|at| bed.start + at).to_vec();
        for _ in 0..60 {
            let disk = whole.snapshot();
            for _ in 0..1 + rng.below(3) {
                let byte = match rng.below(3) {
                    0 => at + 864 + rng.below(40),
                    1 => heads[rng.below(3) as usize] + rng.below(96),
                    _ => bed.start + 1024 + rng.below(log.records.len() as u64),
                };
                let mut one = [0];
                disk.peek(byte, &mut one);
                disk.poke(byte, &[one[0] ^ 1 << rng.below(8)]);
            }
            let before = disk.to_vec();
            rounds += 1;
            if replay(&bed.rt, &disk).is_err() {
                failed += 1;
                assert!(disk.to_vec() == before, "{case:?}: it failed, and something was written");
            }
            let repaired = check(&bed.rt, &disk, Mode::Repair);
            assert!(repaired.clean, "{case:?}: {repaired:?}");
        }
    }
    assert!(failed > rounds / 4 && failed < rounds, "{failed} of {rounds}");
}
