//! The group of a new directory, so that its files find room beside it (`ffs_dirpref`).
//!
//! There are two policies; the system that made the volume decides. Since 2001 a directory stays near its parent as
//! long as there is room for its files, and only directories in the root are spread at random. Since 2023 FreeBSD keeps
//! each directory's depth in its inode, and places the children of one directory at 1/2, 1/4, 3/4, 1/8, ... of a range
//! of groups around it that halves with every level: siblings lie far apart and families together. What all systems did
//! before 2001 (McKusick and others, *A Fast File System for UNIX*, 1984, section 3.3) is [`Spread::Evenly`].

use crate::Ffs;
use ordo_buf::Spread;
use ordo_ondisk::{Cgx, Dialect, Ino};
use ordo_ufs::Inode;

/// What a group must offer for a new directory.
struct Wants {
    maxndir: i64,
    minifree: i64,
    minbfree: i64,
    maxcontigdirs: i64,
}

impl Ffs {
    /// The volume's directories record their depth.
    pub(crate) fn has_depths(&self) -> bool {
        self.g.dialect == Dialect::FreeBsd && self.g.inode_hash
    }

    /// The group for a new directory in `parent`.
    pub(crate) fn dirpref(&self, parent: &Inode) -> Cgx {
        let total = self.summary.total();
        let (ncg, ipg) = (i64::from(self.g.ncg), i64::from(self.g.ipg));
        let (avgifree, avgbfree, avgndir) = (total.nifree / ncg, total.nbfree / ncg, total.ndir / ncg);
        if self.cache.policy().spread == Spread::Evenly {
            return self.emptiest_group(avgifree, 0);
        }
        let (start, maxndir) = if self.has_depths() {
            let depth = parent.dinode().freelink;
            let more = 1i64.checked_shl(depth).filter(|_| depth < 32).unwrap_or(ipg);
            (self.family_group(parent, depth), (avgndir + more).min(ipg))
        } else if parent.ino() == Ino::ROOT {
            return self.emptiest_group(avgifree, avgbfree);
        } else {
            (self.g.ino_to_cg(parent.ino()), (avgndir + ipg / 16).min(ipg))
        };
        let wants = Wants {
            maxndir,
            minifree: (avgifree - avgifree / 4).max(1),
            minbfree: (avgbfree - avgbfree / 4).max(1),
            maxcontigdirs: self.maxcontigdirs(avgbfree, avgndir),
        };
        let good = |c: &Cgx| self.offers(*c, &wants);
        let roomy = |c: &Cgx| i64::from(self.summary.cs(*c).nifree) >= avgifree;
        self.round(start).find(good).or_else(|| self.round(start).find(roomy)).unwrap_or(start)
    }

    fn round(&self, start: Cgx) -> impl Iterator<Item = Cgx> + use<> {
        (start.0..self.g.ncg).chain(0..start.0).map(Cgx)
    }

    fn offers(&self, c: Cgx, wants: &Wants) -> bool {
        let cs = self.summary.cs(c);
        i64::from(cs.ndir) < wants.maxndir
            && i64::from(cs.nifree) >= wants.minifree
            && i64::from(cs.nbfree) >= wants.minbfree
            && i64::from(self.summary.contigdirs(c)) < wants.maxcontigdirs
            && !self.summary.is_bad(c)
    }

    /// How many directories may be placed in a group one after the other, so that the expected files of each fit.
    fn maxcontigdirs(&self, avgbfree: i64, avgndir: i64) -> i64 {
        let g = &self.g;
        let cgbytes = i64::from(g.fsize) * i64::from(g.fpg);
        let free = avgbfree * i64::from(g.bsize);
        let expected = i64::from(g.avgfilesize).saturating_mul(g.avgfpdir.into());
        let observed = if avgndir > 0 { (cgbytes - free) / avgndir } else { 0 };
        let dirsize = expected.max(observed);
        let fit = if dirsize > 0 { (free / dirsize).min(255) } else { 0 };
        fit.min(i64::from(g.ipg / g.avgfpdir.max(1))).max(1)
    }

    /// A group with at least so many free inodes and blocks and the fewest directories; the search starts at a random
    /// group if random choices are allowed.
    fn emptiest_group(&self, minifree: i64, minbfree: i64) -> Cgx {
        let start = match self.cache.policy().spread {
            Spread::OfVolume => Cgx(self.rng.borrow_mut().below(self.g.ncg.into()) as u32),
            Spread::Evenly => Cgx(0),
        };
        let roomy = |c: &Cgx| {
            let cs = self.summary.cs(*c);
            i64::from(cs.nifree) >= minifree && i64::from(cs.nbfree) >= minbfree && !self.summary.is_bad(*c)
        };
        self.round(start).filter(roomy).min_by_key(|c| self.summary.cs(*c).ndir).unwrap_or(start)
    }

    /// The group that the policy of 2023 gives the next child of `parent`.
    fn family_group(&self, parent: &Inode, depth: u32) -> Cgx {
        let here = self.g.ino_to_cg(parent.ino());
        if depth == 0 && parent.ino() != Ino::ROOT {
            // A directory made by an older system: its depth is not known.
            return here;
        }
        let children = parent.links_seen().saturating_sub(1).max(1);
        Cgx(family_offset(here.0, self.g.ncg, depth, children))
    }
}

/// The group of child number `nth` (from 1) of a directory at `depth` in group `here`, of `ncg`.
fn family_offset(here: u32, ncg: u32, depth: u32, nth: u32) -> u32 {
    let range = i64::from(ncg.checked_shr(depth).unwrap_or(0));
    let power = nth.ilog2() + 1;
    let rest = i64::from(nth) - (1i64 << (power - 1));
    let (numerator, denominator) = (2 * rest + 1, 1i64 << power);
    let wanted = i64::from(here) - range / 2 + range * numerator / denominator;
    wanted.rem_euclid(i64::from(ncg)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::testing::Bench;
    use ordo_buf::Policy;
    use ordo_vfs::Kind;

    #[test]
    fn children_halve_the_range_around_their_parent() {
        let of = |nth| family_offset(0, 64, 0, nth);
        assert_eq!([of(1), of(2), of(3), of(4), of(5)], [0, 48, 16, 40, 56]);
        assert_eq!(family_offset(48, 64, 1, 2), 40);
        assert_eq!(family_offset(48, 64, 40, 7), 48);
    }

    #[test]
    fn a_full_group_is_passed_over() {
        let bench = Bench::ufs2();
        let ffs = &bench.ffs;
        let root = bench.load(Ino::ROOT);
        let first = ffs.dirpref(&root);
        let cs = ffs.summary.cs(first);
        ffs.summary.set(first, ordo_ondisk::Csum { nifree: 0, ..cs });
        let next = ffs.dirpref(&root);
        assert_ne!(first, next);
        assert!(ffs.summary.cs(next).nifree > 0);
    }

    #[test]
    fn directories_of_the_root_spread_over_roomy_groups_on_an_older_volume() {
        let bench = Bench::ufs1();
        assert!(!bench.ffs.has_depths());
        let root = bench.load(Ino::ROOT);
        let total = bench.ffs.summary.total();
        let ncg = i64::from(bench.ffs.g.ncg);
        let roomy: Vec<u32> = (0..bench.ffs.g.ncg)
            .filter(|&c| {
                let cs = bench.ffs.summary.cs(Cgx(c));
                i64::from(cs.nifree) >= total.nifree / ncg && i64::from(cs.nbfree) >= total.nbfree / ncg
            })
            .collect();
        assert!(roomy.len() > 1);
        let mut seen: Vec<u32> = Vec::new();
        for _ in &roomy {
            let c = bench.ffs.dirpref(&root);
            let cs = bench.ffs.summary.cs(c);
            bench.ffs.summary.set(c, ordo_ondisk::Csum { ndir: cs.ndir + 10, ..cs });
            seen.push(c.0);
        }
        seen.sort_unstable();
        assert_eq!(seen, roomy);
    }

    #[test]
    fn every_directory_is_spread_where_all_are_to_be_spread_evenly() {
        let places = |spread| {
            let bench = Bench::ufs1_with(Policy { spread, ..Policy::default() });
            let parent = bench.create(Kind::Directory);
            let take = |_| {
                let c = bench.ffs.dirpref(&parent);
                let cs = bench.ffs.summary.cs(c);
                bench.ffs.summary.set(c, ordo_ondisk::Csum { ndir: cs.ndir + 1, ..cs });
                c
            };
            let ncg = bench.ffs.g.ncg;
            (bench.ffs.g.ino_to_cg(parent.ino()), ncg, (1..ncg).map(take).collect::<Vec<_>>())
        };
        let (parents, ncg, even) = places(Spread::Evenly);
        // Those without a directory, then the parent's; the root's has fewer free inodes than the average.
        let without = (1..ncg).map(Cgx).filter(|c| *c != parents);
        assert_eq!(even, without.chain([parents]).collect::<Vec<_>>());
        let (_, _, together) = places(Spread::OfVolume);
        assert!(together.iter().all(|c| Some(c) == together.first()), "{together:?}");
    }
}
