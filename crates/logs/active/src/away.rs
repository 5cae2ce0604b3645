//! Virtual checkpoints: homes that lack bytes which only a copy has, and how they get them (logs-active-9).
//!
//! The journal checkpoints its blocks as if the disk had nothing but homes. The write of a home is left out if a group
//! journal has its bytes and is likely to get newer ones before the line comes ([`crate::cleaner`]): the map tells that
//! the copy has them, and the map is what is checkpointed. A home gets its bytes from the cleaner, when there is
//! nothing else to do, and before the volume is unmounted.

use crate::entry::{Entry, Frag};
use crate::layer::{Active, Layer};
use ordo_disk::{Block, Cause, DiskError, DiskOp, Kind, Tag, WritePart};
use ordo_rt::together;
use std::ops::Range;
use std::rc::Rc;

/// The most fragments that are read and written at once.
const TOGETHER: usize = 256;
/// Fragments that go home at once; and when there is nothing else to do: few, as a reader may come.
const SOME: usize = 1024;
const FEW: usize = 64;
/// Runs of fragments that go home at the same time when a caller waits for it, or will soon: the queue of the disk
/// sorts them, so that its arm does not go to and fro between each copy and its home.
pub(crate) const AT_ONCE: usize = 64;

impl Layer {
    /// Fragments from `next` on whose homes lack their bytes.
    fn away(&self, next: Frag, most: usize) -> Vec<Frag> {
        let map = self.map.borrow();
        map.entries(next..Frag::MAX).filter(|(_, entry)| !entry.home).map(|(frag, _)| frag).take(most).collect()
    }

    /// A part of what is away goes home, durably.
    pub(crate) async fn some_go_home(&self) -> Result<(), DiskError> {
        self.carry(self.away(0, FEW), 1).await?;
        self.make_carried_durable().await
    }

    /// The home has its bytes before the entry goes. The writer has taken the fragment: no heal begins.
    pub(crate) async fn complete(&self, frag: Frag) -> Result<(), DiskError> {
        let Some(entry) = self.map.borrow().get(frag).filter(|entry| !entry.home) else { return Ok(()) };
        let Some(copy) = entry.copy else { return Ok(()) };
        let right = self.read_raw(self.at_copy(copy), self.area.frag).await?;
        if crc32c::crc32c(&right) != entry.sum {
            // It is rotten: there is nothing to keep.
            return Ok(());
        }
        self.disk.write(self.home(frag), vec![home_part(&right)], false).await?;
        self.was_carried([entry]);
        Ok(())
    }

    /// Writes these fragments home from their copies, so many runs of them at a time. One without a right copy, and
    /// without a right home, stays as it is: reading it is an error, and so is an unmount ([`Active::bring_home`]).
    pub(crate) async fn carry(&self, mut frags: Vec<Frag>, at_once: usize) -> Result<(), DiskError> {
        frags.sort_unstable();
        let most = TOGETHER.min(self.most_at_once(self.area.frag));
        let mut runs = Vec::new();
        let mut rest = frags.as_slice();
        while let Some(first) = rest.first() {
            let follow = rest.iter().zip(*first..).take(most).take_while(|(frag, next)| *frag == next).count();
            runs.push(*first..*first + follow as u64);
            rest = &rest[follow..];
        }
        for some in runs.chunks(at_once) {
            // Each to its end, also if one fails: the others hold fragments.
            let done = together(some.iter().map(|run| self.carry_run(run.clone()))).await;
            done.into_iter().collect::<Result<(), _>>()?;
        }
        Ok(())
    }

    /// The same for fragments that lie together.
    pub(crate) async fn carry_run(&self, run: Range<Frag>) -> Result<(), DiskError> {
        self.hold(&run).await;
        let done = self.carry_held(run.clone()).await;
        self.release(run);
        done
    }

    /// The end of [`Layer::hold`].
    pub(crate) fn release(&self, run: Range<Frag>) {
        let mut healing = self.healing.borrow_mut();
        run.for_each(|frag| {
            healing.remove(&frag);
        });
        drop(healing);
        self.changed.notify_all();
    }

    /// Waits until these fragments are neither written nor healed, and keeps writes from them (logs-active-6).
    pub(crate) async fn hold(&self, run: &Range<Frag>) {
        loop {
            let told = self.changed.notified();
            if !self.is_busy(run) && self.healing.borrow().range(run.clone()).next().is_none() {
                self.healing.borrow_mut().extend(run.clone());
                return;
            }
            told.await;
        }
    }

    async fn carry_held(&self, run: Range<Frag>) -> Result<(), DiskError> {
        let entries: Vec<(Frag, Entry)> = self.map.borrow().entries(run).filter(|(_, entry)| !entry.home).collect();
        let mut ready: Vec<(Frag, Entry, Block)> = Vec::new();
        let mut rest = entries.as_slice();
        while let Some((_, entry)) = rest.first() {
            let together = self.together(rest);
            let (now, later) = rest.split_at(together);
            rest = later;
            // A disk that does not answer is an error: what it has may come back.
            let bytes = match entry.copy {
                Some(copy) => Some(self.read_raw(self.at_copy(copy), together as u64 * self.area.frag).await?),
                None => None,
            };
            let size = self.area.frag as usize;
            for (n, (frag, entry)) in now.iter().enumerate() {
                let block = bytes.as_ref().map(|bytes| &bytes[n * size..][..size]);
                let copy = block.filter(|block| crc32c::crc32c(block) == entry.sum).map(Block::copy_of);
                let right = match copy {
                    None => self.replica_of(*frag, entry.sum).await,
                    copy => copy,
                };
                match right {
                    Some(block) => ready.push((*frag, *entry, block)),
                    // The home may have them: of the map before a crash this is not known.
                    None => self.is_home(*frag, *entry).await?,
                }
            }
        }
        let mut rest = ready.as_slice();
        while let Some((first, ..)) = rest.first() {
            let follow = rest.iter().zip(*first..).take_while(|((frag, ..), next)| frag == next).count();
            let (now, later) = rest.split_at(follow);
            rest = later;
            let parts = now.iter().map(|(_, _, block)| home_part(block)).collect();
            self.disk.write(self.home(*first), parts, false).await?;
            let mut map = self.map.borrow_mut();
            // The same bytes may have been committed again meanwhile, to another copy: both stay for now.
            let newest = now.iter().filter_map(|(frag, ..)| map.get(*frag));
            self.was_carried(now.iter().map(|(_, entry, _)| *entry).chain(newest));
            for (frag, entry, _) in now {
                map.came_home(*frag, entry.sum, entry.data);
            }
        }
        Ok(())
    }

    /// If the home has the bytes, the map says so.
    async fn is_home(&self, frag: Frag, entry: Entry) -> Result<(), DiskError> {
        let home = self.read_raw(self.home(frag), self.area.frag).await?;
        if crc32c::crc32c(&home) == entry.sum {
            self.map.borrow_mut().came_home(frag, entry.sum, entry.data);
        }
        Ok(())
    }

    /// How many of the first copies lie together.
    fn together(&self, run: &[(Frag, Entry)]) -> usize {
        let at = |entry: &Entry| entry.copy.map(|copy| self.at_copy(copy));
        let follows = |(one, next): (&(Frag, Entry), &(Frag, Entry))| {
            at(&one.1).is_some_and(|at_one| at(&next.1) == Some(at_one + self.area.frag))
        };
        1 + run.iter().zip(run.iter().skip(1)).take_while(|two| follows(*two)).count()
    }
}

fn home_part(block: &Block) -> WritePart {
    WritePart { image: block.clone().image(), tag: Tag::of(Kind::Other) }
}

impl Active {
    /// Writes home, durably, what only the group journals have.
    ///
    /// # Errors
    /// The disk fails; or a fragment has no right copy ([`Cause::Rot`]), after all others are at home: the volume must
    /// not be called clean, as another system would read the old bytes.
    pub async fn bring_home(&self) -> Result<(), DiskError> {
        let layer: &Rc<Layer> = &self.0;
        if layer.read_only {
            return Ok(());
        }
        let mut next = 0;
        loop {
            let some = layer.away(next, SOME);
            let Some(last) = some.last() else { break };
            next = last + 1;
            layer.carry(some, AT_ONCE).await?;
        }
        layer.make_carried_durable().await?;
        match layer.away(0, 1).first() {
            None => Ok(()),
            Some(frag) => Err(DiskError::new(DiskOp::Read, layer.home(*frag), layer.area.frag, Cause::Rot)),
        }
    }
}
