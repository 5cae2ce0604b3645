//! A disk in memory: under an overlay; for tests, the crash explorer and the drive model.
//!
//! It is sparse (a chunk is allocated when something other than zeros is written to it, and freed when it is all zeros
//! again). Its snapshots share chunks until one side writes. It can have a volatile cache: then it records what was not
//! flushed, and a power cut undoes that, wholly or in part, sector by sector.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use ordo_rt::Rng;
use rustc_hash::FxHashMap;

use crate::block::SECTOR;
use crate::device::{read_len, write_len};
use crate::{Block, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, WritePart};

/// Bytes of a chunk.
const CHUNK: usize = 32 * 1024;
/// The contents of a missing chunk.
static ZEROS: [u8; CHUNK] = [0; CHUNK];
/// Chunks of a page, the unit that snapshots share.
const PAGE: usize = 64;

/// Chunks side by side; those that hold only zeros may be missing.
type Page = [Option<Arc<Block>>; PAGE];

/// A disk in memory. Clones are handles of the same disk; [`RamDisk::snapshot`] makes another one.
#[derive(Clone)]
pub struct RamDisk(Rc<RefCell<State>>);

/// What a disk held at a moment. Many disks can begin with it, on any thread: they share its chunks until they write.
#[derive(Clone)]
pub struct Frozen {
    size: u64,
    pages: FxHashMap<u64, Arc<Page>>,
}

struct State {
    info: DiskInfo,
    pages: FxHashMap<u64, Arc<Page>>,
    /// With a volatile cache: the writes since the last flush, oldest first.
    unflushed: Vec<Unflushed>,
}

#[derive(Clone)]
struct Unflushed {
    at: u64,
    old: Block,
    new: Vec<WritePart>,
}

impl RamDisk {
    /// `size` zero bytes in sectors of 512, with a non-volatile cache.
    pub fn new(size: u64) -> RamDisk {
        RamDisk(Rc::new(RefCell::new(State {
            info: DiskInfo {
                size,
                sector: SECTOR as u32,
                volatile_cache: false,
                read_only: false,
                max_transfer: 1 << 20,
                depth: 1,
                immediate: true,
                times_only: false,
                rotates: false,
            },
            pages: FxHashMap::default(),
            unflushed: Vec::new(),
        })))
    }

    /// A disk with the contents of an image.
    pub fn from_bytes(bytes: &[u8]) -> RamDisk {
        let disk = RamDisk::new((bytes.len() as u64).next_multiple_of(SECTOR as u64));
        disk.poke(0, bytes);
        disk
    }

    /// The same disk with changed properties. To be set before a queue is put on it.
    pub fn with(self, change: impl FnOnce(&mut DiskInfo)) -> RamDisk {
        self.change_info(change);
        self
    }

    /// Changes the properties of the disk. To be done before a queue is put on it.
    pub fn change_info(&self, change: impl FnOnce(&mut DiskInfo)) {
        change(&mut self.0.borrow_mut().info);
    }

    /// The same disk with a cache that a power cut empties (`true`) or that survives it.
    pub fn volatile(self, volatile: bool) -> RamDisk {
        self.with(|info| info.volatile_cache = volatile)
    }

    /// Another disk with the same contents and the same unflushed writes. Costs a pointer for each 2 MiB.
    pub fn snapshot(&self) -> RamDisk {
        let state = self.0.borrow();
        let (info, pages, unflushed) = (state.info.clone(), state.pages.clone(), state.unflushed.clone());
        RamDisk(Rc::new(RefCell::new(State { info, pages, unflushed })))
    }

    /// The contents now, unflushed writes among them. Costs a pointer for each 2 MiB.
    pub fn frozen(&self) -> Frozen {
        let state = self.0.borrow();
        Frozen { size: state.info.size, pages: state.pages.clone() }
    }

    /// Replaces everything on the disk durably, without a request.
    ///
    /// # Panics
    /// If the other disk had another size.
    pub fn begin_with(&self, contents: &Frozen) {
        let mut state = self.0.borrow_mut();
        assert_eq!(state.info.size, contents.size, "contents of a disk of another size");
        state.pages.clone_from(&contents.pages);
        state.unflushed.clear();
    }

    /// Reads bytes without a request.
    ///
    /// # Panics
    /// If the range ends beyond the disk.
    pub fn peek(&self, at: u64, into: &mut [u8]) {
        let state = self.0.borrow();
        assert!(at + into.len() as u64 <= state.info.size, "peek beyond the end of the disk");
        state.get(at, into);
    }

    /// Changes bytes durably without a request: damage.
    ///
    /// # Panics
    /// If the range ends beyond the disk.
    pub fn poke(&self, at: u64, bytes: &[u8]) {
        let mut state = self.0.borrow_mut();
        assert!(at + bytes.len() as u64 <= state.info.size, "poke beyond the end of the disk");
        state.put(at, bytes);
    }

    /// The whole contents.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.0.borrow().info.size as usize];
        self.peek(0, &mut bytes);
        bytes
    }

    /// Bytes of memory that the contents take.
    pub fn allocated(&self) -> u64 {
        let state = self.0.borrow();
        (state.pages.values().map(|page| page.iter().flatten().count()).sum::<usize>() * CHUNK) as u64
    }

    /// The number of writes that a power cut could lose now.
    pub fn unflushed(&self) -> usize {
        self.0.borrow().unflushed.len()
    }

    /// Makes the oldest `count` unflushed writes durable, like a flush that began when there were that many.
    ///
    /// A later write that is lost must not take them along, even if it overlaps them: its old bytes are their new ones.
    pub fn flush_oldest(&self, count: usize) {
        let mut state = self.0.borrow_mut();
        let count = count.min(state.unflushed.len());
        state.unflushed.drain(..count);
    }

    /// Cuts the power: every write since the last flush is lost.
    pub fn power_cut(&self) {
        self.power_cut_keeping(|_, _| false);
    }

    /// Cuts the power: each write since the last flush is kept, lost, or torn, as `rng` decides.
    pub fn power_cut_at_random(&self, rng: &mut Rng) {
        let fates: Vec<u64> = (0..self.unflushed()).map(|_| rng.below(3)).collect();
        self.power_cut_keeping(|write, _| match fates[write] {
            0 => false,
            1 => true,
            _ => rng.chance(1, 2),
        });
    }

    /// Cuts the power: of the writes since the last flush, those sectors reach the disk for which `keep(write, sector)`
    /// is true; `write` counts from the oldest, `sector` from the beginning of that write.
    pub fn power_cut_keeping(&self, mut keep: impl FnMut(usize, usize) -> bool) {
        let mut state = self.0.borrow_mut();
        let lost = std::mem::take(&mut state.unflushed);
        for write in lost.iter().rev() {
            state.put(write.at, &write.old);
        }
        for (number, write) in lost.iter().enumerate() {
            let sectors = write.new.iter().flat_map(|part| part.image.chunks(SECTOR));
            for (i, sector) in sectors.enumerate() {
                if keep(number, i) {
                    state.put(write.at + (i * SECTOR) as u64, sector);
                }
            }
        }
    }
}

impl State {
    fn chunk(&self, chunk: u64) -> Option<&Arc<Block>> {
        self.pages.get(&(chunk / PAGE as u64))?[(chunk % PAGE as u64) as usize].as_ref()
    }

    fn slot(&mut self, chunk: u64) -> &mut Option<Arc<Block>> {
        let page = self.pages.entry(chunk / PAGE as u64).or_insert_with(|| Arc::new([const { None }; PAGE]));
        &mut Arc::make_mut(page)[(chunk % PAGE as u64) as usize]
    }

    fn get(&self, mut at: u64, mut into: &mut [u8]) {
        while !into.is_empty() {
            let (chunk, from) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
            let (head, tail) = into.split_at_mut(into.len().min(CHUNK - from));
            match self.chunk(chunk) {
                Some(bytes) => head.copy_from_slice(&bytes[from..from + head.len()]),
                None => head.fill(0),
            }
            at += head.len() as u64;
            into = tail;
        }
    }

    /// Every byte of the range is zero. Missing chunks are not looked at byte by byte.
    fn is_zero(&self, at: u64, len: usize) -> bool {
        let (first, end) = (at / CHUNK as u64, (at + len as u64).div_ceil(CHUNK as u64));
        (first..end).all(|number| {
            let Some(chunk) = self.chunk(number) else { return true };
            let start = number * CHUNK as u64;
            let from = at.saturating_sub(start) as usize;
            let to = (at + len as u64 - start).min(CHUNK as u64) as usize;
            chunk[from..to] == ZEROS[from..to]
        })
    }

    /// Reads into a block, which takes no memory if all is zero.
    fn get_block(&self, at: u64, block: &mut Block) {
        if !(block.is_untouched() && self.is_zero(at, block.len())) {
            self.get(at, block);
        }
    }

    fn put_block(&mut self, at: u64, block: &Block) {
        if !(block.is_untouched() && self.is_zero(at, block.len())) {
            self.put(at, block);
        }
    }

    fn put(&mut self, mut at: u64, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (chunk, from) = (at / CHUNK as u64, (at % CHUNK as u64) as usize);
            let (head, tail) = bytes.split_at(bytes.len().min(CHUNK - from));
            let zeros = head == &ZEROS[..head.len()];
            if self.chunk(chunk).is_some() || !zeros {
                let slot = self.slot(chunk);
                let kept = slot.get_or_insert_with(|| Block::zeroed(CHUNK).image());
                Arc::make_mut(kept)[from..from + head.len()].copy_from_slice(head);
                if zeros && kept[..] == ZEROS[..] {
                    *slot = None;
                }
            }
            at += head.len() as u64;
            bytes = tail;
        }
    }

    fn write(&mut self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> Result<(), DiskError> {
        let len = write_len(&parts);
        self.info.check(DiskOp::Write, at, len)?;
        // There is no power cut on a disk of which only the times are wanted.
        let cached = self.info.volatile_cache && !fua && !self.info.times_only;
        let mut old = Block::zeroed(if cached { len as usize } else { 0 });
        self.get_block(at.0, &mut old);
        let mut place = at.0;
        for part in &parts {
            self.put_block(place, &part.image);
            if !cached {
                self.settle(place, &part.image);
            }
            place += part.image.len() as u64;
        }
        if cached {
            self.unflushed.push(Unflushed { at: at.0, old, new: parts });
        }
        Ok(())
    }

    /// A durable write overlaps cached ones: a power cut must bring back neither their contents nor what was there
    /// before them.
    fn settle(&mut self, at: u64, bytes: &[u8]) {
        for write in &mut self.unflushed {
            if write.at < at + bytes.len() as u64 && at < write.at + write.old.len() as u64 {
                overlay(write.at, &mut write.old, at, bytes);
            }
            let mut place = write.at;
            for part in &mut write.new {
                let len = part.image.len() as u64;
                if place < at + bytes.len() as u64 && at < place + len {
                    let image: &mut Block = Arc::make_mut(&mut part.image);
                    overlay(place, image, at, bytes);
                }
                place += len;
            }
        }
    }
}

/// Copies to `lower` at `lower_at` the bytes of the range that it shares with `upper` at `upper_at`.
fn overlay(lower_at: u64, lower: &mut [u8], upper_at: u64, upper: &[u8]) {
    let start = lower_at.max(upper_at);
    let end = (lower_at + lower.len() as u64).min(upper_at + upper.len() as u64);
    if start < end {
        let (to, from) = ((start - lower_at) as usize, (start - upper_at) as usize);
        let len = (end - start) as usize;
        lower[to..to + len].copy_from_slice(&upper[from..from + len]);
    }
}

impl Disk for RamDisk {
    fn info(&self) -> DiskInfo {
        self.0.borrow().info.clone()
    }

    fn read(&self, at: DiskOff, mut parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let state = self.0.borrow();
        DiskFuture::now(state.info.check(DiskOp::Read, at, read_len(&parts)).map(|()| {
            let mut place = at.0;
            for part in &mut parts {
                state.get_block(place, &mut part.block);
                place += part.block.len() as u64;
            }
            parts
        }))
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        DiskFuture::now(self.0.borrow_mut().write(at, parts, fua))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.0.borrow_mut().unflushed.clear();
        DiskFuture::now(Ok(()))
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let mut state = self.0.borrow_mut();
        DiskFuture::now(state.info.check(DiskOp::Discard, at, len).map(|()| {
            // A power cut may bring back a cached write: until a flush the range keeps its contents.
            if state.unflushed.is_empty() {
                let chunk = CHUNK as u64;
                for whole in at.0.div_ceil(chunk)..(at.0 + len) / chunk {
                    if state.chunk(whole).is_some() {
                        *state.slot(whole) = None;
                    }
                }
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn write(disk: &RamDisk, at: u64, byte: u8, len: usize, fua: bool) {
        let part = WritePart { image: Block::copy_of(&vec![byte; len]).image(), tag: Kind::Data.into() };
        ordo_rt::Rt::virtual_time(0).block_on(disk.write(DiskOff(at), vec![part], fua)).unwrap();
    }

    fn byte(disk: &RamDisk, at: u64) -> u8 {
        let mut byte = [0];
        disk.peek(at, &mut byte);
        byte[0]
    }

    #[test]
    fn a_terabyte_of_zeros_takes_no_memory() {
        let disk = RamDisk::new(1 << 40);
        write(&disk, 1 << 39, 0, 65536, false);
        assert_eq!(disk.allocated(), 0);
        write(&disk, (1 << 39) - 512, 9, 1024, false);
        assert_eq!(disk.allocated(), 2 * CHUNK as u64);
        assert_eq!((byte(&disk, (1 << 39) - 513), byte(&disk, (1 << 39) + 511)), (0, 9));
        // One chunk is all zeros again; the snapshot keeps what was there.
        let before = disk.snapshot();
        write(&disk, 1 << 39, 0, 4096, false);
        assert_eq!((disk.allocated(), before.allocated()), (CHUNK as u64, 2 * CHUNK as u64));
        assert_eq!((byte(&disk, (1 << 39) - 512), byte(&disk, 1 << 39), byte(&before, 1 << 39)), (9, 0, 9));
    }

    #[test]
    fn zeros_that_are_read_take_no_memory_and_zeros_over_something_are_written() {
        let disk = RamDisk::new(1 << 20);
        write(&disk, CHUNK as u64 - 512, 7, 512, false);
        let rt = ordo_rt::Rt::virtual_time(0);
        let read = |at, len| {
            let part = ReadPart { block: Block::zeroed(len), tag: Kind::Data.into() };
            rt.block_on(disk.read(DiskOff(at), vec![part])).unwrap().remove(0).block
        };
        assert!(read(0, CHUNK - 512).is_untouched() && read(CHUNK as u64, 4096).is_untouched());
        let both = read(CHUNK as u64 - 1024, 2048);
        assert_eq!((both.is_untouched(), [511, 512, 1023, 1024].map(|at| both[at])), (false, [0, 7, 7, 0]));
        let zeros = WritePart { image: Block::zeroed(4096).image(), tag: Kind::Data.into() };
        rt.block_on(disk.write(DiskOff(CHUNK as u64 - 4096), vec![zeros], false)).unwrap();
        assert_eq!((byte(&disk, CHUNK as u64 - 1), disk.allocated()), (0, 0));
    }

    #[test]
    fn a_power_cut_takes_back_what_was_not_flushed() {
        let disk = RamDisk::new(1 << 20).volatile(true);
        write(&disk, 0, 1, 1024, false);
        ordo_rt::Rt::virtual_time(0).block_on(disk.flush()).unwrap();
        write(&disk, 512, 2, 1024, false);
        write(&disk, 512, 3, 512, false);
        write(&disk, 4096, 4, 512, true);
        let (other, torn) = (disk.snapshot(), disk.snapshot());
        disk.power_cut();
        assert_eq!([0, 512, 1024, 4096].map(|at| byte(&disk, at)), [1, 1, 0, 4]);
        other.power_cut_keeping(|write, _| write == 1);
        assert_eq!([0, 512, 1024, 4096].map(|at| byte(&other, at)), [1, 3, 0, 4]);
        torn.power_cut_keeping(|write, sector| write == 0 && sector == 1);
        assert_eq!([0, 512, 1024, 4096].map(|at| byte(&torn, at)), [1, 1, 2, 4]);
    }

    #[test]
    fn a_durable_write_over_a_cached_one_survives() {
        let disk = RamDisk::new(1 << 20).volatile(true);
        write(&disk, 0, 1, 1024, false);
        write(&disk, 512, 2, 512, true);
        let kept = disk.snapshot();
        disk.power_cut();
        assert_eq!([0, 512].map(|at| byte(&disk, at)), [0, 2]);
        kept.power_cut_keeping(|_, _| true);
        assert_eq!([0, 512].map(|at| byte(&kept, at)), [1, 2]);
    }

    #[test]
    fn a_snapshot_and_its_origin_part_ways() {
        let disk = RamDisk::from_bytes(&[1; 512]);
        let other = disk.snapshot();
        write(&disk, 0, 2, 512, false);
        assert_eq!((byte(&disk, 0), byte(&other, 0), other.to_vec().len()), (2, 1, 512));
    }

    #[test]
    fn disks_that_begin_with_the_same_contents_part_ways_on_any_thread() {
        let contents = RamDisk::from_bytes(&[1; 1024]).frozen();
        let changed = |to: u8| {
            let disk = RamDisk::new(1024).volatile(true);
            write(&disk, 0, 9, 512, false);
            disk.begin_with(&contents);
            assert_eq!((byte(&disk, 0), disk.unflushed()), (1, 0));
            write(&disk, 512, to, 512, false);
            [0, 512].map(|at| byte(&disk, at))
        };
        let seen = std::thread::scope(|scope| {
            let others = [2, 3].map(|to| scope.spawn(move || changed(to)));
            others.map(|other| other.join().unwrap())
        });
        assert_eq!((seen, changed(4)), ([[1, 2], [1, 3]], [1, 4]));
    }

    #[test]
    fn ranges_beyond_the_end_or_off_the_sectors_are_refused() {
        let info = RamDisk::new(4096).with(|info| info.sector = 4096).info();
        for (at, len) in [(4096, 4096), (u64::MAX, 4096), (512, 512), (0, 512)] {
            assert!(info.check(DiskOp::Read, DiskOff(at), len).is_err(), "{at} {len}");
        }
        assert!(info.check(DiskOp::Read, DiskOff(0), 4096).is_ok());
    }
}
