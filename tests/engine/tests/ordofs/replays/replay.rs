//! What a replay makes of a log: the volume after the change, and a volume that can be mounted.

use crate::common::{assert_clean, check, judge, located, mount};
use crate::replays::volumes::{Bed, Case, cases, patch, plain, put, read, superblock};
use crate::replays::{replay, replayed};
use ordo_fsck::{Journal, Mode};
use ordo_recover::{NotReplayed, Replayed};
use ordofs::disk::RamDisk;
use ordofs::{MountOptions, Mounted, Notice, Notices};
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Mounts, and returns what it said.
fn heard(bed: &Bed, disk: &RamDisk, read_only: bool) -> (Mounted, Vec<Notice>) {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let to = heard.clone();
    let notices = Notices::to(move |notice| to.lock().expect("one thread").push(notice.clone()));
    let options = MountOptions { read_only, notices, ..MountOptions::default() };
    let mounted = bed.rt.block_on(Mounted::mount(&bed.rt, located(disk, Rc::new(disk.clone())), &options));
    let heard = heard.lock().expect("one thread").clone();
    (mounted.expect("it can be mounted"), heard)
}

#[test]
fn the_volume_is_then_as_after_the_change() {
    for case in cases() {
        let bed = Bed::new(case);
        let what = format!("{case:?}");
        let images = bed.images();
        assert!(images.len() > 5, "{what}: {} images", images.len());
        let mut log = bed.log();
        // Two transactions, each with its list of inodes without a name, as NetBSD writes them.
        let (first, second) = images.split_at(images.len() / 2);
        log.blocks(first);
        log.inodes(true, &[]);
        log.blocks(second);
        log.inodes(true, &[]);
        let disk = bed.crashed(&log);
        let before = disk.to_vec();

        // For a reader it is there already, and nothing is written.
        let (mounted, notices) = heard(&bed, &disk, true);
        assert_eq!((notices, mounted.unread_log()), (vec![Notice::ReplayedInMemory], None), "{what}");
        let fs = mounted.fs().clone();
        let (small, gone) = bed.rt.block_on(async { (read(&fs, "/new/small").await, read(&fs, "/goes").await) });
        assert_eq!((small.as_deref(), gone), (Some(&b"of the log"[..]), None), "{what}");
        drop(fs);
        bed.rt.block_on(mounted.unmount()).expect("nothing is written");
        let looked = judge(&bed.rt, &disk);
        assert_eq!((looked.journal, looked.clean), (Some(Journal::SeenReplayed), false), "{what}");
        assert!(looked.findings.is_empty() && !looked.left, "{what}: {:?}", looked.findings);
        assert!(disk.to_vec() == before, "{what}: a reader wrote");

        let preened = disk.snapshot();
        let done = replayed(&bed.rt, &disk, &what);
        assert_eq!((done.segments, done.freed_inodes), (2, 0), "{what}");
        bed.assert_after(&disk, &what);
        assert!(matches!(replay(&bed.rt, &disk), Err(NotReplayed::Clean)));
        let log = bed.start as usize..(bed.start + bed.len) as usize;
        assert!(disk.to_vec()[log.clone()] == before[log], "{what}: the log was written to");

        let report = check(&bed.rt, &preened, Mode::Preen);
        assert!(report.clean && matches!(report.journal, Some(Journal::Replayed(_))), "{what}: {report:?}");
        bed.assert_after(&preened, &what);
    }
}

#[test]
fn a_mount_replays_it_and_goes_on() {
    for case in [plain(), Case { within: true, ..plain() }] {
        let bed = Bed::new(case);
        let mut log = bed.log();
        log.blocks(&bed.images());
        let disk = bed.crashed(&log);
        let log = disk.to_vec()[bed.start as usize..(bed.start + bed.len) as usize].to_vec();
        let (mounted, notices) = heard(&bed, &disk, false);
        assert!(matches!(notices[..], [Notice::Replayed(_)]) && mounted.why_read_only().is_none(), "{notices:?}");
        let fs = mounted.fs().clone();
        bed.rt.block_on(async {
            assert_eq!(read(&fs, "/new/small").await.as_deref(), Some(&b"of the log"[..]));
            put(&fs, "/new/more", &[9; 50_000]).await;
        });
        drop(fs);
        bed.rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&bed.rt, &disk, "after the mount");
        // NetBSD finds a clean volume, with a log that is not in use and lies where it was.
        let on = superblock(&disk).features();
        assert!(!on.wapbl && on.wapbl_at == superblock(&bed.before).features().wapbl_at && on.wapbl_at.is_some());
        assert!(disk.to_vec()[bed.start as usize..][..log.len()] == log[..], "the log is not ours to write");
    }
}

#[test]
fn the_newest_image_counts_and_a_revoked_one_does_not() {
    let bed = Bed::new(plain());
    let images = bed.images();
    let old = |images: &[(u64, Vec<u8>)]| -> Vec<(u64, Vec<u8>)> {
        images.iter().map(|(at, image)| (*at, vec![0xee; image.len()])).collect()
    };
    // Logged twice; the second time in two records, one of which has each block in two entries.
    let mut log = bed.log();
    log.blocks(&old(&images));
    log.inodes(true, &[]);
    let (first, second) = images.split_at(images.len() / 2);
    log.blocks(first);
    let halves = second.iter().flat_map(|(at, image)| {
        let (low, high) = image.split_at(image.len() / 2);
        [(*at, low.to_vec()), (*at + low.len() as u64, high.to_vec())]
    });
    log.blocks(&halves.collect::<Vec<_>>());
    let disk = bed.crashed(&log);
    replayed(&bed.rt, &disk, "twice");
    bed.assert_after(&disk, "twice");

    // Revoked, and logged again: only what follows the revocation counts. What was revoked for good is at home.
    let data = free_block(&bed);
    let mut log = bed.log();
    log.blocks(&[(data, vec![0xdd; 8192])]);
    log.blocks(&old(&images));
    log.revoke(&images.iter().map(|(at, image)| (*at, image.len() as u64)).collect::<Vec<_>>()[..images.len().min(31)]);
    log.revoke(&[(data + 1024, 6144)]);
    log.inodes(true, &[]);
    log.blocks(&images);
    let disk = bed.crashed(&log);
    replayed(&bed.rt, &disk, "revoked");
    let mut bytes = vec![0; 8192];
    disk.peek(data, &mut bytes);
    let kept = |range: std::ops::Range<usize>| bytes[range].iter().all(|byte| *byte == 0xdd);
    assert!(kept(0..1024) && kept(7168..8192) && !bytes[1024..7168].contains(&0xdd));
    disk.poke(data, &{
        let mut right = vec![0; 8192];
        bed.after.peek(data, &mut right);
        right
    });
    bed.assert_after(&disk, "revoked");
}

/// The first byte of a block that no file has, before the change and after it.
fn free_block(bed: &Bed) -> u64 {
    let g = bed.geometry();
    let last = g.size / u64::from(g.frag) * u64::from(g.frag) - u64::from(g.frag);
    last * u64::from(g.fsize)
}

#[test]
fn records_go_on_at_the_beginning_of_the_circle() {
    for case in [plain(), Case { within: true, order: plain().order.other(), ..plain() }] {
        let bed = Bed::new(case);
        let images = bed.images();
        let blocks = bed.log().circle() / 512;
        // The end of the circle is at each block of the records once.
        let mut whole = bed.log();
        whole.blocks(&images);
        whole.inodes(true, &[]);
        let count = whole.records.len() as u64 / 512;
        for tail in (blocks - count..=blocks).step_by(3) {
            let mut log = whole.clone();
            log.tail = tail;
            let disk = bed.crashed(&log);
            replayed(&bed.rt, &disk, "wrapped");
            bed.assert_after(&disk, &format!("wrapped from block {tail} of {blocks}"));
        }
    }
}

#[test]
fn a_full_log_is_read_whole_and_an_empty_one_has_nothing() {
    let bed = Bed::new(Case { within: true, ..plain() });
    let images = bed.images();
    let mut log = bed.log();
    log.blocks(&images);
    while (log.records.len() as u64) < log.circle() {
        log.inodes(true, &[]);
    }
    (log.tail, log.generation) = (5, 8);
    assert!(log.ends().0 == log.ends().1);
    let disk = bed.crashed(&log);
    replayed(&bed.rt, &disk, "full");
    bed.assert_after(&disk, "full");

    let disk = bed.crashed(&bed.log());
    assert_eq!(replayed(&bed.rt, &disk, "empty"), Replayed::default());
    let sb = superblock(&disk);
    assert!(sb.is_clean() && !sb.features().wapbl);
}

#[test]
fn the_header_with_the_larger_generation_counts() {
    let bed = Bed::new(plain());
    let mut log = bed.log();
    log.blocks(&bed.images());
    let (tail, head) = log.ends();
    for (generation, counts) in [(6, true), (5, true), (8, false), (9, false)] {
        let disk = bed.crashed(&log);
        // The other header has an empty log.
        disk.poke(bed.start, &log.header(generation, 0, 0));
        let done = replay(&bed.rt, &disk).expect("a log");
        assert_eq!(done.records > 0, counts, "{generation}");
        disk.poke(bed.start, &log.header(generation, head, tail));
    }
    // The first header counts if both have the same.
    let disk = bed.crashed(&log);
    disk.poke(bed.start, &log.header(7, 0, 0));
    assert_eq!(replay(&bed.rt, &disk).expect("a log").records, 0);
    // The identifier of the volume, which NetBSD never sets, is not looked at.
    let disk = bed.crashed(&log);
    disk.poke(bed.start + 512 + 16, &[0xff; 8]);
    replayed(&bed.rt, &disk, "another identifier");
    bed.assert_after(&disk, "another identifier");
}

#[test]
fn a_volume_that_was_not_clean_before_is_not_clean_after() {
    let bed = Bed::new(plain());
    let images = bed.images();
    let at = superblock(&bed.before).at.0;
    for clean in [0_u8, 4] {
        let mut log = bed.log();
        let mut images = images.clone();
        patch(&mut images, at + 209, &[clean]);
        log.blocks(&images);
        let disk = bed.crashed(&log);
        let preened = disk.snapshot();
        replay(&bed.rt, &disk).expect("a log");
        let sb = superblock(&disk);
        assert!(sb.fields.clean == 0 && !sb.features().wapbl);
        let report = check(&bed.rt, &preened, Mode::Preen);
        assert!(report.scanned && report.clean && matches!(report.journal, Some(Journal::Replayed(_))), "{report:?}");
        assert_clean(&bed.rt, &preened, "after the check");
    }
}

#[test]
fn what_must_not_be_written_is_read_through_the_log() {
    let bed = Bed::new(plain());
    let mut log = bed.log();
    let sb = superblock(&bed.before).at.0;
    let mut images = bed.images();
    // Quotas in an inode that there is not: a flag, a magic, whose quotas, and the inode.
    let quotas: [(u64, &[u8]); 4] =
        [(904, &0xb746_915e_u32.to_le_bytes()), (908, &[1]), (912, &[0xff; 8]), (1313, &[3])];
    for (field, bytes) in quotas {
        patch(&mut images, sb + field, bytes);
    }
    log.blocks(&images);
    let disk = bed.crashed(&log);
    for (field, bytes) in quotas {
        disk.poke(sb + field, bytes);
    }
    let before = disk.to_vec();
    assert!(matches!(replay(&bed.rt, &disk), Err(NotReplayed::Refused(_))));
    // Not even a repair gives a log up that is whole.
    for mode in [Mode::Preen, Mode::Repair] {
        let report = check(&bed.rt, &disk, mode);
        assert!(report.refused.as_deref().is_some_and(|why| why.contains("quotas")), "{report:?}");
    }
    let (mounted, notices) = heard(&bed, &disk, false);
    let why = mounted.why_read_only().expect("it cannot be written").to_owned();
    assert!(why.contains("quotas") && notices[0] == Notice::ReplayedInMemory, "{why} {notices:?}");
    let fs = mounted.fs().clone();
    assert_eq!(bed.rt.block_on(read(&fs, "/new/small")).as_deref(), Some(&b"of the log"[..]));
    drop(fs);
    bed.rt.block_on(mounted.unmount()).expect("nothing is written");
    assert!(disk.to_vec() == before);
}

#[test]
fn a_clean_volume_with_a_log_is_one_to_work_on() {
    for case in cases() {
        let bed = Bed::new(case);
        let disk = bed.before.snapshot();
        let mounted = mount(&bed.rt, &disk, "softupdates");
        assert_eq!(mounted.why_read_only(), None, "{case:?}");
        bed.rt.block_on(mounted.unmount()).expect("the disk is well");
        assert_clean(&bed.rt, &disk, "after an unmount");
        // A crash without the log in use is for fsck, and it leaves the log alone.
        let mounted = mount(&bed.rt, &disk, "sync");
        let fs = mounted.fs().clone();
        bed.rt.block_on(put(&fs, "/old/more", &[4; 9000]));
        let crashed = disk.snapshot();
        drop(fs);
        bed.rt.block_on(mounted.unmount()).expect("the disk is well");
        assert!(check(&bed.rt, &crashed, Mode::Preen).clean);
        assert_clean(&bed.rt, &crashed, "after a preen");
        let log = bed.start as usize..(bed.start + bed.len) as usize;
        assert!(crashed.to_vec()[log.clone()] == bed.before.to_vec()[log], "{case:?}: the log is not ours to write");
    }
}

#[test]
fn damage_beside_the_log_does_not_keep_it_from_being_replayed() {
    let bed = Bed::new(plain());
    let mut log = bed.log();
    log.blocks(&bed.images());
    let disk = bed.crashed(&log);
    let (sb, g) = (superblock(&disk), bed.geometry());
    // A hint of the superblock, which the log has right; and the backup of the last group.
    disk.poke(sb.at.0 + 128, &[7]);
    disk.poke(g.byte(g.cgsblock(ordo_ondisk::Cgx(g.ncg - 1))).0, &[0; 2048]);
    let preened = disk.snapshot();
    replay(&bed.rt, &disk).expect("a log");
    assert!(superblock(&disk).is_clean() && superblock(&disk).fields.optim != 7);
    let report = check(&bed.rt, &preened, Mode::Repair);
    assert!(report.clean && matches!(report.journal, Some(Journal::Replayed(_))), "{report:?}");
    let mounted = mount(&bed.rt, &preened, "sync");
    let fs = mounted.fs().clone();
    assert_eq!(bed.rt.block_on(read(&fs, "/new/small")).as_deref(), Some(&b"of the log"[..]));
    drop(fs);
    bed.rt.block_on(mounted.unmount()).expect("the disk is well");
}
