//! Replicas: runs that are often read after a far jump lie once more where the jump begins (logs-active-10).
//!
//! A replica lies in a place of a group journal that has no owner, and only memory knows where. It is a hint: it is
//! read if it is nearest to the head, and used if all of its bytes have their checksums.

use crate::area::MOST_BLOCKS;
use crate::disk::Source;
use crate::layer::{Active, Layer};
use crate::learn::Wish;
use crate::map::{CopyNo, Frag, Has};
use ordo_disk::{Block, DiskOff, Kind, ReadPart, Tag, WritePart, read_len};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The most fragments in replicas: less than a MiB of memory.
const MOST: u64 = 1 << 14;
/// Replicas that are made when there is nothing else to do: few, as a reader may come.
const FEW: usize = 32;
/// Places without an owner in which room for one is sought.
const LOOK: usize = 64;
/// After so many that were made or read since it was, another may overwrite it.
const STALE: u64 = 4096;

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
struct Run {
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
    fn with(&self, frags: Range<Frag>) -> impl Iterator<Item = (u32, Run)> + '_ {
        let first = (frags.start + 1).saturating_sub(MOST_BLOCKS.into());
        let near = self.by_frag.range((first, 0)..(frags.end, 0));
        let runs = near.filter_map(|(_, block)| Some((*block, *self.runs.get(block)?)));
        runs.filter(move |(_, run)| run.frags().end > frags.start)
    }

    /// The blocks that begin with the first of these fragments, and go on with the others.
    fn of(&self, frags: Range<Frag>) -> impl Iterator<Item = u32> + '_ {
        let all = self.with(frags.clone());
        let all = all.filter(move |(_, run)| run.first <= frags.start && frags.end <= run.frags().end);
        all.map(move |(block, run)| block + (frags.start - run.first) as u32)
    }

    /// Those in these blocks.
    fn within(&self, blocks: Range<u32>) -> impl Iterator<Item = (u32, Run)> + '_ {
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
    fn forget_blocks(&mut self, blocks: Range<u32>) {
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
    fn add(&mut self, frags: Range<Frag>, block: u32) {
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
    fn was_used(&mut self, block: u32) {
        self.now += 1;
        let run = self.runs.range_mut(..=block).next_back().filter(|(first, run)| block < *first + run.count);
        run.into_iter().for_each(|(_, run)| run.used = self.now);
    }

    /// No replica that counts is in these blocks.
    fn leaves(&self, blocks: Range<u32>) -> bool {
        self.within(blocks).all(|(_, run)| run.used + STALE < self.now)
    }
}

impl Layer {
    /// What the reader wants now.
    pub(crate) fn learn(&self, at: DiskOff, len: u64, from: DiskOff) {
        if let Some(learning) = &self.learning {
            learning.borrow_mut().read(at, len, from);
        }
    }

    /// Replicas of these fragments, if all of them can be verified.
    pub(crate) fn replicas_of(&self, at: DiskOff, len: u64) -> Vec<Source> {
        let (replicas, frags) = (self.replicas.borrow(), self.frags(at, len));
        if replicas.len() == 0 || !self.knows(frags.clone()) {
            return Vec::new();
        }
        replicas.of(frags).map(|block| Source { at: self.area.block(block), replica: Some(block) }).collect()
    }

    /// The map has a checksum of each of these fragments.
    fn knows(&self, frags: Range<Frag>) -> bool {
        let map = self.map.borrow();
        frags.into_iter().all(|frag| map.get(frag).is_some() || map.spans(frag..frag + 1).next().is_some())
    }

    /// What was read there had the right bytes, or not.
    pub(crate) fn was_read(&self, source: Source, right: bool) {
        let Some(block) = source.replica else { return };
        match right {
            true => {
                self.from_replica.set(self.from_replica.get() + 1);
                self.replicas.borrow_mut().was_used(block);
            }
            false => self.replicas.borrow_mut().forget_blocks(block..block + 1),
        }
    }

    /// The bytes of a fragment from a replica.
    pub(crate) async fn replica_of(&self, frag: Frag, sum: u32) -> Option<Block> {
        let blocks: Vec<u32> = self.replicas.borrow().of(frag..frag + 1).collect();
        for block in blocks {
            if let Some(right) = self.right(self.area.block(block), sum).await {
                return Some(right);
            }
        }
        None
    }

    /// The place without an owner, and the block in it, where the replica should lie: much nearer to the dock than the
    /// home, and than a replica that there is, and over what is least missed. Never over a copy (logs-active-10).
    fn room_for(&self, wish: &Wish) -> Option<(u32, u32)> {
        let (groups, map, replicas) = (self.groups.borrow(), self.map.borrow(), self.replicas.borrow());
        let (frags, away) = (self.frags(wish.at, wish.len), |at: DiskOff| at.0.abs_diff(wish.dock.0));
        let there = replicas.of(frags.clone()).map(|block| away(self.area.block(block)));
        let most = there.chain([away(wish.at)]).min()? / 2;
        let near = groups.without_owner(wish.dock).take(LOOK).take_while(|(at, _)| away(DiskOff(*at)) < most);
        let places: Vec<u32> = near.map(|(_, place)| place).collect();
        let (blocks, count) = (self.area.blocks, u32::try_from(frags.end - frags.start).ok()?);
        let fits = |first: u32, worst: Has| {
            let is_less = |block| CopyNo::new(block + 1).is_some_and(|copy| map.has(copy) <= worst);
            (first..first + count).all(is_less) && replicas.leaves(first..first + count)
        };
        // An older version is missed less than what is read far away.
        [Has::Nothing, Has::Old].into_iter().find_map(|worst| {
            places.iter().find_map(|place| {
                let (first, end) = (place * blocks, (place + 1) * blocks);
                let mut firsts = first..(end + 1).saturating_sub(count);
                firsts.find(|first| fits(*first, worst)).map(|block| (*place, block))
            })
        })
    }
}

impl Active {
    /// The disk is idle: what is wished most gets its replica. What fails is left as it is; it is wished again.
    pub(crate) async fn make_replicas(&self) {
        let Some(learning) = &self.0.learning else { return };
        let _one = self.0.replicating.lock().await;
        learning.borrow_mut().pause();
        for _ in 0..FEW {
            let wish = learning.borrow_mut().take();
            let Some(wish) = wish else { return };
            self.make_replica(&wish).await;
        }
    }

    /// Rule logs-active-10.
    async fn make_replica(&self, wish: &Wish) -> Option<()> {
        let (layer, Wish { at, len, .. }) = (&self.0, *wish);
        let (frags, size) = (layer.frags(at, len), layer.area.frag);
        let is_whole = layer.verifiable(at, len) == (at.0..at.0 + len) && at.0 + len <= layer.disk.info().size;
        if !is_whole || !layer.knows(frags.clone()) || layer.room_for(wish).is_none() {
            return None;
        }
        let part = ReadPart { block: Block::unspecified(len as usize), tag: Tag::of(Kind::Log) };
        let parts = self.read_from(layer.better_source(at, len), at, vec![part]).await.ok()?;
        // From here until the place is lent nothing waits: it has no owner, and nothing that must stay.
        if !layer.is_all_carried_durable() || read_len(&parts) != len {
            return None;
        }
        let (place, block) = layer.room_for(wish)?;
        layer.groups.borrow_mut().lend(&layer.area, place);
        for copy in (block + 1..).take((len / size) as usize).filter_map(CopyNo::new) {
            let of = layer.map.borrow_mut().forget_copy(copy);
            of.into_iter().for_each(|frag| layer.tree.borrow_mut().touch(frag));
        }
        layer.replicas.borrow_mut().forget_blocks(block..block + (len / size) as u32);
        let there = layer.area.block(block);
        let images = parts.iter().map(|part| part.block.clone().image());
        let images = images.map(|image| WritePart { image, tag: Tag::of(Kind::Log) }).collect();
        layer.head.set(there.0 + len);
        // If nobody waits for its end, the write may still be done: then the place stays lent for ever.
        let written = layer.disk.write(there, images, false).await;
        layer.groups.borrow_mut().give_back(&layer.area, place);
        // What it was made of may have changed meanwhile.
        if written.is_ok() && layer.knows(frags.clone()) && layer.wrong(at, &parts).is_none() {
            layer.replicas.borrow_mut().add(frags, block);
        }
        Some(())
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
