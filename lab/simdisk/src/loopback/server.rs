//! A server over a disk, in the same process. It reads requests and writes answers as bytes.
//!
//! S1. What it has answered is in its cache or on the disk; a read finds the newest. Without a cache it is a way to the
//!     disk and no more.
//! S2. One task at a time writes to the disk what the cache has, so that an older byte cannot land over a newer one.
//! S3. A flush writes all of the cache, and then flushes the disk. Where the process dies in between, the next step
//!     does not come.
//!
//! The wire does not say what bytes are (their [`Tag`]), and the recorder below must know: the client notes it here.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use ordo_disk::nbd_proto::{
    CMD_FLAG_FUA, CMD_FLUSH, CMD_READ, CMD_WRITE, CMD_WRITE_ZEROES, EINVAL, EIO, REPLY_FLAG_DONE, REPLY_TYPE_ERROR,
    REPLY_TYPE_OFFSET_DATA, SIMPLE_REPLY_MAGIC, STRUCTURED_REPLY_MAGIC,
};
use ordo_disk::{Block, Disk, DiskError, DiskInfo, DiskOff, ReadPart, Tag, WritePart};
use ordo_rt::sync::Mutex;
use ordo_rt::{Rng, together};
use rustc_hash::FxHashMap;

/// A request, as the server reads it.
pub(super) struct Request {
    flags: u16,
    command: u16,
    number: u64,
    at: u64,
    len: u64,
    data: Vec<u8>,
}

impl Request {
    /// The bytes of a message. `None` if they are no request.
    pub(super) fn parse(bytes: &[u8]) -> Option<Request> {
        let (head, data) = bytes.split_first_chunk::<28>()?;
        let short = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
        let long = |at: usize| head[at..at + 8].iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let len = long(20) & u64::from(u32::MAX);
        Some(Request { flags: short(4), command: short(6), number: long(8), at: long(16), len, data: data.to_vec() })
    }

    pub(super) fn is_flush(&self) -> bool {
        self.command == CMD_FLUSH
    }

    pub(super) fn changes(&self) -> bool {
        matches!(self.command, CMD_WRITE | CMD_WRITE_ZEROES)
    }

    /// The answer that it is done.
    pub(super) fn done(&self) -> Vec<u8> {
        self.simple(0)
    }

    fn simple(&self, code: u32) -> Vec<u8> {
        [&SIMPLE_REPLY_MAGIC.to_be_bytes()[..], &code.to_be_bytes(), &self.number.to_be_bytes()].concat()
    }

    fn chunk(&self, flags: u16, kind: u16, payload: &[&[u8]]) -> Vec<u8> {
        let len = payload.iter().map(|part| part.len() as u32).sum::<u32>();
        let mut bytes = STRUCTURED_REPLY_MAGIC.to_be_bytes().to_vec();
        bytes.extend([&flags.to_be_bytes()[..], &kind.to_be_bytes()].concat());
        bytes.extend([&self.number.to_be_bytes()[..], &len.to_be_bytes()].concat());
        payload.iter().for_each(|part| bytes.extend(*part));
        bytes
    }

    /// What was read, in two chunks: a connection may be lost between them.
    fn read(&self, bytes: &[u8], middle: usize) -> Vec<u8> {
        let (first, second) = bytes.split_at(middle);
        let mut answer = match first.is_empty() {
            true => Vec::new(),
            false => self.chunk(0, REPLY_TYPE_OFFSET_DATA, &[&self.at.to_be_bytes(), first]),
        };
        let at = self.at + middle as u64;
        answer.extend(self.chunk(REPLY_FLAG_DONE, REPLY_TYPE_OFFSET_DATA, &[&at.to_be_bytes(), second]));
        answer
    }

    fn failed(&self, code: u32) -> Vec<u8> {
        match self.command {
            CMD_READ => self.chunk(REPLY_FLAG_DONE, REPLY_TYPE_ERROR, &[&code.to_be_bytes(), &[0; 2]]),
            _ => self.simple(code),
        }
    }
}

/// A sector that was answered and that the disk may not have.
struct Cached {
    bytes: Block,
    /// Tells whether it was changed while it was being written.
    version: u64,
}

pub(super) struct Server {
    disk: Rc<dyn Disk>,
    sector: u64,
    /// By the number of the sector; `None`: the server has no cache.
    cache: Option<RefCell<BTreeMap<u64, Cached>>>,
    version: Cell<u64>,
    /// Held by the task that writes what the cache has (S2).
    writes: Mutex<()>,
    /// What the bytes of a sector are.
    tags: RefCell<FxHashMap<u64, Tag>>,
}

impl Server {
    pub(super) fn new(disk: Rc<dyn Disk>, caches: bool) -> Server {
        Server {
            sector: disk.info().sector.into(),
            cache: caches.then(RefCell::default),
            version: Cell::new(0),
            writes: Mutex::new(()),
            tags: RefCell::default(),
            disk,
        }
    }

    pub(super) fn info(&self) -> DiskInfo {
        self.disk.info()
    }

    pub(super) fn caches(&self) -> bool {
        self.cache.is_some()
    }

    /// The process dies.
    pub(super) fn die(&self) {
        self.cache.as_ref().inspect(|cache| cache.borrow_mut().clear());
    }

    /// What the bytes are that the client is going to write. Of a sector with several kinds the last one counts.
    pub(super) fn note(&self, at: DiskOff, parts: &[WritePart]) {
        let (mut at, mut tags) = (at.0, self.tags.borrow_mut());
        for part in parts {
            let end = at + part.image.len() as u64;
            tags.extend((at / self.sector..end.div_ceil(self.sector)).map(|sector| (sector, part.tag)));
            at = end;
        }
    }

    fn tag(&self, sector: u64) -> Tag {
        self.tags.borrow().get(&sector).copied().unwrap_or_default()
    }

    /// Does what is requested. The answer, or `None` if the process died meanwhile.
    pub(super) async fn serve(&self, request: &Request, lives: &Cell<bool>) -> Option<Vec<u8>> {
        let outcome = match request.command {
            CMD_READ => return Some(self.read(request).await),
            CMD_WRITE => self.write(request, request.data.clone(), lives).await,
            CMD_WRITE_ZEROES => self.write(request, vec![0; request.len as usize], lives).await,
            CMD_FLUSH => self.flush(lives).await,
            _ => return Some(request.failed(EINVAL)),
        };
        lives.get().then(|| outcome.map_or_else(|_| request.failed(EIO), |()| request.done()))
    }

    async fn read(&self, request: &Request) -> Vec<u8> {
        let first = request.at / self.sector;
        let numbers = first..first + request.len / self.sector;
        // Before the disk is asked: what leaves the cache meanwhile is on the disk, but perhaps not in what was read.
        let newer: Vec<(u64, Block)> = match &self.cache {
            Some(cache) => cache.borrow().range(numbers).map(|(number, it)| (*number, it.bytes.clone())).collect(),
            None => Vec::new(),
        };
        let part = ReadPart { block: Block::zeroed(request.len as usize), tag: self.tag(first) };
        let Ok(read) = self.disk.read(DiskOff(request.at), vec![part]).await else { return request.failed(EIO) };
        let mut bytes = read.first().map_or_else(Vec::new, |part| part.block.to_vec());
        for (number, newer) in newer {
            let from = ((number - first) * self.sector) as usize;
            bytes[from..from + newer.len()].copy_from_slice(&newer);
        }
        let middle = (bytes.len() / 2).next_multiple_of(self.sector as usize) % bytes.len().max(1);
        request.read(&bytes, middle)
    }

    async fn write(&self, request: &Request, data: Vec<u8>, lives: &Cell<bool>) -> Result<(), DiskError> {
        let (first, force) = (request.at / self.sector, request.flags & CMD_FLAG_FUA != 0);
        let Some(cache) = &self.cache else { return self.write_through(first, &data, force).await };
        let version = self.version.get() + 1;
        self.version.set(version);
        for (number, bytes) in (first..).zip(data.chunks(self.sector as usize)) {
            cache.borrow_mut().insert(number, Cached { bytes: Block::copy_of(bytes), version });
        }
        if !force {
            return Ok(());
        }
        let _writes = self.writes.lock().await;
        if lives.get() {
            self.write_through(first, &data, true).await?;
            self.forget(first..first + request.len / self.sector, version);
        }
        Ok(())
    }

    /// Writes to the disk, in parts by what the bytes are.
    async fn write_through(&self, first: u64, data: &[u8], force: bool) -> Result<(), DiskError> {
        let mut parts: Vec<(Tag, Vec<u8>)> = Vec::new();
        for (number, bytes) in (first..).zip(data.chunks(self.sector as usize)) {
            let tag = self.tag(number);
            match parts.last_mut() {
                Some((last, all)) if *last == tag => all.extend(bytes),
                _ => parts.push((tag, bytes.to_vec())),
            }
        }
        let part = |(tag, bytes): (Tag, Vec<u8>)| WritePart { image: Block::copy_of(&bytes).image(), tag };
        let parts = parts.into_iter().map(part).collect();
        self.disk.write(DiskOff(first * self.sector), parts, force).await
    }

    fn forget(&self, sectors: impl Iterator<Item = u64>, version: u64) {
        let Some(cache) = &self.cache else { return };
        for number in sectors {
            if cache.borrow().get(&number).is_some_and(|cached| cached.version <= version) {
                cache.borrow_mut().remove(&number);
            }
        }
    }

    async fn flush(&self, lives: &Cell<bool>) -> Result<(), DiskError> {
        if self.cache.is_some() {
            let _writes = self.writes.lock().await;
            if lives.get() {
                self.write_back(|_| true).await?;
            }
        }
        if lives.get() { self.disk.flush().await } else { Ok(()) }
    }

    /// Writes some of the cache, as a server does by itself.
    pub(super) async fn write_back_some(&self, rng: &mut Rng, lives: &Cell<bool>) {
        let _writes = self.writes.lock().await;
        if lives.get() {
            // What the disk refuses stays in the cache, and the next flush tells it.
            let _ = self.write_back(|_| rng.chance(1, 3)).await;
        }
    }

    /// Writes what the cache has of the runs of sectors that are `chosen` by their first one, at the same time.
    async fn write_back(&self, mut chosen: impl FnMut(u64) -> bool) -> Result<(), DiskError> {
        let Some(cache) = &self.cache else { return Ok(()) };
        let most = u64::from(self.disk.info().max_transfer) / self.sector;
        let mut runs: Vec<(u64, Vec<u8>)> = Vec::new();
        for (number, cached) in cache.borrow().iter() {
            match runs.last_mut() {
                Some((first, all))
                    if *first + all.len() as u64 / self.sector == *number && (number - *first) < most =>
                {
                    all.extend(&*cached.bytes);
                }
                _ => runs.push((*number, cached.bytes.to_vec())),
            }
        }
        let version = self.version.get();
        let runs = runs.into_iter().filter(|(first, _)| chosen(*first));
        let written = together(runs.map(|(first, bytes)| async move {
            self.write_through(first, &bytes, false).await?;
            self.forget(first..first + bytes.len() as u64 / self.sector, version);
            Ok(())
        }));
        written.await.into_iter().collect()
    }
}
