//! Making replicas, and reading them (logs-active-10).

use crate::entry::{CopyNo, Frag};
use crate::layer::{Active, Layer};
use crate::map::Has;
use crate::replicas::Source;
use ordo_disk::{Block, DiskOff, Kind, ReadPart, Tag, WritePart, read_len};
use ordo_learning::{Read, Terms, Wish};
use ordo_rt::Time;
use std::ops::Range;

/// Replicas that are made when there is nothing else to do: few, as a reader may come.
const FEW: usize = 32;

/// Places without an owner in which room for one is sought.
const LOOK: usize = 64;

impl Layer {
    /// What the reader wants now, and where it is served if not at home.
    pub(crate) fn learn(&self, at: DiskOff, len: u64, served: Option<Source>) {
        if let Some(learning) = self.learning.as_ref().filter(|_| len > 0) {
            self.read.set(self.rt.now());
            let now = self.read.get().since(Time::ZERO);
            learning.borrow_mut().read(Read { now, at: at.0, len, served: served.map(|source| source.at.0) });
        }
    }

    /// For as long as the paper's window.
    pub(crate) fn nobody_reads(&self) -> bool {
        self.rt.now().since(self.read.get()) > Terms::WINDOW
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
    pub(crate) fn knows(&self, frags: Range<Frag>) -> bool {
        let map = self.map.borrow();
        frags.into_iter().all(|frag| map.get(frag).is_some() || map.spans(frag..frag + 1).next().is_some())
    }

    /// What was read there had the right bytes, or not.
    pub(crate) fn was_read(&self, source: Source, right: bool) {
        let Some(block) = source.replica else { return };
        match right {
            true => {
                self.from_replica.set(self.from_replica.get() + 1);
                self.credit.serves();
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
        let (home, away) = (DiskOff(wish.at), |at: DiskOff| at.0.abs_diff(wish.dock));
        let frags = self.frags(home, wish.len);
        let there = replicas.of(frags.clone()).map(|block| away(self.area.block(block)));
        let most = there.chain([away(home)]).min()? / 2;
        let near = groups.without_owner(DiskOff(wish.dock)).take(LOOK).take_while(|(at, _)| away(DiskOff(*at)) < most);
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
        let since = self.0.read.get();
        for _ in 0..FEW {
            if self.0.read.get() != since || !self.0.credit.has_one() {
                return;
            }
            let wish = learning.borrow_mut().take();
            let Some(wish) = wish else { return };
            self.make_replica(&wish).await;
        }
    }

    /// Rule logs-active-10.
    async fn make_replica(&self, wish: &Wish) -> Option<()> {
        let (layer, at, len) = (&self.0, DiskOff(wish.at), wish.len);
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
        layer.credit.spend();
        let written = layer.disk.write(there, images, false).await;
        layer.groups.borrow_mut().give_back(&layer.area, place);
        // What it was made of may have changed meanwhile.
        if written.is_ok() && layer.is_right(at, &parts) {
            layer.replicas.borrow_mut().add(frags, block);
        }
        Some(())
    }
}
