//! Numbers of indirect blocks. LFS numbers them like the rest of BSD: the negated number of the first block that one
//! leads to, less 1 for a double and less 2 for a triple indirect block. [`crate::Tree`] computes the way down; this is
//! the way up, which the cleaner needs.

use crate::{Lbn, NDADDR, Tree, num};

impl Tree {
    /// How many indirect blocks are between block `lbn` and data: 0, 1 or 2. `None` for the number of a data block, and
    /// for one that no indirect block of such a tree has.
    pub fn level(self, lbn: Lbn) -> Option<usize> {
        let direct = num::signed64(num::len64(NDADDR));
        let below = lbn.0.checked_neg()?.checked_sub(direct)?;
        let level = usize::try_from(below.checked_rem_euclid(self.nindir.into())?).ok()?;
        let first = u64::try_from(lbn.0.checked_neg()?).ok()?.checked_sub(num::len64(level))?;
        // The block must be on the path to the first block that it claims to lead to.
        let path = self.path(Lbn(i64::try_from(first).ok()?))?;
        path.indirects().any(|(name, _)| name == lbn).then_some(level)
    }

    /// The block that points to `lbn`, a data or an indirect block, and the index of the pointer in it; `None` if the
    /// inode does, or if there is no such block.
    pub fn parent(self, lbn: Lbn) -> Option<(Lbn, u32)> {
        if lbn.0 >= 0 {
            return self.path(lbn)?.indirects().next_back();
        }
        let first = lbn.0.checked_neg()?.checked_sub(i64::try_from(self.level(lbn)?).ok()?)?;
        let path = self.path(Lbn(first))?;
        path.indirects().take_while(|(name, _)| *name != lbn).last()
    }

    /// The index in `di_ib` by which an indirect block is reached; `None` if an indirect block points to it.
    pub fn root_of(self, lbn: Lbn) -> Option<usize> {
        (0..crate::NIADDR).find(|&i| self.indirect_root(i) == lbn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indirect_blocks_have_the_numbers_of_the_format() {
        let vectors = [
            (256, -269, -268, -524, -65806),
            (512, -525, -524, -1036, -262_670),
            (1024, -1037, -1036, -2060, -1_049_614),
            (2048, -2061, -2060, -4108, -4_196_366),
        ];
        for (nindir, double, first, second, triple) in vectors {
            let tree = Tree { nindir };
            assert_eq!([0, 1, 2].map(|i| tree.indirect_root(i)), [Lbn(-12), Lbn(double), Lbn(triple)]);
            assert_eq!(tree.indirect_child(Lbn(double), 1, 0), Lbn(first));
            assert_eq!(tree.indirect_child(Lbn(double), 1, 1), Lbn(second));
            let levels = [-12, first, second, double, triple].map(|n| tree.level(Lbn(n)));
            assert_eq!(levels, [Some(0), Some(0), Some(0), Some(1), Some(2)]);
            assert_eq!(tree.parent(Lbn(second)), Some((Lbn(double), 1)));
            assert_eq!(tree.parent(Lbn(first)), Some((Lbn(double), 0)));
            assert_eq!([-12, double, triple].map(|n| tree.parent(Lbn(n))), [None; 3]);
            assert_eq!([-12, double, triple, first].map(|n| tree.root_of(Lbn(n))), [Some(0), Some(1), Some(2), None]);
            assert_eq!(tree.parent(Lbn(triple + 1)), Some((Lbn(triple), 0)));
        }
    }

    #[test]
    fn way_up_is_the_way_down_reversed() {
        let tree = Tree { nindir: 256 };
        for lbn in [12, 267, 268, 524, 65803, 65804, 70000, 1_000_000, 16_843_019] {
            let down: Vec<_> = tree.path(Lbn(lbn)).unwrap().indirects().collect();
            let mut at = Lbn(lbn);
            for expected in down.iter().rev() {
                let up = tree.parent(at).unwrap();
                assert_eq!(up, *expected, "above {at:?}");
                at = up.0;
            }
            assert_eq!(tree.parent(at), None);
        }
        assert_eq!(tree.parent(Lbn(5)), None);
    }

    #[test]
    fn numbers_of_no_block_are_refused() {
        let tree = Tree { nindir: 256 };
        for lbn in [i64::MIN, -1, -2, -11, -13, -14, -267, -270, -65807, 0, 12, i64::MAX, -20_000_000] {
            assert_eq!(tree.level(Lbn(lbn)), None, "{lbn}");
        }
        assert_eq!(Tree { nindir: 0 }.level(Lbn(-12)), None);
    }
}
