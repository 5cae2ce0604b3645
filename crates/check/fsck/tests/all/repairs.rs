//! What a repair keeps, and what it leaves to the user: not only that the next check finds nothing.

use crate::alone::FREE;
use crate::common;
use crate::common::build::*;
use ordo_fsck::{Finding, Mode, Report};
use ordo_ondisk::cg::map;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, FragNo};

fn volume() -> Volume {
    Volume::new(Format::Ufs2, Endian::Little, false)
}

fn repair(volume: &Volume) -> Report {
    let report = common::run(&volume.disk, Mode::Repair).expect("a volume");
    assert_eq!(report.exit_code(), 1, "{}", common::told(&report));
    assert_eq!(common::run(&volume.disk, Mode::Check).expect("a volume").exit_code(), 0);
    report
}

fn contents(volume: &Volume, frag: FragNo, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    volume.disk.peek(volume.byte(frag).0, &mut bytes);
    bytes
}

/// The names in `lost+found`, with their inodes.
fn in_lost_found(volume: &Volume) -> Vec<(String, u32)> {
    let root = volume.names(2);
    let lost = root.iter().find(|(name, _)| name == "lost+found").expect("lost+found").1;
    volume.names(lost).into_iter().filter(|(name, _)| !name.starts_with('.')).collect()
}

#[test]
fn second_owner_of_a_block_gets_a_copy() {
    let v = volume();
    let shared = v.get(BIG).db[3];
    v.disk.poke(v.byte(shared).0, b"the contents of both");
    v.inode(INNER, |d| d.db[0] = shared);
    repair(&v);
    let (first, second) = (v.get(BIG).db[3], v.get(INNER).db[0]);
    assert_ne!(first, second);
    for frag in [first, second] {
        assert_eq!(contents(&v, frag, 20), b"the contents of both");
    }
}

#[test]
fn second_owner_of_an_indirect_block_gets_a_copy_of_all_below() {
    let v = volume();
    let big = v.get(BIG);
    let mut block = vec![0; 8192];
    v.disk.peek(v.byte(big.ib[0]).0, &mut block);
    let data = v.g.pointer(&block, 1).expect("a pointer");
    v.disk.poke(v.byte(data).0, b"deep");
    v.inode(INNER, |d| (d.db, d.ib, d.size, d.blocks) = (big.db, big.ib, big.size, big.blocks));
    repair(&v);
    let inner = v.get(INNER);
    assert_eq!((inner.size, inner.blocks), (big.size, big.blocks));
    v.disk.peek(v.byte(inner.ib[0]).0, &mut block);
    let copy = v.g.pointer(&block, 1).expect("a pointer");
    assert_ne!(copy, data);
    assert_eq!(contents(&v, copy, 4), b"deep");
}

#[test]
fn inode_with_a_wrong_hash_is_the_second_owner() {
    let v = volume();
    // The damaged inode has the smaller number, and would come first.
    let shared = v.get(BIG).db[3];
    v.inode(FILE, |d| (d.db[0], d.size, d.blocks) = (shared, 8192, 16));
    v.put_u32(Dinode::place(&v.g, ordo_ondisk::Ino(FILE)).0 + 244, 7);
    repair(&v);
    assert_eq!(v.get(BIG).db[3], shared);
    assert_ne!(v.get(FILE).db[0], shared);
}

#[test]
fn lost_size_is_found_from_the_blocks() {
    let v = volume();
    let names = v.names(2);
    v.inode(2, |d| d.size = 0);
    repair(&v);
    assert_eq!(v.get(2).size, 1024);
    assert_eq!(v.names(2), names);
}

#[test]
fn lost_root_is_made_again_and_everything_is_found() {
    let v = volume();
    v.inode(2, |d| *d = Dinode::default());
    repair(&v);
    let mut found: Vec<u32> = in_lost_found(&v).into_iter().map(|(_, ino)| ino).collect();
    found.sort_unstable();
    // The device and the short link have no blocks, and sizes of 0 and 4; empty nameless files are freed.
    assert_eq!(found, [DIR, FILE, LINK, BIG, LONG_LINK, ATTRS, OTHER]);
    assert_eq!(v.names(DIR)[2..], [("sub".into(), SUB), ("inner".into(), INNER)]);
    assert_eq!(v.get(FILE).nlink, 1);
}

#[test]
fn file_that_took_the_root_inode_moves() {
    let v = volume();
    let data = v.g.cgdmin(Cgx(2));
    v.disk.poke(v.byte(data).0, b"a file");
    v.inode(2, |d| (d.mode, d.nlink, d.size, d.db[0], d.blocks) = (mode::REG | 0o644, 1, 6, data, 2));
    repair(&v);
    let moved = in_lost_found(&v).into_iter().find(|&(_, ino)| v.get(ino).db[0] == data).expect("the file");
    assert_eq!((v.get(moved.1).size, v.get(2).kind()), (6, mode::DIR));
}

#[test]
fn orphan_is_named_by_its_number() {
    let v = volume();
    v.put_u32(v.entry(DIR, "inner"), 0);
    v.put_u32(v.entry(DIR, "sub"), 0);
    repair(&v);
    let digits = (v.g.inodes() - 1).to_string().len();
    let name = |ino: u32| (format!("#{ino:0digits$}"), ino);
    assert_eq!(in_lost_found(&v), [name(SUB), name(INNER)]);
    let lost = v.names(2).into_iter().find(|(name, _)| name == "lost+found").expect("lost+found").1;
    assert_eq!(v.names(SUB)[1], ("..".into(), lost));
    assert_eq!((v.get(lost).nlink, v.get(lost).mode & 0o7777), (3, 0o700));
}

/// Files without a name in the last group, each of one byte.
fn orphans(v: &Volume, count: u32) {
    let group = v.g.ncg - 1;
    for i in 0..count {
        let data = FragNo(v.g.cgdmin(Cgx(group)).0 + u64::from(i));
        v.inode(group * v.g.ipg + i, |d| {
            (d.mode, d.nlink, d.size, d.blocks, d.db[0]) = (mode::REG | 0o600, 1, 1, 2, data);
        });
    }
}

fn lost_found(v: &Volume) -> u32 {
    v.names(2).into_iter().find(|(name, _)| name == "lost+found").expect("lost+found").1
}

#[test]
fn lost_found_grows_by_fragments() {
    let v = Volume::new(Format::Ufs1, Endian::Big, false);
    orphans(&v, 400);
    let report = repair(&v);
    assert!(v.get(lost_found(&v)).size > 6 * 1024);
    assert_eq!(report.usage.files, 11 + 400 + 1);
    assert_eq!(u64::from(v.get(lost_found(&v)).nlink), 2);
}

#[test]
fn lost_found_grows_into_an_indirect_block() {
    for format in [Format::Ufs1, Format::Ufs2] {
        let v = Volume::new(format, Endian::Big, false);
        fill_lost_found(&v);
        orphans(&v, 60);
        repair(&v);
        let lost = v.get(OTHER);
        assert_eq!((lost.size, lost.blocks), (13 * 8192, 14 * 16));
        assert!(!lost.ib[0].is_hole());
    }
}

/// Renames a directory to `lost+found` and fills twelve blocks with whiteouts, except the first directory block.
fn fill_lost_found(v: &Volume) {
    let format = v.g.dir_format();
    let mut block = vec![0; 512];
    let names = ["x".repeat(239), "y".repeat(250)];
    ordo_ondisk::dirent::write(&mut block, 0, format, 248, ordo_ondisk::Ino(1), 14, names[0].as_bytes()).expect("room");
    ordo_ondisk::dirent::write(&mut block, 248, format, 264, ordo_ondisk::Ino(1), 14, names[1].as_bytes())
        .expect("room");
    let first = v.g.cgdmin(Cgx(2)).0.next_multiple_of(8);
    for i in 0..12 * 16 {
        v.disk.poke(v.byte(FragNo(first)).0 + i * 512, &block);
    }
    let dots = ordo_ondisk::dirent::new_directory(format, ordo_ondisk::Ino(OTHER), ordo_ondisk::Ino(2));
    v.disk.poke(v.byte(FragNo(first)).0, &dots);
    v.inode(OTHER, |d| {
        (d.size, d.blocks) = (12 * 8192, 12 * 16);
        for (pointer, frag) in d.db.iter_mut().zip((first..).step_by(8)) {
            *pointer = FragNo(frag);
        }
    });
    // "long-link" has room for a name of ten letters; its inode is then the directory's.
    let entry = v.entry(2, "long-link");
    v.put_u32(entry, OTHER);
    v.disk.poke(entry + 6, b"\x04\x0alost+found\0");
    v.put_u32(v.entry(2, "other"), 0);
}

#[test]
fn what_took_the_name_of_lost_found_is_the_first_in_it() {
    let v = volume();
    v.disk.poke(v.entry(2, "long-link") + 7, b"\x0alost+found\0");
    v.put_u32(v.entry(DIR, "inner"), 0);
    repair(&v);
    let found: Vec<u32> = in_lost_found(&v).into_iter().map(|(_, ino)| ino).collect();
    assert_eq!(found, [LONG_LINK, INNER]);
}

#[test]
fn preen_after_soft_updates_clears_what_was_about_to_go() {
    let v = Volume::new(Format::Ufs2, Endian::Little, true);
    v.superblock(|sb| sb.fields.clean = 0);
    v.put_u32(v.entry(2, "dir"), 0);
    let report = common::run(&v.disk, Mode::Preen).expect("a volume");
    assert_eq!(report.exit_code(), 1, "{}", common::told(&report));
    assert!(v.names(2).iter().all(|(name, _)| name != "lost+found"));
    for ino in [DIR, SUB, INNER] {
        assert_eq!(v.get(ino).mode, 0);
    }
    assert_eq!(v.get(2).nlink, 3);
    assert_eq!(common::run(&v.disk, Mode::Check).expect("a volume").exit_code(), 0);
}

/// No `lost+found` is needed then, so a check does not count one as in use.
#[test]
fn check_after_soft_updates_tells_only_what_is_lost() {
    let v = Volume::new(Format::Ufs2, Endian::Little, true);
    v.superblock(|sb| sb.fields.clean = 0);
    v.put_u32(v.entry(2, "dir"), 0);
    let report = common::run(&v.disk, Mode::Check).expect("a volume");
    let told: Vec<&str> = report.findings.iter().map(|found| found.finding.name()).collect();
    assert!(told.contains(&"DirectoryUnconnected") && told.contains(&"FragmentsLeaked"), "{}", common::told(&report));
    assert!(!told.contains(&"FragmentsInUse") && !told.contains(&"LostDirectories"), "{}", common::told(&report));
    let in_use = |found: &ordo_fsck::Found| matches!(found.finding, Finding::InodeMap { in_use: 1.., .. });
    assert!(!report.findings.iter().any(in_use), "{}", common::told(&report));
}

#[test]
fn preen_skips_a_clean_volume_and_the_others_do_not() {
    let v = volume();
    v.inode(FILE, |d| d.nlink = 7);
    let preen = common::run(&v.disk, Mode::Preen).expect("a volume");
    assert_eq!((preen.exit_code(), preen.scanned, preen.clean), (0, false, true));
    assert_eq!(common::run(&v.disk, Mode::Check).expect("a volume").exit_code(), 4);
}

#[test]
fn whole_but_dirty_volume_is_marked_clean_without_a_finding() {
    let v = volume();
    v.superblock(|sb| sb.fields.clean = 0);
    let check = common::run(&v.disk, Mode::Check).expect("a volume");
    assert_eq!((check.exit_code(), check.clean), (0, false));
    let preen = common::run(&v.disk, Mode::Preen).expect("a volume");
    assert_eq!((preen.exit_code(), preen.clean, preen.modified), (0, true, true));
}

#[test]
fn repair_makes_the_journal_of_soft_updates_invalid() {
    let v = Volume::new(Format::Ufs2, Endian::Big, true);
    v.superblock(|sb| {
        sb.fields.flags |= ordo_ondisk::superblock::fields::flag::SUJ;
        (sb.fields.clean, sb.fields.mtime) = (0, 77);
    });
    common::run(&v.disk, Mode::Repair).expect("a volume");
    let mut bytes = vec![0; 8192];
    v.disk.peek(v.sb.at.0, &mut bytes);
    assert_ne!(ordo_ondisk::Superblock::decode(&bytes, v.sb.at).expect("a superblock").fields.mtime, 77);
}

#[test]
fn volume_longer_than_the_disk_is_refused() {
    let v = volume();
    let short = ordo_disk::RamDisk::from_bytes(&v.disk.to_vec()[..3 << 20]);
    assert!(matches!(common::run(&short, Mode::Repair), Err(ordo_fsck::Error::TooShort { .. })));
    let empty = ordo_disk::RamDisk::new(1 << 20);
    assert!(matches!(common::run(&empty, Mode::Repair), Err(ordo_fsck::Error::NoSuperblock { .. })));
}

#[test]
fn names_beyond_what_a_link_count_can_tell_are_removed() {
    let v = Volume::new(Format::Ufs1, Endian::Little, false);
    let (format, blocks) = (v.g.dir_format(), 130u64);
    let mut frags = (v.g.cgdmin(Cgx(2)).0.next_multiple_of(8)..v.g.size).step_by(8).map(FragNo);
    let mut free = || frags.by_ref().find(|&frag| v.g.is_data_range(frag, 8)).expect("room");
    let indirect = free();
    v.inode(OTHER, |d| (d.size, d.blocks, d.ib[0]) = (blocks * 8192, (blocks + 1) * 16, indirect));
    let mut count = 0;
    for lbn in 0..blocks {
        let frag = free();
        for at in 0..16 {
            let first = lbn == 0 && at == 0;
            let mut block = vec![0; 512];
            for slot in (0..512).step_by(16) {
                ordo_ondisk::dirent::write(&mut block, slot, format, 16, ordo_ondisk::Ino(FILE), 8, b"names")
                    .expect("room");
            }
            count += if first { 0 } else { 32 };
            let dots = ordo_ondisk::dirent::new_directory(format, ordo_ondisk::Ino(OTHER), ordo_ondisk::Ino(2));
            v.disk.poke(v.byte(frag).0 + at * 512, if first { &dots } else { &block });
        }
        match usize::try_from(lbn) {
            Ok(lbn @ 0..12) => v.inode(OTHER, |d| d.db[lbn] = frag),
            _ => v.set_pointer(indirect, lbn as u32 - 12, frag),
        }
    }
    let report = repair(&v);
    let removed = report.findings.iter().filter(|found| found.finding.name() == "TooManyNames").count();
    assert_eq!((removed, v.get(FILE).nlink), (count + 2 - 65_500, 65_500));
}

/// An inode that is free but marked in use is leaked until the next check; one that is in use but marked free would be
/// allocated to a second file. The finding says how many are of the second kind.
#[test]
fn wrong_bits_of_the_inode_map_have_a_direction() {
    let found = |v: &Volume| -> Vec<(u32, u32)> {
        let report = common::run(&v.disk, Mode::Check).expect("a volume");
        let maps = report.findings.iter().filter_map(|found| match found.finding {
            Finding::InodeMap { wrong, in_use, .. } => Some((wrong, in_use)),
            _ => None,
        });
        maps.collect()
    };
    let v = volume();
    v.maps(0, |cg| map::set(cg.iused_mut(), FREE));
    assert_eq!(found(&v), [(1, 0)]);
    v.maps(0, |cg| map::clear(cg.iused_mut(), FILE));
    assert_eq!(found(&v), [(2, 1)]);
}

/// Adds a non-empty nameless file and repairs; returns the inode and the first block of the new `lost+found`.
fn place_of_new_lost_found(v: &Volume) -> (u32, FragNo) {
    v.inode(FREE + 7, |d| (d.mode, d.nlink, d.size, d.blocks, d.db[0]) = (mode::REG, 1, 10, 2, FragNo(1500)));
    repair(v);
    let lost = v.names(2).into_iter().find(|(name, _)| name == "lost+found").expect("lost+found").1;
    (lost, v.get(lost).db[0])
}

#[test]
fn space_freed_by_a_repair_is_not_used_by_the_same_repair() {
    let (ino, frag) = place_of_new_lost_found(&volume());
    assert!(ino < FREE + 7, "what is freed below is freed before");
    let v = volume();
    v.inode(ino, |d| (d.mode, d.size, d.blocks, d.db[0]) = (mode::REG, 1024, 2, frag));
    let (other, block) = place_of_new_lost_found(&v);
    assert_eq!(v.get(ino).mode, 0, "a file without a name or a link was freed");
    assert!(other != ino && block.0 / 8 != frag.0 / 8, "{other} at {block:?}, as if nobody had had it");
}
