//! What a superblock must satisfy before anything is computed from it.
//!
//! FreeBSD's kernel refuses more than it needs to; volumes of 4.4BSD, NetBSD and OpenBSD break some of its rules and are
//! well. So the rules that arithmetic or safety rests on are enforced, and the others are told as warnings.
//!
//! Every comparison is made in 64 bits on numbers of at most 32, or saturates: no input overflows or divides by zero.

use super::SBLOCKSIZE;
use super::fields::SbFields;
use crate::geometry::Format;
use crate::num::{bits32, bits64, howmany, len64, roundup, signed64};
use crate::{ByteOff, Corrupt, Rule, Structure};

/// Applies the rules; returns what is odd but harmless.
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

/// Sizes of blocks and fragments, and what is derived from them.
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
    // Some NetBSD tools count fs_fsbtodb from the device's sector size. Nothing here computes with it.
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

/// Where the regions of a group are. [`sizes`] and [`inodes`] must have passed.
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
    // The last group may be short, but not so short that its inodes lie behind the end of the volume.
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
    c.within("fs_cstotal.cs_ndir", f.cs_ndir, 0, inodes.saturating_sub(f.cs_nifree))?;
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

/// What FreeBSD would refuse and we do not need.
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

/// The largest file that is to be, in bytes; the stored number may be anything.
pub(super) fn largest_file(f: &SbFields, format: Format) -> u64 {
    let bsize = bits64(f.bsize.into());
    let most = match format {
        // FreeBSD's kernel stops at 2^31 blocks, its fsck at 2^30: what the kernel wrote beyond would be cleared.
        Format::Ufs1 if f.old_inodefmt >= 2 => bsize.saturating_mul(1 << 30).saturating_sub(1),
        // FreeBSD allows 2^31 - 1 bytes in the 4.2BSD format, NetBSD this.
        Format::Ufs1 => 1 << 39,
        Format::Ufs2 => bits64(i64::MAX),
    };
    pointers_reach(f).min(most)
}
