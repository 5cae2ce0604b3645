//! What recovery has found, and which blocks of it are to be written in place.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Seq;
use ordo_disk::{Block, ByteRange, DiskOff, Stored};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use std::collections::{BTreeMap, BTreeSet};

/// A committed transaction, read back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Its number.
    pub seq: Seq,
    /// When it was committed, in nanoseconds since 1970, by the machine's clock.
    pub time: u64,
    /// Blocks of the journal that it takes.
    pub length: u64,
    /// Blocks with their home locations, each of the journal's block size, in the order in which they were given.
    pub blocks: Vec<(DiskOff, Block)>,
    /// Where the journal has each of them.
    pub stored: Vec<Stored>,
    /// Places whose copies in earlier transactions must not be replayed.
    pub revoked: Vec<ByteRange>,
    /// The caller's bytes.
    pub note: Vec<u8>,
}

/// What was found when a journal was opened: all committed transactions from the tail on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Oldest first.
    pub transactions: Vec<Found>,
}

impl Recovered {
    /// The newest transaction, [`Seq::NONE`] if there is none.
    pub fn last(&self) -> Seq {
        self.transactions.last().map_or(Seq::NONE, |found| found.seq)
    }

    /// The blocks to be written in place, by ascending address: the newest copy of each, and none that is older than a
    /// revoke of its place (blockjournal-6). Replaying twice changes nothing.
    pub fn replay(&self) -> Vec<(DiskOff, &Block)> {
        let (mut done, mut revoked, mut home) = (BTreeSet::new(), Ranges::default(), Vec::new());
        for found in self.transactions.iter().rev() {
            for (at, block) in found.blocks.iter().rev() {
                let gone = revoked.touch(at.0, block.len() as u64);
                #[cfg(feature = "planted")]
                let gone = gone && !has(Broken::Revoke);
                if done.insert(*at) && !gone {
                    home.push((*at, block));
                }
            }
            found.revoked.iter().for_each(|range| revoked.add(range.at().0, range.len()));
        }
        home.sort_unstable_by_key(|(at, _)| *at);
        home
    }
}

/// A set of bytes, as ranges that do not touch: maps the start of each range to its end.
#[derive(Default)]
struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    fn add(&mut self, from: u64, len: u64) {
        let (mut from, mut to) = (from, from.saturating_add(len));
        while let Some((first, end)) = self.last_before(to).filter(|(_, end)| *end >= from) {
            self.0.remove(&first);
            (from, to) = (from.min(first), to.max(end));
        }
        self.0.insert(from, to);
    }

    fn touch(&self, from: u64, len: u64) -> bool {
        let to = from.saturating_add(len);
        self.0.range(..to).next_back().is_some_and(|(_, end)| *end > from)
    }

    /// The last range that begins at `to` or before.
    fn last_before(&self, to: u64) -> Option<(u64, u64)> {
        self.0.range(..=to).next_back().map(|(from, end)| (*from, *end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(seq: u64, blocks: &[(u64, u8)], revoked: &[(u64, u64)]) -> Found {
        Found {
            seq: Seq(seq),
            blocks: blocks.iter().map(|(at, byte)| (DiskOff(*at), Block::copy_of(&[*byte; 512]))).collect(),
            revoked: revoked.iter().filter_map(|(at, len)| ByteRange::new(DiskOff(*at), *len)).collect(),
            ..Found::default()
        }
    }

    fn replayed(transactions: Vec<Found>) -> Vec<(u64, u8)> {
        Recovered { transactions }.replay().iter().map(|(at, block)| (at.0, block[0])).collect()
    }

    #[test]
    fn the_newest_copy_wins_and_the_last_of_a_transaction() {
        let all = vec![found(1, &[(512, 1), (0, 2)], &[]), found(2, &[(512, 3), (512, 4)], &[])];
        assert_eq!(replayed(all), [(0, 2), (512, 4)]);
    }

    #[test]
    fn a_revoke_is_for_older_copies_only() {
        let all = vec![
            found(1, &[(0, 1), (512, 1), (1024, 1), (2048, 1)], &[]),
            found(2, &[(512, 2)], &[(0, 512), (512, 1024)]),
            found(3, &[(1024, 3)], &[]),
            found(4, &[(2048, 4)], &[(4096, 512)]),
            found(5, &[], &[(2048, 512)]),
        ];
        assert_eq!(replayed(all), [(512, 2), (1024, 3)]);
    }

    #[test]
    fn a_place_that_was_revoked_and_written_again_does_not_fall_back_to_its_old_copy() {
        let all = vec![found(1, &[(0, 1)], &[]), found(2, &[(0, 2)], &[]), found(3, &[], &[(0, 512)])];
        assert_eq!(replayed(all), []);
    }

    #[test]
    fn ranges_join_and_say_what_they_touch() {
        let mut ranges = Ranges::default();
        for (from, len) in [(100, 10), (200, 10), (110, 5), (90, 5), (80, 200), (400, 1)] {
            ranges.add(from, len);
        }
        assert_eq!(ranges.0, BTreeMap::from([(80, 280), (400, 401)]));
        assert_eq!(
            [(0, 80), (0, 81), (279, 1), (280, 120), (399, 2)].map(|(at, len)| ranges.touch(at, len)),
            [false, true, true, false, true]
        );
    }
}
