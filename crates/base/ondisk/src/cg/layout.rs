//! The positions of a group's maps.

use super::CgHeader;
use crate::Format;
use crate::num::{bits32, bits64, howmany, index, low32, roundup, signed64};
use crate::superblock::fields::SbFields;
use crate::{Cgx, Geometry, Rule};
use std::ops::Range;

/// Offsets of a group's maps within its block, and the counts that bound them. `old` for 4.2BSD's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct CgLayout {
    /// 4.2BSD's layout.
    pub old: bool,
    /// Inodes of the group: bits of the map of used inodes.
    pub ipg: u32,
    /// Fragments of the group.
    pub ndblk: u32,
    /// Bits of the free-fragment map: the fragments of a full group.
    pub fpg: u32,
    /// Fragments of a block.
    pub frag: u32,
    /// Whole blocks of the group in the cluster map; 0 without one.
    pub nclusterblks: u32,
    /// Elements of the cluster summary, not counting element 0; 0 without one.
    pub contigsumsize: u32,
    /// UFS1: free blocks of each cylinder.
    pub btotoff: u32,
    /// UFS1: free blocks of each rotational position.
    pub boff: u32,
    /// Map of used inodes.
    pub iusedoff: u32,
    /// Map of free fragments.
    pub freeoff: u32,
    /// Cluster summary.
    pub clustersumoff: u32,
    /// Map of free blocks.
    pub clusteroff: u32,
    /// First byte after the maps.
    pub nextfreeoff: u32,
}

/// `CGSIZE`: bytes that a group's block needs, with a header of `header` bytes. Total: any input gives a number.
pub(crate) fn bytes_needed(header: i64, f: &SbFields, format: Format) -> i64 {
    let cylinders = if format == Format::Ufs1 { i64::from(f.old_cpg).max(0) } else { 0 };
    let fpg = bits64(i64::from(f.fpg).max(0));
    let clusters = if f.contigsumsize > 0 {
        let map = howmany(fpg.checked_div(bits64(f.frag.into())).unwrap_or(0), 8);
        i64::from(f.contigsumsize).saturating_mul(4).saturating_add(signed64(map))
    } else {
        0
    };
    let maps = signed64(howmany(f.ipg.into(), 8).saturating_add(howmany(fpg, 8)));
    header.saturating_add(4).saturating_add(cylinders.saturating_mul(6)).saturating_add(maps).saturating_add(clusters)
}

impl CgLayout {
    fn empty(g: &Geometry, c: Cgx) -> CgLayout {
        CgLayout {
            old: false,
            ipg: g.ipg,
            ndblk: g.cg_ndblk(c),
            fpg: g.fpg,
            frag: g.frag,
            nclusterblks: 0,
            contigsumsize: 0,
            btotoff: 0,
            boff: 0,
            iusedoff: 0,
            freeoff: 0,
            clustersumoff: 0,
            clusteroff: 0,
            nextfreeoff: 0,
        }
    }

    /// The positions at which newfs puts the maps of group `c`.
    pub fn computed(g: &Geometry, c: Cgx) -> CgLayout {
        let mut l = CgLayout::empty(g, c);
        l.iusedoff = 168;
        if g.format == Format::Ufs1 {
            l.btotoff = 168;
            l.boff = l.btotoff.saturating_add(g.cpg.saturating_mul(4));
            l.iusedoff = l.boff.saturating_add(g.cpg.saturating_mul(g.nrpos.max(1)).saturating_mul(2));
        }
        l.freeoff = l.iusedoff.saturating_add(l.iused_len());
        l.nextfreeoff = l.freeoff.saturating_add(l.free_len());
        if g.contigsumsize > 0 {
            l.contigsumsize = g.contigsumsize;
            l.nclusterblks = l.ndblk.checked_div(l.frag).unwrap_or(0);
            // Element 0 overlaps the end of the map before it (ondisk-cg-2).
            l.clustersumoff = low32(roundup(l.nextfreeoff.into(), 4)).saturating_sub(4);
            l.clusteroff = l.clustersumoff.saturating_add(l.contigsumsize.saturating_add(1).saturating_mul(4));
            let blocks = l.fpg.checked_div(l.frag).unwrap_or(0);
            l.nextfreeoff = l.clusteroff.saturating_add(low32(howmany(blocks.into(), 8)));
        }
        l
    }

    /// The positions in this header, not checked yet.
    pub(super) fn stored(head: &CgHeader, g: &Geometry, c: Cgx) -> CgLayout {
        let mut l = CgLayout::empty(g, c);
        (l.btotoff, l.boff) = (bits32(head.old_btotoff), bits32(head.old_boff));
        (l.iusedoff, l.freeoff, l.nextfreeoff) = (head.iusedoff, head.freeoff, head.nextfreeoff);
        if g.contigsumsize > 0 {
            l.contigsumsize = g.contigsumsize;
            l.nclusterblks = head.nclusterblks;
            (l.clustersumoff, l.clusteroff) = (head.clustersumoff, head.clusteroff);
        }
        l
    }

    /// 4.2BSD's layout, which is fixed, not checked against the sizes of the volume yet.
    pub(super) fn old_bsd(g: &Geometry, c: Cgx) -> CgLayout {
        let mut l = CgLayout::empty(g, c);
        (l.old, l.btotoff, l.boff, l.iusedoff, l.freeoff) = (true, 84, 212, 724, 984);
        l.nextfreeoff = l.freeoff.saturating_add(l.free_len());
        l
    }

    /// Checks that every map is within the group's bytes and none overlaps another; the error names the wrong field.
    pub(super) fn check(&self, g: &Geometry) -> Result<(), (&'static str, i128, Rule)> {
        let within = |field, from: u32, len: u32, low: u32| {
            if from < low {
                return Err((field, from.into(), Rule::AtLeast(low.into())));
            }
            match from.checked_add(len) {
                Some(end) if end <= g.cgsize => Ok(()),
                _ => Err((field, from.into(), Rule::AtMost(i128::from(g.cgsize.saturating_sub(len))))),
            }
        };
        let header = if self.old { 724 } else { 168 };
        if self.old && self.ipg > 2048 {
            return Err(("fs_ipg", self.ipg.into(), Rule::AtMost(2048)));
        }
        within("cg_iusedoff", self.iusedoff, self.iused_len(), header)?;
        within("cg_freeoff", self.freeoff, self.free_len(), self.iusedoff.saturating_add(self.iused_len()))?;
        if self.contigsumsize == 0 {
            return Ok(());
        }
        let free_end = self.freeoff.saturating_add(self.free_len());
        let sums = self.contigsumsize.saturating_add(1).saturating_mul(4);
        within("cg_clustersumoff", self.clustersumoff, sums, free_end.saturating_sub(4))?;
        let blocks = self.ndblk.checked_div(self.frag).unwrap_or(0);
        if self.nclusterblks > blocks {
            return Err(("cg_nclusterblks", self.nclusterblks.into(), Rule::AtMost(blocks.into())));
        }
        within("cg_clusteroff", self.clusteroff, self.cluster_len(), self.clustersumoff.saturating_add(sums))
    }

    /// The bytes from the first map to the end of the last one that are part of no map: zero on every volume, and
    /// FreeBSD's and NetBSD's checks want them so. Behind the cluster map of a short group is room for that of a full
    /// one.
    pub fn gaps(&self) -> [Range<usize>; 4] {
        let gap = |from: u32, to: u32| index(from)..index(to.max(from));
        let free_end = self.freeoff.saturating_add(self.free_len());
        let first = gap(self.iusedoff.saturating_add(self.iused_len()), self.freeoff);
        if self.contigsumsize == 0 {
            return [first, gap(free_end, self.nextfreeoff), 0..0, 0..0];
        }
        let sums_end = self.clustersumoff.saturating_add(self.contigsumsize.saturating_add(1).saturating_mul(4));
        [
            first,
            // Element 0 of the sums is unused.
            gap(free_end, self.clustersumoff.saturating_add(4)),
            gap(sums_end, self.clusteroff),
            gap(self.clusteroff.saturating_add(self.cluster_len()), self.nextfreeoff),
        ]
    }

    /// Bytes of the map of used inodes.
    pub fn iused_len(&self) -> u32 {
        self.ipg.div_ceil(8)
    }

    /// Bytes of the map of free fragments.
    pub fn free_len(&self) -> u32 {
        self.fpg.div_ceil(8)
    }

    /// Bytes of the map of free blocks.
    pub fn cluster_len(&self) -> u32 {
        self.nclusterblks.div_ceil(8)
    }
}
