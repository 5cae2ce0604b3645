//! Where segments are placed: round and round in the extents of the log's file.
//!
//! O1. A segment lies within one extent. The rest of an extent that is too short is skipped, and counts as used.
//! O2. The bytes in use are one stretch behind the next place. It includes what was there before [`Ring::turn`], until
//!     [`Ring::forget`] says that this is not needed any more.

use ordo_disk::DiskOff;

/// The places of a log.
pub(super) struct Ring {
    extents: Vec<(DiskOff, u64)>,
    /// The extent with the next place, and the bytes before it.
    extent: usize,
    offset: u64,
    /// Bytes that are valid, and bytes that were valid before the turn.
    used: u64,
    before: u64,
    capacity: u64,
}

impl Ring {
    pub(super) fn new(extents: Vec<(DiskOff, u64)>) -> Ring {
        let capacity = extents.iter().map(|(_, len)| len).sum();
        Ring { extents, extent: 0, offset: 0, used: 0, before: 0, capacity }
    }

    /// The next place of `len` bytes, if `spare` bytes stay free beyond it.
    pub(super) fn place(&mut self, len: u64, spare: u64) -> Option<DiskOff> {
        let (mut extent, mut offset, mut used) = (self.extent, self.offset, self.used);
        for _ in 0..=self.extents.len() {
            let (at, size) = *self.extents.get(extent)?;
            if size - offset >= len {
                used += len;
                if self.before + used + spare > self.capacity {
                    return None;
                }
                (self.extent, self.offset, self.used) = (extent, offset + len, used);
                return Some(DiskOff(at.0 + offset));
            }
            used += size - offset;
            (extent, offset) = ((extent + 1) % self.extents.len(), 0);
        }
        None
    }

    /// Marks what is in use now as soon unneeded.
    pub(super) fn turn(&mut self) {
        (self.before, self.used) = (self.before + self.used, 0);
    }

    /// Only the last `len` bytes are needed.
    pub(super) fn keep_last(&mut self, len: u64) {
        (self.before, self.used) = (len, 0);
    }

    /// Frees what was in use before the turn.
    pub(super) fn forget(&mut self) {
        self.before = 0;
    }

    /// More than two thirds are in use.
    pub(super) fn is_full(&self) -> bool {
        (self.before + self.used) * 3 > self.capacity * 2
    }

    /// Bytes in use.
    pub(super) fn used(&self) -> u64 {
        self.before + self.used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ring() -> Ring {
        Ring::new(vec![(DiskOff(1000), 30), (DiskOff(5000), 40)])
    }

    #[test]
    fn a_segment_lies_in_one_extent_and_the_places_go_round() {
        let mut ring = ring();
        let mut next = |len| ring.place(len, 0).map(|at| at.0);
        assert_eq!((next(20), next(20), next(20)), (Some(1000), Some(5000), Some(5020)));
        assert_eq!(next(10), None, "the skipped end of the first extent counts");
        ring.turn();
        assert!(ring.is_full());
        ring.forget();
        assert_eq!((ring.used(), ring.place(20, 0)), (0, Some(DiskOff(1000))));
    }

    #[test]
    fn what_counted_before_a_turn_stays_until_it_is_forgotten() {
        let mut ring = ring();
        ring.place(30, 0).unwrap();
        ring.turn();
        ring.place(30, 0).unwrap();
        assert_eq!(ring.place(20, 0), None);
        ring.forget();
        assert_eq!(ring.place(20, 0), Some(DiskOff(1000)), "and the end of the second extent was skipped");
        assert_eq!(ring.used(), 60);
    }

    #[test]
    fn what_must_stay_free_stays_free() {
        let mut ring = Ring::new(vec![(DiskOff(0), 30)]);
        assert_eq!(ring.place(20, 11), None);
        assert_eq!(ring.place(20, 10), Some(DiskOff(0)));
        assert_eq!(ring.place(10, 0), Some(DiskOff(20)));
    }
}
