//! Replicas: runs that are often read after a far jump lie once more where the jump begins (logs-active-10).
//!
//! A replica lies in a place of a group journal that has no owner, and only memory knows where. It is a hint: it is
//! read if it is nearest to the head, and used if all of its bytes have their checksums.

use crate::area::MOST_BLOCKS;
use crate::entry::Frag;
use ordo_disk::DiskOff;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The most fragments in replicas: less than a MiB of memory.
const MOST: u64 = 1 << 14;
/// After so many that were made or read since it was, another may overwrite it.
const STALE: u64 = 4096;

/// Where bytes of the volume are besides their home.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    pub(crate) at: DiskOff,
    /// It is a replica, in this block of the group journals.
    pub(crate) replica: Option<u32>,
}

/// Where replicas are. No two share a block; of a run there may be several, near several docks.
#[derive(Debug, Default)]
pub(crate) struct Replicas {
    /// By the first block in the group journals, counted from 0.
    runs: BTreeMap<u32, Run>,
    /// The first fragment and the first block of each.
    by_frag: BTreeSet<(Frag, u32)>,
    /// Fragments in all.
    len: u64,
    /// Grows with each that is made or read.
    now: u64,
}

/// Fragments that lie together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    first: Frag,
    count: u32,
    used: u64,
}

impl Run {
    fn frags(&self) -> Range<Frag> {
        self.first..self.first + Frag::from(self.count)
    }
}

impl Replicas {
    /// Fragments in replicas.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Those that have one of these fragments.
    pub(crate) fn with(&self, frags: Range<Frag>) -> impl Iterator<Item = (u32, Run)> + '_ {
        let first = (frags.start + 1).saturating_sub(MOST_BLOCKS.into());
        let near = self.by_frag.range((first, 0)..(frags.end, 0));
        let runs = near.filter_map(|(_, block)| Some((*block, *self.runs.get(block)?)));
        runs.filter(move |(_, run)| run.frags().end > frags.start)
    }

    /// The blocks that begin with the first of these fragments, and go on with the others.
    pub(crate) fn of(&self, frags: Range<Frag>) -> impl Iterator<Item = u32> + '_ {
        let all = self.with(frags.clone());
        let all = all.filter(move |(_, run)| run.first <= frags.start && frags.end <= run.frags().end);
        all.map(move |(block, run)| block + (frags.start - run.first) as u32)
    }

    /// Those in these blocks.
    pub(crate) fn within(&self, blocks: Range<u32>) -> impl Iterator<Item = (u32, Run)> + '_ {
        let first = (blocks.start + 1).saturating_sub(MOST_BLOCKS);
        let near = self.runs.range(first..blocks.end).map(|(block, run)| (*block, *run));
        near.filter(move |(block, run)| block + run.count > blocks.start)
    }

    /// The bytes of these fragments change.
    pub(crate) fn forget(&mut self, frags: Range<Frag>) {
        let gone: Vec<u32> = self.with(frags).map(|(block, _)| block).collect();
        gone.into_iter().for_each(|block| self.remove(block));
    }

    /// These blocks get other bytes, or have them.
    pub(crate) fn forget_blocks(&mut self, blocks: Range<u32>) {
        let gone: Vec<u32> = self.within(blocks).map(|(block, _)| block).collect();
        gone.into_iter().for_each(|block| self.remove(block));
    }

    /// A piece has this place, of so many blocks.
    pub(crate) fn place_is_taken(&mut self, place: u32, blocks: u32) {
        self.forget_blocks(place * blocks..(place + 1) * blocks);
    }

    fn remove(&mut self, block: u32) {
        let Some(run) = self.runs.remove(&block) else { return };
        self.by_frag.remove(&(run.first, block));
        self.len -= u64::from(run.count);
    }

    /// These fragments lie in the blocks from `block` on, too.
    pub(crate) fn add(&mut self, frags: Range<Frag>, block: u32) {
        let count = (frags.end - frags.start) as u32;
        self.forget_blocks(block..block + count);
        self.now += 1;
        self.runs.insert(block, Run { first: frags.start, count, used: self.now });
        self.by_frag.insert((frags.start, block));
        self.len += u64::from(count);
        while self.len > MOST {
            let oldest = self.runs.iter().min_by_key(|(_, run)| run.used).map(|(block, _)| *block);
            oldest.into_iter().for_each(|block| self.remove(block));
        }
    }

    /// This block was read.
    pub(crate) fn was_used(&mut self, block: u32) {
        self.now += 1;
        let run = self.runs.range_mut(..=block).next_back().filter(|(first, run)| block < *first + run.count);
        run.into_iter().for_each(|(_, run)| run.used = self.now);
    }

    /// No replica that counts is in these blocks.
    pub(crate) fn leaves(&self, blocks: Range<u32>) -> bool {
        self.within(blocks).all(|(_, run)| run.used + STALE < self.now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replica_is_found_by_each_of_its_fragments_and_forgotten_with_each() {
        let mut replicas = Replicas::default();
        replicas.add(10..14, 100);
        replicas.add(12..13, 200);
        let of = |replicas: &Replicas, frags| replicas.of(frags).collect::<Vec<u32>>();
        assert_eq!((of(&replicas, 11..14), of(&replicas, 12..13)), (vec![101], vec![102, 200]));
        assert_eq!((of(&replicas, 13..15), of(&replicas, 9..11)), (vec![], vec![]));
        replicas.forget(13..20);
        assert_eq!((replicas.len(), of(&replicas, 12..13)), (1, vec![200]));
        replicas.add(50..58, 193);
        assert_eq!((replicas.len(), of(&replicas, 12..13)), (8, vec![]), "its block has another one");
        replicas.place_is_taken(25, 8);
        assert_eq!(replicas.len(), 0);
        assert!(replicas.by_frag.is_empty() && replicas.runs.is_empty());
    }

    #[test]
    fn the_one_that_was_not_read_for_longest_makes_room() {
        let mut replicas = Replicas::default();
        let most = MOST as u32 / 8;
        for n in 0..most + 100 {
            replicas.was_used(0);
            replicas.add(u64::from(n) * 8..u64::from(n) * 8 + 8, n * 8);
        }
        assert_eq!(replicas.len(), MOST);
        assert_eq!(replicas.of(0..8).count(), 1, "it was read");
        assert_eq!(replicas.of(8..16).count(), 0);
        assert!(replicas.leaves(8..16) && !replicas.leaves(0..1));
        (0..=STALE).for_each(|_| replicas.was_used(most * 8 + 8));
        assert!(replicas.leaves(0..8));
    }
}
