//! From the number of a block in a file to the pointers that lead there, and the numbers by which indirect blocks are
//! known.
//!
//! An indirect block has a negative number, made from the lowest block that it leads to: that negated for one that
//! points to data, less 1 for one that points to those, less 2 above that. So a cache and a journal can name any block
//! of a file by inode and number.

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

/// The way from an inode to a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct BlockPath {
    /// The pointer in the inode.
    pub root: Root,
    depth: usize,
    steps: [u32; 3],
    names: [Lbn; 3],
}

impl BlockPath {
    /// Indirect blocks on the way: 0 to 3.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Each indirect block on the way, from the inode on: its number, and the index of the pointer to follow in it.
    pub fn indirects(&self) -> impl DoubleEndedIterator<Item = (Lbn, u32)> + ExactSizeIterator + '_ {
        self.names.iter().copied().zip(self.steps.iter().copied()).take(self.depth)
    }
}

impl Geometry {
    /// Blocks that one pointer leads to: 1 for one to data, `nindir` for one to a single indirect block, and so on.
    pub fn span(&self, level: usize) -> u64 {
        let n = u64::from(self.nindir);
        (0..level).fold(1, |span, _| n.saturating_mul(span))
    }

    /// The way to block `lbn` of a file; `None` for one that no pointer reaches.
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

    /// The number of child `i` of indirect block `name`, whose pointers each lead to `span(below)` blocks. For `below`
    /// of 0 the child is data, and its number positive.
    pub fn indirect_child(&self, name: Lbn, below: usize, i: u32) -> Lbn {
        if below == 0 {
            return Lbn(name.0.saturating_neg().saturating_add(i.into()));
        }
        let before = i64::try_from(self.span(below)).unwrap_or(i64::MAX).saturating_mul(i.into());
        Lbn(name.0.saturating_add(1).saturating_sub(before))
    }

    /// How many indirect blocks lie between block `name` and data: 0 for a single indirect block, 1 for a double, 2 for
    /// a triple. `None` for a number that no indirect block has.
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
