//! The rules that a superblock must satisfy before anything is computed from it.
//!
//! FreeBSD's kernel refuses more than necessary; sound volumes of 4.4BSD, NetBSD and OpenBSD break some of its rules.
//! So rules that arithmetic or safety depends on are enforced, and the others are reported as warnings.
//!
//! Every comparison is made in 64 bits on numbers of at most 32, or saturates: no input overflows or divides by zero.

use super::SBLOCKSIZE;
use super::fields::SbFields;
use crate::Format;
use crate::num::{bits32, bits64, howmany, len64, roundup, signed64};
use crate::{ByteOff, Corrupt, Rule, Structure};

/// Applies the rules; returns harmless oddities.
pub(super) fn check(f: &SbFields, format: Format, at: ByteOff) -> Result<Vec<Corrupt>, Corrupt> {
    let mut c = Checker { at, warnings: Vec::new() };
    sizes(&mut c, f)?;
    inodes(&mut c, f, format)?;
    layout(&mut c, f, format)?;
    totals(&mut c, f)?;
    summary(&mut c, f, format)?;
    oddities(&mut c, f, format);
    Ok(c.warnings)
}

struct Checker {
    at: ByteOff,
    warnings: Vec<Corrupt>,
}

impl Checker {
    fn broken(&self, field: &'static str, found: i64, rule: Rule) -> Corrupt {
        Corrupt::new(Structure::Superblock, field, found, rule).at(self.at)
    }

    fn need(&self, field: &'static str, found: impl Into<i64>, holds: bool, rule: Rule) -> Result<(), Corrupt> {
        if holds { Ok(()) } else { Err(self.broken(field, found.into(), rule)) }
    }

    fn is(&self, field: &'static str, found: impl Into<i64>, right: i64) -> Result<(), Corrupt> {
        let found = found.into();
        self.need(field, found, found == right, Rule::Is(right.into()))
    }

    fn within(&self, field: &'static str, found: impl Into<i64>, low: i64, high: i64) -> Result<(), Corrupt> {
        let found = found.into();
        self.need(field, found, found >= low, Rule::AtLeast(low.into()))?;
        self.need(field, found, found <= high, Rule::AtMost(high.into()))
    }

    fn power_of_two(&self, field: &'static str, found: i32) -> Result<(), Corrupt> {
        self.need(field, found, u32::try_from(found).is_ok_and(u32::is_power_of_two), Rule::PowerOfTwo)
    }

    fn odd(&mut self, field: &'static str, found: impl Into<i64>, right: i64) {
        if let Err(odd) = self.is(field, found, right) {
            self.warnings.push(odd);
        }
    }

    fn odd_unless(&mut self, field: &'static str, found: i64, low: i64, high: i64) {
        if let Err(odd) = self.within(field, found, low, high) {
            self.warnings.push(odd);
        }
    }
}

/// Sizes of blocks and fragments, and values derived from them.
fn sizes(c: &mut Checker, f: &SbFields) -> Result<(), Corrupt> {
    c.within("fs_bsize", f.bsize, 4096, 65536)?;
    c.power_of_two("fs_bsize", f.bsize)?;
    c.within("fs_frag", f.frag, 1, 8)?;
    c.within("fs_fsize", f.fsize, 512, 65536)?;
    c.power_of_two("fs_fsize", f.fsize)?;
    c.is("fs_frag", f.frag, i64::from(f.bsize).checked_div(f.fsize.into()).unwrap_or(0))?;
    let log2 = |n: i32| i64::from(bits32(n).trailing_zeros());
    c.is("fs_bshift", f.bshift, log2(f.bsize))?;
    c.is("fs_fshift", f.fshift, log2(f.fsize))?;
    c.is("fs_fragshift", f.fragshift, log2(f.frag))?;
    // Some NetBSD tools compute fs_fsbtodb from the device's sector size. Nothing here uses it.
    c.odd("fs_fsbtodb", f.fsbtodb, log2(f.fsize).saturating_sub(9));
    c.is("fs_bmask", f.bmask, i64::from(f.bsize).saturating_neg())?;
    c.is("fs_fmask", f.fmask, i64::from(f.fsize).saturating_neg())?;
    c.is("fs_qbmask", f.qbmask, i64::from(f.bsize).saturating_sub(1))?;
    c.is("fs_qfmask", f.qfmask, i64::from(f.fsize).saturating_sub(1))?;
    c.within("fs_sbsize", f.sbsize, signed64(len64(SbFields::SIZE)), signed64(len64(SBLOCKSIZE)))?;
    c.within("fs_maxbsize", f.maxbsize, f.bsize.into(), i64::from(f.bsize).saturating_mul(16))?;
    c.power_of_two("fs_maxbsize", f.maxbsize)
}

/// Groups and their inodes. [`sizes`] must have passed.
fn inodes(c: &mut Checker, f: &SbFields, format: Format) -> Result<(), Corrupt> {
    let (dinode, pointer) = match format {
        Format::Ufs1 => (128, 4),
        Format::Ufs2 => (256, 8),
    };
    let bsize = i64::from(f.bsize);
    c.is("fs_nindir", f.nindir, bsize.checked_div(pointer).unwrap_or(0))?;
    c.is("fs_inopb", f.inopb, bsize.checked_div(dinode).unwrap_or(0))?;
    c.need("fs_ncg", f.ncg, f.ncg >= 1, Rule::AtLeast(1))?;
    let inopb = i64::from(f.inopb);
    c.within("fs_ipg", f.ipg, inopb, i64::from(u32::MAX))?;
    c.need("fs_ipg", f.ipg, f.ipg.checked_rem(f.inopb) == Some(0), Rule::MultipleOf(inopb.into()))?;
    let all = i64::from(f.ipg).saturating_mul(f.ncg.into());
    let most = (1i64 << 32).saturating_sub(inopb);
    c.need("fs_ipg", f.ipg, all <= most, Rule::Words("which times fs_ncg is more inodes than the format can number"))?;
    c.within("fs_maxsymlinklen", f.maxsymlinklen, i64::from(i32::MIN), pointer.saturating_mul(15))
}

/// The regions of a group. [`sizes`] and [`inodes`] must have passed.
fn layout(c: &mut Checker, f: &SbFields, format: Format) -> Result<(), Corrupt> {
    let frag = i64::from(f.frag);
    c.within("fs_fpg", f.fpg, frag.saturating_mul(3), i64::from(i32::MAX))?;
    c.need("fs_fpg", f.fpg, f.fpg.checked_rem(f.frag) == Some(0), Rule::MultipleOf(frag.into()))?;
    c.within("fs_sblkno", f.sblkno, 0, i64::from(f.fpg))?;
    let after_super = i64::from(f.sblkno).saturating_add(1);
    c.within("fs_cblkno", f.cblkno, after_super, i64::from(f.fpg))?;
    // The group's block is a whole block; inodes that overlapped it would be overwritten with the maps.
    c.within("fs_iblkno", f.iblkno, i64::from(f.cblkno).saturating_add(frag), i64::from(f.fpg))?;
    let inode_blocks = f.ipg.checked_div(f.inopb).unwrap_or(0);
    let inode_end = i64::from(f.iblkno).saturating_add(i64::from(inode_blocks).saturating_mul(frag));
    c.within("fs_dblkno", f.dblkno, inode_end, i64::from(f.fpg))?;
    for (field, place) in
        [("fs_sblkno", f.sblkno), ("fs_cblkno", f.cblkno), ("fs_iblkno", f.iblkno), ("fs_dblkno", f.dblkno)]
    {
        c.need(field, place, place.checked_rem(f.frag) == Some(0), Rule::MultipleOf(frag.into()))?;
    }
    if format == Format::Ufs1 {
        c.need("fs_old_cgoffset", f.old_cgoffset, f.old_cgoffset >= 0, Rule::AtLeast(0))?;
        let groups = i64::from(!f.old_cgmask);
        let why = Rule::Words("which goes with no positive fs_old_cgoffset");
        c.need("fs_old_cgmask", f.old_cgmask, f.old_cgoffset == 0 || groups >= 0, why)?;
        let furthest = i64::from(f.old_cgoffset).saturating_mul(groups);
        let most = i64::from(f.fpg).saturating_sub(f.dblkno.into());
        let why = Rule::Words("which moves the metadata of some group beyond its end");
        c.need("fs_old_cgoffset", f.old_cgoffset, f.old_cgoffset == 0 || furthest <= most, why)?;
        let whole = f.old_cgoffset.checked_rem(f.frag) == Some(0);
        c.need("fs_old_cgoffset", f.old_cgoffset, whole, Rule::MultipleOf(frag.into()))?;
    }
    volume(c, f, format)?;
    group_block(c, f, format)
}

/// The volume as a whole.
fn volume(c: &mut Checker, f: &SbFields, format: Format) -> Result<(), Corrupt> {
    // So large that every byte of it has a positive 64-bit offset, and in UFS1 every fragment a 31-bit address.
    let most = match format {
        Format::Ufs1 => i64::from(i32::MAX),
        Format::Ufs2 => i64::MAX.checked_div(f.fsize.into()).unwrap_or(0),
    };
    c.within("fs_size", f.size, i64::from(f.frag).saturating_mul(8), most)?;
    let before_last = i64::from(f.ncg).saturating_sub(1).saturating_mul(f.fpg.into());
    let all = i64::from(f.ncg).saturating_mul(f.fpg.into());
    c.need("fs_size", f.size, f.size > before_last, Rule::AtLeast(i128::from(before_last).saturating_add(1)))?;
    c.need("fs_size", f.size, f.size <= all, Rule::AtMost(all.into()))?;
    // The last group may be short, but not so short that its inodes are after the end of the volume.
    let last = f.ncg.saturating_sub(1);
    let moved =
        if format == Format::Ufs1 { bits32(f.old_cgoffset).saturating_mul(last & !bits32(f.old_cgmask)) } else { 0 };
    let metadata_end = before_last.saturating_add(moved.into()).saturating_add(f.dblkno.into());
    c.need("fs_size", f.size, f.size >= metadata_end, Rule::AtLeast(metadata_end.into()))
}

/// The group's own block must hold its header and maps.
fn group_block(c: &mut Checker, f: &SbFields, format: Format) -> Result<(), Corrupt> {
    let needed = crate::cg::bytes_needed(168, f, format);
    let why = Rule::Words("too small for the maps of a cylinder group");
    c.need("fs_bsize", f.bsize, needed <= i64::from(f.bsize), why)?;
    c.within("fs_cgsize", f.cgsize, 168, f.bsize.into())
}

/// The counts. They may be wrong after a crash, but not impossible.
fn totals(c: &mut Checker, f: &SbFields) -> Result<(), Corrupt> {
    let inodes = i64::from(f.ipg).saturating_mul(f.ncg.into());
    c.within("fs_cstotal.cs_nifree", f.cs_nifree, 0, inodes)?;
    c.within("fs_cstotal.cs_ndir", f.cs_ndir, 0, inodes)?;
    // The two counts are in two sectors: a torn write leaves a new one beside an old one.
    c.odd_unless("fs_cstotal.cs_ndir", f.cs_ndir, 0, inodes.saturating_sub(f.cs_nifree));
    c.odd_unless("fs_cstotal.cs_nbfree", f.cs_nbfree, 0, f.size.checked_div(f.frag.into()).unwrap_or(0));
    c.odd_unless("fs_cstotal.cs_nffree", f.cs_nffree, 0, f.size);
    Ok(())
}

/// The array of the groups' counts.
fn summary(c: &mut Checker, f: &SbFields, format: Format) -> Result<(), Corrupt> {
    let fsize = bits64(f.fsize.into());
    let right = roundup(u64::from(f.ncg).saturating_mul(16), fsize);
    c.is("fs_cssize", f.cssize, signed64(right))?;
    let frags = signed64(howmany(right, fsize));
    let fpg = i64::from(f.fpg);
    let group = f.csaddr.checked_div(fpg).unwrap_or(0);
    // Its group may have its metadata moved (UFS1).
    let turn = u32::try_from(group).unwrap_or(0) & !bits32(f.old_cgmask);
    let moved = if format == Format::Ufs1 { i64::from(f.old_cgoffset).saturating_mul(turn.into()) } else { 0 };
    let first = group.saturating_mul(fpg).saturating_add(moved).saturating_add(f.dblkno.into());
    c.need("fs_csaddr", f.csaddr, f.csaddr >= 0, Rule::AtLeast(0))?;
    c.need("fs_csaddr", f.csaddr, f.csaddr >= first, Rule::AtLeast(first.into()))?;
    let end = f.csaddr.saturating_add(frags);
    c.need("fs_csaddr", f.csaddr, end <= f.size, Rule::Words("from where the summary runs beyond the volume"))
}

/// What FreeBSD would refuse but is not needed here.
fn oddities(c: &mut Checker, f: &SbFields, format: Format) {
    let fsize = bits64(f.fsize.into());
    let frag = bits64(f.frag.into());
    let blocks = |bytes| signed64(roundup(howmany(bytes, fsize), frag));
    if (0..=1 << 20).contains(&f.sblockloc) {
        c.odd("fs_sblkno", f.sblkno, blocks(bits64(f.sblockloc).saturating_add(len64(SBLOCKSIZE))));
    }
    c.odd("fs_cblkno", f.cblkno, i64::from(f.sblkno).saturating_add(blocks(len64(SBLOCKSIZE))));
    c.odd("fs_iblkno", f.iblkno, i64::from(f.cblkno).saturating_add(f.frag.into()));
    c.odd_unless("fs_minfree", f.minfree.into(), 0, 99);
    c.odd_unless("fs_optim", f.optim.into(), 0, 1);
    c.odd_unless("fs_maxcontig", f.maxcontig.into(), 0, 256);
    c.odd_unless("fs_metaspace", f.metaspace, 0, i64::from(f.fpg).checked_div(2).unwrap_or(0));
    match format {
        Format::Ufs2 => {
            c.odd("fs_sblockloc", f.sblockloc, 65536);
            c.odd("fs_maxsymlinklen", f.maxsymlinklen, 120);
        }
        Format::Ufs1 => {
            c.odd_unless("fs_sblockloc", f.sblockloc, 0, 8192);
            c.odd("fs_maxsymlinklen", f.maxsymlinklen, 60);
            c.odd("fs_old_inodefmt", f.old_inodefmt, 2);
            c.odd("fs_old_cpg", f.old_cpg, 1);
            c.odd("fs_old_nrpos", f.old_nrpos, 1);
            c.odd("fs_old_postblformat", f.old_postblformat, 1);
            c.odd("fs_old_ncyl", f.old_ncyl, i64::from(f.ncg));
        }
    }
}

/// The largest file that the pointers of the format reach, in bytes: what newfs stores.
pub(super) fn pointers_reach(f: &SbFields) -> u64 {
    let n = bits64(f.nindir.into());
    let (n2, n3) = (n.saturating_mul(n), n.saturating_mul(n).saturating_mul(n));
    let blocks = n.saturating_add(n2).saturating_add(n3).saturating_add(12);
    blocks.saturating_mul(bits64(f.bsize.into())).saturating_sub(1)
}

/// The limit on file sizes that is used, in bytes; the stored number may be anything.
pub(super) fn largest_file(f: &SbFields, format: Format) -> u64 {
    let bsize = bits64(f.bsize.into());
    let most = match format {
        // FreeBSD's kernel stops at 2^31 blocks, its fsck at 2^30: fsck would clear what the kernel wrote beyond that.
        Format::Ufs1 if f.old_inodefmt >= 2 => bsize.saturating_mul(1 << 30).saturating_sub(1),
        // FreeBSD allows 2^31 - 1 bytes in the 4.2BSD format, NetBSD this.
        Format::Ufs1 => 1 << 39,
        Format::Ufs2 => bits64(i64::MAX),
    };
    pointers_reach(f).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;
    use crate::{Endian, Superblock};

    /// The bytes of a volume of 64 MiB in 4 groups, without hashes, so that a test detects just what it changes.
    fn bytes(format: Format) -> Vec<u8> {
        let p = NewfsParams { check_hashes: false, ..NewfsParams::new(format, 64 << 20) };
        let sb = p.superblock().unwrap();
        sb.encode_copy(sb.at)
    }

    fn field_place(name: &str) -> crate::FieldPlace {
        *SbFields::FIELDS.iter().find(|f| f.name == name).unwrap()
    }

    /// The names of the fields reported for a volume with these changes: the damage, or the warnings.
    fn said(format: Format, change: &[(&str, i64)]) -> Result<Vec<&'static str>, &'static str> {
        let mut bytes = bytes(format);
        for (name, value) in change {
            let place = field_place(name);
            let value = value.to_le_bytes();
            bytes[place.offset..place.offset + place.size].copy_from_slice(&value[..place.size]);
        }
        match Superblock::decode(&bytes, ByteOff(65536)) {
            Ok(sb) => {
                // What was accepted must give a geometry that computes without overflow.
                let g = sb.geometry();
                for n in [0, 1, u32::MAX] {
                    let _ = (g.cgdata(crate::Cgx(n)), g.inode_at(crate::Ino(n)), g.cg_ndblk(crate::Cgx(n)));
                    let _ = g.is_data_range(crate::FragNo(n.into()), n);
                }
                Ok(sb.warnings.iter().map(|w| w.field).collect())
            }
            Err(damage) => Err(damage.field),
        }
    }

    #[test]
    fn every_rule_that_arithmetic_rests_on_is_enforced() {
        use Format::{Ufs1, Ufs2};
        // fpg 4104, ipg 2176, size 16384, frag 8 for UFS2.
        type Change = &'static [(&'static str, i64)];
        let rules: &[(Format, Change, &str)] = &[
            (Ufs2, &[("bsize", 2048)], "fs_bsize"),
            (Ufs2, &[("bsize", 131_072)], "fs_bsize"),
            (Ufs2, &[("bsize", 40960)], "fs_bsize"),
            (Ufs2, &[("bsize", -32768)], "fs_bsize"),
            (Ufs2, &[("frag", 0)], "fs_frag"),
            (Ufs2, &[("frag", 16)], "fs_frag"),
            (Ufs2, &[("frag", 4)], "fs_frag"),
            (Ufs2, &[("fsize", 0)], "fs_fsize"),
            (Ufs2, &[("fsize", 4097)], "fs_fsize"),
            (Ufs2, &[("bshift", 14)], "fs_bshift"),
            (Ufs2, &[("fshift", 99)], "fs_fshift"),
            (Ufs2, &[("fragshift", -1)], "fs_fragshift"),
            (Ufs2, &[("bmask", 0)], "fs_bmask"),
            (Ufs2, &[("fmask", -1)], "fs_fmask"),
            (Ufs2, &[("qbmask", 1)], "fs_qbmask"),
            (Ufs2, &[("qfmask", 1)], "fs_qfmask"),
            (Ufs2, &[("sbsize", 1375)], "fs_sbsize"),
            (Ufs2, &[("sbsize", 8193)], "fs_sbsize"),
            (Ufs2, &[("maxbsize", 16384)], "fs_maxbsize"),
            (Ufs2, &[("maxbsize", 1 << 20)], "fs_maxbsize"),
            (Ufs2, &[("maxbsize", 98304)], "fs_maxbsize"),
            (Ufs2, &[("nindir", 4095)], "fs_nindir"),
            (Ufs1, &[("nindir", 4096)], "fs_nindir"),
            (Ufs2, &[("inopb", 0)], "fs_inopb"),
            (Ufs2, &[("ncg", 0)], "fs_ncg"),
            (Ufs2, &[("ipg", 0)], "fs_ipg"),
            (Ufs2, &[("ipg", 2177)], "fs_ipg"),
            (Ufs2, &[("ncg", 0xffff_ff00)], "fs_ipg"),
            (Ufs2, &[("maxsymlinklen", 121)], "fs_maxsymlinklen"),
            (Ufs1, &[("maxsymlinklen", 61)], "fs_maxsymlinklen"),
            (Ufs2, &[("fpg", 0)], "fs_fpg"),
            (Ufs2, &[("fpg", -8)], "fs_fpg"),
            (Ufs2, &[("fpg", 4105)], "fs_fpg"),
            (Ufs2, &[("sblkno", -8)], "fs_sblkno"),
            (Ufs2, &[("sblkno", 25)], "fs_sblkno"),
            (Ufs2, &[("cblkno", 24)], "fs_cblkno"),
            (Ufs2, &[("cblkno", 1 << 20)], "fs_cblkno"),
            (Ufs2, &[("iblkno", 32)], "fs_iblkno"),
            (Ufs2, &[("dblkno", 168)], "fs_dblkno"),
            (Ufs2, &[("dblkno", 8000)], "fs_dblkno"),
            (Ufs1, &[("old_cgoffset", -8)], "fs_old_cgoffset"),
            (Ufs1, &[("old_cgoffset", 4), ("old_cgmask", -16)], "fs_old_cgoffset"),
            (Ufs1, &[("old_cgoffset", 8), ("old_cgmask", 0x7fff_ffff)], "fs_old_cgmask"),
            (Ufs1, &[("old_cgoffset", 8), ("old_cgmask", -65536)], "fs_old_cgoffset"),
            (Ufs2, &[("size", 0)], "fs_size"),
            (Ufs2, &[("size", 4104 * 3)], "fs_size"),
            (Ufs2, &[("size", 4104 * 3 + 100)], "fs_size"),
            (Ufs2, &[("size", 4104 * 4 + 1)], "fs_size"),
            (Ufs2, &[("size", i64::MAX)], "fs_size"),
            (Ufs2, &[("contigsumsize", 1 << 20)], "fs_bsize"),
            (Ufs2, &[("contigsumsize", 0x7fff_ffff)], "fs_bsize"),
            (Ufs1, &[("old_cpg", 0x7fff_ffff)], "fs_bsize"),
            (Ufs2, &[("cgsize", 100)], "fs_cgsize"),
            (Ufs2, &[("cgsize", 32769)], "fs_cgsize"),
            (Ufs2, &[("cs_nifree", -1)], "fs_cstotal.cs_nifree"),
            (Ufs2, &[("cs_nifree", 2176 * 4 + 1)], "fs_cstotal.cs_nifree"),
            (Ufs2, &[("cs_ndir", -1)], "fs_cstotal.cs_ndir"),
            (Ufs2, &[("cs_ndir", 2176 * 4 + 1)], "fs_cstotal.cs_ndir"),
            (Ufs2, &[("cssize", 8192)], "fs_cssize"),
            (Ufs2, &[("csaddr", -1)], "fs_csaddr"),
            (Ufs2, &[("csaddr", 175)], "fs_csaddr"),
            (Ufs2, &[("csaddr", 16384)], "fs_csaddr"),
            (Ufs2, &[("csaddr", i64::MAX)], "fs_csaddr"),
            (Ufs2, &[("magic", 0x1954_0118)], "fs_magic"),
            (Ufs2, &[("magic", 0x1996_0408)], "fs_magic"),
        ];
        for (format, change, field) in rules {
            assert_eq!(said(*format, change), Err(*field), "{format:?} {change:?}");
        }
    }

    #[test]
    fn what_only_freebsd_refuses_is_a_warning() {
        use Format::{Ufs1, Ufs2};
        let odd: &[(Format, &str, i64, &str)] = &[
            (Ufs2, "fsbtodb", 0, "fs_fsbtodb"),
            (Ufs2, "minfree", 100, "fs_minfree"),
            (Ufs2, "minfree", -1, "fs_minfree"),
            (Ufs2, "optim", 2, "fs_optim"),
            (Ufs2, "maxcontig", 1000, "fs_maxcontig"),
            (Ufs2, "metaspace", 4000, "fs_metaspace"),
            (Ufs2, "metaspace", -8, "fs_metaspace"),
            (Ufs2, "maxsymlinklen", 60, "fs_maxsymlinklen"),
            (Ufs2, "cs_nbfree", 2049, "fs_cstotal.cs_nbfree"),
            (Ufs2, "cs_nffree", -1, "fs_cstotal.cs_nffree"),
            (Ufs1, "old_cpg", 16, "fs_old_cpg"),
            (Ufs1, "old_nrpos", 8, "fs_old_nrpos"),
            (Ufs1, "old_ncyl", 5, "fs_old_ncyl"),
            (Ufs1, "old_postblformat", -1, "fs_old_postblformat"),
        ];
        assert_eq!((said(Ufs1, &[]), said(Ufs2, &[])), (Ok(vec![]), Ok(vec![])));
        for (format, name, value, field) in odd {
            assert_eq!(said(*format, &[(name, *value)]), Ok(vec![*field]), "{name}");
        }
        let torn = said(Ufs2, &[("cs_ndir", 2), ("cs_nifree", 2176 * 4 - 1)]);
        assert_eq!(torn, Ok(vec!["fs_cstotal.cs_ndir"]));
    }

    #[test]
    fn stored_largest_file_may_be_anything_and_is_kept() {
        let mut bytes = bytes(Format::Ufs2);
        Endian::Little.put_u64(&mut bytes, field_place("maxfilesize").offset, 17).unwrap();
        let sb = Superblock::decode(&bytes, ByteOff(65536)).unwrap();
        assert_eq!(sb.geometry().maxfilesize, 2_252_349_704_110_079);
        assert_eq!(sb.encode_copy(sb.at), bytes);
    }

    #[test]
    fn too_few_bytes_are_no_superblock() {
        let bytes = bytes(Format::Ufs2);
        for len in [0, 1372, 1375, 1376, 4095] {
            assert!(Superblock::decode(&bytes[..len], ByteOff(65536)).is_err());
        }
    }
}
