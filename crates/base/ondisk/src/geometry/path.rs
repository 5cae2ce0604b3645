//! Maps the number of a block in a file to the pointers that lead to it, and defines the numbers of indirect blocks.
//!
//! An indirect block has a negative number, derived from the lowest block that it leads to: the negated number of that
//! block for an indirect block that points to data, less 1 for one that points to those, less 2 for the level above. So
//! a cache and a journal can identify any block of a file by inode and number.

use super::Geometry;
use crate::Lbn;

/// The pointer in the inode from which a block is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Root {
    /// `di_db` of this index.
    Direct(usize),
    /// `di_ib` of this index: 0 single, 1 double, 2 triple.
    Indirect(usize),
}

/// The path from an inode to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockPath {
    /// The pointer in the inode.
    pub root: Root,
    depth: usize,
    steps: [u32; 3],
    names: [Lbn; 3],
}

impl BlockPath {
    /// Indirect blocks on the path: 0 to 3.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Each indirect block on the path, from the inode on: its number, and the index of the pointer to follow in it.
    pub fn indirects(&self) -> impl DoubleEndedIterator<Item = (Lbn, u32)> + ExactSizeIterator + '_ {
        self.names.iter().copied().zip(self.steps.iter().copied()).take(self.depth)
    }
}

/// The tree of pointers of a file: it depends on nothing but the pointers of an indirect block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tree {
    /// Pointers in an indirect block.
    pub nindir: u32,
}

impl Tree {
    /// Blocks that one pointer leads to: 1 for a pointer to data, `nindir` for one to a single indirect block, and so
    /// on.
    pub fn span(&self, level: usize) -> u64 {
        let n = u64::from(self.nindir);
        (0..level).fold(1, |span, _| n.saturating_mul(span))
    }

    /// The path to block `lbn` of a file; `None` if no pointer reaches it.
    pub fn path(&self, lbn: Lbn) -> Option<BlockPath> {
        let lbn = u64::try_from(lbn.0).ok()?;
        let mut path = BlockPath { root: Root::Direct(0), depth: 0, steps: [0; 3], names: [Lbn(0); 3] };
        let Some(mut rest) = lbn.checked_sub(12) else {
            path.root = Root::Direct(usize::try_from(lbn).ok()?);
            return Some(path);
        };
        for level in 1..=3 {
            if rest >= self.span(level) {
                rest = rest.saturating_sub(self.span(level));
                continue;
            }
            let root = level.saturating_sub(1);
            (path.root, path.depth) = (Root::Indirect(root), level);
            let mut name = self.indirect_root(root);
            let places = path.steps.iter_mut().zip(path.names.iter_mut());
            for ((step, known_as), below) in places.zip((0..level).rev()) {
                let span = self.span(below);
                *known_as = name;
                *step = u32::try_from(rest.checked_div(span)?).ok()?;
                rest = rest.checked_rem(span)?;
                name = self.indirect_child(name, below, *step);
            }
            return Some(path);
        }
        None
    }

    /// The number of the indirect block that `di_ib[i]` points to.
    pub fn indirect_root(&self, i: usize) -> Lbn {
        let before = (1..=i).fold(12u64, |lowest, level| lowest.saturating_add(self.span(level)));
        let depth = i64::try_from(i).unwrap_or(0);
        Lbn(i64::try_from(before).unwrap_or(i64::MAX).saturating_neg().saturating_sub(depth))
    }

    /// The number of child `i` of indirect block `name`, whose pointers each lead to `span(below)` blocks. With `below`
    /// 0 the child is data, and its number positive.
    pub fn indirect_child(&self, name: Lbn, below: usize, i: u32) -> Lbn {
        if below == 0 {
            return Lbn(name.0.saturating_neg().saturating_add(i.into()));
        }
        let before = i64::try_from(self.span(below)).unwrap_or(i64::MAX).saturating_mul(i.into());
        Lbn(name.0.saturating_add(1).saturating_sub(before))
    }
}

impl Geometry {
    /// The tree of pointers of this volume's files.
    #[inline]
    pub fn tree(&self) -> Tree {
        Tree { nindir: self.nindir }
    }

    /// [`Tree::span`] of this volume.
    #[inline]
    pub fn span(&self, level: usize) -> u64 {
        self.tree().span(level)
    }

    /// [`Tree::path`] of this volume.
    #[inline]
    pub fn path(&self, lbn: Lbn) -> Option<BlockPath> {
        self.tree().path(lbn)
    }

    /// [`Tree::indirect_root`] of this volume.
    #[inline]
    pub fn indirect_root(&self, i: usize) -> Lbn {
        self.tree().indirect_root(i)
    }

    /// [`Tree::indirect_child`] of this volume.
    #[inline]
    pub fn indirect_child(&self, name: Lbn, below: usize, i: u32) -> Lbn {
        self.tree().indirect_child(name, below, i)
    }

    /// How many indirect blocks are between block `name` and data: 0 for a single indirect block, 1 for a double, 2 for
    /// a triple. `None` for a number that is not an indirect block's.
    pub fn indirect_level(name: Lbn) -> Option<usize> {
        if name.0 > -12 {
            return None;
        }
        match name.0 & 3 {
            0 => Some(0),
            3 => Some(1),
            2 => Some(2),
            _ => None,
        }
    }

    /// The number of block `k` of the attribute area: 0 or 1.
    pub fn extattr_lbn(k: usize) -> Lbn {
        Lbn(i64::try_from(k).unwrap_or(0).saturating_neg().saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::superblock::newfs::NewfsParams;

    /// A volume with 4096 pointers in an indirect block.
    fn geometry() -> Geometry {
        NewfsParams::new(Format::Ufs2, 64 << 20).superblock().unwrap().geometry()
    }

    fn way(lbn: i64) -> (Root, Vec<(i64, u32)>) {
        let path = geometry().path(Lbn(lbn)).unwrap();
        (path.root, path.indirects().map(|(name, step)| (name.0, step)).collect())
    }

    #[test]
    fn blocks_are_reached_through_the_right_pointers() {
        const N: i64 = 4096;
        assert_eq!(way(0), (Root::Direct(0), vec![]));
        assert_eq!(way(11), (Root::Direct(11), vec![]));
        assert_eq!(way(12), (Root::Indirect(0), vec![(-12, 0)]));
        assert_eq!(way(12 + N - 1), (Root::Indirect(0), vec![(-12, 4095)]));
        assert_eq!(way(12 + N), (Root::Indirect(1), vec![(-4109, 0), (-4108, 0)]));
        assert_eq!(way(12 + 2 * N + 5), (Root::Indirect(1), vec![(-4109, 1), (-8204, 5)]));
        let triple = 12 + N + N * N;
        assert_eq!(way(triple), (Root::Indirect(2), vec![(-16_781_326, 0), (-16_781_325, 0), (-16_781_324, 0)]));
        let last = triple + N * N * N - 1;
        let (root, steps) = way(last);
        assert_eq!((root, steps.iter().map(|s| s.1).collect::<Vec<_>>()), (Root::Indirect(2), vec![4095; 3]));
        assert_eq!(geometry().path(Lbn(last + 1)), None);
        assert_eq!(geometry().path(Lbn(-1)), None);
        assert_eq!(geometry().path(Lbn(i64::MAX)), None);
    }

    #[test]
    fn names_of_indirect_blocks_tell_their_level_and_their_children() {
        let g = geometry();
        for lbn in [12, 5000, 4108 + 4096 * 7, 17_000_000, 900_000_000] {
            let path = g.path(Lbn(lbn)).unwrap();
            let names: Vec<_> = path.indirects().collect();
            for (below, (name, step)) in names.iter().rev().enumerate() {
                assert_eq!(Geometry::indirect_level(*name), Some(below));
                let child = g.indirect_child(*name, below, *step);
                let right = names.len().checked_sub(below).and_then(|i| names.get(i)).map_or(Lbn(lbn), |n| n.0);
                assert_eq!(child, right);
            }
        }
        let levels = [-1, -2, -11, -15, 0, 12].map(|n| Geometry::indirect_level(Lbn(n)));
        assert_eq!(levels, [None; 6]);
        assert_eq!((Geometry::extattr_lbn(0), Geometry::extattr_lbn(1)), (Lbn(-1), Lbn(-2)));
    }

    #[test]
    fn largest_file_ends_with_the_last_block_that_a_pointer_reaches() {
        let g = geometry();
        let last = g.lblkno(g.maxfilesize);
        assert!(g.path(Lbn(i64::try_from(last).unwrap() - 1)).is_some());
        assert!(g.path(Lbn(i64::try_from(last).unwrap() + 1)).is_none());
    }
}
