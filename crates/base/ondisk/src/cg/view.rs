//! Access to a group's block in place.

use super::{CgLayout, map};
use crate::num::index;
use crate::{Csum, Endian};

/// A group's block, for reading.
#[derive(Debug, Clone, Copy)]
pub struct Cg<'a> {
    bytes: &'a [u8],
    layout: CgLayout,
    endian: Endian,
}

/// A group's block, for changes.
#[derive(Debug)]
pub struct CgMut<'a> {
    bytes: &'a mut [u8],
    layout: CgLayout,
    endian: Endian,
}

/// Header fields. Reading cannot fail, since a view has at least a header; so the default is never used.
macro_rules! header {
    ($($(#[$doc:meta])* $at:literal $get:ident $set:ident $int:ident $load:ident $store:ident;)*) => {
        impl Cg<'_> { $(
            $(#[$doc])*
            #[inline]
            pub fn $get(&self) -> $int {
                self.endian.$load(self.bytes, $at).unwrap_or(0)
            }
        )* }
        impl CgMut<'_> { $(
            $(#[$doc])*
            #[inline]
            pub fn $set(&mut self, value: $int) {
                let _ = self.endian.$store(self.bytes, $at, value);
            }
        )* }
    };
}

header! {
    /// UFS1: when the block was last written.
    8 old_time set_old_time i32 get_i32 put_i32;
    /// Directories of the group.
    24 ndir set_ndir i32 get_i32 put_i32;
    /// Free whole blocks.
    28 nbfree set_nbfree i32 get_i32 put_i32;
    /// Free inodes.
    32 nifree set_nifree i32 get_i32 put_i32;
    /// Free fragments outside free whole blocks.
    36 nffree set_nffree i32 get_i32 put_i32;
    /// Where the last block was allocated, as stored: a hint that may be anything.
    40 rotor set_rotor u32 get_u32 put_u32;
    /// Where the last search ended, as stored: a hint that may be anything.
    44 frotor set_frotor u32 get_u32 put_u32;
    /// The last inode allocated, as stored: a hint that may be anything.
    48 irotor set_irotor u32 get_u32 put_u32;
    /// UFS2: inodes that were ever written; the others are garbage.
    120 initediblk set_initediblk u32 get_u32 put_u32;
    /// When the block was last written.
    136 time set_time i64 get_i64 put_i64;
}

impl<'a> Cg<'a> {
    /// A view of `bytes` with a known layout; `None` if they are too short for it.
    pub fn new(bytes: &'a [u8], layout: CgLayout, endian: Endian) -> Option<Cg<'a>> {
        enough(bytes.len(), &layout).then_some(Cg { bytes, layout, endian })
    }

    /// The layout of the maps.
    pub fn layout(&self) -> &CgLayout {
        &self.layout
    }

    /// The counts.
    #[inline]
    pub fn cs(&self) -> Csum {
        self.bytes.get(24..).and_then(|b| Csum::load(b, self.endian)).unwrap_or_default()
    }

    /// Runs of exactly `k` free fragments in blocks partly in use; 0 for a `k` out of range.
    pub fn frsum(&self, k: u32) -> u32 {
        if k >= 8 {
            0
        } else {
            self.endian.get_u32(self.bytes, index(k).saturating_mul(4).saturating_add(52)).unwrap_or(0)
        }
    }

    /// Maximal runs of `k` free blocks, of at least `k` for the last element; 0 for a `k` out of range.
    pub fn clustersum(&self, k: u32) -> u32 {
        match clustersum_at(&self.layout, k) {
            Some(at) => self.endian.get_u32(self.bytes, at).unwrap_or(0),
            None => 0,
        }
    }

    /// Map of used inodes: 1 is used.
    #[inline]
    pub fn iused(&self) -> &'a [u8] {
        part(self.bytes, self.layout.iusedoff, self.layout.iused_len())
    }

    /// Map of free fragments: 1 is free.
    #[inline]
    pub fn free(&self) -> &'a [u8] {
        part(self.bytes, self.layout.freeoff, self.layout.free_len())
    }

    /// Map of free whole blocks: 1 is free. Empty without one.
    #[inline]
    pub fn clusters(&self) -> &'a [u8] {
        part(self.bytes, self.layout.clusteroff, self.layout.cluster_len())
    }
}

impl<'a> CgMut<'a> {
    /// A view of `bytes` with a known layout; `None` if they are too short for it.
    pub fn new(bytes: &'a mut [u8], layout: CgLayout, endian: Endian) -> Option<CgMut<'a>> {
        enough(bytes.len(), &layout).then_some(CgMut { bytes, layout, endian })
    }

    /// The same, for reading.
    #[inline]
    pub fn view(&self) -> Cg<'_> {
        Cg { bytes: self.bytes, layout: self.layout, endian: self.endian }
    }

    /// Sets the counts.
    #[inline]
    pub fn set_cs(&mut self, cs: Csum) {
        let _ = self.bytes.get_mut(24..).and_then(|b| cs.store(b, self.endian));
    }

    /// Sets the number of runs of exactly `k` free fragments; `k` from 1 to 7.
    pub fn set_frsum(&mut self, k: u32, n: u32) {
        if k < 8 {
            let _ = self.endian.put_u32(self.bytes, index(k).saturating_mul(4).saturating_add(52), n);
        }
    }

    /// Adds or subtracts the runs of each length in a block with these free fragments (`fragacct`). A block that is
    /// wholly free or wholly in use has none.
    pub fn account_runs(&mut self, bits: u8, add: bool) {
        let frag = self.layout.frag;
        if bits & map::whole(frag) == map::whole(frag) {
            return;
        }
        for (_, len) in map::runs(bits, frag) {
            let n = self.view().frsum(len);
            self.set_frsum(len, if add { n.saturating_add(1) } else { n.saturating_sub(1) });
        }
    }

    /// Sets the number of runs of `k` free blocks; `k` from 1 to `contigsumsize`. Element 0 is part of another map.
    pub fn set_clustersum(&mut self, k: u32, n: u32) {
        if let Some(at) = clustersum_at(&self.layout, k) {
            let _ = self.endian.put_u32(self.bytes, at, n);
        }
    }

    /// Marks a whole block free or in use in the cluster map and updates the summary (`clusteracct`). Does nothing
    /// without a cluster map, or if the block is already marked so.
    pub fn mark_cluster(&mut self, block: u32, free: bool) {
        let (l, most) = (self.layout, self.layout.contigsumsize);
        if block >= l.nclusterblks || map::get(self.view().clusters(), block) == free {
            return;
        }
        let clusters = part_mut(self.bytes, l.clusteroff, l.cluster_len());
        if free {
            map::set(clusters, block)
        } else {
            map::clear(clusters, block)
        }
        let clusters = self.view().clusters();
        let is_free = |b: &u32| map::get(clusters, *b);
        let after = (block.saturating_add(1)..l.nclusterblks).take(index(most)).take_while(is_free).count();
        let before = (0..block).rev().take(index(most)).take_while(is_free).count();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX).min(most);
        let (after, before) = (count(after), count(before));
        let joined = after.saturating_add(before).saturating_add(1).min(most);
        let mut change = |k: u32, up: bool| {
            let n = self.view().clustersum(k);
            self.set_clustersum(k, if up { n.saturating_add(1) } else { n.saturating_sub(1) });
        };
        change(joined, free);
        for part in [before, after].into_iter().filter(|&n| n > 0) {
            change(part, !free);
        }
    }

    /// Map of used inodes: 1 is used.
    #[inline]
    pub fn iused_mut(&mut self) -> &mut [u8] {
        part_mut(self.bytes, self.layout.iusedoff, self.layout.iused_len())
    }

    /// Map of free fragments: 1 is free.
    #[inline]
    pub fn free_mut(&mut self) -> &mut [u8] {
        part_mut(self.bytes, self.layout.freeoff, self.layout.free_len())
    }

    /// Zeroes the bytes between the maps ([`CgLayout::gaps`]).
    pub fn clear_gaps(&mut self) {
        for gap in self.layout.gaps() {
            let end = gap.end.min(self.bytes.len());
            self.bytes.get_mut(gap.start.min(end)..end).unwrap_or_default().fill(0);
        }
    }

    /// Map of free whole blocks, without updating the summary: [`CgMut::mark_cluster`] updates both.
    pub fn clusters_mut(&mut self) -> &mut [u8] {
        part_mut(self.bytes, self.layout.clusteroff, self.layout.cluster_len())
    }
}

fn enough(len: usize, l: &CgLayout) -> bool {
    let ends = [
        l.iusedoff.saturating_add(l.iused_len()),
        l.freeoff.saturating_add(l.free_len()),
        l.clusteroff.saturating_add(l.cluster_len()),
        l.clustersumoff.saturating_add(l.contigsumsize.saturating_add(1).saturating_mul(4)),
        168,
    ];
    ends.into_iter().all(|end| index(end) <= len)
}

fn clustersum_at(l: &CgLayout, k: u32) -> Option<usize> {
    let real = (1..=l.contigsumsize).contains(&k);
    real.then(|| index(l.clustersumoff.saturating_add(k.saturating_mul(4))))
}

/// `new` has checked that the map is within the bytes.
#[inline]
fn part(bytes: &[u8], from: u32, len: u32) -> &[u8] {
    bytes.get(index(from)..index(from.saturating_add(len))).unwrap_or_default()
}

#[inline]
fn part_mut(bytes: &mut [u8], from: u32, len: u32) -> &mut [u8] {
    bytes.get_mut(index(from)..index(from.saturating_add(len))).unwrap_or_default()
}
