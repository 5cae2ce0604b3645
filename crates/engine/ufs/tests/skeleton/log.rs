//! The log of the skeleton: batches with a summary, one behind the other, and the inode map that they describe.

use crate::layout::{DINODE, INDIRECT};
use ordo_buf::{Batch, Boxed, Buf, BufRef, Cache, Home, Key, Role, Want};
use ordo_disk::{Block, DiskOff, RamDisk, Tag};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Dinode, Format, FragNo, Geometry, Ino, Lbn};
use ordo_vfs::{Error, Refusal, Result};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::{Rc, Weak};
use std::sync::Arc;

/// Bytes of a block of a file, and of a summary.
pub(crate) const BLOCK: usize = 4096;
/// Bufs of one batch at most.
const MOST: usize = 24;
const MAGIC: u64 = 0x6f72_646f_2d6c_6f67;

/// The byte that a pointer leads to.
pub(crate) fn byte(at: FragNo) -> DiskOff {
    DiskOff(at.0 * 256)
}

/// The log, and what is known of it in memory.
pub(crate) struct Log {
    /// How dinodes and blocks of pointers are encoded; no place comes from it.
    pub(crate) g: Geometry,
    cache: OnceCell<Weak<Cache>>,
    imap: RefCell<BTreeMap<Ino, DiskOff>>,
    generations: RefCell<BTreeMap<Ino, u32>>,
    free: RefCell<BTreeSet<Ino>>,
    /// Freed, and no summary says so yet.
    dead: RefCell<Vec<Ino>>,
    /// Kept in the cache from `prepare` to `shape`.
    pinned: RefCell<Vec<BufRef>>,
    /// Held while a dinode is read, so that it gets one buf.
    loading: ordo_rt::sync::Mutex<()>,
    tail: Cell<u64>,
    /// Calls between begin and end.
    pub(crate) running: Cell<u32>,
    /// Batches, their bufs, and how many dinodes went to another place.
    pub(crate) counts: Cell<[u64; 3]>,
}

/// What a summary says, in the words of the disk: kind, inode, block, offset.
#[derive(Default)]
struct Summary {
    len: u64,
    dinodes: Vec<(Ino, u64)>,
    dead: Vec<Ino>,
}

impl Log {
    /// An empty log.
    pub(crate) fn new() -> Log {
        let params = NewfsParams { bsize: 4096, fsize: 512, ..NewfsParams::new(Format::Ufs2, 64 << 20) };
        Log {
            g: params.superblock().expect("the parameters are good").geometry(),
            cache: OnceCell::new(),
            imap: RefCell::default(),
            generations: RefCell::default(),
            free: RefCell::default(),
            dead: RefCell::default(),
            pinned: RefCell::default(),
            loading: ordo_rt::sync::Mutex::new(()),
            tail: Cell::new(0),
            running: Cell::new(0),
            counts: Cell::default(),
        }
    }

    /// Roll-forward: what the summaries on the disk say.
    pub(crate) fn read(ram: &RamDisk) -> Log {
        let log = Log::new();
        let bytes = ram.to_vec();
        while let Some(summary) = Summary::read(&bytes[log.tail.get() as usize..]) {
            let start = log.tail.get();
            let mut imap = log.imap.borrow_mut();
            for ino in summary.dead {
                imap.remove(&ino);
                log.free.borrow_mut().insert(ino);
            }
            for (ino, offset) in summary.dinodes {
                imap.insert(ino, DiskOff(start + offset));
                let from = (start + offset) as usize;
                let dinode = Dinode::decode(&bytes[from..from + DINODE], &log.g, ino).expect("a dinode");
                log.generations.borrow_mut().insert(ino, dinode.gen_);
            }
            log.tail.set(start + summary.len);
        }
        log.free.borrow_mut().retain(|ino| !log.imap.borrow().contains_key(ino));
        log
    }

    pub(crate) fn attach(&self, cache: &Rc<Cache>) {
        assert!(self.cache.set(Rc::downgrade(cache)).is_ok(), "a log has one cache");
    }

    fn cache(&self) -> Rc<Cache> {
        self.cache.get().and_then(Weak::upgrade).expect("the cache writes, so it is there")
    }

    pub(crate) fn is_new(&self) -> bool {
        self.tail.get() == 0
    }

    /// The inode map, and the end of the log.
    pub(crate) fn places(&self) -> (BTreeMap<Ino, DiskOff>, u64) {
        (self.imap.borrow().clone(), self.tail.get())
    }

    pub(crate) fn place_of(&self, ino: Ino) -> Option<DiskOff> {
        self.imap.borrow().get(&ino).copied()
    }

    /// The buf of a dinode, read from the place that the inode map has.
    pub(crate) async fn dinode_buf(&self, ino: Ino) -> Result<BufRef> {
        let (cache, key) = (self.cache(), Key::Inode(ino));
        let _one = self.loading.lock().await;
        if let Some(buf) = cache.find(key) {
            return Ok(buf);
        }
        let at = self.place_of(ino).ok_or(Refusal::Stale)?;
        let sector = DiskOff(at.0 / 512 * 512);
        let read = cache.queue().read(sector, 512, Tag::of(Role::Inodes)).await.map_err(Error::io)?;
        let buf = cache.fresh(key, Role::Inodes, Some(at), DINODE).await?;
        let from = (at.0 - sector.0) as usize;
        cache.fill(&buf, |bytes| bytes.copy_from_slice(&read[from..from + DINODE]));
        buf.set_stored();
        Ok(buf)
    }

    /// The block of pointers of a file.
    pub(crate) async fn pointers(&self, dinode: &BufRef) -> Result<Option<BufRef>> {
        let Key::Inode(ino) = dinode.key() else { return Ok(None) };
        let (cache, key) = (self.cache(), Key::File(ino, INDIRECT));
        if let Some(buf) = cache.find(key) {
            return Ok(Some(buf));
        }
        let at = self.dinode(dinode).ib[0];
        if at.is_hole() {
            return Ok(None);
        }
        cache.read(Want { key, role: Role::Indirect, addr: byte(at), len: BLOCK }).await.map(Some)
    }

    pub(crate) fn dinode(&self, buf: &Buf) -> Dinode {
        let Key::Inode(ino) = buf.key() else { panic!("{buf:?} is no dinode") };
        Dinode::decode(&buf.bytes(), &self.g, ino).expect("a dinode, or zeroes")
    }

    pub(crate) fn new_number(&self) -> (Ino, u32) {
        let mut generations = self.generations.borrow_mut();
        let next = || Ino(generations.keys().next_back().map_or(2, |last| last.0) + 1);
        let ino = self.free.borrow_mut().pop_first().unwrap_or_else(next);
        let generation = generations.entry(ino).or_insert(0);
        *generation += 1;
        // It lives again: the summary with its dinode says enough.
        self.dead.borrow_mut().retain(|dead| *dead != ino);
        (ino, *generation)
    }

    pub(crate) fn free_number(&self, ino: Ino) {
        self.imap.borrow_mut().remove(&ino);
        self.dead.borrow_mut().push(ino);
        self.free.borrow_mut().insert(ino);
    }

    /// Sets the pointer to block `lbn`, in the dinode or in the block of pointers, which must be cached.
    pub(crate) fn point(&self, ino: Ino, lbn: Lbn, to: FragNo) {
        let cache = self.cache();
        if lbn.0 >= 12 {
            let block = cache.find(Key::File(ino, INDIRECT)).expect("it was read");
            cache.modify(&block, |bytes| self.g.put_pointer(bytes, lbn.0 as u32 - 12, to)).expect("it is in the block");
            return;
        }
        let buf = cache.find(Key::Inode(ino)).expect("it was read");
        let mut dinode = self.dinode(&buf);
        match usize::try_from(lbn.0) {
            Ok(direct) => dinode.db[direct] = to,
            Err(_) => dinode.ib[0] = to,
        }
        cache.modify(&buf, |bytes| dinode.encode(bytes, &self.g)).expect("a dinode has room for itself");
    }

    /// What no batch has said: which inodes are gone.
    pub(crate) async fn write_last_summary(&self, cache: &Cache) -> Result<()> {
        while !self.dead.borrow().is_empty() {
            self.write_summary(cache).await?;
        }
        Ok(())
    }

    async fn write_summary(&self, cache: &Cache) -> Result<()> {
        let batch = Batch { at: DiskOff(self.tail.get()), len: BLOCK, kind: Role::Superblock, bufs: Vec::new() };
        self.tail.set(self.tail.get() + BLOCK as u64);
        let mut image = Block::zeroed(BLOCK);
        self.summarise(&batch, &mut image);
        cache.queue().write(batch.at, Arc::new(image), Tag::of(Role::Superblock)).durable().await.map_err(Error::io)
    }

    fn summarise(&self, batch: &Batch, image: &mut [u8]) {
        let dinodes = batch.bufs.iter().filter_map(|(buf, at)| match buf.key() {
            Key::Inode(ino) => Some((ino, *at as u64)),
            _ => None,
        });
        let mut dead = self.dead.borrow_mut();
        let most = dead.len().min(100);
        Summary { len: batch.len as u64, dinodes: dinodes.collect(), dead: dead.drain(..most).collect() }.write(image);
    }
}

/// The log as the cache sees it.
pub(crate) struct Writer(pub(crate) Rc<Log>);

impl Home for Writer {
    /// Whatever is dirty goes to the end of the log: nothing keeps its place.
    fn place(&self, _: &Buf) -> Option<DiskOff> {
        None
    }

    fn seal(&self, _: &Buf, _: &mut [u8]) {}

    fn prepare(&self, wanted: &[BufRef]) -> Boxed<'static, Result<()>> {
        let (log, wanted) = (self.0.clone(), wanted.to_vec());
        Box::pin(async move {
            for buf in wanted.iter().filter(|buf| buf.is_dirty()) {
                let Key::File(ino, _) = buf.key() else { continue };
                let dinode = log.dinode_buf(ino).await?;
                let pointers = log.pointers(&dinode).await?;
                log.pinned.borrow_mut().extend(pointers.into_iter().chain([dinode]));
            }
            Ok(())
        })
    }

    fn shape(&self, wanted: &[BufRef], may_leave: &dyn Fn(&BufRef) -> bool) -> Result<Vec<Batch>> {
        let (log, cache) = (&self.0, self.0.cache());
        let mut shaping = Shaping { log, batches: Vec::new(), open: Vec::new(), len: BLOCK };
        let (mut blocks, mut dinodes) = (BTreeSet::new(), BTreeSet::new());
        for buf in wanted {
            match buf.key() {
                Key::File(ino, INDIRECT) => drop(blocks.insert(ino)),
                Key::File(ino, lbn) => {
                    log.point(ino, lbn, shaping.place(&cache, buf));
                    if lbn.0 < 12 {
                        dinodes.insert(ino)
                    } else {
                        blocks.insert(ino)
                    };
                }
                Key::Inode(ino) => drop(dinodes.insert(ino)),
                Key::Device(_) => return Err(Error::io("this layout has no blocks of its own")),
            }
        }
        let leaves = |key| cache.find(key).filter(|buf| buf.is_dirty() && may_leave(buf));
        for ino in blocks {
            let Some(block) = leaves(Key::File(ino, INDIRECT)) else { continue };
            log.point(ino, INDIRECT, shaping.place(&cache, &block));
            dinodes.insert(ino);
        }
        for ino in dinodes {
            let Some(dinode) = leaves(Key::Inode(ino)) else { continue };
            let at = byte(shaping.place(&cache, &dinode));
            let moved = log.imap.borrow_mut().insert(ino, at).is_some();
            let [batches, bufs, moves] = log.counts.get();
            log.counts.set([batches, bufs, moves + u64::from(moved)]);
        }
        log.pinned.borrow_mut().clear();
        shaping.close();
        Ok(shaping.batches)
    }

    fn seal_batch(&self, batch: &Batch, image: &mut [u8]) {
        self.0.summarise(batch, image);
    }
}

/// Batches in the making.
struct Shaping<'a> {
    log: &'a Log,
    batches: Vec<Batch>,
    open: Vec<(BufRef, usize)>,
    /// Bytes of the open one, the summary included.
    len: usize,
}

impl Shaping<'_> {
    fn place(&mut self, cache: &Cache, buf: &BufRef) -> FragNo {
        if self.open.len() == MOST {
            self.close();
        }
        let at = self.log.tail.get() + self.len as u64;
        self.open.push((buf.clone(), self.len));
        self.len += buf.len();
        cache.place(buf, DiskOff(at));
        FragNo(at / 256)
    }

    fn close(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let (len, bufs) = (self.len.next_multiple_of(BLOCK), std::mem::take(&mut self.open));
        let [batches, sum, moves] = self.log.counts.get();
        self.log.counts.set([batches + 1, sum + bufs.len() as u64, moves]);
        self.batches.push(Batch { at: DiskOff(self.log.tail.get()), len, kind: Role::Data, bufs });
        self.log.tail.set(self.log.tail.get() + len as u64);
        self.len = BLOCK;
    }
}

impl Summary {
    /// Puts it into the first block of a batch: a sum over the whole batch makes a torn one visible.
    fn write(&self, image: &mut [u8]) {
        let mut words = vec![MAGIC, 0, self.len, self.dinodes.len() as u64, self.dead.len() as u64];
        words.extend(self.dinodes.iter().flat_map(|(ino, at)| [u64::from(ino.0), *at]));
        words.extend(self.dead.iter().map(|ino| u64::from(ino.0)));
        assert!(words.len() * 8 <= BLOCK, "a summary is one block");
        for (i, word) in words.iter().enumerate() {
            image[8 * i..8 * i + 8].copy_from_slice(&word.to_le_bytes());
        }
        let sum = sum_of(&image[..self.len as usize]);
        image[8..16].copy_from_slice(&sum.to_le_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Summary> {
        let word = |i: usize| Some(u64::from_le_bytes(bytes.get(8 * i..8 * i + 8)?.try_into().ok()?));
        let (len, dinodes, dead) = (word(2)?, word(3)? as usize, word(4)? as usize);
        if word(0)? != MAGIC || word(1)? != sum_of(bytes.get(..len as usize)?) {
            return None;
        }
        let ino = |i: usize| Some(Ino(word(i)? as u32));
        Some(Summary {
            len,
            dinodes: (0..dinodes).map(|i| Some((ino(5 + 2 * i)?, word(6 + 2 * i)?))).collect::<Option<_>>()?,
            dead: (0..dead).map(|i| ino(5 + 2 * dinodes + i)).collect::<Option<_>>()?,
        })
    }
}

/// FNV over the words of a batch, without the word of the sum.
fn sum_of(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(8).enumerate().filter(|(i, _)| *i != 1);
    words.fold(0xcbf2_9ce4_8422_2325, |sum, (_, word)| {
        (sum ^ u64::from_le_bytes(word.try_into().expect("eight bytes"))).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
