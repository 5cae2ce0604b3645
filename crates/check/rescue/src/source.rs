//! Where the bytes come from: anything that can be read, some of which cannot.

use crate::Why;
use std::ops::Range;

/// What is known of bytes without a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stretch {
    /// So many bytes are zeros.
    Zeros(u64),
    /// So many bytes may be anything.
    Unknown(u64),
}

/// Bytes of a volume, or of whatever may contain one.
pub trait Source {
    /// How many there are.
    fn size(&self) -> u64;

    /// Fills `into` with the bytes from `at` on.
    ///
    /// # Errors
    /// `Unreadable` or `Beyond`, if one of them cannot be read.
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why>;

    /// What is known of the bytes from `at` on; never nothing, and perhaps more than there are.
    fn stretch(&self, _at: u64) -> Stretch {
        Stretch::Unknown(u64::MAX)
    }
}

impl Source for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why> {
        let from = usize::try_from(at).ok().and_then(|at| self.get(at..)?.get(..into.len()));
        into.copy_from_slice(from.ok_or(Why::Beyond)?);
        Ok(())
    }
}

/// A source of which some ranges are known to be bad: what a copy of a failing disk has there is not the disk's.
pub struct Marked<S> {
    below: S,
    bad: Vec<Range<u64>>,
}

impl<S: Source> Marked<S> {
    /// `bad` are ranges of the source, in any order.
    pub fn new(below: S, mut bad: Vec<Range<u64>>) -> Marked<S> {
        bad.sort_unstable_by_key(|range| (range.start, range.end));
        let mut joined: Vec<Range<u64>> = Vec::with_capacity(bad.len());
        for range in bad.into_iter().filter(|range| range.start < range.end) {
            match joined.last_mut() {
                Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
                _ => joined.push(range),
            }
        }
        Marked { below, bad: joined }
    }
}

impl<S: Source> Source for Marked<S> {
    fn size(&self) -> u64 {
        self.below.size()
    }

    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why> {
        let end = at.saturating_add(into.len() as u64);
        let first = self.bad.partition_point(|range| range.end <= at);
        if self.bad.get(first).is_some_and(|range| range.start < end) {
            return Err(Why::Unreadable);
        }
        self.below.read(at, into)
    }

    fn stretch(&self, at: u64) -> Stretch {
        let first = self.bad.partition_point(|range| range.end <= at);
        match (self.bad.get(first), self.below.stretch(at)) {
            (None, below) => below,
            (Some(bad), _) if bad.start <= at => Stretch::Unknown(bad.end - at),
            (Some(bad), Stretch::Zeros(len)) => Stretch::Zeros(len.min(bad.start - at)),
            (Some(bad), Stretch::Unknown(len)) => Stretch::Unknown(len.min(bad.start - at)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Zeroes;

    impl Source for Zeroes {
        fn size(&self) -> u64 {
            1000
        }

        fn read(&self, _: u64, into: &mut [u8]) -> Result<(), Why> {
            into.fill(0);
            Ok(())
        }

        fn stretch(&self, at: u64) -> Stretch {
            Stretch::Zeros(1000 - at)
        }
    }

    #[test]
    fn a_bad_range_is_not_known_to_be_zeros() {
        let marked = Marked::new(Zeroes, vec![300..310, 100..200]);
        let stretches = [0, 100, 199, 200, 310].map(|at| marked.stretch(at));
        let (zeros, unknown) = (Stretch::Zeros, Stretch::Unknown);
        assert_eq!(stretches, [zeros(100), unknown(100), unknown(1), zeros(100), zeros(690)]);
    }

    #[test]
    fn a_bad_range_is_refused_to_the_byte() {
        let marked = Marked::new(Zeroes, vec![300..310, 100..200, 150..250, 7..7]);
        let read = |at, len| marked.read(at, &mut vec![1; len]).is_ok();
        assert!(read(0, 100) && read(250, 50) && read(310, 500));
        assert!(!read(0, 101) && !read(249, 1) && !read(299, 2) && !read(309, 1) && !read(0, 1000));
    }
}
