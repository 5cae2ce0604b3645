//! The volume as a replay, or a check, sees it: its bytes with all changes so far applied.
//!
//! All reads and changes go through this module. Changes stay in memory until [`Image::flush`]; without it (`-n`) they
//! are dropped. Whoever reads later sees the changed state in any case: the later phases of a check report no error
//! twice.
//!
//! 1. Nothing is written before [`Image::flush`], and then in an order that leaves a checkable volume wherever the
//!    power fails, without names of free inodes and pointers to missing contents: new blocks of inodes, cylinder
//!    groups, contents at new places, inodes that gain a name, directories and indirect blocks, all inodes, the
//!    superblock, with a flush of the disk between them.
//! 2. Reads are bounded by the volume's end: no address found on the disk can reach beyond it.
//! 3. Unchanged lines are dropped, oldest first, when they exceed a fixed number of bytes.

use crate::dirty::{Dirty, Order};
use crate::error::Error;
use ordo_disk::{Block, Disk, DiskError, DiskFuture, DiskOff, Image as Leaving, Kind, ReadPart, Tag, WritePart};
use ordo_ondisk::ByteOff;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::ops::{Deref, Range};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Maximum number of cached unchanged bytes.
const CLEAN_BYTES_MAX: usize = 24 << 20;
/// Bytes that one read-ahead requests at a time.
const AHEAD_BYTES_MAX: usize = 4 << 20;
/// Bytes of a piece that is read without caching, and how many pieces are in flight: enough to keep a disk busy, and
/// few enough that they are still in the CPU's cache when they are used.
const STREAM_BYTES: u64 = 128 << 10;
const STREAM_PIECES: usize = 4;

struct Line {
    bytes: Leaving,
    dirty: Dirty,
}

/// Bytes of the volume: shared with the line that holds them, or copied if they cross lines.
pub enum Bytes {
    /// A range of a line.
    Shared(Leaving, Range<usize>),
    /// Bytes of several lines.
    Copied(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Shared(line, range) => line.get(range.clone()).unwrap_or_default(),
            Bytes::Copied(bytes) => bytes,
        }
    }
}

/// See the module's invariants.
pub struct Image {
    disk: Rc<dyn Disk>,
    /// The end of the accessible bytes, a whole number of sectors.
    end: u64,
    line_bytes: usize,
    lines: FxHashMap<u64, Line>,
    /// Lines that were unchanged when they were read, oldest first.
    clean: VecDeque<u64>,
    changes: u64,
}

impl Image {
    /// The first `end` bytes of `disk` in lines of `line_bytes`, a power of two of at least a sector.
    pub fn new(disk: Rc<dyn Disk>, end: u64, line_bytes: u32) -> Image {
        let info = disk.info();
        let sector = u64::from(info.sector.max(512));
        let end = end.div_ceil(sector).saturating_mul(sector).min(info.size / sector * sector);
        let line_bytes = (line_bytes as usize).max(sector as usize);
        Image { disk, end, line_bytes, lines: FxHashMap::default(), clean: VecDeque::new(), changes: 0 }
    }

    /// The number of writes that changed something.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// The line that contains byte `at`, and the offset of `at` in it.
    pub async fn line(&mut self, at: ByteOff) -> Result<(Leaving, usize), Error> {
        let index = at.0 / self.line_bytes as u64;
        let within = (at.0 % self.line_bytes as u64) as usize;
        if let Some(line) = self.lines.get(&index) {
            return Ok((line.bytes.clone(), within));
        }
        // Boxed: a future is moved before it is polled, and most lines are cached.
        Box::pin(self.fetch(vec![index])).await?;
        match self.lines.get(&index) {
            Some(line) => Ok((line.bytes.clone(), within)),
            None => Err(Error::Beyond { at: at.0, end: self.end }),
        }
    }

    /// The current `len` bytes from `at` on.
    pub async fn bytes(&mut self, at: ByteOff, len: usize) -> Result<Bytes, Error> {
        if len == 0 {
            return Ok(Bytes::Copied(vec![]));
        }
        let (line, within) = self.line(at).await?;
        if line.len() - within.min(line.len()) >= len {
            return Ok(Bytes::Shared(line, within..within + len));
        }
        let mut bytes = vec![0; len];
        self.read(at, &mut bytes).await?;
        Ok(Bytes::Copied(bytes))
    }

    /// Copies the bytes from `at` on into `into`; they may cross lines.
    pub async fn read(&mut self, at: ByteOff, into: &mut [u8]) -> Result<(), Error> {
        let mut done = 0;
        while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
            let (line, within) = self.line(ByteOff(at.0.saturating_add(done as u64))).await?;
            let bytes = line.get(within..).unwrap_or_default();
            let count = bytes.len().min(rest.len());
            if count == 0 {
                return Err(Error::Beyond { at: at.0, end: self.end });
            }
            let (to, from) = (rest.get_mut(..count).unwrap_or_default(), bytes.get(..count).unwrap_or_default());
            to.copy_from_slice(from);
            done += count;
        }
        Ok(())
    }

    /// Changes the bytes from `at` on, where they differ.
    pub async fn write(&mut self, at: ByteOff, bytes: &[u8], order: Order) -> Result<(), Error> {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let here = ByteOff(at.0.saturating_add(done as u64));
            let (line, within) = self.line(here).await?;
            let count = line.len().saturating_sub(within).min(rest.len());
            if count == 0 {
                return Err(Error::Beyond { at: at.0, end: self.end });
            }
            drop(line);
            self.change(here, within, rest.get(..count).unwrap_or_default(), order);
            done += count;
        }
        Ok(())
    }

    fn change(&mut self, at: ByteOff, within: usize, bytes: &[u8], order: Order) {
        let Some(line) = self.lines.get_mut(&(at.0 / self.line_bytes as u64)) else { return };
        let to = within + bytes.len();
        if line.bytes.get(within..to) == Some(bytes) {
            return;
        }
        self.changes += 1;
        if let Some(target) = Arc::make_mut(&mut line.bytes).get_mut(within..to) {
            target.copy_from_slice(bytes);
        }
        line.dirty.add(order, within..to);
    }

    /// Reads the lines that contain `places`, unless they are cached, with many concurrent requests.
    pub async fn ahead(&mut self, places: impl Iterator<Item = (ByteOff, u64)>) -> Result<(), Error> {
        let mut wanted: Vec<u64> = vec![];
        let line = self.line_bytes as u64;
        for (at, len) in places {
            let last = at.0.saturating_add(len.saturating_sub(1)).min(self.end.saturating_sub(1)) / line;
            let room = AHEAD_BYTES_MAX / self.line_bytes;
            wanted.extend((at.0 / line..=last).take(room).filter(|index| !self.lines.contains_key(index)));
            if wanted.len() >= room {
                break;
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        self.fetch(wanted).await
    }

    /// Reads `len` bytes from `at` on without caching, piece by piece, and passes them to `each` in order, with their
    /// offset from `at`. They must not have been changed.
    pub async fn stream(&self, at: ByteOff, len: u64, mut each: impl FnMut(u64, &[u8])) -> Result<(), Error> {
        if at.0.saturating_add(len) > self.end {
            return Err(Error::Beyond { at: at.0, end: self.end });
        }
        let info = self.disk.info();
        let sector = u64::from(info.sector.max(1));
        let piece = STREAM_BYTES.min(u64::from(info.max_transfer) / sector * sector).max(sector);
        let mut done = 0;
        while done < len {
            let mut requests = vec![];
            while done < len && requests.len() < STREAM_PIECES {
                let count = (len - done).min(piece);
                let part = ReadPart { block: Block::unspecified(count as usize), tag: Tag::of(Kind::Other) };
                requests.push((done, self.disk.read(DiskOff(at.0 + done), vec![part])));
                done += count;
            }
            let mut pieces = Together(requests, vec![]).await;
            pieces.sort_unstable_by_key(|(from, _)| *from);
            for (from, parts) in pieces {
                parts?.iter().for_each(|part| each(from, &part.block));
            }
        }
        Ok(())
    }

    /// Reads lines; contiguous ones with one request.
    async fn fetch(&mut self, wanted: Vec<u64>) -> Result<(), Error> {
        let most = (self.disk.info().max_transfer as usize / self.line_bytes).max(1);
        let mut requests = vec![];
        for run in wanted.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(most)) {
            let Some(&first) = run.first() else { continue };
            let at = first.saturating_mul(self.line_bytes as u64);
            let part = |index: &u64| {
                let rest = self.end.saturating_sub(index.saturating_mul(self.line_bytes as u64));
                let len = rest.min(self.line_bytes as u64) as usize;
                // Every byte comes from the disk, or the read fails.
                ReadPart { block: Block::unspecified(len), tag: Tag::of(Kind::Other) }
            };
            let parts: Vec<ReadPart> = run.iter().map(part).filter(|part| !part.block.is_empty()).collect();
            if !parts.is_empty() {
                requests.push((first, self.disk.read(DiskOff(at), parts)));
            }
        }
        for (first, parts) in Together(requests, vec![]).await {
            for (part, index) in parts?.into_iter().zip(first..) {
                self.lines.insert(index, Line { bytes: part.block.image(), dirty: Dirty::default() });
                self.clean.push_back(index);
            }
        }
        self.evict();
        Ok(())
    }

    fn evict(&mut self) {
        // The newest lines stay, otherwise a read-ahead would evict itself.
        while self.clean.len() * self.line_bytes > CLEAN_BYTES_MAX {
            let Some(index) = self.clean.pop_front() else { return };
            if self.lines.get(&index).is_some_and(|line| line.dirty.is_empty()) {
                self.lines.remove(&index);
            }
        }
    }

    /// Writes all changes, in the order that the module head gives, and makes them durable. `before_names`: inodes as
    /// they must be before an additional name leads to them.
    pub async fn flush(&mut self, before_names: &[(ByteOff, Vec<u8>)]) -> Result<(), Error> {
        self.flush_order(Order::InodeBlocks).await?;
        self.flush_order(Order::Groups).await?;
        self.flush_order(Order::Fresh).await?;
        self.put_inodes(before_names).await?;
        self.flush_order(Order::Contents).await?;
        self.flush_order(Order::Inodes).await?;
        self.flush_superblock().await
    }

    /// Writes the changes of the superblock, and makes them durable.
    pub async fn flush_superblock(&mut self) -> Result<(), Error> {
        self.flush_order(Order::Superblock).await
    }

    fn dirty_lines(&self, order: Order) -> Vec<u64> {
        let dirty = self.lines.iter().filter(|(_, line)| line.dirty.has(order));
        let mut indices: Vec<u64> = dirty.map(|(index, _)| *index).collect();
        indices.sort_unstable();
        indices
    }

    /// Writes the changes of one order, and makes them durable.
    pub async fn flush_order(&mut self, order: Order) -> Result<(), Error> {
        let (indices, sector) = (self.dirty_lines(order), self.sector());
        let mut ranges = Vec::new();
        for index in &indices {
            let Some(line) = self.lines.get(index) else { continue };
            let at = |start: usize| DiskOff(index * self.line_bytes as u64 + start as u64);
            ranges.extend(line.dirty.runs(order, sector).into_iter().map(|run| (at(run.start), run.len() as u64)));
        }
        self.disk.announce(&ranges).await?;
        for index in &indices {
            let Some(line) = self.lines.get_mut(index) else { continue };
            let (bytes, runs) = (line.bytes.clone(), line.dirty.runs(order, sector));
            line.dirty.drop_order(order);
            if line.dirty.is_empty() {
                self.clean.push_back(*index);
            }
            for run in runs {
                self.put(*index, &bytes, run, order).await?;
            }
        }
        if !indices.is_empty() {
            self.disk.flush().await?;
        }
        Ok(())
    }

    /// The bytes from `at` on as stored on the disk, which must lie in one line.
    pub async fn read_stored(&mut self, at: ByteOff, into: &mut [u8]) -> Result<(), Error> {
        let (line, within) = self.stored(at).await?;
        let stored = line.get(within..within + into.len()).ok_or(Error::Beyond { at: at.0, end: self.end })?;
        into.copy_from_slice(stored);
        Ok(())
    }

    /// The line around byte `at` as stored on the disk, and the offset of `at` in it.
    async fn stored(&mut self, at: ByteOff) -> Result<(Block, usize), Error> {
        let (line, within) = self.line(at).await?;
        let part = ReadPart { block: Block::zeroed(line.len()), tag: Tag::of(Kind::Inodes) };
        let parts = self.disk.read(DiskOff(at.0 - within as u64), vec![part]).await?;
        let part = parts.into_iter().next().ok_or(Error::Beyond { at: at.0, end: self.end })?;
        Ok((part.block, within))
    }

    /// Writes inodes, without changing those beside them on the disk.
    async fn put_inodes(&mut self, inodes: &[(ByteOff, Vec<u8>)]) -> Result<(), Error> {
        let sector = self.sector() as u64;
        let whole = |at: u64, len: u64| (at / sector * sector, (at % sector + len).next_multiple_of(sector));
        let ranges: Vec<_> = inodes.iter().map(|(at, bytes)| whole(at.0, bytes.len() as u64)).collect();
        let ranges: Vec<_> = ranges.into_iter().map(|(at, len)| (DiskOff(at), len)).collect();
        self.disk.announce(&ranges).await?;
        for (at, bytes) in inodes {
            let (mut line, within) = self.stored(*at).await?;
            let range = within..within + bytes.len();
            if let Some(inode) = line.get_mut(range.clone()) {
                inode.copy_from_slice(bytes);
            }
            self.put(at.0 / self.line_bytes as u64, &line.image(), range, Order::Inodes).await?;
        }
        if !inodes.is_empty() {
            self.disk.flush().await?;
        }
        Ok(())
    }

    fn sector(&self) -> usize {
        self.disk.info().sector.max(512) as usize
    }

    /// Writes a range of a line, in whole sectors.
    async fn put(&self, index: u64, bytes: &Leaving, range: Range<usize>, order: Order) -> Result<(), Error> {
        let sector = self.sector();
        let (from, to) = (range.start / sector * sector, range.end.next_multiple_of(sector).min(bytes.len()));
        let image = Block::copy_of(bytes.get(from..to).unwrap_or_default()).image();
        let at = index.saturating_mul(self.line_bytes as u64).saturating_add(from as u64);
        let part = WritePart { image, tag: Tag::of(order.kind()) };
        Ok(self.disk.write(DiskOff(at), vec![part], false).await?)
    }
}

type Answer = Result<Vec<ReadPart>, DiskError>;

/// Reads in flight, and those that are complete.
struct Together(Vec<(u64, DiskFuture<Answer>)>, Vec<(u64, Answer)>);

impl Future for Together {
    type Output = Vec<(u64, Answer)>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Together(waiting, done) = &mut *self;
        waiting.retain_mut(|(first, read)| match Pin::new(read).poll(cx) {
            Poll::Ready(answer) => {
                done.push((*first, answer));
                false
            }
            Poll::Pending => true,
        });
        if waiting.is_empty() { Poll::Ready(std::mem::take(done)) } else { Poll::Pending }
    }
}
