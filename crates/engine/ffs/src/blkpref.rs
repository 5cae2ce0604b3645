//! The preferred place of the next block of a file (`ffs_blkpref`).
//!
//! The blocks of a file are contiguous. After `maxbpg` blocks, and at the start of each later indirect block, the file
//! moves to a group with more free blocks than the average, so that one file cannot fill the group of its directory and
//! the small files in it (McKusick and others 1984, section 3.3). Directories and indirect blocks go to the zone at the
//! start of a group's data that newer volumes reserve for them, so that a check reads fewer tracks.
//!
//! A policy may have it move to a group with room already behind the twelve direct blocks, with the indirect block
//! ([`ordo_buf::Policy::far_behind_direct`]).

use crate::Ffs;
use ordo_ondisk::{Cgx, FragNo, Ino};

/// The pointers beside the one to be set, by index: those of the inode, or of one indirect block.
pub(crate) type Pointers<'a> = &'a dyn Fn(u32) -> FragNo;

/// The block to be placed.
pub(crate) struct ToPlace<'a> {
    pub(crate) ino: Ino,
    pub(crate) directory: bool,
    /// Block of the file.
    pub(crate) lbn: u64,
    /// Index of its pointer among `pointers`.
    pub(crate) index: u32,
    pub(crate) pointers: Pointers<'a>,
    /// The first single indirect block of the file.
    pub(crate) first_indirect: FragNo,
}

impl Ffs {
    /// For a data block.
    pub(crate) fn blkpref(&self, place: &ToPlace<'_>) -> FragNo {
        let g = &self.g;
        let home = g.ino_to_cg(place.ino);
        let behind_indirect = place.first_indirect.plus(g.frag);
        if place.lbn == 12
            && !self.cache.policy().far_behind_direct
            && place.first_indirect >= g.cgdata(home)
            && g.dtog(place.first_indirect) == home
        {
            return behind_indirect;
        }
        let before = match place.index.checked_sub(1) {
            Some(i) => (place.pointers)(i),
            None => FragNo::HOLE,
        };
        if !before.is_hole() && !place.index.is_multiple_of(g.maxbpg) {
            return self.next_block(place, before);
        }
        if place.directory {
            return g.cgdmin(home);
        }
        if place.lbn < if self.cache.policy().far_behind_direct { 12 } else { 12 + u64::from(g.nindir) } {
            return g.cgdata(home);
        }
        let first = if before.is_hole() {
            let sections = place.lbn / u64::from(g.maxbpg);
            ((u64::from(home.0) + sections) % u64::from(g.ncg)) as u32
        } else {
            g.dtog(before).0 + 1
        };
        self.spacious_group(first)
    }

    /// For an indirect block on the way to block `lbn`.
    pub(crate) fn indirect_pref(&self, ino: Ino, lbn: u64, last_direct: FragNo) -> FragNo {
        if self.cache.policy().far_behind_direct {
            let home = u64::from(self.g.ino_to_cg(ino).0);
            return self.spacious_group(((home + lbn / u64::from(self.g.maxbpg)) % u64::from(self.g.ncg)) as u32);
        }
        if lbn < 12 + u64::from(self.g.nindir) && !last_direct.is_hole() {
            return last_direct.plus(self.g.frag);
        }
        self.g.cgdmin(self.g.ino_to_cg(ino))
    }

    /// Directly behind the block before. On a volume made for a disk that needs a pause between transfers, after every
    /// `maxcontig` blocks as much further as passes under the head during the pause.
    fn next_block(&self, place: &ToPlace<'_>, before: FragNo) -> FragNo {
        let g = &self.g;
        let next = before.plus(g.frag);
        if g.rotdelay == 0 || g.nspf == 0 {
            return next;
        }
        let run_from = place.index.checked_sub(g.maxcontig).map(place.pointers);
        if run_from.is_none_or(|at| at.plus(g.maxcontig.saturating_mul(g.frag)) != next) {
            return next;
        }
        let sectors = u64::from(g.rotdelay) * u64::from(g.rps) * u64::from(g.nsect) / (u64::from(g.nspf) * 1000);
        next.plus(sectors.next_multiple_of(g.frag.into()).min(g.fpg.into()) as u32)
    }

    /// The data zone of the first group, from `first` on and round, with at least the average number of free blocks.
    fn spacious_group(&self, first: u32) -> FragNo {
        let (first, ncg) = (first % self.g.ncg, self.g.ncg);
        let average = self.summary.total().nbfree / i64::from(ncg);
        let has_average = |c: &u32| i64::from(self.summary.cs(Cgx(*c)).nbfree) >= average;
        match (first..ncg).chain(0..first).find(has_average) {
            Some(c) => {
                self.memory.cgrotor.set(Cgx(c));
                self.g.cgdata(Cgx(c))
            }
            None => FragNo::HOLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::Bench;
    use ordo_buf::Policy;

    fn place<'a>(lbn: u64, index: u32, pointers: Pointers<'a>) -> ToPlace<'a> {
        ToPlace { ino: Ino(5), directory: false, lbn, index, pointers, first_indirect: FragNo::HOLE }
    }

    #[test]
    fn a_block_follows_the_one_before_and_the_first_goes_behind_the_metadata_zone() {
        let mut bench = Bench::ufs2();
        bench.geometry_mut().maxbpg = 100;
        let (ffs, g) = (&bench.ffs, &*bench.ffs.g);
        let home = Cgx(0);
        let none = |_| FragNo::HOLE;
        assert_eq!(ffs.blkpref(&place(0, 0, &none)), g.cgdata(home));
        assert_eq!(ffs.blkpref(&ToPlace { directory: true, ..place(0, 0, &none) }), g.cgdmin(home));
        let before = |i| FragNo(800 + u64::from(i) * 8);
        assert_eq!(ffs.blkpref(&place(4, 4, &before)), FragNo(832));
        // A section ends after maxbpg blocks, although the block before exists.
        assert_eq!(ffs.blkpref(&place(112, 100, &before)), g.cgdata(home));
    }

    #[test]
    fn the_first_indirect_block_lies_between_what_is_before_and_behind_it() {
        let bench = Bench::ufs2();
        let (ffs, g) = (&bench.ffs, &*bench.ffs.g);
        assert_eq!(ffs.indirect_pref(Ino(5), 12, FragNo(900)), FragNo(900 + u64::from(g.frag)));
        let far = 12 + u64::from(g.nindir);
        assert_eq!(ffs.indirect_pref(Ino(5), far, FragNo(900)), g.cgdmin(Cgx(0)));
        let none = |_| FragNo::HOLE;
        let at = g.cgdata(Cgx(0)).plus(16);
        assert_eq!(ffs.blkpref(&ToPlace { first_indirect: at, ..place(12, 0, &none) }), at.plus(g.frag));
    }

    #[test]
    fn a_later_section_goes_to_a_group_with_room() {
        let bench = Bench::ufs2();
        let (ffs, g) = (&bench.ffs, &*bench.ffs.g);
        let far = 12 + u64::from(g.nindir);
        let none = |_| FragNo::HOLE;
        let pref = ffs.blkpref(&place(far, 0, &none));
        let c = g.dtog(pref);
        assert_eq!(pref, g.cgdata(c));
        assert!(i64::from(ffs.summary.cs(c).nbfree) >= ffs.summary.total().nbfree / i64::from(g.ncg));
        assert_eq!(ffs.memory.cgrotor.get(), c);
    }

    #[test]
    fn a_file_leaves_its_group_behind_the_direct_blocks_where_the_policy_says_so() {
        let far = |far_behind_direct| Bench::ufs2_with(Policy { far_behind_direct, ..Policy::default() });
        let (near, bench) = (far(false), far(true));
        let none = |_| FragNo::HOLE;
        let groups = |ffs: &crate::Ffs| {
            let g = &ffs.g;
            [ffs.blkpref(&place(12, 0, &none)), ffs.indirect_pref(Ino(5), 12, g.cgdata(Cgx(0)))].map(|at| g.dtog(at))
        };
        assert_eq!(groups(&near.ffs), [Cgx(0); 2]);
        // The first group holds the root, so it has less room than the average.
        assert_eq!(groups(&bench.ffs), [Cgx(1); 2]);
        assert_eq!(bench.ffs.blkpref(&place(0, 0, &none)), bench.ffs.g.cgdata(Cgx(0)));
    }

    #[test]
    fn an_old_disk_gets_its_pause_after_maxcontig_blocks() {
        let mut bench = Bench::ufs2();
        {
            let g = bench.geometry_mut();
            (g.rotdelay, g.rps, g.nsect, g.nspf, g.maxcontig) = (4, 60, 32, 2, 2);
        }
        let (ffs, g) = (&bench.ffs, &*bench.ffs.g);
        let frag = g.frag;
        let row = move |i: u32| FragNo(800).plus(i * frag);
        // 4 ms of 60 * 32 sectors a second are 7 sectors, 3 fragments: one block.
        assert_eq!(ffs.blkpref(&place(2, 2, &row)), row(3));
        let broken = move |i: u32| FragNo(800).plus(i * 2 * frag);
        assert_eq!(ffs.blkpref(&place(2, 2, &broken)), broken(1).plus(frag));
    }
}
