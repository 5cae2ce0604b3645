//! Superblocks that other systems' tools have left: hashes that nobody renewed, copies in an older form, and groups
//! whose bytes only another system's check compares.

use crate::common;
use crate::common::build::*;
use ordo_disk::RamDisk;
use ordo_fsck::{Mode, Report};
use ordo_ondisk::superblock::search::{self, Copy, FoundUfs, NotFound};
use ordo_ondisk::{ByteOff, CgLayout, Cgx, Endian, Format, Superblock};

fn run(v: &Volume, mode: Mode) -> Report {
    common::run(&v.disk, mode).expect("a volume")
}

fn names(report: &Report) -> Vec<&'static str> {
    report.findings.iter().map(|found| found.finding.name()).collect()
}

fn found(disk: &RamDisk) -> Result<FoundUfs, NotFound> {
    let bytes = disk.to_vec();
    let mut read = |at: ByteOff, into: &mut [u8]| {
        into.copy_from_slice(&bytes[at.0 as usize..][..into.len()]);
        Ok(())
    };
    search::find_to_mount(&mut read, bytes.len() as u64)
}

fn copies(v: &Volume) -> Vec<ByteOff> {
    (0..v.g.ncg).map(|c| v.byte(v.g.cgsblock(Cgx(c)))).collect()
}

/// A tool that knows no hashes writes a field of these superblocks.
fn stale(v: &Volume, places: &[ByteOff]) {
    for at in places {
        v.put_u32(at.0 + if v.g.endian == Endian::Big { 1076 } else { 1072 }, 7);
    }
}

#[test]
fn hashes_that_no_tool_renewed_leave_a_volume_that_is_read_and_preened() {
    for endian in [Endian::Little, Endian::Big] {
        let pristine = Volume::new(Format::Ufs2, endian, false);
        let all: Vec<ByteOff> = [pristine.sb.at].into_iter().chain(copies(&pristine)).collect();
        for places in [&all[..], &all[..1], &all[1..]] {
            let v = pristine.copy();
            stale(&v, places);
            let primary = places[0] == v.sb.at;
            let copy = found(&v.disk).expect("a volume").copy;
            let torn = places.len() == 1;
            assert_eq!(copy, if primary && !torn { Copy::Unproven } else { Copy::Primary }, "{}", places.len());
            let checked = run(&v, Mode::Check);
            assert!(names(&checked).iter().all(|name| ["SuperblockHash", "BackupHash"].contains(name)), "{checked:?}");
            assert_eq!(run(&v, Mode::Preen).exit_code(), 1);
            assert!(run(&v, Mode::Repair).exit_code() <= 1);
            assert_eq!(run(&v, Mode::Check).exit_code(), 0);
            assert_eq!(found(&v.disk).expect("a volume").copy, Copy::Primary);
        }
        // Fields that no copy confirms are damage.
        let v = pristine.copy();
        stale(&v, &all);
        v.put_u32(v.sb.at.0 + 1196, 99);
        assert_eq!(found(&v.disk).expect("a volume").copy, Copy::Unproven, "a hint does not matter");
        v.put_u32(v.sb.at.0 + 8, 7);
        assert!(matches!(found(&v.disk), Err(NotFound::Damaged(_))));
    }
}

#[test]
fn a_lost_primary_is_restored_from_copies_whose_hashes_are_all_wrong() {
    let v = Volume::new(Format::Ufs2, Endian::Little, false);
    stale(&v, &copies(&v));
    v.disk.poke(v.sb.at.0, &[0; 8192]);
    let report = run(&v, Mode::Repair);
    assert!(names(&report).contains(&"SuperblockRestored"), "{report:?}");
    assert_eq!((report.exit_code(), run(&v, Mode::Check).exit_code()), (1, 0));
}

/// The copies as an older newfs wrote them: no wide fields, and the flags where they were before 2002.
fn half_upgraded(endian: Endian) -> Volume {
    let v = Volume::new(Format::Ufs1, endian, false);
    for at in copies(&v) {
        let mut flags = [0];
        v.disk.peek(at.0 + 211, &mut flags);
        v.disk.poke(at.0 + 211, &[flags[0] & 0x7f]);
        for (from, len) in [(860, 4), (864, 136), (1000, 8), (1008, 64), (1072, 44), (1304, 12)] {
            v.disk.poke(at.0 + from, &vec![0; len]);
        }
    }
    v
}

#[test]
fn copies_in_an_older_form_are_copies() {
    for endian in [Endian::Little, Endian::Big] {
        let v = half_upgraded(endian);
        assert_eq!(run(&v, Mode::Check).exit_code(), 0);
        v.superblock(|sb| sb.fields.clean = 0);
        let crashed = run(&v, Mode::Preen);
        assert_eq!((crashed.exit_code(), crashed.refused), (0, None));
        v.inode(FILE, |d| d.blocks += 2);
        assert_eq!((run(&v, Mode::Repair).exit_code(), run(&v, Mode::Check).exit_code()), (1, 0));
        // A field of the first one that all copies know better is repaired in the first one's form.
        v.superblock(|sb| sb.fields.csaddr += 8);
        let report = run(&v, Mode::Repair);
        assert_eq!(names(&report)[0], "SuperblockDiffers", "{report:?}");
        assert_eq!((report.exit_code(), run(&v, Mode::Check).exit_code()), (1, 0));
        let mut bytes = vec![0; 8192];
        v.disk.peek(v.sb.at.0, &mut bytes);
        let sb = Superblock::decode(&bytes, v.sb.at).expect("a superblock");
        assert!(sb.has_wide_fields() && sb.write_gate().is_ok());
        // One old copy among newer ones is no damage, either.
        let mut old = vec![0; 8192];
        let last = *copies(&v).last().expect("a group");
        v.disk.peek(last.0, &mut old);
        for at in copies(&v) {
            v.disk.poke(at.0, &sb.encode_copy(at));
        }
        v.disk.poke(last.0, &old);
        assert_eq!((run(&v, Mode::Check).exit_code(), run(&v, Mode::Preen).exit_code()), (0, 0));
    }
}

#[test]
fn a_copy_that_tells_of_another_system_is_named_with_both() {
    let v = Volume::new(Format::Ufs2, Endian::Little, false);
    // What OpenBSD has where FreeBSD has its flags: a time.
    v.superblock(|sb| (sb.fields.metackhash, sb.fields.flags) = (0, 0x4000_0000));
    let report = run(&v, Mode::Check);
    assert_eq!(names(&report)[0], "SuperblockForm", "{report:?}");
    assert!(common::told(&report).contains("OpenBSD, those of its copies that of FreeBSD"), "{report:?}");
    assert_eq!((run(&v, Mode::Repair).exit_code(), run(&v, Mode::Check).exit_code()), (1, 0));
}

/// FreeBSD's and NetBSD's checks rebuild the maps of a group from zero, and compare all bytes to the end of the last.
#[test]
fn every_byte_from_the_first_map_to_the_last_is_compared_and_set_right() {
    for (format, endian) in [(Format::Ufs1, Endian::Big), (Format::Ufs2, Endian::Little)] {
        // The last group is a short one.
        let pristine = Volume::sized(format, endian, false, (4 << 20) - (1 << 19));
        let last = pristine.g.ncg - 1;
        let layout = CgLayout::computed(&pristine.g, Cgx(last));
        let mut in_gaps = 0;
        let right = pristine.disk.to_vec();
        for at in layout.iusedoff as usize..layout.nextfreeoff as usize {
            let v = pristine.copy();
            v.group(last, |bytes, _| bytes[at] ^= 0x41);
            let what = format!("{format:?}, byte {at} of {layout:?}");
            let checked = run(&v, Mode::Check);
            assert_eq!(checked.exit_code(), 4, "{what}");
            in_gaps += usize::from(names(&checked).contains(&"GroupGap"));
            assert_eq!(run(&v, Mode::Repair).exit_code(), 1, "{what}");
            let (start, now) = (v.byte(v.g.cgtod(Cgx(last))).0 as usize, v.disk.to_vec());
            let maps = start + layout.iusedoff as usize..start + layout.nextfreeoff as usize;
            assert!(now[maps.clone()] == right[maps], "{what}");
        }
        assert_eq!(in_gaps, layout.gaps().into_iter().flatten().count());
        assert!(in_gaps > 0, "{layout:?}");
    }
}
