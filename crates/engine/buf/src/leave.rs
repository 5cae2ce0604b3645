//! Writing bufs: an image leaves for the disk, and lands when it is durable.

use crate::buf::{ImageNo, State, Stored};
use crate::flight::Departed;
use crate::{Boxed, BufRef, Cache, Key, Leave, Ready, Role, Trouble};
use ordo_disk::{DiskError, DiskOff, Image, Order, Tag, Written, all_durable};
use ordo_vfs::{Error, Result};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// How many times a buf that would need a rollback is skipped, so that the bufs it depends on are written first
/// (McKusick and Ganger 1999, section 4: a block with dependencies goes round twice).
const ROUNDS: u8 = 2;
/// The same under a promised age. There a round is one stage of a sweep, not a sweep: a moved directory can be written
/// after five stages, and a rollback in it would wait for the next sweep.
const STAGES: u8 = 4;
/// How long a buf without a place waits whose scheme would write an older state of it.
const NAP: Duration = Duration::from_millis(10);
/// How many levels of dependencies are followed: a directory waits for an inode, which waits for a group, which waits
/// for a block of inodes.
const DEPTH: usize = 4;

/// The result of trying to write a buf.
enum Attempt {
    /// An image is in flight: sent now or before.
    Leaving(Written),
    /// There is nothing to write.
    Clean,
    /// The scheme forbids it until this future ends.
    Blocked(Boxed<'static, Result<()>>),
    /// It has no place: it leaves in a batch that the layout shapes ([`Cache::gather`]).
    Unplaced,
}

impl Cache {
    /// Writes `buf` if it is dirty, and waits until every change made to it is durable.
    ///
    /// # Errors
    /// `Io` when the write or the flush fails; the buf is dirty again then.
    pub async fn write(self: &Rc<Self>, buf: &BufRef) -> Result<()> {
        loop {
            match self.attempt(buf) {
                Attempt::Clean => return self.batches_durable().await,
                Attempt::Leaving(written) => {
                    let outcome = written.durable().await.map_err(Error::io);
                    return self.settled(outcome.and(self.batches_durable().await)).await;
                }
                Attempt::Blocked(until) => until.await?,
                Attempt::Unplaced => self.gather(vec![buf.clone()]).await?,
            }
        }
    }

    /// Sends `buf` as it is, and does not wait for the write.
    ///
    /// # Errors
    /// `Io`, if the contents were already in flight in an order that does not serve, so that the call waits for that
    /// write.
    pub(crate) async fn send_now(self: &Rc<Self>, buf: &BufRef) -> Result<()> {
        loop {
            let fresh = buf.is_dirty();
            match self.attempt(buf) {
                Attempt::Clean => return Ok(()),
                Attempt::Leaving(written) if self.capabilities().sent(buf, &written, fresh) => {
                    if fresh {
                        self.copy_sent(buf, written);
                    }
                    return Ok(());
                }
                Attempt::Leaving(_) => {
                    self.count(|s| s.waits += 1);
                    return self.write(buf).await;
                }
                Attempt::Blocked(until) => until.await?,
                Attempt::Unplaced => self.gather(vec![buf.clone()]).await?,
            }
        }
    }

    /// Lets the cache learn of the end of a write before its caller does: the scheme is notified of what landed,
    /// tickets ripen; after a failure the buf is dirty again and the volume read-only. The caller's next call must see
    /// all of this.
    async fn settled(&self, outcome: Result<()>) -> Result<()> {
        self.rt.yield_now().await;
        outcome
    }

    /// Writes all of these, in any order, and waits until they are durable. One flush serves them all.
    ///
    /// # Errors
    /// The first failure; the others were still tried.
    pub async fn write_all(self: &Rc<Self>, bufs: Vec<BufRef>) -> Result<()> {
        let (mut outcome, mut leaving, mut next) = (Ok(()), Vec::with_capacity(bufs.len()), bufs);
        while !next.is_empty() {
            let (mut blocked, mut unplaced) = (Vec::new(), Vec::new());
            for buf in next.drain(..) {
                match self.attempt(&buf) {
                    Attempt::Clean => {}
                    Attempt::Leaving(written) => leaving.push(written),
                    Attempt::Blocked(until) => blocked.push((buf, until)),
                    Attempt::Unplaced => unplaced.push(buf),
                }
            }
            if !unplaced.is_empty() {
                match self.gather(unplaced.clone()).await {
                    Ok(()) => next.append(&mut unplaced),
                    // Those that could be sent were sent.
                    Err(error) => {
                        leaving.extend(unplaced.iter().filter_map(|buf| buf.flight.newest()));
                        outcome = outcome.and(Err(error));
                    }
                }
            }
            leaving.iter().for_each(Written::expect_durable);
            for written in &leaving {
                outcome = outcome.and(written.completed().await.map_err(Error::io));
            }
            // Bufs that waited for the same event are written together.
            for (buf, until) in blocked {
                match until.await {
                    Ok(()) => next.push(buf),
                    Err(error) => outcome = outcome.and(Err(error)),
                }
            }
        }
        outcome = outcome.and(all_durable(&leaving).await.map_err(Error::io));
        outcome = outcome.and(self.batches_durable().await);
        self.settled(outcome).await
    }

    /// Writes those of `bufs` that may be written now, and waits until they are durable. Of the others it waits for
    /// images in flight; what the scheme holds back stays dirty.
    ///
    /// # Errors
    /// The first failure; the others were still tried.
    pub async fn write_ready(self: &Rc<Self>, bufs: Vec<BufRef>) -> Result<()> {
        let mut unplaced = Vec::new();
        let mut leave = |buf: &BufRef| match self.attempt(buf) {
            Attempt::Clean => None,
            Attempt::Leaving(written) => Some(written),
            Attempt::Blocked(_) => buf.flight.newest(),
            Attempt::Unplaced => {
                unplaced.push(buf.clone());
                None
            }
        };
        let mut leaving: Vec<Written> = bufs.iter().filter_map(&mut leave).collect();
        let mut outcome = Ok(());
        if !unplaced.is_empty() {
            outcome = self.gather(unplaced.clone()).await;
            leaving.extend(unplaced.iter().filter_map(|buf| buf.flight.newest()));
        }
        outcome = outcome.and(all_durable(&leaving).await.map_err(Error::io));
        outcome = outcome.and(self.batches_durable().await);
        self.settled(outcome).await
    }

    /// Writes everything that is dirty now, and waits until all that was written so far is durable.
    ///
    /// # Errors
    /// The first failure; the others were still tried.
    pub async fn write_everything(self: &Rc<Self>) -> Result<()> {
        let outcome = self.write_all(self.unsettled()).await;
        outcome.and(self.flush().await)
    }

    /// One round of writing everything in an order that needs no rollback: all bufs that are ready now, or all bufs if
    /// none is. Waits until they are durable. `false` when nothing was left to write.
    ///
    /// # Errors
    /// The first failure; the others were still tried.
    pub async fn write_in_order(self: &Rc<Self>) -> Result<bool> {
        let bufs = self.unsettled();
        let is_ready = |buf: &&BufRef| !buf.is_dirty() || matches!(self.capabilities().ready(self, buf), Ready::Yes);
        let ready: Vec<BufRef> = bufs.iter().filter(is_ready).cloned().collect();
        let left = bufs.len() > ready.len();
        let outcome = self.write_all(if ready.is_empty() { bufs } else { ready }).await;
        outcome.and(self.flush().await)?;
        Ok(left || self.inner.borrow().dirty.bytes() > 0)
    }

    /// Flushes the disk: all completed writes become durable.
    ///
    /// # Errors
    /// `Io`. The volume is read-only then, even if every write was durable before: after a failed flush, the success of
    /// the next one proves nothing (buf-4).
    pub(crate) async fn flush(&self) -> Result<()> {
        let flushed = self.queue.flush().await;
        flushed.map_err(Error::io).inspect_err(|error| {
            self.health().degrade(error.clone().told_as(format!("{error}; the volume is read-only now")))
        })
    }

    /// Starts to write these bufs and waits for nothing. For clusters and for the syncer's choice. What the scheme
    /// holds back stays dirty.
    pub fn write_soon(self: &Rc<Self>, bufs: &[BufRef]) {
        let (_, unplaced) = self.begin_to_write(bufs);
        if !unplaced.is_empty() {
            let cache = self.clone();
            self.rt.spawn(async move {
                // A failure stays with the bufs, which are dirty still: the next attempt reports it.
                let _ = cache.gather(unplaced).await;
            });
        }
    }

    /// The same for a cluster, which the queue takes for one call's.
    pub fn write_as_one(self: &Rc<Self>, bufs: &[BufRef]) {
        let cause = bufs.last().map_or(0, |buf| buf.cause());
        bufs.iter().for_each(|buf| buf.cause.set(cause));
        self.write_soon(bufs);
    }

    /// The same. Returns the futures that the scheme wants to end before it allows the blocked bufs, which are tried
    /// again, and the bufs without a place, which the caller gathers.
    pub(crate) fn begin_to_write(self: &Rc<Self>, bufs: &[BufRef]) -> (Vec<Boxed<'static, Result<()>>>, Vec<BufRef>) {
        let (mut first, mut unplaced) = (Vec::new(), Vec::new());
        for buf in bufs {
            // One image of a buf in flight at a time: a second one would only queue behind it for the same address.
            let wait = buf.flight.is_leaving() && buf.is_dirty();
            let attempt = (!wait).then(|| self.attempt(buf));
            if matches!(attempt, None | Some(Attempt::Blocked(_) | Attempt::Unplaced)) {
                self.inner.borrow_mut().dirty.put_back(buf, self.rt.now());
            }
            match attempt {
                Some(Attempt::Blocked(until)) => first.push(until),
                Some(Attempt::Unplaced) => unplaced.push(buf.clone()),
                _ => {}
            }
        }
        (first, unplaced)
    }

    /// Starts to write what [`Cache::choose`] selects from these bufs, which have expired or must make room.
    pub(crate) fn write_choosing(self: &Rc<Self>, bufs: Vec<BufRef>, most: usize) -> Vec<BufRef> {
        let chosen = self.choose(bufs, most);
        self.write_soon(&chosen);
        chosen
    }

    /// Selects what to write now: some of `bufs`, or bufs that they depend on. A buf that would need a rollback is
    /// skipped up to [`ROUNDS`] or [`STAGES`] times, and the bufs it depends on are selected instead, at most `most`
    /// bufs in total. Once there are as many, the scheme is not asked about further metadata: a whole tree can depend
    /// on one directory near the root, and a caller that needs a little room must neither write nor search all of it.
    pub(crate) fn choose(self: &Rc<Self>, bufs: Vec<BufRef>, most: usize) -> Vec<BufRef> {
        let (mut chosen, mut asked) = (Vec::with_capacity(bufs.len()), bufs);
        let rounds = if self.promised_age().is_some() { STAGES } else { ROUNDS };
        for depth in 0..DEPTH {
            let mut first = Vec::new();
            for buf in asked.drain(..).filter(|buf| buf.is_dirty()) {
                // Contents have no dependencies.
                let wanted = buf.kind() == Role::Data || chosen.len() + first.len() < most;
                let ready = wanted.then(|| self.capabilities().ready(self, &buf));
                let (round, soon) = match ready {
                    None => (0, false),
                    Some(Ready::After(others)) if depth > 0 || buf.rounds.get() < rounds => {
                        // An empty list means that the buf waits for a log.
                        let soon = !others.is_empty() && self.promised_age().is_some();
                        first.extend(others);
                        (1, soon)
                    }
                    Some(_) => {
                        chosen.push(buf);
                        continue;
                    }
                };
                if depth == 0 {
                    buf.rounds.set(buf.rounds.get() + round);
                    let nap = if soon { Duration::ZERO } else { Duration::from_secs(1) };
                    let again = self.rt.now() + nap;
                    self.inner.borrow_mut().dirty.put_back(&buf, again);
                }
            }
            first.sort_by_key(|buf| buf.key());
            first.dedup_by_key(|buf| buf.key());
            first.truncate(most.saturating_sub(chosen.len()));
            asked = first;
        }
        chosen
    }

    fn attempt(self: &Rc<Self>, buf: &BufRef) -> Attempt {
        if !buf.is_dirty() {
            return buf.flight.newest().map_or(Attempt::Clean, Attempt::Leaving);
        }
        let leave = self.scheme().clone().leaving(self, buf, buf.next_image());
        match leave {
            Leave::After(until) => Attempt::Blocked(until),
            Leave::AfterBufs(first) => {
                let cache = self.clone();
                Attempt::Blocked(Box::pin(async move { cache.write_all(first).await }))
            }
            Leave::AsIs | Leave::Image(_) | Leave::Older(_) => match self.home().place(buf) {
                Some(addr) => {
                    let image = self.take(buf, leave);
                    Attempt::Leaving(self.send(buf, addr, image))
                }
                None if matches!(leave, Leave::AsIs) => Attempt::Unplaced,
                // batch-4: the newer changes are let go later, and nothing says when.
                None => {
                    let rt = self.rt.clone();
                    Attempt::Blocked(Box::pin(async move {
                        rt.sleep(NAP).await;
                        Ok(())
                    }))
                }
            },
        }
    }

    /// Takes the image of a buf that the scheme lets leave: sealed, and the buf is clean unless something was rolled
    /// back.
    pub(crate) fn take(self: &Rc<Self>, buf: &BufRef, leave: Leave) -> Image {
        let number = buf.next_image();
        let is_due = matches!(leave, Leave::Image(_)) && self.promised_age().is_some();
        let mut image = match leave {
            Leave::Image(block) | Leave::Older(block) => {
                self.count(|s| s.rollbacks += 1);
                Some(Arc::new(block))
            }
            _ => None,
        };
        // With or without a rollback, times and check-hashes are put in last, over exactly the bytes that are written.
        let rolled_back = image.is_some();
        match &mut image {
            Some(image) => self.home().seal(buf, &mut Arc::make_mut(image)[..]),
            None => self.change(buf, |bytes| self.home().seal(buf, bytes)),
        }
        let image = image.unwrap_or_else(|| buf.image());
        if rolled_back {
            // The buf is written once more later: what it waits for may have landed by then.
            let (now, mut inner) = (self.rt.now(), self.inner.borrow_mut());
            match is_due {
                true => inner.dirty.put_back(buf, now + Duration::from_secs(1)),
                false => inner.dirty.start_over(buf, now),
            }
        } else {
            buf.state.set(State::Clean);
            self.inner.borrow_mut().dirty.drop_buf(buf);
        }
        buf.rounds.set(0);
        buf.progress.sent.set(number);
        image
    }

    /// Sends the image of one buf to its place.
    fn send(self: &Rc<Self>, buf: &BufRef, addr: DiskOff, image: Image) -> Written {
        let sequence = self.capabilities().sequence(buf);
        let order = Order { flag: sequence.flag, after: &sequence.after };
        // Only the queue holds the image, so that a change after the write has completed needs no copy.
        let len = image.len();
        let written = self.queue.write_in(order, addr, image, Tag { kind: buf.kind(), cause: buf.cause() });
        self.follow([self.depart(buf, addr, len, &written)], &written);
        written
    }

    /// An image of `buf`, `len` bytes at `addr`, is in flight.
    pub(crate) fn depart(&self, buf: &BufRef, addr: DiskOff, len: usize, written: &Written) -> Departed {
        self.count(|s| s.writes += 1);
        if buf.stored.get() == Stored::Nothing {
            buf.stored.set(Stored::Here);
        }
        self.flights.depart(buf, addr, len, written)
    }

    /// Follows the images of one write to the disk: what it means for bufs and scheme when it is completed, and when it
    /// has landed.
    pub(crate) fn follow(self: &Rc<Self>, images: impl AsRef<[Departed]> + 'static, written: &Written) {
        let (cache, written) = (self.clone(), written.clone());
        self.rt.spawn(async move {
            let completed = written.completed().await;
            cache.flights.complete(images.as_ref());
            cache.flush_soon();
            cache.progress.notify_all();
            let outcome = match completed {
                Ok(()) => written.when_durable().await,
                Err(error) => Err(error),
            };
            for image in images.as_ref() {
                cache.arrived(image, &outcome);
            }
            cache.progress.notify_all();
        });
    }

    /// The image is durable, or could not be written.
    fn arrived(self: &Rc<Self>, image: &Departed, outcome: &std::result::Result<(), DiskError>) {
        self.flights.arrive(image);
        let Departed { buf, number, addr, .. } = image;
        match outcome {
            Ok(()) => {
                // The buf may have moved to another address while this image was in flight.
                if buf.addr() == Some(*addr) {
                    buf.stored.set(Stored::Here);
                }
                self.landed(buf, *number);
            }
            Err(error) => self.failed(buf, error),
        }
        buf.changed.notify_all();
    }

    /// Starts a flush once so many bytes are completed but not durable that writers would soon wait for a flush.
    fn flush_soon(self: &Rc<Self>) {
        if self.flights.bytes() > self.dirty_bytes / 2 && !self.flushing.replace(true) {
            let cache = self.clone();
            self.rt.spawn(async move {
                // Every write that this flush covers gets its failure.
                let _ = cache.flush().await;
                cache.flushing.set(false);
            });
        }
    }

    fn landed(self: &Rc<Self>, buf: &BufRef, image: ImageNo) {
        buf.progress.durable.set(buf.durable_image().max(image));
        self.scheme().landed(self, buf, image);
    }

    /// The buf is dirty again, with all its contents (buf-4).
    fn failed(self: &Rc<Self>, buf: &BufRef, error: &DiskError) {
        self.make_dirty(buf);
        self.scheme().failed(buf);
        let failure = Error::io(error.clone());
        let metadata = !matches!((buf.key(), buf.kind()), (Key::File(..), Role::Data));
        if metadata || error.op == ordo_disk::DiskOp::Flush {
            let why = format!("{error}, writing {buf:?}; the volume is read-only now");
            self.health().degrade(failure.clone().told_as(why));
        }
        *self.last_failure.borrow_mut() = Some(failure.clone());
        if let Key::File(ino, _) = buf.key() {
            let is_news = self.write_errors.borrow_mut().insert(ino, failure).is_none();
            if is_news && !metadata {
                self.health().tell(Trouble::Write(&format!("{error}, writing {buf:?}")));
            }
        }
    }

    /// The write failure of this file that no caller has received yet.
    pub fn take_write_error(&self, ino: ordo_ondisk::Ino) -> Option<Error> {
        self.write_errors.borrow_mut().remove(&ino)
    }
}
