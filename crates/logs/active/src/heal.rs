//! Healing: bytes that are not those of the map are replaced by a copy that is (logs-active-5, logs-active-6).

use crate::layer::{Active, Copies, Layer};
use crate::map::{Entry, Frag};
use ordo_disk::{Block, Cause, DiskError, DiskOff, DiskOp, Kind, ReadPart, Tag, WritePart};
use std::ops::Range;

/// The most fragments that are read and written at once.
const TOGETHER: usize = 256;

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
}

impl Layer {
    fn home(&self, frag: Frag) -> DiskOff {
        DiskOff(frag * self.area.frag)
    }

    /// The first fragments from `next` on that lie together and whose homes lack their bytes.
    fn away(&self, next: Frag) -> Vec<(Frag, Entry)> {
        let map = self.map.borrow();
        let mut run: Vec<(Frag, Entry)> = Vec::new();
        for (frag, entry) in map.entries(next..Frag::MAX) {
            let follows = run.last().is_none_or(|(last, _)| frag == last + 1 && run.len() < TOGETHER);
            match !entry.home && follows {
                true => run.push((frag, entry)),
                false if run.is_empty() => {}
                false => break,
            }
        }
        run
    }

    /// Bytes of the first copies that lie together.
    fn together(&self, run: &[(Frag, Entry)]) -> u64 {
        let follows = |(one, next): (&(Frag, Entry), &(Frag, Entry))| {
            let at = |entry: &Entry| entry.copy.map(|copy| self.at_copy(copy));
            at(&one.1).is_some_and(|at_one| at(&next.1) == Some(at_one + self.area.frag))
        };
        let more = run.iter().zip(run.iter().skip(1)).take_while(|two| follows(*two)).count();
        (1 + more as u64) * self.area.frag
    }

    /// The bytes of a fragment from its copy.
    async fn copy_of(&self, entry: Entry) -> Option<Block> {
        self.right(self.at_copy(entry.copy?), entry.sum).await
    }

    /// The fragment at this address, if it has this checksum.
    async fn right(&self, at: DiskOff, sum: u32) -> Option<Block> {
        let block = self.read_raw(at, self.area.frag).await.ok()?;
        (crc32c::crc32c(&block) == sum).then_some(block)
    }

    /// The parts with the right bytes in place of the wrong ones. The home is healed if it is what is wrong.
    pub(crate) async fn mended(
        &self,
        at: DiskOff,
        mut parts: Vec<ReadPart>,
        wrong: Vec<Frag>,
    ) -> Result<Vec<ReadPart>, DiskError> {
        for frag in wrong {
            // The entry may have gone while the disk was read: then there is nothing to compare with.
            let Some(entry) = self.map.borrow().get(frag) else { continue };
            let home = self.home(frag);
            let right = match self.copy_of(entry).await {
                Some(copy) => {
                    // If it cannot be written, the next read is served from the copy, too.
                    let _ = self.heal(frag, entry, &copy).await;
                    copy
                }
                // The first read may have failed on the way.
                None => match self.right(home, entry.sum).await {
                    Some(block) => block,
                    None => return Err(DiskError::new(DiskOp::Read, home, self.area.frag, Cause::Rot)),
                },
            };
            put(&mut parts, (home.0 - at.0) as usize, &right);
        }
        Ok(parts)
    }

    /// Writes the right bytes home, unless something is being written there, or is about to be. Returns whether it was
    /// done.
    async fn heal(&self, frag: Frag, entry: Entry, right: &Block) -> Result<bool, DiskError> {
        if !entry.home || self.map.borrow().get(frag) != Some(entry) {
            return Ok(false);
        }
        self.healed.set(self.healed.get() + 1);
        if self.busy.borrow().contains_key(&frag) || self.read_only || !self.healing.borrow_mut().insert(frag) {
            return Ok(false);
        }
        let part = WritePart { image: right.clone().image(), tag: Tag::of(Kind::Other) };
        let done = self.disk.write(self.home(frag), vec![part], false).await;
        self.healing.borrow_mut().remove(&frag);
        self.changed.notify_all();
        done.map(|()| true)
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
    /// The disk fails, other than by rot.
    pub async fn scrub(&self) -> Result<Scrubbed, DiskError> {
        let layer = &self.0;
        let (mut done, mut next) = (Scrubbed::default(), 0);
        loop {
            let found = layer.map.borrow().entries(next..Frag::MAX).next();
            let Some((frag, entry)) = found else { break };
            next = frag + 1;
            done.blocks += 1;
            let home = match entry.home {
                true => layer.right(layer.home(frag), entry.sum).await,
                false => None,
            };
            let copy = layer.copy_of(entry).await;
            match (&home, &copy, entry.copy) {
                (Some(_), None, Some(bad)) => {
                    layer.map.borrow_mut().forget_copy(bad);
                    layer.tree.borrow_mut().touch(frag);
                    done.bad_copies += 1;
                }
                (None, Some(right), _) if entry.home => {
                    done.healed += u64::from(layer.heal(frag, entry, right).await?);
                }
                (None, None, _) => done.rotten += 1,
                _ => {}
            }
        }
        Ok(done)
    }

    /// Writes home what only the group journals have. Nothing else may write to the volume meanwhile.
    ///
    /// # Errors
    /// The disk fails, or a copy is rotten ([`Cause::Rot`]).
    pub async fn bring_home(&self) -> Result<(), DiskError> {
        let (layer, mut next) = (&self.0, 0);
        loop {
            let run = layer.away(next);
            let Some(&(first, _)) = run.first() else { return Ok(()) };
            next = first + run.len() as u64;
            let (size, mut bytes) =
                (layer.area.frag as usize, Vec::with_capacity(run.len() * layer.area.frag as usize));
            for (number, (frag, entry)) in run.iter().enumerate() {
                let rot = || DiskError::new(DiskOp::Read, layer.home(*frag), layer.area.frag, Cause::Rot);
                let copy = entry.copy.ok_or_else(rot)?;
                if bytes.len() <= number * size {
                    bytes
                        .extend_from_slice(&layer.read_raw(layer.at_copy(copy), layer.together(&run[number..])).await?);
                }
                if crc32c::crc32c(&bytes[number * size..][..size]) != entry.sum {
                    return Err(rot());
                }
            }
            let (home, block) = (layer.home(first), Block::copy_of(&bytes));
            let part = WritePart { image: block.image(), tag: Tag::of(Kind::Other) };
            layer.disk.write(home, vec![part], false).await?;
            let mut map = layer.map.borrow_mut();
            run.iter().for_each(|(frag, entry)| map.came_home(*frag, entry.sum, entry.data));
        }
    }

    /// Where the bytes of a range of the volume lie, in pieces that lie together: home first, then the copies that have
    /// the right bytes. Whole fragments.
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
