//! Batches: bufs that leave together, in one write that the layout shapes.
//!
//! FFS knows where a buf belongs before the buf is dirty, so each buf is written by itself
//! ([`crate::Home::place`]). A log-structured layout decides only when bufs leave: it chooses what goes into a segment,
//! gives addresses in the order of the log, changes the pointers that lead there, and writes a summary before
//! it all (Seltzer and others 1995, section 2).
//!
//! B1. One batch is shaped at a time, and nothing waits between the choice of its bufs and the sending of its bytes.
//!     Otherwise a buf could change, or be discarded, between its address and its image, and the summary would describe
//!     other bytes than those behind it.
//! B2. The scheme is asked about each buf before it is chosen. A batch never waits for a scheme: a journal that must
//!     write contents before it commits would wait for the batch, and the batch for the journal.
//! B3. A dirty buf without a place is never clean. If the layout gives it none, that is an error; otherwise fsync would
//!     return success, and nothing would be on the disk.
//! B4. A batch takes its bufs as they are. An older state, or an image with a rollback, would go to the new place while
//!     the summary and the pointers describe the present one; such a buf waits.
//! B5. A batch is checked whole before a buf of it is taken: a buf that was taken and not sent would count as clean,
//!     and be lost. The pointers already lead to it, so the volume turns read-only.
//! B6. A batch counts as durable when every batch sent before the wait is. A recovery reads the log in order: behind a
//!     batch that the crash has lost it finds nothing. And what leads to a buf may be in another batch than the buf.
//! B7. A batch that cannot be written turns the volume read-only, whatever it holds: pointers in other batches lead to
//!     it, and later batches are behind the gap.

use crate::{Batch, BufRef, Cache, Leave, Ready};
use ordo_disk::{Block, DiskOff, Order, Tag, Written, all_durable};
use ordo_vfs::{Error, Result};
use std::rc::Rc;
use std::sync::Arc;

impl Cache {
    /// Writes these bufs, which have no place, in batches that the layout shapes. Returns when the batches are in
    /// flight. What is clean by now, or what the scheme holds back, is left alone.
    ///
    /// # Errors
    /// `NoSpace`, `Io`; a buf for which the layout has no place (B3).
    pub async fn gather(self: &Rc<Self>, wanted: Vec<BufRef>) -> Result<()> {
        let _one = self.shaping.lock().await;
        let is_wanted = |buf: &BufRef| self.is_unplaced(buf) && self.may_leave(buf);
        let mut wanted: Vec<BufRef> = wanted.into_iter().filter(is_wanted).collect();
        // In the order of files and blocks; a buf that is in flight and dirty again was named twice.
        wanted.sort_by_key(|buf| buf.key());
        wanted.dedup_by_key(|buf| buf.key());
        if wanted.is_empty() {
            return Ok(());
        }
        let (mut wanted, prepared) = match self.home().prepare(&wanted).await {
            Ok(()) => (wanted, Ok(())),
            Err(_) => self.prepare_each(wanted).await,
        };
        // Other tasks have run: what is still wanted is determined again, and from here on nothing waits (B1).
        wanted.retain(is_wanted);
        let batches = self.home().shape(&wanted, &|buf| self.may_leave(buf))?;
        let sent = batches.iter().try_for_each(|batch| self.send_batch(batch));
        let left = wanted.iter().find(|buf| self.is_unplaced(buf) && self.may_leave(buf));
        let outcome = sent.and_then(|()| match left {
            Some(buf) => Err(Error::bug(format!("the layout left {buf:?} out of its batches"))),
            None => Ok(()),
        });
        // B5.
        outcome.inspect_err(|error| self.health().degrade(error.clone())).and(prepared)
    }

    /// Prepares these bufs one by one, since one of them cannot be: otherwise a block of pointers that cannot be read
    /// would keep all other bufs from the disk. Returns those that are prepared, and the first failure of the others,
    /// except of a buf that was discarded meanwhile.
    async fn prepare_each(self: &Rc<Self>, wanted: Vec<BufRef>) -> (Vec<BufRef>, Result<()>) {
        let (mut prepared, mut outcome) = (Vec::with_capacity(wanted.len()), Ok(()));
        for buf in wanted {
            match self.home().prepare(std::slice::from_ref(&buf)).await {
                Ok(()) => prepared.push(buf),
                Err(error) if buf.is_dirty() => outcome = outcome.and(Err(error)),
                Err(_) => {}
            }
        }
        (prepared, outcome)
    }

    /// Dirty, and the layout gives it a place only in a batch.
    pub(crate) fn is_unplaced(&self, buf: &BufRef) -> bool {
        buf.is_dirty() && self.home().place(buf).is_none()
    }

    fn may_leave(self: &Rc<Self>, buf: &BufRef) -> bool {
        matches!(self.capabilities().ready(self, buf), Ready::Yes)
    }

    /// Each buf is dirty, may leave as it is, is there once, and has bytes of its own in the batch (B5).
    fn check_batch(self: &Rc<Self>, batch: &Batch) -> Result<()> {
        let (mut bufs, mut end) = (batch.bufs.iter().collect::<Vec<_>>(), 0);
        bufs.sort_by_key(|(_, at)| *at);
        for (buf, at) in bufs {
            if *at < end || at.saturating_add(buf.len()) > batch.len {
                return Err(Error::bug(format!("{buf:?} has no bytes of its own in a batch")));
            }
            end = at + buf.len();
            // Its address would hold zeroes.
            if !buf.is_dirty() {
                return Err(Error::bug(format!("{buf:?} is clean in a batch")));
            }
            // B2: it was asked a moment ago.
            if !matches!(self.scheme().clone().leaving(self, buf, buf.next_image()), Leave::AsIs) {
                return Err(Error::bug(format!("{buf:?} was ready and may not leave")));
            }
        }
        let mut once: Vec<_> = batch.bufs.iter().map(|(buf, _)| Rc::as_ptr(buf)).collect();
        once.sort_unstable();
        match once.windows(2).any(|pair| pair[0] == pair[1]) {
            true => Err(Error::bug("a buf is twice in a batch")),
            false => Ok(()),
        }
    }

    fn send_batch(self: &Rc<Self>, batch: &Batch) -> Result<()> {
        self.check_batch(batch)?;
        let mut image = Block::zeroed(batch.len);
        let (mut taken, mut flag, mut after) = (Vec::with_capacity(batch.bufs.len()), None, Vec::new());
        for (buf, at) in &batch.bufs {
            let bytes = self.take(buf, Leave::AsIs);
            image[*at..*at + bytes.len()].copy_from_slice(&bytes);
            let sequence = self.capabilities().sequence(buf);
            flag = flag.or(sequence.flag);
            after.extend(sequence.after);
            taken.push((buf, *at, bytes.len()));
        }
        self.home().seal_batch(batch, &mut image);
        let cause = batch.bufs.last().map_or(0, |(buf, _)| buf.cause());
        let order = Order { flag, after: &after };
        let written = self.queue.write_in(order, batch.at, Arc::new(image), Tag { kind: batch.kind, cause });
        let departs = |(buf, at, len)| self.depart(buf, DiskOff(batch.at.0 + at as u64), len, &written);
        self.follow(taken.into_iter().map(departs).collect::<Vec<_>>(), &written);
        self.follow_batch(written);
        Ok(())
    }

    /// Sends a batch that has no buf: all of its bytes are the layout's own. It is a batch like any other (B6, B7).
    pub fn send_own(self: &Rc<Self>, batch: &Batch, image: Block) {
        debug_assert!(batch.bufs.is_empty() && image.len() == batch.len, "it has bufs, or not all of its bytes");
        self.follow_batch(self.queue.write(batch.at, Arc::new(image), Tag::of(batch.kind)));
    }

    /// Keeps the batch until it is durable (B6), and for good if it fails (B7).
    fn follow_batch(self: &Rc<Self>, written: Written) {
        self.batches.borrow_mut().retain(|batch| !batch.is_durable());
        self.batches.borrow_mut().push(written.clone());
        let cache = self.clone();
        self.rt.spawn(async move {
            if let Err(error) = written.when_durable().await {
                let why = format!("{error}, writing the log; the volume is read-only now");
                cache.health().degrade(Error::io(error).told_as(why));
            }
        });
    }

    /// The batches that are in flight, in the order in which they were sent, and those that failed.
    pub fn batches(&self) -> Vec<Written> {
        self.batches.borrow().clone()
    }

    /// Waits until all batches that were sent before are durable (B6).
    ///
    /// # Errors
    /// The first failure, also one of long ago (B7).
    pub(crate) async fn batches_durable(&self) -> Result<()> {
        all_durable(&self.batches()).await.map_err(Error::io)
    }
}
