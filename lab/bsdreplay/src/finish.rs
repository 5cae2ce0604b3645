//! What is written, and in which order.
//!
//! W1. Groups, directories and indirect blocks and tails of files, inodes, the array of sums, the superblock.
//! W2. Counts of free fragments, their runs and clusters are renewed from the map, in changed groups only. Counts of
//!     inodes and directories change by one for each inode that was freed. The other groups, and their sums in the
//!     array, stay as they are.
//! W3. The superblock gets the totals of the array, the mark that the volume is clean, a new time, which ends the
//!     journal, and no nameless inodes.

use crate::outcome::{Done, Why, Write};
use crate::replay::Replay;
use crate::volume::Order;
use ordo_ondisk::cg::{self, CgMut};
use ordo_ondisk::{Cgx, Csum, CsumTotal, csum};

impl Replay {
    pub(crate) fn finish(&mut self, now: i64) -> Done<Vec<Write>> {
        let volume = &mut self.volume;
        let geo = volume.geo.clone();
        let sums_at = geo.byte(geo.csaddr).0;
        let mut sums = volume.read(sums_at, geo.cssize as usize)?;
        let mut groups = std::mem::take(&mut volume.groups);
        for (c, group) in groups.iter_mut().filter(|(_, group)| group.changed) {
            let lost = || Why::Other(format!("group {c} is too short"));
            let mut cg = CgMut::new(&mut group.bytes, group.layout, geo.endian).ok_or_else(lost)?;
            let stated = cg.view().cs();
            let right = cg.view().recount(stated.ndir);
            let cs = Csum { nifree: stated.nifree, ..right.cs };
            cg.set_cs(cs);
            for (k, &n) in (0u32..).zip(&right.frsum) {
                cg.set_frsum(k, n);
            }
            for (k, &n) in (0u32..).zip(&right.clustersum) {
                cg.set_clustersum(k, n);
            }
            cg.clusters_mut().copy_from_slice(&right.clusters);
            cg::rehash(&mut group.bytes, &geo).ok_or_else(lost)?;
            csum::put(&mut sums, Cgx(*c), cs, geo.endian).ok_or_else(lost)?;
            volume.write(geo.byte(geo.cgtod(Cgx(*c))).0, &group.bytes, Order::Groups);
        }
        volume.write(sums_at, &sums, Order::Sums);
        let all = (0..geo.ncg).filter_map(|c| csum::get(&sums, Cgx(c), geo.endian));
        volume.sb.set_totals(all.fold(CsumTotal::default(), CsumTotal::plus));
        let f = &mut volume.sb.fields;
        (f.pendingblocks, f.pendinginodes, f.sujfree, f.clean, f.mtime) = (0, 0, 0, 1, now);
        let (at, bytes) = (volume.sb.at.0, volume.sb.encode(now));
        volume.write(at, &bytes, Order::Superblock);
        let places = std::mem::take(&mut volume.changed);
        places.into_iter().map(|(_, at, len)| Ok(Write { at, bytes: volume.read(at, len)? })).collect()
    }
}
