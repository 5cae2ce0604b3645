//! The changed bytes of a line, and the order in which they may be written.

use ordo_disk::Kind;
use std::ops::Range;

/// The kinds of changes, in the order in which they are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Order {
    /// A block of inodes that its group does not count yet.
    InodeBlocks,
    /// Cylinder groups, and the summaries of all.
    Groups,
    /// New contents to which no pointer on the disk leads yet.
    Fresh,
    /// Directories and indirect blocks.
    Contents,
    /// Inodes. An inode that gains a name is also written before [`Order::Contents`], without its other changes.
    Inodes,
    /// The superblock.
    Superblock,
}

impl Order {
    pub(crate) fn kind(self) -> Kind {
        match self {
            Order::Groups => Kind::Maps,
            Order::Fresh | Order::Contents => Kind::Directory,
            Order::InodeBlocks | Order::Inodes => Kind::Inodes,
            Order::Superblock => Kind::Superblock,
        }
    }
}

/// The changed ranges of a line, each with its order. Ranges of one order do not touch; ranges of different orders may
/// overlap, and the common bytes are then written with each.
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

    /// The ranges of an order that must be written, in units of `unit` bytes: they do not touch, and are sorted.
    pub(crate) fn runs(&self, order: Order, unit: usize) -> Vec<Range<usize>> {
        let own = self.0.iter().filter(|(known, _)| *known == order);
        let mut ranges: Vec<Range<usize>> =
            own.map(|(_, range)| range.start / unit * unit..range.end.next_multiple_of(unit)).collect();
        ranges.sort_unstable_by_key(|range| range.start);
        let mut runs: Vec<Range<usize>> = Vec::new();
        for range in ranges {
            match runs.last_mut() {
                Some(run) if range.start <= run.end => run.end = run.end.max(range.end),
                _ => runs.push(range),
            }
        }
        runs
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
        assert_eq!(dirty.runs(Order::Fresh, 512), [512..1024, 1536..2560]);
        assert_eq!(dirty.runs(Order::Contents, 512).first(), Some(&(1024..1536)));
        dirty.drop_order(Order::Fresh);
        assert!(!dirty.has(Order::Fresh) && dirty.has(Order::Contents) && !dirty.is_empty());
    }

    #[test]
    fn what_lies_in_one_sector_or_in_two_that_touch_is_written_once() {
        let mut dirty = Dirty::default();
        for range in [1040..1044, 10..14, 100..104, 1000..1010, 2048..2049, 1700..1704] {
            dirty.add(Order::Contents, range);
        }
        assert!(matches!(&dirty.runs(Order::Contents, 512)[..], [run] if *run == (0..2560)));
        assert_eq!(dirty.runs(Order::Contents, 128), [0..128, 896..1152, 1664..1792, 2048..2176]);
    }
}
