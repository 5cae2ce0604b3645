//! Superblocks of every form: read as written, and refused where a rule is broken.

use super::*;
use crate::lfs::{Daddr, Geometry, NewfsOptions, SegNo, Serial};
use crate::{FieldPlace, Lbn};

/// A volume of 256 MiB in 255 segments of 1 MiB, blocks of 8192 bytes, fragments of 1024.
fn volume(version: Version, endian: Endian) -> Superblock {
    NewfsOptions { endian, ident: 7, now: 1_000_000, ..NewfsOptions::new(version, 256 << 20) }.superblock().unwrap()
}

fn fields(version: Version) -> &'static [FieldPlace] {
    if version.is_wide() { RawSb64::FIELDS } else { RawSb32::FIELDS }
}

/// The field that is reported when these fields have these values and the checksum is right.
fn said(version: Version, change: &[(&str, i64)]) -> Result<(), &'static str> {
    let sb = volume(version, Endian::Little);
    let mut bytes = sb.encode();
    for (name, value) in change {
        let place = fields(version).iter().find(|f| f.name == *name).unwrap();
        let size = place.size.min(8).min(if place.kind.starts_with("[i32") { 4 } else { 8 });
        bytes[place.offset..place.offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
    }
    let sum = cksum(&bytes[..508], Endian::Little);
    bytes[508..512].copy_from_slice(&sum.to_le_bytes());
    let sb = Superblock::decode(&bytes).map_err(|damage| damage.field)?;
    compute(&sb.geometry(), &sb.fields);
    Ok(())
}

/// What was accepted computes without overflow, also for damaged pointers.
fn compute(g: &Geometry, f: &Fields) {
    for n in [0, 1, u64::from(u32::MAX), u64::MAX] {
        let (at, segment) = (Daddr(n), SegNo(u32::try_from(n).unwrap_or(u32::MAX)));
        let _ = (g.byte(at), g.segment_of(at), g.segment_end(segment), g.first_pseg(segment, true), g.maxino(n));
        let _ = (g.is_data_range(at, n), g.next_pseg(segment, at), g.block_bytes(n, Lbn(3)), g.room(f));
    }
}

#[test]
fn superblock_is_read_as_it_was_written_in_every_form() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        for endian in [Endian::Little, Endian::Big] {
            let mut sb = volume(version, endian);
            sb.fields.bfree = -3;
            sb.fields.avail = 70_000;
            sb.fields.offset = sb.fields.curseg.plus(99);
            (sb.fields.nclean, sb.fields.freehd) = (200, crate::Ino(9));
            sb.fields.fsmnt[..4].copy_from_slice(b"/mnt");
            sb.set_clean(false);
            if version != Version::V1 {
                sb.fields.serial = Serial(1 << 40);
            }
            let read = Superblock::decode(&sb.encode()).unwrap();
            assert_eq!((read.version, read.endian, &read.fields), (version, endian, &sb.fields));
            assert_eq!(read.encode(), sb.encode());
            let magic = Magic { wide: version.is_wide(), endian };
            assert_eq!(recognise(&sb.encode()), Some(magic));
            assert!(!read.is_clean());
        }
    }
    assert_eq!((recognise(b"LFS"), recognise(&[0; 512])), (None, None));
}

#[test]
fn version_1_is_stored_in_its_own_units() {
    let sb = volume(Version::V1, Endian::Little);
    assert_eq!((sb.fields.ssize, sb.fields.fsbpseg, sb.fields.s0addr), (1 << 20, 2048, Daddr(16)));
    let raw = RawSb32::load(&sb.encode(), Endian::Little).unwrap();
    // Blocks of a segment, sectors of a segment, the time at byte 80, and nothing that version 1 does not have.
    assert_eq!((raw.ssize, raw.fsbpseg, raw.inopf, raw.segshift), (128, 2048, 1_000_000, 20));
    assert_eq!((raw.sumsize, raw.ibsize, raw.s0addr, raw.tstamp, raw.serial, raw.ident), (0, 0, 0, 0, 0, 0));
    let g = sb.geometry();
    assert_eq!((g.unit, g.sumsize, g.ibsize, g.block_units), (512, 512, 8192, 16));
}

#[test]
fn bytes_without_a_meaning_are_kept() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let mut bytes = volume(version, Endian::Big).encode();
        bytes[500] = 0x5a;
        let sum = cksum(&bytes[..508], Endian::Big);
        bytes[508..512].copy_from_slice(&sum.to_be_bytes());
        let mut sb = Superblock::decode(&bytes).unwrap();
        sb.fields.nfiles = 1;
        assert_eq!(sb.encode()[500], 0x5a);
        assert!(Superblock::decode(&sb.encode()).is_ok());
    }
}

#[test]
fn wrong_checksum_is_damage_that_a_repair_can_pass_over() {
    let mut bytes = volume(Version::V2, Endian::Little).encode();
    bytes[240] ^= 1;
    let damage = Superblock::decode(&bytes).unwrap_err();
    assert_eq!((damage.field, damage.structure), ("lfs_cksum", Structure::Superblock));
    let sb = Superblock::decode_whatever_the_sum(&bytes).unwrap();
    assert!(Superblock::decode(&sb.encode()).is_ok());
    for len in [0, 3, 4, 511] {
        assert_eq!(Superblock::decode(&bytes[..len]).unwrap_err().field, "length");
    }
}

#[test]
fn every_rule_that_arithmetic_rests_on_is_enforced() {
    use Version::{Lfs64, V1, V2};
    type Change = &'static [(&'static str, i64)];
    // 1024 fragments of a segment, 262144 of the volume.
    let rules: &[(Version, Change, &str)] = &[
        (V2, &[("magic", 1)], "lfs_magic"),
        (V2, &[("version", 0)], "lfs_version"),
        (V2, &[("version", 3)], "lfs_version"),
        (Lfs64, &[("version", 1)], "lfs_version"),
        (V2, &[("bsize", 256)], "lfs_bsize"),
        (V2, &[("bsize", 131_072)], "lfs_bsize"),
        (V2, &[("bsize", 6144)], "lfs_bsize"),
        (V2, &[("fsize", 0)], "lfs_fsize"),
        (V2, &[("fsize", 1000)], "lfs_fsize"),
        (V2, &[("fsize", 16384)], "lfs_fsize"),
        (V2, &[("frag", 4)], "lfs_frag"),
        (V2, &[("sumsize", 0)], "lfs_sumsize"),
        (V2, &[("sumsize", 1536)], "lfs_sumsize"),
        (V2, &[("sumsize", 1 << 20)], "lfs_sumsize"),
        (V2, &[("ibsize", 512)], "lfs_ibsize"),
        (V2, &[("ibsize", 16384)], "lfs_ibsize"),
        (V2, &[("ibsize", 3072)], "lfs_ibsize"),
        (V2, &[("inodefmt", 1)], "lfs_inodefmt"),
        (V2, &[("minfree", 100)], "lfs_minfree"),
        (V2, &[("maxsymlinklen", 61)], "lfs_maxsymlinklen"),
        (V2, &[("maxsymlinklen", -1)], "lfs_maxsymlinklen"),
        (V2, &[("inopb", 0)], "lfs_inopb"),
        (Lfs64, &[("inopb", 8)], "lfs_inopb"),
        (V2, &[("ifpb", 0)], "lfs_ifpb"),
        (V2, &[("sepb", 0)], "lfs_sepb"),
        (V1, &[("sepb", 341)], "lfs_sepb"),
        (V2, &[("nindir", 1024)], "lfs_nindir"),
        (V2, &[("cleansz", 0)], "lfs_cleansz"),
        (V2, &[("segtabsz", 2)], "lfs_segtabsz"),
        (V2, &[("ssize", 0)], "lfs_ssize"),
        (V2, &[("ssize", 24 << 10)], "lfs_ssize"),
        // Long enough, but not what the other fields say.
        (V2, &[("ssize", 25 << 10)], "lfs_fsbpseg"),
        (V2, &[("ssize", (1 << 20) + 512)], "lfs_ssize"),
        (V1, &[("ssize", 0x7fff_ffff)], "lfs_ssize"),
        (V2, &[("fsbpseg", 0)], "lfs_fsbpseg"),
        (V2, &[("nseg", 1)], "lfs_nseg"),
        (V2, &[("nseg", 0xffff_ffff), ("segtabsz", 12_595_213)], "lfs_nseg"),
        (V2, &[("minfreeseg", 256)], "lfs_minfreeseg"),
        (V2, &[("resvseg", 256)], "lfs_resvseg"),
        (V2, &[("s0addr", -1)], "lfs_s0addr"),
        (V2, &[("s0addr", 0x7fff_ffff)], "lfs_s0addr"),
        (V2, &[("s0addr", 1)], "lfs_s0addr"),
        (V2, &[("s0addr", 8)], "lfs_sboffs"),
        (Lfs64, &[("s0addr", i64::MAX)], "lfs_s0addr"),
        (V2, &[("size", 261_119)], "lfs_size"),
        (V2, &[("size", 0x8000_0000)], "lfs_size"),
        (Lfs64, &[("size", i64::MAX)], "lfs_size"),
        (V2, &[("dsize", 262_145)], "lfs_dsize"),
        (V2, &[("serial", -1)], "lfs_serial"),
        (V2, &[("sboffs", 0)], "lfs_sboffs"),
        (V2, &[("sboffs", 261_120)], "lfs_sboffs"),
        (V2, &[("sboffs", -8)], "lfs_sboffs"),
        (V2, &[("curseg", 5)], "lfs_curseg"),
        (V2, &[("curseg", 261_120)], "lfs_curseg"),
        (V2, &[("nextseg", 1023)], "lfs_nextseg"),
        (V2, &[("nextseg", -1024)], "lfs_nextseg"),
        (V2, &[("offset", 1025)], "lfs_offset"),
        (V2, &[("curseg", 1024)], "lfs_offset"),
        (V2, &[("idaddr", 0)], "lfs_idaddr"),
        (V2, &[("idaddr", 261_120)], "lfs_idaddr"),
        (V2, &[("lastseg", 262_144)], "lfs_lastseg"),
        (Lfs64, &[("freehd", 1 << 32)], "lfs_freehd"),
        (V2, &[("ifile", 2)], "lfs_ifile"),
        (V2, &[("bshift", 12)], "lfs_bshift"),
        (V2, &[("ffshift", 99)], "lfs_ffshift"),
        (V2, &[("fbshift", 0)], "lfs_fbshift"),
        (V2, &[("bmask", 8192)], "lfs_bmask"),
        (Lfs64, &[("ffmask", -1)], "lfs_ffmask"),
        (V1, &[("fbmask", 0)], "lfs_fbmask"),
    ];
    for version in [V1, V2, Lfs64] {
        assert_eq!(said(version, &[]), Ok(()));
    }
    for (version, change, field) in rules {
        assert_eq!(said(*version, change), Err(*field), "{version:?} {change:?}");
    }
}

/// Superblocks are written to where the first two copies are: behind the label, and at the start of the segment that
/// follows from the number of segments. Where NetBSD's resize_lfs has changed that, further copies tell.
#[test]
fn a_copy_of_the_superblock_lies_where_the_format_says() {
    let with = |change: &dyn Fn(&mut Fields)| {
        let mut sb = volume(Version::V2, Endian::Little);
        change(&mut sb.fields);
        Superblock::decode(&sb.encode()).map_err(|damage| damage.field)
    };
    let (step, segment) = (25u64, 1024u64);
    for at in [0, 1, 110, step * segment - 1, step * segment + 8, (step - 1) * segment, 2 * step * segment] {
        let read = with(&|f| f.sboffs[1] = Daddr(at));
        assert_eq!(read.unwrap_err(), "lfs_sboffs", "{at}");
    }
    assert_eq!(with(&|f| f.sboffs[0] = Daddr(segment)).unwrap_err(), "lfs_sboffs");
    assert_eq!(with(&|f| f.sboffs[3] = Daddr(3 * step * segment + 1)).unwrap_err(), "lfs_sboffs");
    // Smaller by resize_lfs: the copies stay where they were, and those behind the end are forgotten.
    let smaller = |f: &mut Fields| {
        (f.nseg, f.segtabsz, f.minfreeseg) = (90, 1, 20);
        (f.curseg, f.nextseg, f.offset, f.idaddr) = (Daddr(0), Daddr(segment), Daddr(16), Daddr(20));
        f.lastseg = Daddr(0);
        f.sboffs[4..].fill(Daddr(0));
    };
    assert!(with(&smaller).is_ok());
    let nothing_else = with(&|f| {
        smaller(f);
        f.sboffs[2..].fill(Daddr(0));
    });
    assert_eq!(nothing_else.unwrap_err(), "lfs_sboffs");
}

#[test]
fn the_second_superblock_is_found_by_the_sizes_of_a_damaged_first_one_and_no_further_copy_is_taken_for_it() {
    for version in [Version::V1, Version::V2, Version::Lfs64] {
        let sb = volume(version, Endian::Big);
        let (g, mut bytes) = (sb.geometry(), sb.encode());
        let second = g.byte(sb.fields.sboffs[1]);
        bytes[300] ^= 0xff;
        assert_eq!(Superblock::second_of_damaged(&bytes), Some(second), "{version:?}");
        assert!(Superblock::decode_at(&sb.encode(), second).is_ok());
        assert!(Superblock::decode_at(&sb.encode(), ByteOff(8192)).is_ok());
        let third = g.byte(sb.fields.sboffs[2]);
        assert_eq!(Superblock::decode_at(&sb.encode(), third).unwrap_err().field, "lfs_sboffs");
    }
}

#[test]
fn counts_are_not_judged() {
    for (name, value) in [("bfree", -5), ("avail", i64::from(i32::MIN)), ("dmeta", -1), ("nclean", 0xffff_ffff)] {
        assert_eq!(said(Version::V2, &[(name, value)]), Ok(()), "{name}");
        assert_eq!(said(Version::Lfs64, &[(name, value)]), Ok(()), "{name}");
    }
    assert_eq!(said(Version::Lfs64, &[("bfree", i64::MIN), ("avail", i64::MAX)]), Ok(()));
}

fn at_serial(serial: u64) -> Result<Superblock, Corrupt> {
    let mut sb = volume(Version::V2, Endian::Little);
    sb.fields.serial = Serial(serial);
    Ok(sb)
}

fn broken() -> Result<Superblock, Corrupt> {
    Err(Corrupt::new(Structure::Superblock, "lfs_cksum", 1, Rule::IsHex(2)))
}

#[test]
fn mount_takes_the_older_superblock_and_says_why() {
    let damage = broken().unwrap_err();
    assert_eq!(choose(&at_serial(5), &at_serial(5)), Choice::Equal);
    assert_eq!(choose(&at_serial(5), &at_serial(6)), Choice::Older(Copy::First));
    assert_eq!(choose(&at_serial(6), &at_serial(5)), Choice::Older(Copy::Second));
    assert_eq!(choose(&at_serial(6), &broken()), Choice::Only(Copy::First, damage.clone()));
    assert_eq!(choose(&broken(), &at_serial(6)), Choice::Only(Copy::Second, damage.clone()));
    assert_eq!(choose(&broken(), &broken()), Choice::Neither(damage.clone(), damage));
    let told = |a, b| {
        let choice = choose(&a, &b);
        (choice.mount(), choice.newer())
    };
    assert_eq!(told(at_serial(5), at_serial(6)), (Some(Copy::First), Some(Copy::Second)));
    assert_eq!(told(at_serial(6), at_serial(5)), (Some(Copy::Second), Some(Copy::First)));
    assert_eq!(told(at_serial(5), at_serial(5)), (Some(Copy::First), None));
    assert_eq!(told(broken(), at_serial(5)), (Some(Copy::Second), None));
    assert_eq!(told(broken(), broken()), (None, None));
}

#[test]
fn superblock_of_an_earlier_volume_is_not_rolled_forward_from() {
    let mut other = at_serial(3).unwrap();
    other.fields.ident = 8;
    let choice = choose(&at_serial(5), &Ok(other));
    assert_eq!(choice, Choice::Unlike(Unlike { field: "lfs_ident", first: 7, second: 8 }));
    assert_eq!((choice.mount(), choice.newer()), (Some(Copy::First), None));
    let wide = choose(&at_serial(5), &Ok(volume(Version::Lfs64, Endian::Little)));
    assert!(matches!(wide, Choice::Unlike(Unlike { field: "lfs_version", .. })));
}

#[test]
fn version_1_compares_times() {
    let at = |tstamp| {
        let mut sb = volume(Version::V1, Endian::Little);
        sb.fields.tstamp = tstamp;
        Ok(sb)
    };
    assert_eq!(choose(&at(5), &at(4)), Choice::Older(Copy::Second));
    assert_eq!(choose(&at(5), &at(5)), Choice::Equal);
}

#[test]
fn serial_number_of_version_1_is_that_of_the_system_which_wrote_the_superblock() {
    for endian in [Endian::Little, Endian::Big] {
        let plain = volume(Version::V1, endian);
        let mut sb = plain.clone();
        assert!(!sb.has_serial());
        sb.fields.serial = Serial(77 << 32);
        let written = sb.encode();
        let again = Superblock::decode(&written).unwrap();
        assert_eq!((again.fields.serial, again.fields.ident), (Serial(77 << 32), 0));
        assert!(again.has_serial());
        // Another system keeps what it does not know, and writes its own checkpoint.
        for at in [80, 72, 52] {
            let mut bytes = written.clone();
            let other = endian.get_u32(&bytes, at).unwrap() + u32::from(at != 72) + 1024 * u32::from(at == 72);
            endian.put_u32(&mut bytes, at, other).unwrap();
            let sum = cksum(&bytes[..508], endian);
            endian.put_u32(&mut bytes, 508, sum).unwrap();
            let foreign = Superblock::decode(&bytes).unwrap();
            assert!(!foreign.has_serial(), "byte {at}");
            assert_eq!(foreign.encode(), bytes, "byte {at}");
        }
    }
}
