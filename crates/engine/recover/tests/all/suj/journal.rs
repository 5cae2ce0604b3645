//! Which parts of a journal count, and what makes one unusable.

use super::build::*;
use super::{preened, replay, replayed};
use crate::common;
use crate::common::build::*;
use ordo_fsck::{Journal, Mode};
use ordo_ondisk::suj::{self, Record};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{Cgx, Endian, Format, FragNo};
use ordo_recover::NotReplayed;
use std::rc::Rc;

fn volume() -> Journaled {
    Journaled::new(Format::Ufs2, Endian::Little)
}

/// A leaked block, and its record.
fn leak(v: &Journaled, n: u64) -> Record {
    v.use_frags(v.block(n), 8, true);
    new(BIG, 20 + n as i64, v.block(n), 8, 0)
}

#[test]
fn segments_that_went_round_are_put_in_order() {
    let v = volume();
    let (first, second, third) = (leak(&v, 0), leak(&v, 1), leak(&v, 2));
    // Completed work is not examined again: this record could not be right.
    let over = rem(BIG, 2, v.offset(2, "big"), 0, FILE_MODE);
    v.segment(5, 3, &[third]);
    v.seek(8192);
    v.segment(2, 1, &[over]);
    v.segment(3, 3, &[first]);
    v.seek(3 << 20);
    v.segment(4, 3, &[second; 40]);
    let done = replayed(&v, "a journal that went round");
    assert_eq!((done.segments, done.records, done.freed_frags), (3, 42, 24));
}

#[test]
fn torn_last_segment_and_those_behind_a_gap_do_not_count() {
    let v = volume();
    let first = leak(&v, 0);
    v.segment(0, 0, &[first; 40]);
    // The name belongs to a segment of which a sector was lost, so nothing of it is on the disk.
    v.segment(1, 0, &[add(FILE, 2, 300, 9, FILE_MODE); 40]);
    v.write(3 * 512 + 512, &[0; 512]);
    v.segment(2, 0, &[add(FILE, 2, 300, 9, FILE_MODE)]);
    let done = replayed(&v, "a torn segment");
    assert_eq!((done.segments, done.records, v.get(FILE).nlink), (1, 40, 2));
}

#[test]
fn journal_that_is_none_is_told_and_the_full_check_runs() {
    type Damage = fn(&Journaled);
    let damages: &[(&str, Damage)] = &[
        ("not of the last mount", |v| v.inode(JOURNAL, |d| d.modrev += 1)),
        ("a hole at block 3", |v| v.inode(JOURNAL, |d| d.db[3] = FragNo::HOLE)),
        ("a hole at block 13", |v| v.set_pointer(v.get(JOURNAL).ib[0], 1, FragNo::HOLE)),
        ("di_mode", |v| v.inode(JOURNAL, |d| d.mode |= 0o200)),
        ("di_flags", |v| v.inode(JOURNAL, |d| d.flags = suj::NEW_FLAGS & 0xffff)),
        ("di_nlink", |v| v.inode(JOURNAL, |d| d.nlink = 2)),
        ("di_size", |v| v.inode(JOURNAL, |d| d.size -= 512)),
        ("lacks segment 7", |v| v.segment(8, 7, &[leak(v, 0)])),
        ("two segments 3", |v| (0..2).for_each(|_| v.segment(3, 3, &[leak(v, 0)]))),
        ("jb_blkno", |v| v.segment(0, 0, &[new(BIG, 20, FragNo(8), 8, 0)])),
        ("j_ino", |v| v.segment(0, 0, &[add(1 << 30, 2, 0, 0, FILE_MODE)])),
        ("list of inodes without a name", |v| v.superblock(|sb| sb.fields.sujfree = 1 << 30)),
        ("list of inodes without a name", |v| {
            v.inode(FILE, |d| d.freelink = FILE);
            v.superblock(|sb| sb.fields.sujfree = FILE as i32);
        }),
        ("take more links than it had", |v| v.segment(0, 0, &[rem(FILE, 2, 300, 0, FILE_MODE)])),
        ("is free and has a name", |v| {
            let at = v.name(2, "new", NEW, 8);
            v.segment(0, 0, &[add(NEW, 2, at, 0, FILE_MODE)]);
        }),
        ("belongs to inode", |v| {
            let at = v.get(FILE).db[0];
            v.inode(INNER, |d| d.db[0] = at);
            v.segment(0, 0, &[new(FILE, 0, at, 2, 0), new(INNER, 0, at, 1, 0)]);
        }),
        ("cylinder group 0", |v| v.group(0, |bytes, _| bytes[4] ^= 1)),
        ("where no data can be", |v| {
            // After a block that may be the journal's.
            let (indirect, metadata) = (v.get(JOURNAL).ib[0], v.g.cgsblock(Cgx(2)));
            v.set_pointer(indirect, 20, FragNo(metadata.0 - 8));
            v.set_pointer(indirect, 21, metadata);
        }),
        ("where no data can be", |v| {
            v.inode(INNER, |d| d.db[0] = FragNo(8));
            v.segment(0, 0, &[new(INNER, 0, v.block(0), 1, 0)]);
        }),
        ("it dies, and has a name", |v| {
            v.unname(2, "dir");
            let off = 24;
            v.segment(0, 0, &[rem(DIR, 2, off, 3, DIR_MODE), rem(DIR, DIR, 0, 2, DIR_MODE)]);
        }),
    ];
    let pristine = volume();
    for (why, damage) in damages {
        let v = pristine.copy();
        damage(&v);
        let before = v.disk.to_vec();
        let refused = replay(&v).expect_err(why).to_string();
        assert!(refused.contains(why), "{why}: {refused}");
        assert!(v.disk.to_vec() == before, "{why}: something was written");
        let report = common::run(&v.disk, Mode::Preen).expect(why);
        assert_eq!((report.scanned, report.journal), (true, Some(Journal::NotReplayed(refused))), "{why}");
        if report.clean {
            assert_ne!(fields(&v).mtime, MOUNTED, "{why}: the journal is still valid");
        }
    }
}

fn fields(v: &Journaled) -> ordo_ondisk::superblock::fields::SbFields {
    let mut fields = None;
    v.superblock(|sb| fields = Some(sb.fields.clone()));
    fields.expect("a superblock")
}

#[test]
fn journal_ends_where_the_file_does() {
    let v = volume();
    let (indirect, blocks) = (v.get(JOURNAL).ib[0], (suj::SUJ_MIN / 8192) as u32);
    let mut block = vec![0; 8192];
    v.disk.peek(v.byte(indirect).0, &mut block);
    let last = v.g.pointer(&block, blocks - 13).expect("a pointer");
    // It is contiguous, and only the size shows that it is not the journal's.
    v.set_pointer(indirect, blocks - 12, last.plus(8));
    let mut clean = None;
    v.superblock(|sb| {
        sb.fields.clean = 1;
        clean = Some(sb.clone());
    });
    let rt = ordo_rt::Rt::virtual_time(1);
    let (inner, disk, sb) = (rt.clone(), Rc::new(v.disk.clone()), clean.expect("a superblock"));
    let session = rt.block_on(async move { ordo_recover::begin_session(&inner, disk, &sb).await }).expect("a journal");
    assert_eq!(session.extents.iter().map(|(_, bytes)| bytes).sum::<u64>(), suj::SUJ_MIN);
}

#[test]
fn volume_without_its_journal_loses_the_flag() {
    let v = volume();
    v.unname(2, suj::NAME);
    assert!(matches!(replay(&v), Err(NotReplayed::Missing)));
    assert!(matches!(preened(&v, "no file"), Some(Journal::NotReplayed(_))));
    assert_eq!(fields(&v).flags & (flag::SUJ | flag::DOSOFTDEP), flag::DOSOFTDEP);
}

#[test]
fn modes_do_what_their_letters_say() {
    let pristine = volume();
    pristine.segment(0, 0, &[leak(&pristine, 0)]);
    let v = pristine.copy();
    let before = v.disk.to_vec();
    let looked = common::run(&v.disk, Mode::Check).expect("a volume");
    assert_eq!((looked.exit_code(), looked.scanned, looked.journal), (0, true, Some(Journal::SeenReplayed)));
    assert!(!looked.clean);
    assert!(v.disk.to_vec() == before, "a check wrote");

    let preen = common::run(&v.disk, Mode::Preen).expect("a volume");
    let Some(Journal::Replayed(done)) = &preen.journal else { panic!("{preen:?}") };
    assert_eq!((done.records, done.segments, done.freed_frags), (1, 1, 8));
    assert_eq!((preen.scanned, preen.clean, preen.modified, preen.exit_code()), (false, true, true, 0));
    let again = common::run(&v.disk, Mode::Preen).expect("a volume");
    assert_eq!((again.journal, again.modified), (None, false));
    assert!(matches!(replay(&v), Err(NotReplayed::Clean)));

    let v = pristine.copy();
    let full = common::run(&v.disk, Mode::Repair).expect("a volume");
    assert_eq!((full.exit_code(), full.scanned, full.journal), (1, true, Some(Journal::PassedOver)));
    assert!(!v.frags_used(v.block(0), 8) && fields(&v).mtime != MOUNTED);

    let v = pristine.copy();
    v.superblock(|sb| sb.fields.flags |= flag::NEEDSFSCK);
    assert!(matches!(replay(&v), Err(NotReplayed::NeedsFsck)));
    assert_eq!(common::run(&v.disk, Mode::Preen).expect("a volume").journal, None);
    v.superblock(|sb| sb.fields.flags &= !(flag::SUJ | flag::NEEDSFSCK));
    assert!(matches!(replay(&v), Err(NotReplayed::NoJournal)));
}

#[test]
fn journal_of_a_disk_with_other_sectors_is_not_guessed_at() {
    let v = volume();
    let records = [leak(&v, 0); 20];
    let head = suj::Segment { seq: 0, oldest: 0, time: MOUNTED };
    let bytes = suj::lay_out(head, &records, 1024, v.g.endian).expect("records");
    v.write(0, &bytes);
    let why = replay(&v).expect_err("20 records are no 15").to_string();
    assert!(why.contains("jsr_cnt"), "{why}");
    let bytes = suj::lay_out(head, &[leak(&v, 0); 40], 1024, v.g.endian).expect("records");
    v.write(0, &bytes);
    assert!(matches!(replay(&v), Err(NotReplayed::Sectors { found: 1024, disk: 512 })));
}

#[test]
fn torn_group_is_taken_bit_by_bit_and_its_directories_are_counted() {
    for format in [Format::Ufs1, Format::Ufs2] {
        let v = Journaled::new(format, Endian::Little);
        v.new_dir(NEW, 2, v.block(0));
        v.inode(2, |d| d.nlink = 5);
        let mut records = vec![add(NEW, 2, 300, 0, DIR_MODE), add(2, NEW, 12, 4, DIR_MODE)];
        records.extend([add(NEW, NEW, 0, 1, DIR_MODE), new(NEW, 0, v.block(0), 1, 0)]);
        v.segment(0, 0, &records);
        // The first sector of the group, with the counts and the hash, is from an older write.
        let at = v.byte(v.g.cgtod(ordo_ondisk::Cgx(0))).0;
        let mut head = [0; 4];
        v.disk.peek(at + 24, &mut head);
        let ndir = v.g.endian.u32(head) - 1;
        v.put_u32(at + 24, ndir);
        replayed(&v, "a torn group");
    }
}
