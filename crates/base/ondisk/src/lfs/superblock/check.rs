//! The rules of a superblock.

use super::{Fields, RawSb32, RawSb64, SIZE, is_copy};
use crate::lfs::{Daddr, LABEL_PAD, MAX_SUMMARY, SB_PAD, Version};
use crate::num::{howmany, len64};
use crate::{Corrupt, Endian, Rule, Structure};

fn need(field: &'static str, found: impl Into<i128>, holds: bool, rule: Rule) -> Result<(), Corrupt> {
    if holds { Ok(()) } else { Err(Corrupt::new(Structure::Superblock, field, found, rule)) }
}

fn is(field: &'static str, found: u64, right: u64) -> Result<(), Corrupt> {
    need(field, found, found == right, Rule::Is(right.into()))
}

fn within(field: &'static str, found: u64, low: u64, high: u64) -> Result<(), Corrupt> {
    need(field, found, found >= low, Rule::AtLeast(low.into()))?;
    need(field, found, found <= high, Rule::AtMost(high.into()))
}

fn power_of_two(field: &'static str, n: u32) -> Result<(), Corrupt> {
    need(field, n, n.is_power_of_two(), Rule::PowerOfTwo)
}

fn multiple(field: &'static str, n: u32, of: u32) -> Result<(), Corrupt> {
    need(field, n, n.checked_rem(of) == Some(0), Rule::MultipleOf(of.into()))
}

/// Bytes of a disk address (ondisk-lfs-1).
pub(super) fn unit(f: &Fields, version: Version) -> u32 {
    if version == Version::V1 { 512 } else { f.fsize }
}

/// Checks everything that arithmetic relies on.
///
/// # Errors
/// The first rule that is broken.
pub(super) fn check(f: &Fields, version: Version) -> Result<(), Corrupt> {
    sizes(f, version)?;
    per_block(f, version)?;
    segments(f, version)?;
    volume(f, version)?;
    copies(f, version)?;
    position(f)
}

fn sizes(f: &Fields, version: Version) -> Result<(), Corrupt> {
    within("lfs_bsize", f.bsize.into(), 512, 65536)?;
    power_of_two("lfs_bsize", f.bsize)?;
    // With larger fragments, kernels do not skip the superblock of a segment.
    within("lfs_fsize", f.fsize.into(), 512, u64::from(f.bsize.min(SB_PAD)))?;
    power_of_two("lfs_fsize", f.fsize)?;
    is("lfs_frag", f.frag.into(), u64::from(f.bsize.checked_div(f.fsize).unwrap_or(0)))?;
    let unit = unit(f, version);
    within("lfs_sumsize", f.sumsize.into(), 512, MAX_SUMMARY.into())?;
    multiple("lfs_sumsize", f.sumsize, unit)?;
    within("lfs_ibsize", f.ibsize.into(), unit.into(), f.bsize.into())?;
    power_of_two("lfs_ibsize", f.ibsize)?;
    need("lfs_inodefmt", f.inodefmt, f.inodefmt == 0, Rule::Is(0))?;
    within("lfs_minfree", f.minfree.into(), 0, 99)?;
    within("lfs_maxsymlinklen", f.maxsymlinklen.into(), 0, version.pointer_area().into())
}

fn per_block(f: &Fields, version: Version) -> Result<(), Corrupt> {
    let in_block = |bytes: u32| u64::from(f.bsize.checked_div(bytes).unwrap_or(0));
    is("lfs_inopb", f.inopb.into(), u64::from(f.ibsize.checked_div(version.dinode_size()).unwrap_or(0)))?;
    is("lfs_ifpb", f.ifpb.into(), in_block(version.ifile_entry_size()))?;
    is("lfs_sepb", f.sepb.into(), in_block(version.seguse_size()))?;
    is("lfs_nindir", f.nindir.into(), in_block(version.pointer_size()))?;
    within("lfs_cleansz", f.cleansz.into(), 1, 1)?;
    is("lfs_segtabsz", f.segtabsz.into(), howmany(f.nseg.into(), f.sepb.into()))
}

fn segments(f: &Fields, version: Version) -> Result<(), Corrupt> {
    let unit = unit(f, version);
    // The start of segment 0 may be label and superblock; behind them a block must fit.
    let least = u64::from(LABEL_PAD)
        .saturating_add(SB_PAD.into())
        .saturating_add(f.sumsize.into())
        .saturating_add(u64::from(f.bsize).saturating_mul(2));
    within("lfs_ssize", f.ssize.into(), least, u32::MAX.into())?;
    multiple("lfs_ssize", f.ssize, unit)?;
    is("lfs_fsbpseg", f.fsbpseg.into(), u64::from(f.ssize.checked_div(unit).unwrap_or(0)))?;
    within("lfs_nseg", f.nseg.into(), 2, u32::MAX.into())?;
    within("lfs_minfreeseg", f.minfreeseg.into(), 0, f.nseg.into())?;
    within("lfs_resvseg", f.resvseg.into(), 0, f.nseg.into())
}

/// Units up to the end of the last segment.
pub(super) fn end_of_segments(f: &Fields) -> u64 {
    u64::from(f.nseg).saturating_mul(f.fsbpseg.into()).saturating_add(f.s0addr.0)
}

/// The largest address that the format can have.
fn most(f: &Fields, version: Version) -> u64 {
    let signed = if version.is_wide() { u64::MAX >> 1 } else { u64::MAX >> 33 };
    // Every byte has a positive 64-bit offset.
    signed.min((u64::MAX >> 1).checked_div(unit(f, version).into()).unwrap_or(0))
}

fn volume(f: &Fields, version: Version) -> Result<(), Corrupt> {
    let most = most(f, version);
    within("lfs_s0addr", f.s0addr.0, 0, most)?;
    let end = end_of_segments(f);
    let why = Rule::Words("which makes the segments end beyond the largest address");
    need("lfs_nseg", f.nseg, end <= most, why)?;
    if version == Version::V1 {
        return Ok(());
    }
    within("lfs_size", f.size, end, most)?;
    within("lfs_dsize", f.dsize, 0, f.size)?;
    within("lfs_serial", f.serial.0, 0, u64::MAX >> 1)
}

fn copies(f: &Fields, version: Version) -> Result<(), Corrupt> {
    let unit = u64::from(unit(f, version));
    let [first, ..] = f.sboffs;
    within("lfs_sboffs", first.0, howmany(LABEL_PAD.into(), unit), most(f, version))?;
    let last = end_of_segments(f).saturating_sub(howmany(SB_PAD.into(), unit));
    for copy in f.sboffs.iter().copied().filter(|at| is_copy(*at)) {
        within("lfs_sboffs", copy.0, 0, last)?;
    }
    Ok(())
}

/// The place of the log's end.
fn position(f: &Fields) -> Result<(), Corrupt> {
    let end = end_of_segments(f);
    for (field, at) in [("lfs_curseg", f.curseg), ("lfs_nextseg", f.nextseg)] {
        within(field, at.0, f.s0addr.0, end.saturating_sub(1))?;
        let within = at.since(f.s0addr).checked_rem(f.fsbpseg.into());
        need(field, at.0, within == Some(0), Rule::Words("which is not the start of a segment"))?;
    }
    within("lfs_offset", f.offset.0, f.curseg.0, f.curseg.plus(f.fsbpseg.into()).0)?;
    within("lfs_idaddr", f.idaddr.0, 1, end.saturating_sub(1))?;
    let beyond = Daddr(end);
    within("lfs_lastseg", f.lastseg.0, 0, beyond.0)
}

/// Shifts and masks, which follow from the sizes.
macro_rules! check_derived {
    ($raw:ident, $f:ident) => {{
        is("lfs_bshift", $raw.bshift.into(), $f.bsize.trailing_zeros().into())?;
        is("lfs_ffshift", $raw.ffshift.into(), $f.fsize.trailing_zeros().into())?;
        is("lfs_fbshift", $raw.fbshift.into(), $f.frag.trailing_zeros().into())?;
        is("lfs_bmask", $raw.bmask, u64::from($f.bsize).saturating_sub(1))?;
        is("lfs_ffmask", $raw.ffmask, u64::from($f.fsize).saturating_sub(1))?;
        is("lfs_fbmask", $raw.fbmask, u64::from($f.frag).saturating_sub(1))
    }};
}

macro_rules! set_derived {
    ($raw:ident, $f:ident, $version:ident) => {{
        ($raw.bshift, $raw.ffshift, $raw.fbshift) =
            ($f.bsize.trailing_zeros(), $f.fsize.trailing_zeros(), $f.frag.trailing_zeros());
        let mask = |n: u32| u64::from(n).saturating_sub(1);
        ($raw.bmask, $raw.ffmask, $raw.fbmask) = (mask($f.bsize), mask($f.fsize), mask($f.frag));
        $raw.version = $version.number();
        $raw.inopf = 512u32.checked_div($version.dinode_size()).unwrap_or(0);
        // Sectors of 512 bytes: 2^9.
        $raw.blktodb = $raw.bshift.saturating_sub(9);
        $raw.fsbtodb = $raw.ffshift.saturating_sub(9);
    }};
}

/// Checks the shifts and masks of an image.
///
/// # Errors
/// The first that is wrong.
pub(super) fn derived(image: &[u8; SIZE], endian: Endian, f: &Fields, version: Version) -> Result<(), Corrupt> {
    let short = || Corrupt::cut_short(Structure::Superblock, image.len());
    if version.is_wide() {
        let raw = RawSb64::load(image, endian).ok_or_else(short)?;
        return check_derived!(raw, f);
    }
    let raw = RawSb32::load(image, endian).ok_or_else(short)?;
    is("lfs_ifile", raw.ifile.into(), len64(1))?;
    check_derived!(raw, f)
}

/// The image of a new superblock: the fields that follow from others.
pub(super) fn fresh_image(version: Version, endian: Endian, f: &Fields) -> [u8; SIZE] {
    let mut image = [0; SIZE];
    // Storing cannot fail: the image is 512 bytes.
    if version.is_wide() {
        let mut raw = RawSb64::zeroed();
        raw.magic = super::MAGIC64;
        set_derived!(raw, f, version);
        let _ = raw.store(&mut image, endian);
        return image;
    }
    let mut raw = RawSb32::zeroed();
    (raw.magic, raw.ifile) = (super::MAGIC, 1);
    set_derived!(raw, f, version);
    if version == Version::V1 {
        raw.fsbtodb = 0;
        (raw.segmask, raw.segshift) = (f.ssize.saturating_sub(1), f.ssize.trailing_zeros());
        raw.sushift = f.sepb.trailing_zeros();
    }
    let _ = raw.store(&mut image, endian);
    image
}
