//! The rules of a superblock.

use super::{Fields, MAGIC, MAGIC64, RawSb32, RawSb64, SIZE};
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

/// The smallest segment: behind the copy of the superblock at its start, and in segment 0 behind the label, must be
/// room for a summary and one block. A block that does not fit into an empty partial segment fits nowhere, and the log
/// could not go past such a segment. Segment 0 of version 1 starts behind the label.
pub(in crate::lfs) fn least_segment(version: Version, sumsize: u32, bsize: u32) -> u32 {
    let label = if version == Version::V1 { 0 } else { LABEL_PAD };
    label.saturating_add(SB_PAD).saturating_add(sumsize).saturating_add(bsize)
}

/// Segments from one copy of the superblock to the next, in a volume with so many as newfs made it.
pub(in crate::lfs) fn interval(nseg: u32) -> u32 {
    (nseg / 10).max(5)
}

/// Checks everything that arithmetic relies on, and every address that something is written to.
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
    within("lfs_ssize", f.ssize.into(), least_segment(version, f.sumsize, f.bsize).into(), u32::MAX.into())?;
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
    let label = howmany(LABEL_PAD.into(), unit(f, version).into());
    // newfs_lfs can put segment 0 further behind, and misplaces the copies of the superblock then.
    let known = f.s0addr.0 == label || f.s0addr.0 == 0 && version != Version::V1;
    need(
        "lfs_s0addr",
        f.s0addr.0,
        known,
        Rule::Words("which is neither the start of the volume nor behind the label"),
    )?;
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

/// The copies of the superblock, the first two of which are written at every checkpoint: behind the label, then at the
/// starts of segments, the same number of them apart. That number follows from the number of segments, unless NetBSD's
/// resize_lfs has changed that: then further copies must bear it out.
fn copies(f: &Fields, version: Version) -> Result<(), Corrupt> {
    let unit = u64::from(unit(f, version));
    let [first, second, more @ ..] = f.sboffs;
    is("lfs_sboffs", first.0, howmany(LABEL_PAD.into(), unit))?;
    let apart = second.since(f.s0addr);
    let step = apart.checked_div(f.fsbpseg.into()).unwrap_or(0);
    let starts = second >= f.s0addr && apart.checked_rem(f.fsbpseg.into()) == Some(0);
    let made = step == u64::from(interval(f.nseg));
    let resized = step >= u64::from(interval(0)) && step < f.nseg.into() && more.iter().any(|at| !at.is_hole());
    let why = Rule::Words("where no second copy of the superblock can be");
    need("lfs_sboffs", second.0, starts && (made || resized) && step < f.nseg.into(), why)?;
    for (i, copy) in (2u64..).zip(more).filter(|(_, at)| !at.is_hole()) {
        let segments = i.saturating_mul(step);
        is("lfs_sboffs", copy.0, f.s0addr.plus(segments.saturating_mul(f.fsbpseg.into())).0)?;
        need("lfs_sboffs", copy.0, segments < f.nseg.into(), Rule::Words("which is behind the last segment"))?;
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
        raw.magic = MAGIC64;
        set_derived!(raw, f, version);
        let _ = raw.store(&mut image, endian);
        return image;
    }
    let mut raw = RawSb32::zeroed();
    (raw.magic, raw.ifile) = (MAGIC, 1);
    set_derived!(raw, f, version);
    if version == Version::V1 {
        raw.fsbtodb = 0;
        (raw.segmask, raw.segshift) = (f.ssize.saturating_sub(1), f.ssize.trailing_zeros());
        raw.sushift = f.sepb.trailing_zeros();
    }
    let _ = raw.store(&mut image, endian);
    image
}
