//! Which bytes of a line were changed, and when they may be written.

use disk::Kind;
use std::ops::Range;

/// What a change belongs to, in the order in which changes are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    /// A block of inodes that its group does not count yet.
    InodeBlocks,
    /// Cylinder groups, and the summaries of all.
    Groups,
    /// Contents at a place to which nothing on the disk points yet.
    Fresh,
    /// Directories and indirect blocks.
    Contents,
    /// Inodes. Those that get a name more are also written before [`Order::Contents`], with nothing else changed.
    Inodes,
    Superblock,
}

impl Order {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Order::Groups => Kind::CylinderGroup,
            Order::Fresh | Order::Contents => Kind::Directory,
            Order::InodeBlocks | Order::Inodes => Kind::InodeBlock,
            Order::Superblock => Kind::Superblock,
        }
    }
}

/// The changed ranges of a line, each with its order. Ranges of one order do not touch; those of different orders may
/// overlap, and a byte is then written with each.
#[derive(Default)]
pub(crate) struct Dirty(Vec<(Order, Range<usize>)>);

impl Dirty {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn has(&self, order: Order) -> bool {
        self.0.iter().any(|(known, _)| *known == order)
    }

    pub(crate) fn add(&mut self, order: Order, mut range: Range<usize>) {
        self.0.retain(|(known, old)| {
            let touch = *known == order && old.start <= range.end && range.start <= old.end;
            if touch {
                range = old.start.min(range.start)..old.end.max(range.end);
            }
            !touch
        });
        self.0.push((order, range));
    }

    /// The ranges of an order, in the order of their places.
    pub(crate) fn ranges(&self, order: Order) -> Vec<Range<usize>> {
        let own = self.0.iter().filter(|(known, _)| *known == order);
        let mut ranges: Vec<Range<usize>> = own.map(|(_, range)| range.clone()).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    pub(crate) fn drop_order(&mut self, order: Order) {
        self.0.retain(|(known, _)| *known != order);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_one_order_grow_together_and_those_of_others_stay_apart() {
        let mut dirty = Dirty::default();
        for (order, range) in [
            (Order::Fresh, 512..1024),
            (Order::Contents, 1024..1536),
            (Order::Fresh, 2048..2560),
            (Order::Fresh, 1536..1600),
            (Order::Fresh, 1600..2048),
        ] {
            dirty.add(order, range);
        }
        assert_eq!(dirty.ranges(Order::Fresh), [512..1024, 1536..2560]);
        assert_eq!(dirty.ranges(Order::Contents).first(), Some(&(1024..1536)));
        dirty.drop_order(Order::Fresh);
        assert!(!dirty.has(Order::Fresh) && dirty.has(Order::Contents) && !dirty.is_empty());
    }
}
