//! The block of a cylinder group: a header with counts and hints, then its maps.
//!
//! C1. Maps are accessed through a [`CgLayout`] only. Its offsets were computed here, or read and checked: each map is
//!     within the group's bytes, and none overlaps another.
//! C2. Element 0 of the cluster summary does not exist: it overlaps the end of the free-fragment map, and zeroing or
//!     swapping it would free or allocate up to 32 fragments.
//! C3. A block is read and changed in place. [`seal`] is the last change of its bytes before they are written: it sets
//!     the times and the check hash.

mod header;
mod layout;
pub mod map;
mod recount;
mod view;

pub use header::CgHeader;
pub use layout::CgLayout;
pub(crate) use layout::bytes_needed;
pub use recount::Recount;
pub use view::{Cg, CgMut};

use crate::num::{index, low32};
use crate::{Cgx, Corrupt, Format, FragNo, Geometry, Rule, Structure, hash};
use std::ops::Range;

/// Magic of a group's block.
pub const MAGIC: u32 = 0x0009_0255;
/// Offset of the hash.
const CKHASH_AT: usize = 132;
/// Offset of the magic of 4.2BSD's layout.
const OLD_MAGIC_AT: usize = 980;

/// Checks the block of group `c`, of at least `cgsize` bytes, and returns the layout of its maps.
///
/// # Errors
/// The first rule that it breaks. The check hash is tested first after the magic.
pub fn check(bytes: &[u8], g: &Geometry, c: Cgx) -> Result<CgLayout, Corrupt> {
    check_parts(bytes, g, c, true)
}

/// The same without the check hash and the counts: for a block of which each byte is old or new, after a crash or half
/// a replay, and whose counts are about to be rebuilt from its maps ([`CgMut::rebuild_counts`]). A count of two bytes,
/// one of them old, may be one that the group never had.
///
/// # Errors
/// The first rule that it breaks.
pub fn check_maps(bytes: &[u8], g: &Geometry, c: Cgx) -> Result<CgLayout, Corrupt> {
    check_parts(bytes, g, c, false)
}

fn check_parts(bytes: &[u8], g: &Geometry, c: Cgx, counts: bool) -> Result<CgLayout, Corrupt> {
    let at = g.byte(g.cgtod(c));
    let structure = Structure::CylinderGroup(c);
    let bytes = bytes.get(..index(g.cgsize)).ok_or_else(|| Corrupt::cut_short(structure, bytes.len()).at(at))?;
    let head = CgHeader::load(bytes, g.endian).ok_or_else(|| Corrupt::cut_short(structure, bytes.len()).at(at))?;
    let damaged = |field, found: i128, rule| Corrupt::new(structure, field, found, rule).at(at);
    let is = |field, found: i64, right: i64| match found == right {
        true => Ok(()),
        false => Err(damaged(field, found.into(), Rule::Is(right.into()))),
    };
    let within = |field, found: i64, most: i64| match found {
        ..0 => Err(damaged(field, found.into(), Rule::AtLeast(0))),
        n if n > most => Err(damaged(field, found.into(), Rule::AtMost(most.into()))),
        _ => Ok(()),
    };
    let count = |field, found, most| if counts { within(field, found, most) } else { Ok(()) };
    let old = head.magic != MAGIC && g.old_cg && g.endian.get_u32(bytes, OLD_MAGIC_AT) == Some(MAGIC);
    if head.magic != MAGIC && !old {
        return Err(damaged("cg_magic", head.magic.into(), Rule::IsHex(MAGIC)));
    }
    if g.cg_hash && counts {
        let right = hash::check_hash_without(bytes, CKHASH_AT);
        if head.ckhash != right {
            return Err(damaged("cg_ckhash", head.ckhash.into(), Rule::IsHex(right)));
        }
    }
    is("cg_cgx", head.cgx.into(), c.0.into())?;
    is("cg_ndblk", head.ndblk.into(), g.cg_ndblk(c).into())?;
    match g.format {
        // The field has only 16 bits: for larger groups it is not checked.
        Format::Ufs1 if g.ipg <= 32767 => is("cg_old_niblk", head.old_niblk.into(), g.ipg.into())?,
        Format::Ufs1 => {}
        Format::Ufs2 => {
            is("cg_niblk", head.niblk.into(), g.ipg.into())?;
            within("cg_initediblk", head.initediblk.into(), g.ipg.into())?;
        }
    }
    let ndblk = i64::from(head.ndblk);
    count("cg_cs.cs_ndir", head.ndir.into(), g.ipg.into())?;
    count("cg_cs.cs_nbfree", head.nbfree.into(), ndblk.checked_div(g.frag.into()).unwrap_or(0))?;
    count("cg_cs.cs_nifree", head.nifree.into(), g.ipg.into())?;
    count("cg_cs.cs_nffree", head.nffree.into(), ndblk)?;
    for k in head.frsum {
        count("cg_frsum", k.into(), ndblk)?;
    }
    let layout = if old { CgLayout::old_bsd(g, c) } else { CgLayout::stored(&head, g, c) };
    layout.check(g).map_err(|(field, found, rule)| damaged(field, found, rule))?;
    let view = Cg::new(bytes, layout, g.endian).ok_or_else(|| Corrupt::cut_short(structure, bytes.len()).at(at))?;
    for k in 1..=layout.contigsumsize {
        count("cg_clustersum", view.clustersum(k).into(), layout.nclusterblks.into())?;
    }
    Ok(layout)
}

/// Sets the times and, if the volume has them, the check hash of a group's block that is about to be written. `None`,
/// without a change, if `bytes` are fewer than `cgsize`.
pub fn seal(bytes: &mut [u8], g: &Geometry, now: i64) -> Option<()> {
    let bytes = bytes.get_mut(..index(g.cgsize))?;
    g.endian.put_i32(bytes, 8, crate::num::narrow(now))?;
    if g.old_cg && g.endian.get_u32(bytes, 4) != Some(MAGIC) {
        return Some(());
    }
    g.endian.put_i64(bytes, 136, now)?;
    if g.cg_hash {
        hash::store_hash(bytes, CKHASH_AT, g.endian)?;
    }
    Some(())
}

/// The group's block has not changed since it was sealed. False on a volume without check hashes, which cannot tell.
pub fn is_sealed(bytes: &[u8], g: &Geometry) -> bool {
    let Some(bytes) = bytes.get(..index(g.cgsize)).filter(|_| g.cg_hash) else { return false };
    g.endian.get_u32(bytes, CKHASH_AT) == Some(hash::check_hash_without(bytes, CKHASH_AT))
}

/// Computes the check hash of a group's block, or clears it on a volume without; nothing else changes. `None`, without
/// a change, if `bytes` are fewer than `cgsize`. On a volume that must pass NetBSD's fsck the field is zero.
pub fn rehash(bytes: &mut [u8], g: &Geometry) -> Option<()> {
    let bytes = bytes.get_mut(..index(g.cgsize))?;
    match g.cg_hash {
        true => hash::store_hash(bytes, CKHASH_AT, g.endian).map(|_| ()),
        false => g.endian.put_u32(bytes, CKHASH_AT, 0),
    }
}

/// The header of a new group `c`, with all counts 0. `initediblk` is the number of inodes that are written with it
/// (UFS2).
pub fn header(g: &Geometry, c: Cgx, initediblk: u32) -> CgHeader {
    let layout = CgLayout::computed(g, c);
    let ufs1 = g.format == Format::Ufs1;
    CgHeader {
        firstfield: 0,
        magic: MAGIC,
        old_time: 0,
        cgx: c.0,
        old_ncyl: if ufs1 { i16::try_from(g.cpg).unwrap_or(i16::MAX) } else { 0 },
        old_niblk: if ufs1 { i16::try_from(g.ipg).unwrap_or(i16::MAX) } else { 0 },
        ndblk: layout.ndblk,
        ndir: 0,
        nbfree: 0,
        nifree: 0,
        nffree: 0,
        rotor: 0,
        frotor: 0,
        irotor: 0,
        frsum: [0; 8],
        old_btotoff: i32::try_from(layout.btotoff).unwrap_or(0),
        old_boff: i32::try_from(layout.boff).unwrap_or(0),
        iusedoff: layout.iusedoff,
        freeoff: layout.freeoff,
        nextfreeoff: layout.nextfreeoff,
        clustersumoff: layout.clustersumoff,
        clusteroff: layout.clusteroff,
        nclusterblks: layout.nclusterblks,
        niblk: if ufs1 { 0 } else { g.ipg },
        initediblk: if ufs1 { 0 } else { initediblk.min(g.ipg) },
        unrefs: 0,
        sparecon32: 0,
        ckhash: 0,
        time: 0,
        sparecon64: [0; 3],
    }
}

/// A new block for group `c`, of `cgsize` bytes: no inode in use except 0 and 1 of the volume, no fragment in use
/// except those of metadata and, in its group, the summary array. Not sealed. `initediblk` is the number of inodes that
/// are written with it (UFS2; [`first_inodes`] is newfs's number).
pub fn init(g: &Geometry, c: Cgx, initediblk: u32) -> Vec<u8> {
    let mut bytes = vec![0; index(g.cgsize)];
    let layout = CgLayout::computed(g, c);
    // Cannot fail: cgsize is at least a header (ondisk-superblock-1).
    let _ = header(g, c, initediblk).store(&mut bytes, g.endian);
    if let Some(mut cg) = CgMut::new(&mut bytes, layout, g.endian) {
        cg.free_all_data(g, c);
        if c.0 == 0 {
            map::set(cg.iused_mut(), 0);
            map::set(cg.iused_mut(), 1);
        }
        cg.rebuild_counts(0);
    }
    bytes
}

/// Number of inodes that newfs writes into a new UFS2 group: two blocks of them. The others follow when they are
/// needed.
pub fn first_inodes(g: &Geometry) -> u32 {
    match g.format {
        Format::Ufs1 => g.ipg,
        Format::Ufs2 => g.ipg.min(g.inopb.saturating_mul(2)),
    }
}

/// The parts of group `c` that belong to the format: first the boot area, superblock, group's block and inodes, then
/// the part of the summary array in this group. Indices of fragments within the group.
pub fn reserved(g: &Geometry, c: Cgx) -> [Range<u32>; 2] {
    let base = g.cgbase(c).0;
    let within = |from: FragNo, to: FragNo| {
        let index = |f: FragNo| low32(f.0.saturating_sub(base)).min(g.fpg);
        index(from)..index(to)
    };
    let metadata_from = if c.0 == 0 { FragNo(0) } else { g.cgsblock(c) };
    [within(metadata_from, g.cgdmin(c)), within(g.csaddr, g.csaddr.plus(g.csfrags()))]
}

/// `true` when fragment `i` of group `c` is [`reserved`].
pub fn is_reserved(g: &Geometry, c: Cgx, i: u32) -> bool {
    reserved(g, c).into_iter().any(|range| range.contains(&i))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format) -> Geometry {
        let p = NewfsParams { check_hashes: false, ..NewfsParams::new(format, 8 << 20) };
        p.superblock().unwrap().geometry()
    }

    /// The field in the error for a new group with these changes.
    fn said(format: Format, change: &[(&str, u32)]) -> Result<CgLayout, &'static str> {
        let g = geometry(format);
        let mut bytes = init(&g, Cgx(1), first_inodes(&g));
        for (name, value) in change {
            let place = CgHeader::FIELDS.iter().find(|f| f.name == *name).unwrap();
            bytes[place.offset..place.offset + 4.min(place.size)]
                .copy_from_slice(&value.to_le_bytes()[..4.min(place.size)]);
        }
        check(&bytes, &g, Cgx(1)).map_err(|damage| {
            assert_eq!(damage.at, Some(g.byte(g.cgtod(Cgx(1)))));
            damage.field
        })
    }

    #[test]
    fn every_rule_of_a_group_is_enforced() {
        use Format::{Ufs1, Ufs2};
        let g = geometry(Ufs2);
        assert!(said(Ufs1, &[]).is_ok() && said(Ufs2, &[]).is_ok());
        let rules: &[(Format, &str, u32, &str)] = &[
            (Ufs2, "magic", 0, "cg_magic"),
            (Ufs2, "cgx", 0, "cg_cgx"),
            (Ufs2, "ndblk", g.fpg + 8, "cg_ndblk"),
            (Ufs2, "niblk", 0, "cg_niblk"),
            (Ufs1, "old_niblk", 1, "cg_old_niblk"),
            (Ufs2, "initediblk", g.ipg + 1, "cg_initediblk"),
            (Ufs2, "ndir", u32::MAX, "cg_cs.cs_ndir"),
            (Ufs2, "nbfree", g.fpg / 8 + 1, "cg_cs.cs_nbfree"),
            (Ufs2, "nifree", g.ipg + 1, "cg_cs.cs_nifree"),
            (Ufs2, "nffree", g.fpg + 1, "cg_cs.cs_nffree"),
            (Ufs2, "frsum", g.fpg + 1, "cg_frsum"),
            (Ufs2, "iusedoff", 160, "cg_iusedoff"),
            (Ufs2, "iusedoff", u32::MAX, "cg_iusedoff"),
            (Ufs2, "freeoff", 168, "cg_freeoff"),
            (Ufs2, "freeoff", g.cgsize, "cg_freeoff"),
            (Ufs2, "clustersumoff", 200, "cg_clustersumoff"),
            (Ufs2, "clustersumoff", g.cgsize - 4, "cg_clustersumoff"),
            (Ufs2, "nclusterblks", g.fpg / 8 + 1, "cg_nclusterblks"),
            (Ufs2, "clusteroff", 230, "cg_clusteroff"),
            (Ufs2, "clusteroff", g.cgsize - 1, "cg_clusteroff"),
        ];
        for (format, name, value, field) in rules {
            assert_eq!(said(*format, &[(name, *value)]), Err(*field), "{name} {value}");
        }
        let bytes = init(&g, Cgx(1), 0);
        assert_eq!(check(&bytes[..100], &g, Cgx(1)).unwrap_err().field, "length");
        assert!(seal(&mut bytes[..100].to_vec(), &g, 0).is_none());
    }

    #[test]
    fn hints_may_be_anything() {
        assert!(said(Format::Ufs2, &[("rotor", u32::MAX), ("frotor", u32::MAX), ("irotor", u32::MAX)]).is_ok());
    }

    #[test]
    fn sealed_group_has_its_times_and_its_hash() {
        let mut g = geometry(Format::Ufs2);
        g.cg_hash = true;
        let mut bytes = init(&g, Cgx(1), 64);
        assert_eq!(check(&bytes, &g, Cgx(1)).unwrap_err().field, "cg_ckhash");
        seal(&mut bytes, &g, (7 << 32) + 5).unwrap();
        check(&bytes, &g, Cgx(1)).unwrap();
        assert_eq!((g.endian.get_i32(&bytes, 8), g.endian.get_i64(&bytes, 136)), (Some(5), Some((7 << 32) + 5)));
    }

    #[test]
    fn layout_of_42bsd_is_read_where_the_volume_says_so() {
        let mut g = geometry(Format::Ufs1);
        (g.contigsumsize, g.ipg, g.cpg) = (0, 2048, 16);
        let mut bytes = vec![0; index(g.cgsize)];
        g.endian.put_u32(&mut bytes, 12, 1).unwrap();
        g.endian.put_i16(&mut bytes, 18, 2048).unwrap();
        g.endian.put_u32(&mut bytes, 20, g.cg_ndblk(Cgx(1))).unwrap();
        g.endian.put_u32(&mut bytes, OLD_MAGIC_AT, MAGIC).unwrap();
        bytes[724] = 3;
        assert_eq!(check(&bytes, &g, Cgx(1)).unwrap_err().field, "cg_magic");
        g.old_cg = true;
        let layout = check(&bytes, &g, Cgx(1)).unwrap();
        assert!(layout.old);
        let view = Cg::new(&bytes, layout, g.endian).unwrap();
        assert!(
            map::get(view.iused(), 1) && view.free().len() == index(g.fpg.div_ceil(8)) && view.clusters().is_empty()
        );
        g.ipg = 4096;
        g.endian.put_i16(&mut bytes, 18, 4096).unwrap();
        assert_eq!(check(&bytes, &g, Cgx(1)).unwrap_err().field, "fs_ipg");
    }

    #[test]
    fn element_0_of_the_cluster_summary_cannot_be_reached() {
        let g = geometry(Format::Ufs2);
        let mut bytes = init(&g, Cgx(1), 64);
        let layout = CgLayout::computed(&g, Cgx(1));
        let before = bytes.clone();
        let mut cg = CgMut::new(&mut bytes, layout, g.endian).unwrap();
        cg.set_clustersum(0, 12345);
        cg.set_clustersum(layout.contigsumsize + 1, 12345);
        cg.set_frsum(8, 12345);
        assert_eq!((cg.view().clustersum(0), cg.view().frsum(8)), (0, 0));
        assert!(bytes == before);
    }
}
