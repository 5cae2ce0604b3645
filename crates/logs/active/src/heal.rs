//! Healing: bytes that are not those of the map are replaced by a copy that is (logs-active-5, logs-active-6).

use crate::disk::Wrong;
use crate::entry::{Entry, Frag, SPAN};
use crate::layer::{Active, Copies, Layer};
use crate::root::Pass;
use ordo_disk::{Block, Cause, DiskError, DiskOff, DiskOp, Kind, ReadPart, Tag, WritePart};
use std::ops::Range;

/// What a scrub has found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Fragments whose checksum is known: all were read.
    pub blocks: u64,
    /// Of these, healed at home.
    pub healed: u64,
    /// Copies that were wrong, and count no more.
    pub bad_copies: u64,
    /// Fragments without a right copy.
    pub rotten: u64,
    /// The address of the first of these.
    pub first_rotten: Option<DiskOff>,
}

impl std::ops::AddAssign for Scrubbed {
    fn add_assign(&mut self, more: Scrubbed) {
        self.blocks += more.blocks;
        self.healed += more.healed;
        self.bad_copies += more.bad_copies;
        self.rotten += more.rotten;
        self.first_rotten = self.first_rotten.or(more.first_rotten);
    }
}

impl Scrubbed {
    fn is_rotten(&mut self, at: DiskOff, frags: u64) {
        self.rotten += frags;
        self.first_rotten = self.first_rotten.or(Some(at));
    }
}

/// Where a scrub goes on that has read all entries: the spans, which come after them, begin with this number.
const SPANS: u64 = 1 << 63;

impl Layer {
    pub(crate) fn home(&self, frag: Frag) -> DiskOff {
        DiskOff(frag * self.area.frag)
    }

    /// The bytes of a fragment from its copy.
    async fn copy_of(&self, entry: Entry) -> Option<Block> {
        self.right(self.at_copy(entry.copy?), entry.sum).await
    }

    /// The fragment at this address, if it has this checksum.
    pub(crate) async fn right(&self, at: DiskOff, sum: u32) -> Option<Block> {
        let block = self.read_raw(at, self.area.frag).await.ok()?;
        (crc32c::crc32c(&block) == sum).then_some(block)
    }

    /// The parts with the right bytes in place of the wrong ones. The home is healed if it is what is wrong.
    pub(crate) async fn mended(
        &self,
        at: DiskOff,
        mut parts: Vec<ReadPart>,
        wrong: Wrong,
    ) -> Result<Vec<ReadPart>, DiskError> {
        for (first, sum) in wrong.spans {
            let is_known = || self.map.borrow().spans(first..first + 1).any(|known| known == (first, sum));
            if !is_known() {
                // It is not known any more.
                continue;
            }
            // It has no copy. But the read may have failed on the way.
            let (home, len) = (self.home(first), SPAN * self.area.frag);
            let again = self.read_raw(home, len).await?;
            if crc32c::crc32c(&again) == sum {
                put(&mut parts, (home.0 - at.0) as usize, &again);
            } else if is_known() {
                return Err(DiskError::new(DiskOp::Read, home, len, Cause::Rot));
            }
        }
        for frag in wrong.frags {
            if let Some(right) = self.newest(frag).await? {
                put(&mut parts, (self.home(frag).0 - at.0) as usize, &right);
            }
        }
        Ok(parts)
    }

    /// The newest bytes of a fragment, from wherever they are right, and the home healed. `None`: it has no entry any
    /// more, so there is nothing to compare with.
    async fn newest(&self, frag: Frag) -> Result<Option<Block>, DiskError> {
        loop {
            let Some(entry) = self.map.borrow().get(frag) else { return Ok(None) };
            let home = self.home(frag);
            if let Some(copy) = self.copy_of(entry).await {
                // If it cannot be written, the next read is served from the copy, too.
                let _ = self.heal(frag, entry, &copy).await;
                return Ok(Some(copy));
            }
            // The first read may have failed on the way.
            if let Some(block) = self.right(home, entry.sum).await {
                return Ok(Some(block));
            }
            if let Some(replica) = self.replica_of(frag, entry.sum).await {
                // As above.
                let _ = self.heal(frag, entry, &replica).await;
                return Ok(Some(replica));
            }
            // Meanwhile the home may have got the bytes and the journal the copy's place, or a newer transaction both.
            if self.map.borrow().get(frag) == Some(entry) {
                return Err(DiskError::new(DiskOp::Read, home, self.area.frag, Cause::Rot));
            }
        }
    }

    /// Writes the right bytes home, unless something is being written there, or is about to be. Returns whether it was
    /// done.
    async fn heal(&self, frag: Frag, entry: Entry, right: &Block) -> Result<bool, DiskError> {
        if !entry.home || self.map.borrow().get(frag) != Some(entry) {
            return Ok(false);
        }
        self.healed.set(self.healed.get() + 1);
        if self.is_busy(&(frag..frag + 1)) || self.read_only || !self.healing.borrow_mut().insert(frag) {
            return Ok(false);
        }
        let part = WritePart { image: right.clone().image(), tag: Tag::of(Kind::Other) };
        let done = self.disk.write(self.home(frag), vec![part], false).await;
        self.healing.borrow_mut().remove(&frag);
        self.changed.notify_all();
        done.map(|()| true)
    }

    /// Reads what the map knows of a fragment that no write can reach now, and heals it.
    async fn scrub_held(&self, frag: Frag, done: &mut Scrubbed) -> Result<(), DiskError> {
        // It may have been written before it was held.
        let Some(entry) = self.map.borrow().get(frag) else { return Ok(()) };
        let home = match entry.home {
            true => self.right(self.home(frag), entry.sum).await,
            false => None,
        };
        let copy = self.copy_of(entry).await;
        if self.map.borrow().get(frag) != Some(entry) {
            // The journal took the place of the copy, or a commit has the fragment: what was read is of no entry.
            return Ok(());
        }
        done.blocks += 1;
        match (&home, &copy, entry.copy) {
            (Some(_), None, Some(bad)) => {
                self.map.borrow_mut().forget_copy(bad);
                self.tree.borrow_mut().touch(frag);
                done.bad_copies += 1;
            }
            (None, Some(right), _) if entry.home => {
                self.healed.set(self.healed.get() + 1);
                let part = WritePart { image: right.clone().image(), tag: Tag::of(Kind::Other) };
                self.disk.write(self.home(frag), vec![part], false).await?;
                done.healed += 1;
            }
            (None, None, _) => done.is_rotten(self.home(frag), 1),
            _ => {}
        }
        Ok(())
    }

    /// Waits until none of these fragments is being healed.
    pub(crate) async fn none_is_healed(&self, range: &Range<Frag>) {
        loop {
            let told = self.changed.notified();
            if self.healing.borrow().range(range.clone()).next().is_none() {
                return;
            }
            told.await;
        }
    }
}

/// Puts the bytes of a fragment at their place in the parts.
fn put(parts: &mut [ReadPart], at: usize, bytes: &[u8]) {
    let mut from = 0;
    for part in parts {
        let to = from + part.block.len();
        let (start, end) = (at.max(from), (at + bytes.len()).min(to));
        if start < end {
            part.block[start - from..end - from].copy_from_slice(&bytes[start - at..end - at]);
        }
        from = to;
    }
}

impl Active {
    /// Reads everything that the map knows, at home and in the copies, and heals it.
    ///
    /// # Errors
    /// The disk fails, other than by rot; or nothing may be written.
    pub async fn scrub(&self) -> Result<Scrubbed, DiskError> {
        let (mut done, mut next) = (Scrubbed::default(), Some(0));
        while let Some(from) = next {
            let some;
            (some, next) = self.scrub_some(from, usize::MAX).await?;
            done += some;
        }
        Ok(done)
    }

    /// A part of [`Active::scrub`], of at most `most` fragments or spans: the first from 0, each other from what the
    /// one before has returned, until that is `None`. Calls go on meanwhile: a write waits while its fragment is looked
    /// at (logs-active-6).
    ///
    /// # Errors
    /// As for the whole.
    pub async fn scrub_some(&self, from: u64, most: usize) -> Result<(Scrubbed, Option<u64>), DiskError> {
        let layer = &self.0;
        if layer.read_only {
            return Err(DiskError::new(DiskOp::Write, DiskOff(0), 0, Cause::ReadOnly));
        }
        let (mut done, mut next) = (Scrubbed::default(), from);
        for _ in 0..most {
            if next >= SPANS {
                break;
            }
            let found = layer.map.borrow().entries(next..Frag::MAX).next();
            let Some((frag, _)) = found else {
                next = SPANS;
                break;
            };
            next = frag + 1;
            layer.hold(&(frag..next)).await;
            let looked = layer.scrub_held(frag, &mut done).await;
            layer.release(frag..next);
            looked?;
        }
        if from < SPANS {
            return Ok((done, Some(next)));
        }
        next -= SPANS;
        for _ in 0..most {
            let found = layer.map.borrow().spans(next..Frag::MAX).next();
            let Some((first, _)) = found else { return Ok((done, None)) };
            next = first + SPAN;
            layer.hold(&(first..next)).await;
            // It may have been written before it was held.
            let known = layer.map.borrow().spans(first..first + 1).next();
            if let Some((_, sum)) = known {
                done.blocks += SPAN;
                let home = layer.read_raw(layer.home(first), SPAN * layer.area.frag).await;
                if !home.is_ok_and(|home| crc32c::crc32c(&home) == sum) {
                    done.is_rotten(layer.home(first), SPAN);
                }
            }
            layer.release(first..next);
        }
        Ok((done, Some(next + SPANS)))
    }

    /// How far the pass over all has come that somebody does in parts.
    pub fn pass(&self) -> Pass {
        self.0.root.borrow().pass
    }

    /// Sets that; durable with the next root. A map that knows nothing keeps none.
    pub fn set_pass(&self, pass: Pass) {
        if !self.0.map.borrow().is_empty() {
            self.0.root.borrow_mut().pass = pass;
            self.0.passed.set(true);
        }
    }

    /// How many fragments that pass has read. They are counted again only when it has gone on.
    pub fn read_in_pass(&self) -> u64 {
        let next = self.pass().next;
        let (counted, count) = self.0.counted.get();
        if counted == next {
            return count;
        }
        let count = self.read_before(next);
        self.0.counted.set((next, count));
        count
    }

    /// How many fragments a pass has read that goes on at `next`.
    pub fn read_before(&self, next: u64) -> u64 {
        let map = self.0.map.borrow();
        let spans = next.checked_sub(SPANS).map_or(0, |next| map.spans(0..next).count() as u64 * SPAN);
        map.entries(0..next.min(SPANS)).count() as u64 + spans
    }

    /// Where the bytes of a range of the volume lie, in pieces that lie together: home first, unless it lacks them,
    /// then the copies that have the right bytes. Whole fragments.
    pub async fn copies(&self, at: DiskOff, len: u64) -> Vec<Copies> {
        let (layer, frag) = (&self.0, self.0.area.frag);
        let mut all = Vec::<Copies>::new();
        for number in layer.frags(at, len) {
            let entry = layer.map.borrow().get(number);
            let mut places = vec![layer.home(number)];
            if let Some(entry) = entry
                && let Some(copy) = entry.copy
                && layer.copy_of(entry).await.is_some()
            {
                places.retain(|_| entry.home);
                places.push(layer.at_copy(copy));
            }
            let follows = |last: &Copies| {
                last.at.len() == places.len() && last.at.iter().zip(&places).all(|(one, next)| *one + last.len == *next)
            };
            match all.last_mut() {
                Some(last) if follows(last) => last.len += frag,
                _ => all.push(Copies { len: frag, at: places }),
            }
        }
        all
    }
}
