//! The cache: finding, filling and changing bufs.

use crate::buf::{State, Stored};
use crate::dirty::DirtyBufs;
use crate::flight::Flights;
use crate::policy::{Policy, Syncer};
use crate::stats::CacheStats;
use crate::{Buf, BufRef, Capabilities, Health, Home, Key, Ledger, Role, Scheme, SeesChanges, Ticket, WhileLeaving};
use ordo_disk::{Block, DiskOff, Queue, Tag};
use ordo_ondisk::{Ino, Lbn};
use ordo_rt::Rt;
use ordo_vfs::{Error, Result};
use rustc_hash::FxHashMap;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// What a caller looks up, and where to read it from on a miss.
#[derive(Debug, Clone, Copy)]
pub struct Want {
    /// What it is.
    pub key: Key,
    /// What kind of thing it is.
    pub role: Role,
    /// Where it lives.
    pub addr: DiskOff,
    /// Its length in bytes.
    pub len: usize,
}

/// The bufs of one volume, and how they are read from and written to the disk.
pub struct Cache {
    pub(crate) rt: Rt,
    pub(crate) queue: Queue,
    /// Bytes of all bufs together.
    pub(crate) bytes: usize,
    /// Limit of dirty bytes.
    pub(crate) dirty_bytes: usize,
    pub(crate) policy: Policy,
    pub(crate) inner: RefCell<Inner>,
    pub(crate) stats: Cell<CacheStats>,
    pub(crate) flights: Flights,
    /// Bytes of copies in flight ([`Policy::spare`]).
    pub(crate) copied: Cell<usize>,
    /// Held by the call that waits for room for copies.
    pub(crate) turn: ordo_rt::sync::Mutex<()>,
    /// Held while the layout shapes a batch (batch-1).
    pub(crate) shaping: ordo_rt::sync::Mutex<()>,
    /// Batches in flight, and those that failed, in the order of sending (batch-6, batch-7). Durable ones leave when
    /// the next one comes. `flights` does not know them: a batch may have no buf, and a failed one stays.
    pub(crate) batches: RefCell<Vec<ordo_disk::Written>>,
    pub(crate) flushing: Cell<bool>,
    pub(crate) writing_back: Cell<bool>,
    /// A third at least of what is being written are dinodes by themselves: of files with one block.
    pub(crate) writes_names: Cell<bool>,
    /// Notified when dirty bytes or undurable bytes decrease.
    pub(crate) progress: ordo_rt::sync::Notify,
    /// The last background write failure of each file, until fsync has reported it.
    pub(crate) write_errors: RefCell<FxHashMap<Ino, Error>>,
    /// The last failed write since a caller began to wait for room.
    pub(crate) last_failure: RefCell<Option<Error>>,
    pub(crate) health: Health,
    pub(crate) ledger: Ledger,
    scheme: OnceCell<Rc<dyn Scheme>>,
    capabilities: OnceCell<Capabilities>,
    /// One of these, apart: it is looked for at every change of a buf, and this costs one test of a pointer.
    sees_changes: OnceCell<Rc<dyn SeesChanges>>,
    home: OnceCell<Rc<dyn Home>>,
    pub(crate) ripe: RefCell<VecDeque<Ticket>>,
    pub(crate) upkeep: Rc<ordo_rt::sync::Notify>,
    /// Tickets whose order broke because a write failed: what they would free stays allocated until fsck repairs it.
    pub(crate) stuck: RefCell<Vec<Ticket>>,
    pub(crate) next_op: Cell<u64>,
    /// The running call, as far as the cache knows; 0 for none (buf-7).
    pub(crate) running: Cell<u64>,
    /// Where changes of contents go that are not kept (buf-9).
    lost: Option<RefCell<Vec<u8>>>,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) map: FxHashMap<Key, u32>,
    pub(crate) bufs: Vec<Option<BufRef>>,
    pub(crate) free: Vec<u32>,
    pub(crate) hand: usize,
    pub(crate) bytes: usize,
    /// The highest value of `bytes` so far.
    pub(crate) most_bytes: usize,
    /// Dinodes by themselves among the bufs.
    pub(crate) dinodes: usize,
    pub(crate) dirty: DirtyBufs,
}

impl Inner {
    /// The bufs that count ([`crate::BufCounts`]).
    pub(crate) fn counted(&self) -> usize {
        self.bufs.len() - self.free.len() - self.dinodes
    }

    /// Takes a buf out of its place.
    pub(crate) fn vacate(&mut self, buf: &Buf) {
        let at = buf.place_in_cache.replace(u32::MAX);
        if at == u32::MAX {
            return;
        }
        self.bytes -= buf.len();
        self.dinodes -= usize::from(buf.key().is_dinode());
        self.map.remove(&buf.key());
        self.bufs[at as usize] = None;
        self.free.push(at);
    }
}

impl Cache {
    /// An empty cache of `bytes` bytes in front of `queue`. A scheme and a layout must be attached before the first
    /// change.
    pub fn new(rt: Rt, queue: Queue, health: Health, bytes: usize, policy: Policy) -> Rc<Cache> {
        let lost = queue.info().times_only.then(RefCell::default);
        let only_contents = policy.counts.is_some_and(|counts| counts.segments);
        let inner = Inner { dirty: DirtyBufs::new(only_contents), ..Inner::default() };
        Rc::new(Cache {
            rt,
            queue,
            bytes,
            dirty_bytes: policy.dirty.unwrap_or(bytes / 2),
            policy,
            inner: RefCell::new(inner),
            stats: Cell::default(),
            flights: Flights::default(),
            copied: Cell::new(0),
            turn: ordo_rt::sync::Mutex::new(()),
            shaping: ordo_rt::sync::Mutex::new(()),
            batches: RefCell::default(),
            flushing: Cell::new(false),
            writing_back: Cell::new(false),
            writes_names: Cell::new(false),
            progress: ordo_rt::sync::Notify::new(),
            write_errors: RefCell::default(),
            last_failure: RefCell::default(),
            ledger: Ledger::of(health.clone()),
            health,
            scheme: OnceCell::new(),
            capabilities: OnceCell::new(),
            sees_changes: OnceCell::new(),
            home: OnceCell::new(),
            ripe: RefCell::default(),
            upkeep: Rc::new(ordo_rt::sync::Notify::new()),
            stuck: RefCell::default(),
            next_op: Cell::new(1),
            running: Cell::new(0),
            lost,
        })
    }

    /// Attaches the scheme, which decides what may be written, and the layout, which knows where things live. Once.
    pub fn attach(&self, scheme: Rc<dyn Scheme>, home: Rc<dyn Home>) {
        let capabilities = scheme.clone().capabilities();
        let seen = capabilities.changes.clone().is_none_or(|changes| self.sees_changes.set(changes).is_ok());
        let fresh = self.scheme.set(scheme).is_ok() && self.home.set(home).is_ok();
        let fresh = fresh && seen && self.capabilities.set(capabilities).is_ok();
        assert!(fresh, "a cache has one scheme and one layout");
    }

    /// The scheme.
    pub fn scheme(&self) -> &Rc<dyn Scheme> {
        // OK to expect: a volume attaches both before it gives the cache to any caller.
        self.scheme.get().expect("a scheme is attached")
    }

    /// What the scheme can do beside [`Scheme`].
    pub fn capabilities(&self) -> &Capabilities {
        // OK to expect: as above.
        self.capabilities.get().expect("a scheme is attached")
    }

    pub(crate) fn home(&self) -> &Rc<dyn Home> {
        // OK to expect: as above.
        self.home.get().expect("a layout is attached")
    }

    /// The executor.
    pub fn rt(&self) -> &Rt {
        &self.rt
    }

    /// The disk queue.
    pub fn queue(&self) -> &Queue {
        &self.queue
    }

    /// Whether the volume can be changed.
    pub fn health(&self) -> &Health {
        &self.health
    }

    /// The age before which a change is sent to the disk, where that is promised ([`Syncer::Within`]).
    pub fn promised_age(&self) -> Option<Duration> {
        match self.policy.syncer {
            Syncer::Within(age) => Some(age),
            Syncer::Age(_) | Syncer::Sweep(_) => None,
        }
    }

    /// The tickets of this volume.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Counts.
    pub fn stats(&self) -> CacheStats {
        let inner = self.inner.borrow();
        CacheStats { bytes: inner.bytes, dirty_bytes: inner.dirty.bytes(), ..self.stats.get() }
    }

    /// What the disk's queue has done since the mount.
    pub fn queue_stats(&self) -> ordo_disk::Stats {
        self.queue.stats()
    }

    pub(crate) fn count(&self, f: impl FnOnce(&mut CacheStats)) {
        let mut stats = self.stats.get();
        f(&mut stats);
        self.stats.set(stats);
    }

    /// Undoes a change in `image`, which is written in place of a buf.
    pub fn undo(&self, image: &mut [u8], undo: &crate::Undo<'_>) -> u32 {
        self.home().undo(image, undo)
    }

    // Finding and filling.

    /// The buf, if it is here and filled.
    #[inline]
    pub fn find(&self, key: Key) -> Option<BufRef> {
        let inner = self.inner.borrow();
        let buf = inner.bufs[*inner.map.get(&key)? as usize].as_ref()?;
        if matches!(buf.state.get(), State::Clean | State::Dirty) {
            buf.referenced.set(true);
            return Some(buf.clone());
        }
        None
    }

    /// The buf, read from the disk if it is not here.
    ///
    /// # Errors
    /// `Io` when the read fails; the next call tries again.
    #[inline]
    pub async fn read(self: &Rc<Self>, want: Want) -> Result<BufRef> {
        if let Some(buf) = self.find(want.key) {
            self.count(|s| s.hits += 1);
            return Ok(buf);
        }
        // Boxed, so that the future of each caller need not have room for the wait.
        Box::pin(self.read_missing(want)).await
    }

    async fn read_missing(self: &Rc<Self>, want: Want) -> Result<BufRef> {
        loop {
            if let Some(buf) = self.find(want.key) {
                self.count(|s| s.hits += 1);
                return Ok(buf);
            }
            if let Some(loading) = self.loading(want.key) {
                self.aside(loading.changed.notified()).await;
                continue;
            }
            self.count(|s| s.misses += 1);
            let has_room = self.has_room(want.len);
            // Known from now on: while this task waits for room, another one could read the buf, change it, write it to
            // another place and evict it, and `want.addr` would be an old state.
            let load = Load::begin(self, want);
            if !has_room {
                self.aside(self.make_room(0)).await?;
                if load.buf.state.get() != State::Loading {
                    continue;
                }
            }
            let block = self.aside(self.queue.read(want.addr, want.len, Tag::of(want.role))).await;
            return load.end(block.map_err(Error::io));
        }
    }

    /// Prefetches: starts to read what is not cached, if there is room, and waits for nothing.
    pub fn read_ahead(self: &Rc<Self>, want: Want) {
        if self.is_known(want.key) || !self.has_room(want.len) {
            return;
        }
        self.count(|s| s.misses += 1);
        let load = Load::begin(self, want);
        let read = self.queue.read(want.addr, want.len, Tag::of(want.role));
        self.rt.spawn(async move {
            // A failed read-ahead is not reported: a caller that needs the block reads it again and gets the error.
            let _ = load.end(read.await.map_err(Error::io));
        });
    }

    /// A buf of zeroes for something new on the volume; nothing is read. If the key is cached, its buf is emptied.
    ///
    /// # Errors
    /// `Io` when room must be made, and the disk fails.
    pub async fn fresh(self: &Rc<Self>, key: Key, role: Role, addr: Option<DiskOff>, len: usize) -> Result<BufRef> {
        while let Some(loading) = self.loading(key) {
            self.aside(loading.changed.notified()).await;
        }
        if !self.has_room(len) {
            self.aside(Box::pin(self.make_room(len))).await?;
        }
        if let Some(old) = self.find(key) {
            self.discard(&old);
        }
        let buf = Buf::new(key, role, addr, Block::zeroed(len), State::Clean);
        buf.born.set(true);
        self.insert(buf.clone());
        Ok(buf)
    }

    /// The buf of something that was read with something else, for example with a whole segment: the one that is
    /// cached, or a new one with these bytes. `None` while it is being read; there is no wait, so it cannot have
    /// changed since the caller found out where it lives.
    pub fn offer(&self, want: Want, bytes: &[u8]) -> Option<BufRef> {
        if let Some(buf) = self.find(want.key) {
            return Some(buf);
        }
        if self.is_known(want.key) {
            return None;
        }
        // Clean bufs make room if they can; whoever waits for room does the rest.
        self.has_room(want.len);
        let mut block = Block::zeroed(want.len);
        block.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let buf = Buf::new(want.key, want.role, Some(want.addr), block, State::Clean);
        buf.set_stored();
        self.insert(buf.clone());
        Some(buf)
    }

    fn loading(&self, key: Key) -> Option<BufRef> {
        let inner = self.inner.borrow();
        let buf = inner.bufs[*inner.map.get(&key)? as usize].as_ref()?;
        (buf.state.get() == State::Loading).then(|| buf.clone())
    }

    fn is_known(&self, key: Key) -> bool {
        self.inner.borrow().map.contains_key(&key)
    }

    pub(crate) fn insert(&self, buf: BufRef) {
        let mut inner = self.inner.borrow_mut();
        let at = inner.free.pop().unwrap_or_else(|| {
            inner.bufs.push(None);
            (inner.bufs.len() - 1) as u32
        });
        buf.place_in_cache.set(at);
        inner.bytes += buf.len();
        inner.most_bytes = inner.most_bytes.max(inner.bytes);
        inner.dinodes += usize::from(buf.key().is_dinode());
        inner.map.insert(buf.key(), at);
        inner.bufs[at as usize] = Some(buf);
    }

    pub(crate) fn remove(&self, buf: &Buf) {
        self.inner.borrow_mut().vacate(buf);
    }

    /// The most bytes of all bufs together.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// How the engine uses memory and disk, for layout and calls.
    #[inline]
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    // Changing.

    /// Waits until `buf` may be changed: at once, unless the scheme locks bufs with an image in flight.
    #[inline]
    pub async fn before_change(&self, buf: &BufRef) {
        if self.is_locked(buf) {
            self.count(|s| s.lock_waits += 1);
        }
        while self.is_locked(buf) {
            self.aside(buf.changed.notified()).await;
        }
    }

    /// Its image is in flight, and it must not be changed (buf-8).
    fn is_locked(&self, buf: &Buf) -> bool {
        buf.flight.is_leaving() && self.capabilities().while_leaving == WhileLeaving::Lock
    }

    /// Waits while other calls run, and restores the running call afterwards (buf-7).
    async fn aside<T>(&self, wait: impl Future<Output = T>) -> T {
        let op = self.running.replace(0);
        let outcome = wait.await;
        self.running.set(op);
        outcome
    }

    /// Changes the bytes, which makes the buf dirty.
    #[inline]
    pub fn modify<R>(&self, buf: &BufRef, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let result = self.fill(buf, f);
        self.mark_dirty(buf);
        result
    }

    /// Changes the bytes without making the buf dirty: for the contents of a block that has no pointer yet. Setting the
    /// pointer makes it dirty.
    #[inline]
    pub fn fill<R>(&self, buf: &BufRef, f: impl FnOnce(&mut [u8]) -> R) -> R {
        debug_assert!(!self.is_locked(buf), "{buf:?} is changed, and nobody waited for it");
        self.tell_change(buf);
        if buf.flight.is_leaving() && buf.is_shared() {
            self.count(|s| s.copies += 1);
        }
        self.change(buf, f)
    }

    /// Whether the buf has the bytes that were put into it (buf-9).
    pub fn keeps_bytes(&self, buf: &Buf) -> bool {
        self.lost.is_none() || buf.kind() != Role::Data
    }

    /// Lets `f` change the bytes of the buf, or bytes in place of them that are not kept.
    pub(crate) fn change<R>(&self, buf: &Buf, f: impl FnOnce(&mut [u8]) -> R) -> R {
        let Some(lost) = self.lost.as_ref().filter(|_| buf.kind() == Role::Data) else { return buf.change(f) };
        buf.renew();
        let (mut lost, len) = (lost.borrow_mut(), buf.len());
        if lost.len() < len {
            lost.resize(len, 0);
        }
        f(&mut lost[..len])
    }

    #[inline]
    fn tell_change(&self, buf: &BufRef) {
        if let Some(changes) = self.sees_changes.get() {
            changes.will_change(buf);
        }
    }

    /// Makes the buf dirty; the syncer will write it. The cause is the running call.
    #[inline]
    pub fn mark_dirty(&self, buf: &BufRef) {
        buf.cause.set(self.running.get());
        self.make_dirty(buf);
    }

    /// Makes the buf dirty and keeps its cause.
    #[inline]
    pub(crate) fn make_dirty(&self, buf: &BufRef) {
        if buf.state.get() != State::Clean {
            return;
        }
        buf.state.set(State::Dirty);
        buf.dirty_since.set(self.rt.now());
        self.inner.borrow_mut().dirty.add(buf);
    }

    /// Changes the length of the buf: bytes beyond the old length are zero.
    pub fn resize(&self, buf: &BufRef, len: usize) {
        let old = buf.len();
        if old == len {
            return;
        }
        debug_assert!(!self.is_locked(buf), "{buf:?} is changed, and nobody waited for it");
        self.tell_change(buf);
        let mut block = Block::zeroed(len);
        let keep = old.min(len);
        if !buf.image.borrow().is_untouched() {
            block[..keep].copy_from_slice(&buf.bytes()[..keep]);
        }
        *buf.image.borrow_mut() = Arc::new(block);
        let mut inner = self.inner.borrow_mut();
        if buf.place_in_cache.get() != u32::MAX {
            inner.bytes = inner.bytes + len - old;
            inner.most_bytes = inner.most_bytes.max(inner.bytes);
        }
        if buf.is_dirty() {
            inner.dirty.resized(old, len);
        }
    }

    /// Records that the block has moved to `addr`.
    pub fn moved(&self, buf: &BufRef, addr: DiskOff) {
        self.tell_change(buf);
        if buf.addr.replace(Some(addr)) != Some(addr) && buf.stored.get() == Stored::Here {
            buf.stored.set(Stored::Elsewhere);
        }
    }

    /// Where the buf lives; `None` if its layout gives it a place when it leaves, whatever place it had before.
    pub fn place_of(&self, buf: &Buf) -> Option<DiskOff> {
        self.home().place(buf)
    }

    /// Seals the buf as it would be if it left now: for a scheme that logs what is written later.
    pub fn seal(&self, buf: &Buf) {
        self.change(buf, |bytes| self.home().seal(buf, bytes));
    }

    /// Gives the buf the address at which a batch is about to write it ([`crate::Home::shape`]). No notice goes to the
    /// scheme: it knows the buf without a place, and has let it leave.
    pub fn place(&self, buf: &BufRef, addr: DiskOff) {
        buf.addr.set(Some(addr));
    }

    /// Discards a buf: its contents were freed, and must not be written any more. An image in flight still lands; the
    /// next use of the place is written after it, since the queue keeps overlapping writes in order.
    pub fn discard(&self, buf: &BufRef) {
        if buf.state.get() == State::Dirty {
            self.inner.borrow_mut().dirty.drop_buf(buf);
        }
        self.remove(buf);
        buf.state.set(State::Dead);
        if buf.slot() != 0 {
            self.capabilities().discarded(buf);
        }
        buf.changed.notify_all();
    }

    /// Discards the buf cached under `key`, if any.
    pub fn discard_key(&self, key: Key) {
        if let Some(buf) = self.find(key) {
            self.discard(&buf);
        } else if let Some(loading) = self.loading(key) {
            // The reading task finds it dead when the read ends.
            self.discard(&loading);
        }
    }

    /// The bufs of a file with undurable changes: dirty bufs, and bufs with images in flight. fsync must wait for the
    /// latter, too: a flush covers only the writes that were complete when it began.
    pub fn unsettled_of(&self, ino: Ino) -> Vec<BufRef> {
        let mut bufs = self.flights.of_file(ino);
        let inner = self.inner.borrow();
        let dirty = inner.dirty.of_file(ino);
        bufs.extend(dirty.filter_map(|lbn| inner.bufs[*inner.map.get(&Key::File(ino, lbn))? as usize].clone()));
        bufs
    }

    /// Nothing is dirty, and no image is in flight.
    pub fn is_settled(&self) -> bool {
        self.inner.borrow().dirty.bytes() == 0 && self.flights.are_over()
    }

    /// All bufs with undurable changes.
    pub fn unsettled(&self) -> Vec<BufRef> {
        let mut bufs = self.flights.bufs();
        bufs.extend(self.inner.borrow().dirty.all());
        bufs
    }

    /// The dirty bufs of a file's blocks from `from` to before `to`.
    pub fn dirty_run(&self, ino: Ino, from: Lbn, to: Lbn) -> Vec<BufRef> {
        if from >= to {
            return Vec::new();
        }
        let inner = self.inner.borrow();
        inner
            .dirty
            .of_file_range(ino, from, to)
            .filter_map(|lbn| inner.bufs[*inner.map.get(&Key::File(ino, lbn))? as usize].clone())
            .collect()
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        // A volume that failed, or was dropped without an unmount, may hold tickets: what they free stays allocated on
        // the disk, and fsck finds it. They are redeemed here so that only a real loss triggers the check in `Ticket`.
        for ticket in self.stuck.get_mut().drain(..).chain(self.ripe.get_mut().drain(..)) {
            let _ = ticket.redeem();
        }
    }
}

/// A read in flight. However it ends, tasks that wait for its buf are notified.
struct Load {
    cache: Rc<Cache>,
    buf: BufRef,
}

impl Load {
    fn begin(cache: &Rc<Cache>, want: Want) -> Load {
        let buf = Buf::new(want.key, want.role, Some(want.addr), Block::zeroed(want.len), State::Loading);
        cache.insert(buf.clone());
        Load { cache: cache.clone(), buf }
    }

    fn end(self, result: Result<Block>) -> Result<BufRef> {
        let block = result?;
        if self.buf.state.get() == State::Loading {
            *self.buf.image.borrow_mut() = Arc::new(block);
            self.buf.state.set(State::Clean);
        }
        Ok(self.buf.clone())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if self.buf.state.get() == State::Loading {
            self.buf.state.set(State::Failed);
            self.cache.remove(&self.buf);
        }
        self.buf.changed.notify_all();
    }
}
