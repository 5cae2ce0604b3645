//! The active disk: what it has in memory, how it is opened, and how the map becomes durable.

use crate::area::Area;
use crate::carried::Carried;
use crate::credit::Credit;
use crate::entry::{CopyNo, Entry, Frag, Item, SPAN, SPAN_ITEM};
use crate::groups::{Base, Groups};
use crate::map::Map;
use crate::options::{Kept, OpenError, Options};
use crate::page::{self, Down, Items, PAGE};
use crate::replicas::Replicas;
use crate::root::{Pass, Root};
use crate::tree::{Change, Tree};
use ordo_disk::{
    Block, ByteRange, Cause, Disk, DiskError, DiskOff, DiskOp, Homeward, KeepsCopies, Kind, ReadPart, Stored, Tag,
    WritePart,
};
use ordo_learning::{Learning, Rule, Terms};
use ordo_rt::sync::{Mutex, Notify};
use ordo_rt::{Rt, Time, together};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::Range;
use std::pin::Pin;
use std::rc::{Rc, Weak};

/// The state of an active disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct State {
    /// Group journals.
    pub groups: u32,
    /// Fragments whose checksum is known.
    pub mapped: u64,
    /// Of these, with a copy in a group journal.
    pub copies: u64,
    /// Fragments that were read, and written, from another copy since it was opened.
    pub healed: u64,
    /// Pages of the map that could not be read: what they had is not verified any more.
    pub lost_pages: u32,
    /// There was a map, and it does not count: another scheme or system has written to the volume (logs-active-7).
    pub is_void: bool,
    /// A home lacks bytes that a group journal has.
    pub dirty: bool,
    /// Writes of homes that were left to their copies.
    pub left_away: u64,
    /// Writes of the journal that waited until what they overwrite was at home: the cleaner had not come so far.
    pub forced: u64,
    /// Fragments with a replica.
    pub replicas: u64,
    /// Reads that were served from a replica since it was opened.
    pub from_replica: u64,
}

/// The places of a range of bytes, the newest first, all with the right bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copies {
    /// Bytes.
    pub len: u64,
    /// Home, then the copies.
    pub at: Vec<DiskOff>,
}

/// The fragment under which a page of the map has a span.
pub(crate) fn span_key(frag: Frag) -> Frag {
    frag / SPAN_ITEM * SPAN_ITEM
}

/// The paper's terms, in bytes. A preference must be seen three times: twice happens by chance. Of random reads of
/// 3,000 runs from 30 docks every twentieth repeats one of the last 4,096 pairs, and hardly one does it twice.
fn terms(rule: Rule, near: u64, longest: u64) -> Terms {
    let dock = Terms::DOCK_BLOCKS * 4096;
    Terms { rule, near, window: Terms::WINDOW, dock, longest, times: 3, pairs: 4096, wishes: 256 }
}

/// The most pages in one write.
const TOGETHER: u64 = 32;

/// A disk with an active journal. Clones are handles of the same one.
#[derive(Clone)]
pub struct Active(pub(crate) Rc<Layer>);

pub(crate) struct Layer {
    pub(crate) disk: Rc<dyn Disk>,
    pub(crate) area: Area,
    /// The address of the journal's first byte: behind the end of the disk.
    pub(crate) base: u64,
    pub(crate) near_head: bool,
    pub(crate) volatile: bool,
    pub(crate) read_only: bool,
    /// Contents that are written past the journal become known, too, as far as the map has room.
    pub(crate) learns: Cell<bool>,
    pub(crate) map: RefCell<Map>,
    pub(crate) tree: RefCell<Tree>,
    pub(crate) groups: RefCell<Groups>,
    pub(crate) root: RefCell<Root>,
    /// The last transaction that the map has.
    last: Cell<u64>,
    /// Where the last request has ended: where the head is, for a disk that does not say (the paper's rule).
    pub(crate) head: Cell<u64>,
    /// Serializes what makes the map durable.
    settling: Mutex<()>,
    /// The root in memory has a pass of scrubs that none on the disk has.
    pub(crate) passed: Cell<bool>,
    /// How many fragments a pass has read that goes on at the first number ([`Active::read_in_pass`]).
    pub(crate) counted: Cell<(u64, u64)>,
    failed: RefCell<Option<DiskError>>,
    /// Serializes headers of group journals.
    pub(crate) heading: Mutex<()>,
    /// Writes in flight, and fragments that are being healed or carried home (logs-active-6).
    pub(crate) busy: RefCell<Vec<Range<Frag>>>,
    pub(crate) healing: RefCell<BTreeSet<Frag>>,
    /// What was taken out of the map in memory, and may still be in it on the disk: no home there may be written
    /// (logs-active-1).
    pub(crate) voiding: RefCell<Vec<Range<Frag>>>,
    pub(crate) changed: Notify,
    pub(crate) healed: Cell<u64>,
    pub(crate) left_away: Cell<u64>,
    pub(crate) forced: Cell<u64>,
    pub(crate) carried: RefCell<Carried>,
    /// The piece that the journal's line enters next.
    pub(crate) line: Cell<u32>,
    lost_pages: Cell<u32>,
    is_void: Cell<bool>,
    /// What reads tell, and what came of it (logs-active-10); `None`: nothing is learned.
    pub(crate) learning: Option<RefCell<Learning>>,
    pub(crate) rt: Rt,
    /// When something was read last.
    pub(crate) read: Cell<Time>,
    pub(crate) replicas: RefCell<Replicas>,
    pub(crate) from_replica: Cell<u64>,
    pub(crate) credit: Credit,
    /// A replica is being made, or a new journal begins.
    pub(crate) replicating: Mutex<()>,
}

/// A handle that does not keep the disk in memory.
#[derive(Clone)]
pub struct Watch(Weak<Layer>);

impl Watch {
    /// The disk, unless it is gone.
    pub fn upgrade(&self) -> Option<Active> {
        self.0.upgrade().map(Active)
    }
}

impl Active {
    /// A handle that does not keep the disk in memory.
    pub fn downgrade(&self) -> Watch {
        Watch(Rc::downgrade(&self.0))
    }

    /// The active disk over `disk`, with the file of its journal in these extents, on a volume with fragments of `frag`
    /// bytes. Nothing is written.
    ///
    /// # Errors
    /// See [`OpenError`]. A map that is damaged is not an error: see [`State::lost_pages`].
    pub async fn open(
        rt: &Rt,
        disk: Rc<dyn Disk>,
        extents: &[(DiskOff, u64)],
        frag: u32,
        kept: Kept,
        options: Options,
    ) -> Result<Active, OpenError> {
        let area = Area::new(extents, frag.into())?;
        let info = disk.info();
        let near_head =
            options.near_head.unwrap_or_else(|| disk.positioning(DiskOff(0), true).is_some() || info.rotates);
        let read_only = options.read_only || info.read_only;
        let learns = options.learning.unwrap_or_default().rule().filter(|_| near_head && !read_only);
        let longest = area.place_len().min(u64::from(info.max_transfer) / area.frag * area.frag);
        // Group journals are so far from each other: without a replica the head goes at least from one to the next.
        let near = info.size / area.groups.len().max(1) as u64;
        let (pages, id) = (area.pages, kept.by.unwrap_or(0));
        let base = Base::default();
        let none = Root { number: 0, id, before: id, upto: 0, base, line: 0, frag, pass: Pass::default(), top: None };
        let layer = Layer {
            base: info.size.next_multiple_of(area.place_len().max(1 << 16)),
            near_head,
            read_only,
            learning: learns.map(|rule| RefCell::new(Learning::new(terms(rule, near, longest)))),
            rt: rt.clone(),
            read: Cell::new(Time::ZERO),
            replicas: RefCell::default(),
            from_replica: Cell::new(0),
            credit: Credit::default(),
            replicating: Mutex::new(()),
            learns: Cell::new(false),
            volatile: options.volatile_cache.unwrap_or(info.volatile_cache),
            map: RefCell::new(Map::new(&area, Tree::most(pages))),
            tree: RefCell::new(Tree::new(pages)),
            groups: RefCell::new(Groups::first(&area, id, base)),
            root: RefCell::new(none),
            last: Cell::new(0),
            head: Cell::new(0),
            settling: Mutex::new(()),
            passed: Cell::new(false),
            counted: Cell::default(),
            failed: RefCell::new(None),
            heading: Mutex::new(()),
            busy: RefCell::default(),
            healing: RefCell::default(),
            voiding: RefCell::default(),
            changed: Notify::new(),
            healed: Cell::new(0),
            left_away: Cell::new(0),
            forced: Cell::new(0),
            carried: RefCell::default(),
            line: Cell::new(0),
            lost_pages: Cell::new(0),
            is_void: Cell::new(false),
            disk,
            area,
        };
        let active = Active(Rc::new(layer));
        active.load(kept).await?;
        Ok(active)
    }

    async fn load(&self, kept: Kept) -> Result<(), OpenError> {
        let layer = &self.0;
        // Of each root its slot, then its twin.
        let (mut slots, mut failed) = ([None; 4], [false; 4]);
        for (n, at) in [0, 1].into_iter().flat_map(|number| layer.area.root(number)).enumerate() {
            match layer.read_raw(layer.area.run(at).0, PAGE).await {
                Ok(block) => slots[n] = Root::decode(&block),
                Err(_) => failed[n] = true,
            }
        }
        // Without both of its slots the newest root may be lost, and the one before has entries that had to go
        // (logs-active-1). A number far above all makes the next one count, whatever comes back.
        let newest = Root::newest(slots).map_or(0, |root| root.number);
        let is_lost = |pair: usize| {
            let (slot, twin) = (2 * pair, 2 * pair + 1);
            slots[slot].is_none() && slots[twin].is_none() && (failed[slot] || failed[twin] || newest >= 2)
        };
        let unsure = is_lost(0) || is_lost(1);
        layer.root.borrow_mut().number = newest.saturating_add(if unsure { 1 << 32 } else { 0 });
        let ours = |root: &Root| {
            u64::from(root.frag) == layer.area.frag && kept.by.is_some_and(|by| by == root.id || by == root.before)
        };
        let found = Root::newest(slots.map(|slot| slot.filter(ours))).filter(|_| !unsure);
        let was_there = slots.iter().flatten().any(|root| root.top.is_some());
        layer.is_void.set(found.is_none() && (was_there || unsure && kept.by.is_some()));
        if let Some(root) = found {
            let number = layer.root.borrow().number;
            *layer.root.borrow_mut() = Root { number, ..root };
            if let Some((down, level)) = root.top {
                layer.load_page(down, level, 0..Frag::MAX, kept.dirty).await?;
            }
        }
        if kept.dirty && (found.is_none() || layer.lost_pages.get() > 0) {
            return Err(OpenError::MapLost);
        }
        if kept.dirty {
            let mut headers = Vec::new();
            for group in &layer.area.groups {
                let read = async |slot: u64| layer.read_raw(group.header + slot * PAGE, PAGE).await;
                let empty = |_: DiskError| Block::zeroed(PAGE as usize);
                headers.push([read(0).await.unwrap_or_else(empty), read(1).await.unwrap_or_else(empty)]);
            }
            let root = *layer.root.borrow();
            *layer.groups.borrow_mut() = Groups::read(&layer.area, kept.by.unwrap_or(0), root.base, &headers);
        }
        Ok(())
    }

    /// Adds what the journal has found in its recovery: transactions of the journal `id`, in their order
    /// (logs-active-2).
    pub fn recovered<'a>(&self, id: u64, found: impl Iterator<Item = (u64, &'a [Stored], &'a [ByteRange])>) {
        let root = *self.0.root.borrow();
        let upto = if root.id == id { root.upto } else { 0 };
        if root.id != id {
            let mut root = self.0.root.borrow_mut();
            (root.id, root.before, root.upto) = (id, id, 0);
        }
        self.0.last.set(upto);
        for (seq, stored, revoked) in found {
            match seq > upto {
                true => self.0.committed(seq, stored, revoked),
                false => self.0.confirm(stored),
            }
        }
    }

    /// The range of addresses of the journal: behind the end of the volume.
    pub fn journal(&self) -> (DiskOff, u64) {
        (DiskOff(self.0.base), self.0.journal_len())
    }

    /// The state.
    pub fn state(&self) -> State {
        let (layer, map) = (&self.0, self.0.map.borrow());
        State {
            groups: layer.area.groups.len() as u32,
            mapped: map.len() as u64,
            copies: map.copies(),
            healed: layer.healed.get(),
            lost_pages: layer.lost_pages.get(),
            is_void: layer.is_void.get(),
            dirty: map.is_away(),
            left_away: layer.left_away.get(),
            forced: layer.forced.get(),
            replicas: layer.replicas.borrow().len(),
            from_replica: layer.from_replica.get(),
        }
    }

    /// Makes the map durable.
    ///
    /// # Errors
    /// The disk fails.
    pub async fn settled(&self) -> Result<(), DiskError> {
        self.0.settle(None).await
    }
}

impl KeepsCopies for Active {
    fn committed(&self, seq: u64, stored: &[Stored], revoked: &[ByteRange]) {
        self.0.committed(seq, stored, revoked);
    }

    fn settle(&self) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>> {
        let layer = self.0.clone();
        Box::pin(async move { layer.settle(None).await })
    }

    fn begins(&self, id: u64, contents: bool) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>> {
        let layer = self.0.clone();
        layer.learns.set(contents);
        Box::pin(async move {
            // Each place has its first owner again, also those that have replicas (logs-active-10).
            let _none_is_made = layer.replicating.lock().await;
            *layer.replicas.borrow_mut() = Replicas::default();
            layer.settle(Some(id)).await
        })
    }

    fn apart(&self) -> u64 {
        self.0.area.place_len()
    }

    fn go_home(&self, what: Homeward) -> Pin<Box<dyn Future<Output = Result<(), DiskError>>>> {
        let active = self.clone();
        Box::pin(async move {
            match what {
                Homeward::All => active.bring_home().await,
                Homeward::Next => active.0.clean().await,
                Homeward::Few => {
                    active.0.some_go_home().await?;
                    active.make_replicas().await;
                    Ok(())
                }
                Homeward::Nothing => {
                    if active.0.nobody_reads() {
                        active.make_replicas().await;
                    }
                    Ok(())
                }
            }
        })
    }
}

impl Layer {
    /// Rule logs-active-1 cannot be kept any more: the map could not be made durable.
    pub(crate) fn failure(&self) -> Option<DiskError> {
        self.failed.borrow().clone()
    }

    /// One of these fragments is being written.
    pub(crate) fn is_busy(&self, range: &Range<Frag>) -> bool {
        self.busy.borrow().iter().any(|one| one.start < range.end && range.start < one.end)
    }

    /// The fragments that a range of bytes touches.
    pub(crate) fn frags(&self, at: DiskOff, len: u64) -> Range<Frag> {
        at.0 / self.area.frag..(at.0 + len).div_ceil(self.area.frag)
    }

    fn committed(&self, seq: u64, stored: &[Stored], revoked: &[ByteRange]) {
        self.map.borrow_mut().next_stamp();
        for range in revoked {
            // What was learned from a write past the journal is no copy of it: the entry stays.
            self.forget_if(self.frags(range.at(), range.len()), |entry| entry.copy.is_some() || !entry.home);
        }
        let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
        for one in stored {
            let frag = one.home.0 / self.area.frag;
            self.replicas.borrow_mut().forget(frag..frag + 1);
            let Some(copy) = one.at.and_then(|at| self.copy_at(at)) else {
                // Until its home has it, nothing has its bytes as they are: an entry would call the home rotten.
                map.forget_span(frag);
                map.remove(frag);
                map.take_made_room().into_iter().chain([frag, span_key(frag)]).for_each(|frag| tree.touch(frag));
                continue;
            };
            map.commit(frag, one, Some(copy));
            map.take_made_room().into_iter().chain([frag, span_key(frag)]).for_each(|frag| tree.touch(frag));
        }
        self.last.set(self.last.get().max(seq));
    }

    /// The map has what a transaction says; it may not be at home.
    fn confirm(&self, stored: &[Stored]) {
        let mut map = self.map.borrow_mut();
        for one in stored {
            // Of one without a copy it has nothing, or what its home was seen to get.
            let Some(copy) = one.at.and_then(|at| self.copy_at(at)) else { continue };
            map.confirm(one.home.0 / self.area.frag, one.sum, Some(copy));
        }
    }

    /// Nothing is known of these fragments any more.
    pub(crate) fn forget(&self, frags: Range<Frag>) {
        self.forget_spans(frags.clone());
        self.forget_if(frags, |_| true);
    }

    pub(crate) fn forget_spans(&self, frags: Range<Frag>) {
        let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
        let known: Vec<Frag> = map.spans(frags).map(|(first, _)| first).collect();
        for first in known {
            self.replicas.borrow_mut().forget(first..first + SPAN);
            map.forget_span(first);
            tree.touch(span_key(first));
        }
    }

    fn forget_if(&self, frags: Range<Frag>, which: impl Fn(&Entry) -> bool) {
        let (mut map, mut tree) = (self.map.borrow_mut(), self.tree.borrow_mut());
        let known: Vec<Frag> = map.entries(frags).filter(|(_, entry)| which(entry)).map(|(frag, _)| frag).collect();
        for frag in &known {
            self.replicas.borrow_mut().forget(*frag..*frag + 1);
            map.remove(*frag);
            map.take_made_room().into_iter().chain([*frag]).for_each(|frag| tree.touch(frag));
        }
    }

    /// The block of the group journals in which the journal has what it wrote at this address.
    fn copy_at(&self, at: DiskOff) -> Option<CopyNo> {
        let within = at.0.checked_sub(self.base + self.area.head())?;
        let (piece, block) = (within / self.area.place_len(), within % self.area.place_len() / self.area.frag);
        let place = self.groups.borrow().place_of(u32::try_from(piece).ok()?)?;
        CopyNo::new(place * self.area.blocks + block as u32 + 1)
    }

    /// Where a copy lies.
    pub(crate) fn at_copy(&self, copy: CopyNo) -> DiskOff {
        self.area.block(copy.get() - 1)
    }

    /// How many pieces of so many bytes one request may carry, and one at least.
    pub(crate) fn most_at_once(&self, piece: u64) -> usize {
        (u64::from(self.disk.info().max_transfer) / piece).max(1) as usize
    }

    /// Reads `len` bytes past everything.
    pub(crate) async fn read_raw(&self, at: DiskOff, len: u64) -> Result<Block, DiskError> {
        let part = ReadPart { block: Block::unspecified(len as usize), tag: Tag::of(Kind::Log) };
        let mut parts = self.disk.read(at, vec![part]).await?;
        let read = parts.pop().map(|part| part.block);
        // A disk returns the parts that it was given.
        read.ok_or_else(|| DiskError::new(DiskOp::Read, at, len, Cause::Io(5)))
    }

    /// Reads a page, or its twin if that is damaged.
    async fn read_page(&self, down: Down, level: u32, within: Range<Frag>) -> Option<Items> {
        for twin in [false, true] {
            let (at, _) = self.area.run(self.area.page(down.page, twin));
            let Ok(block) = self.read_raw(at, PAGE).await else { continue };
            if let Some(items) = page::decode(&block, level, down.sum, within.clone()) {
                return Some(items);
            }
        }
        None
    }

    /// Loads a page, and all below. On a volume that was unmounted everything is at home.
    async fn load_page(&self, top: Down, level: u32, range: Range<Frag>, dirty: bool) -> Result<(), OpenError> {
        let mut todo = vec![(top, level, range)];
        while let Some((down, level, range)) = todo.pop() {
            let items = match down.page < self.area.pages {
                true => self.read_page(down, level, range.clone()).await,
                false => None,
            };
            let mut tree = self.tree.borrow_mut();
            tree.found(level, range.start, down);
            match items {
                None => {
                    // Without it the places of its range are not verified. On a volume that was not unmounted the
                    // caller goes no further.
                    tree.lost(level, range.start);
                    self.lost_pages.set(self.lost_pages.get() + 1);
                }
                Some(Items::Entries(entries)) => {
                    let mut map = self.map.borrow_mut();
                    let exists = |copy: &CopyNo| copy.get() <= self.area.places * self.area.blocks;
                    let frags = self.disk.info().size / self.area.frag;
                    for (frag, item) in entries.into_iter().filter(|(frag, _)| *frag < frags) {
                        match item {
                            Item::Old(_, old) if !exists(&old.copy) => {}
                            Item::Entry(entry) => {
                                let (copy, home) = (entry.copy.filter(exists), entry.home || !dirty);
                                map.load(frag, Item::Entry(Entry { copy, home, ..entry }));
                            }
                            old => map.load(frag, old),
                        }
                        map.take_made_room().into_iter().for_each(|frag| tree.touch(frag));
                    }
                }
                Some(Items::Pages(pages)) => {
                    let ends: Vec<Frag> = pages.iter().skip(1).map(|(first, _)| *first).chain([range.end]).collect();
                    let below = pages.into_iter().zip(ends).map(|((first, down), end)| (down, level - 1, first..end));
                    todo.extend(below);
                }
            }
        }
        Ok(())
    }

    /// Makes the map durable (logs-active-3). `begins`: for a new journal, while no home lacks anything.
    pub(crate) async fn settle(&self, begins: Option<u64>) -> Result<(), DiskError> {
        let _one = self.settling.lock().await;
        if let Some(error) = &*self.failed.borrow() {
            return Err(error.clone());
        }
        let changed = self.passed.take() || self.tree.borrow().is_changed();
        if begins.is_none() && !changed {
            return Ok(());
        }
        let (change, root) = self.next_root(begins)?;
        self.map.borrow_mut().goes_down();
        let done = self.write_change(&change, &root).await;
        if let Err(error) = &done {
            *self.failed.borrow_mut() = Some(error.clone());
            return done;
        }
        let pass = self.root.borrow().pass;
        *self.root.borrow_mut() = Root { pass, ..root };
        self.tree.borrow_mut().release(&change.gone);
        self.map.borrow_mut().went_down();
        if let Some(id) = begins {
            self.last.set(0);
            self.line.set(0);
            *self.groups.borrow_mut() = Groups::first(&self.area, id, root.base);
        }
        done
    }

    /// The pages that have changed, and the root over them.
    fn next_root(&self, begins: Option<u64>) -> Result<(Change, Root), DiskError> {
        let change = self.tree.borrow_mut().change(&self.map.borrow());
        let Ok(change) = change else {
            let (at, _) = self.area.run(self.area.page(0, false));
            return Err(DiskError::new(DiskOp::Write, at, PAGE, Cause::Io(28)));
        };
        let root = *self.root.borrow();
        let of_journal = match begins {
            Some(id) => (id, root.id, 0),
            None => (root.id, root.before, self.last.get()),
        };
        let (id, before, upto) = of_journal;
        let (base, line) = match begins {
            Some(_) => (root.base.after(root.line, self.near_head), 0),
            None => (root.base, self.line.get()),
        };
        let next = Root { number: root.number + 1, id, before, upto, base, line, top: change.top, ..root };
        Ok((change, next))
    }

    async fn write_change(&self, change: &Change, root: &Root) -> Result<(), DiskError> {
        let tag = Tag::of(Kind::Log);
        let mut pages: Vec<&(u32, Block)> = change.pages.iter().collect();
        pages.sort_unstable_by_key(|(page, _)| *page);
        // All at once: on a busy disk each write waits for those before it.
        let mut writes = Vec::new();
        for twin in [false, true] {
            let mut rest = pages.as_slice();
            while let Some((first, _)) = rest.first() {
                let (at, there) = self.area.run(self.area.page(*first, twin));
                let most = TOGETHER.min(self.most_at_once(PAGE) as u64);
                let most = (there / PAGE).clamp(1, most) as usize;
                let follow = rest.iter().zip(*first..).take(most).take_while(|((page, _), next)| page == next);
                let (now, later) = rest.split_at(follow.count());
                let part = |page: &&(u32, Block)| WritePart { image: page.1.clone().image(), tag };
                writes.push(self.disk.write(at, now.iter().map(part).collect(), false));
                rest = later;
            }
        }
        all(writes).await?;
        // A tree that has changed has a page. Without one a new journal begins, and everything is at home.
        if !change.pages.is_empty() {
            self.disk.flush().await?;
        }
        // Its twin, too: the root before would bring back entries that had to go (logs-active-1).
        let write = |at| {
            let part = WritePart { image: root.encode().image(), tag };
            self.disk.write(self.area.run(at).0, vec![part], true)
        };
        all(self.area.root(root.number).map(write)).await
    }
}

/// Waits until all of these have ended, also if one fails.
pub(crate) async fn all(
    writes: impl IntoIterator<Item = impl Future<Output = Result<(), DiskError>>>,
) -> Result<(), DiskError> {
    together(writes.into_iter()).await.into_iter().collect()
}
