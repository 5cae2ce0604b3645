//! Volumes of crashed mounts whose journals made FreeBSD's own fsck do damage (13-CURRENT, 2019): the model does the
//! same damage, and our replay none. With the records as they are written now, the model does none either.

use ordo_bsdreplay::{Outcome, Quirks, replay};
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Finding, Mode, Options, Report};
use ordo_ondisk::suj::{BlockRecord, RECORD, Record};
use ordo_ondisk::superblock::search;
use ordo_ondisk::{ByteOff, Dinode, FragNo, Geometry, Ino, Lbn};
use ordo_rt::Rt;
use std::path::Path;
use std::rc::Rc;

/// When the replays run.
const NOW: i64 = 1 << 31;

/// A packed image beside this file.
fn image(name: &str) -> RamDisk {
    let packed = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/images/{name}.img.zst"));
    RamDisk::from_bytes(&ordo_volumes::unpacked(&packed))
}

fn checked(disk: &RamDisk, mode: Mode) -> Report {
    let rt = Rt::virtual_time(0);
    let disk: Rc<dyn Disk> = Rc::new(disk.clone());
    rt.block_on(ordo_fsck::check(&rt, disk, Options { through_log: false, ..Options::new(mode) })).unwrap()
}

/// What FreeBSD's replay leaves, and what a full check finds there.
fn theirs(disk: &RamDisk) -> (RamDisk, Vec<Finding>) {
    let Outcome::Replayed { writes, .. } = replay(disk, 512, NOW, Quirks::default()) else { panic!("it gives up") };
    let after = disk.snapshot();
    writes.iter().for_each(|write| after.poke(write.at, &write.bytes));
    let findings = checked(&after, Mode::Check).findings.into_iter().map(|found| found.finding).collect();
    (after, findings)
}

/// What our replay leaves: a volume on which a full check finds nothing.
fn ours(disk: &RamDisk) -> RamDisk {
    let after = disk.snapshot();
    let report = checked(&after, Mode::Preen);
    assert!(!report.left && report.refused.is_none());
    assert!(checked(&after, Mode::Check).findings.is_empty());
    after
}

fn geometry(disk: &RamDisk) -> Geometry {
    let mut read = |at: ByteOff, into: &mut [u8]| {
        disk.peek(at.0, into);
        Ok(())
    };
    search::find(&mut read, disk.info().size).unwrap().superblock.geometry()
}

fn inode(disk: &RamDisk, ino: u32) -> Dinode {
    let geo = geometry(disk);
    let mut bytes = [0; 256];
    disk.peek(Dinode::place(&geo, Ino(ino)).0, &mut bytes);
    Dinode::decode(&bytes, &geo, Ino(ino)).unwrap()
}

/// Writes `new` over each record `old` of the journal.
fn rewrite(disk: &RamDisk, old: Record, new: Record) -> usize {
    let endian = geometry(disk).endian;
    let (mut from, mut to) = ([0; RECORD], [0; RECORD]);
    old.encode(&mut from, endian).unwrap();
    new.encode(&mut to, endian).unwrap();
    let all = disk.to_vec();
    let places: Vec<usize> = (0..all.len()).step_by(RECORD).filter(|at| all[*at..*at + RECORD] == from).collect();
    places.iter().for_each(|at| disk.poke(*at as u64, &to));
    places.len()
}

/// A file of five fragments from 321 on was truncated to one. The record is on the disk, the inode is not.
#[test]
fn a_tail_by_itself_is_freed_under_the_file_and_a_block_is_not() {
    let disk = image("freed-tail");
    let in_use = |findings: &[Finding]| findings.iter().any(|f| matches!(f, Finding::FragmentsInUse { .. }));
    let (_, findings) = theirs(&disk);
    assert!(in_use(&findings), "{findings:?}");
    ours(&disk);
    let record = |blkno: u64, frags| {
        Record::FreeBlk(BlockRecord {
            ino: inode_of_tail(&disk),
            blkno: FragNo(blkno),
            lbn: Lbn(0),
            frags,
            oldfrags: 0,
        })
    };
    assert_eq!(rewrite(&disk, record(322, 4), record(321, 5)), 1);
    let (_, findings) = theirs(&disk);
    assert!(!in_use(&findings), "{findings:?}");
    ours(&disk);
}

/// The file whose first block is at fragment 321.
fn inode_of_tail(disk: &RamDisk) -> Ino {
    (3..20).map(Ino).find(|ino| inode(disk, ino.0).db[0] == FragNo(321)).unwrap()
}

/// Inode 31 was a file, a directory, and is a file again, at the place of the first, durably.
#[test]
fn a_file_with_the_number_of_a_directory_is_taken_for_one_by_the_last_record_of_its_list() {
    let disk = image("reused-inode");
    let (after, _) = theirs(&disk);
    let modes = [&disk, &after, &ours(&disk)].map(|disk| inode(disk, 31).mode & 0o170_000);
    assert_eq!(modes, [0o100_000, 0, 0o100_000], "before, after theirs, after ours");
}
