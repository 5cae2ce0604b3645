//! Buffers for reads and writes.
//!
//! Zeros take no memory before somebody changes them. A reader sees no difference, and the first change makes the
//! memory.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout};

/// The smallest unit that a disk writes whole or not at all, in bytes.
pub const SECTOR: usize = 512;

#[derive(Clone, FromBytes, IntoBytes, KnownLayout, Immutable)]
#[repr(C, align(512))]
struct Sector([u8; SECTOR]);

/// Owned bytes at an address that is a multiple of 512, as direct I/O wants it. A block that is written or read is a
/// whole number of sectors; a shorter one, such as a dinode by itself, is copied into one that is written, and lies
/// anywhere.
pub struct Block {
    memory: Memory,
    len: usize,
}

enum Memory {
    /// None yet: all zeros. At most as many as [`ZEROS`] has.
    Zeros,
    /// At least as many as the block needs.
    Sectors(Box<[Sector]>),
    /// Shorter than a sector.
    Short(Box<[u8]>),
}

/// What blocks of zeros have in common: as long as the longest block of a volume.
static ZEROS: [Sector; 128] = [const { Sector([0; SECTOR]) }; 128];

/// Bytes that are being written, shared with their owner: a buffer that changes while its image is in flight is copied
/// first (`Arc::make_mut`), and the image stays as it was.
pub type Image = Arc<Block>;

impl Block {
    /// `len` zero bytes.
    ///
    /// # Panics
    /// If memory is short, as with any allocation.
    pub fn zeroed(len: usize) -> Block {
        if is_short(len) {
            return Block { memory: Memory::Short(vec![0; len].into()), len };
        }
        match len <= ZEROS.len() * SECTOR {
            true => Block { memory: Memory::Zeros, len },
            false => Block::filled(len),
        }
    }

    /// Zero bytes in memory of their own.
    fn filled(len: usize) -> Block {
        let count = spare::sectors_for(len);
        if let Some(mut sectors) = spare::take(count) {
            sectors.as_mut_bytes()[..len].fill(0);
            return Block { memory: Memory::Sectors(sectors), len };
        }
        // OK to expect: Rust has no other answer to a lack of memory.
        let sectors = <[Sector]>::new_box_zeroed_with_elems(count).expect("out of memory");
        Block { memory: Memory::Sectors(sectors), len }
    }

    /// Nobody has changed it since it was made of zeros. A block of zeros may also have memory of its own.
    pub fn is_untouched(&self) -> bool {
        matches!(self.memory, Memory::Zeros)
    }

    /// `len` bytes with unspecified contents, for a caller that overwrites all of them before they are read.
    ///
    /// # Panics
    /// As [`Block::zeroed`].
    pub fn unspecified(len: usize) -> Block {
        let found = if is_short(len) { None } else { spare::take(spare::sectors_for(len)) };
        match found {
            Some(sectors) => Block { memory: Memory::Sectors(sectors), len },
            None if is_short(len) => Block::zeroed(len),
            None => Block::filled(len),
        }
    }

    /// A copy of `bytes`, with zeros up to the next sector.
    pub fn copy_of(bytes: &[u8]) -> Block {
        let mut block = Block::unspecified(bytes.len().next_multiple_of(SECTOR));
        block[..bytes.len()].copy_from_slice(bytes);
        block[bytes.len()..].fill(0);
        block
    }

    /// The block as an image to be written.
    pub fn image(self) -> Image {
        Arc::new(self)
    }
}

fn is_short(len: usize) -> bool {
    (1..SECTOR).contains(&len)
}

impl Clone for Block {
    fn clone(&self) -> Block {
        if self.is_untouched() {
            return Block::zeroed(self.len);
        }
        let mut copy = Block::unspecified(self.len);
        copy.copy_from_slice(self);
        copy
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Memory::Sectors(sectors) = &mut self.memory {
            spare::keep(std::mem::take(sectors));
        }
    }
}

/// Memory of dropped blocks, reused for new ones of the same size. A full cache drops a block for each one that it
/// makes; returning the memory to the system and faulting it in again, page by page, costs more than filling it.
mod spare {
    use super::Sector;
    use rustc_hash::FxHashMap;
    use std::cell::RefCell;

    /// Longer ones, in sectors, are rounded up to a power of two. They are images of partial segments, each of another
    /// length: memory that is kept for one fits no other.
    const EXACT: usize = 128;

    /// The most sectors that a thread keeps: 8 MiB.
    const MOST: usize = (8 << 20) / super::SECTOR;

    #[derive(Default)]
    struct Spare {
        sectors: usize,
        by_len: FxHashMap<usize, Vec<Box<[Sector]>>>,
    }

    thread_local! {
        static SPARE: RefCell<Spare> = RefCell::default();
    }

    /// Sectors that a block of `len` bytes gets.
    pub(super) fn sectors_for(len: usize) -> usize {
        let sectors = len.div_ceil(super::SECTOR);
        if sectors > EXACT { sectors.next_power_of_two() } else { sectors }
    }

    pub(super) fn take(sectors: usize) -> Option<Box<[Sector]>> {
        SPARE.with_borrow_mut(|spare| {
            let found = spare.by_len.get_mut(&sectors)?.pop()?;
            spare.sectors -= sectors;
            Some(found)
        })
    }

    pub(super) fn keep(block: Box<[Sector]>) {
        let sectors = block.len();
        if sectors < 8 {
            return;
        }
        // A block that outlives its thread's own data is freed as usual.
        let _ = SPARE.try_with(|spare| {
            let mut spare = spare.borrow_mut();
            if spare.sectors + sectors <= MOST {
                spare.sectors += sectors;
                spare.by_len.entry(sectors).or_default().push(block);
            }
        });
    }
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match &self.memory {
            Memory::Zeros => &ZEROS.as_bytes()[..self.len],
            Memory::Sectors(sectors) => &sectors.as_bytes()[..self.len],
            Memory::Short(bytes) => bytes,
        }
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        if self.is_untouched() {
            *self = Block::filled(self.len);
        }
        match &mut self.memory {
            Memory::Zeros => unreachable!("it has just got its memory"),
            Memory::Sectors(sectors) => &mut sectors.as_mut_bytes()[..self.len],
            Memory::Short(bytes) => bytes,
        }
    }
}

impl AsRef<[u8]> for Block {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl AsMut<[u8]> for Block {
    fn as_mut(&mut self) -> &mut [u8] {
        self
    }
}

impl PartialEq for Block {
    fn eq(&self, other: &Block) -> bool {
        **self == **other
    }
}

impl Eq for Block {}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_zeroed_and_aligned() {
        for len in [0, 512, 65536] {
            let block = Block::zeroed(len);
            assert_eq!((block.len(), block.as_ptr() as usize % 512), (len, 0));
            assert!(block.iter().all(|&byte| byte == 0));
        }
        assert_eq!(Block::copy_of(&[7; 513]).len(), 1024);
    }

    #[test]
    fn a_block_may_be_shorter_than_a_sector_and_its_copy_is_as_long() {
        let mut short = Block::zeroed(128);
        short.fill(7);
        assert_eq!((short.len(), &short.clone()[..]), (128, &[7; 128][..]));
    }

    #[test]
    fn memory_that_is_used_again_is_zeroed_again() {
        let mut first = Block::zeroed(8192);
        first.fill(0xa5);
        let place = first.as_ptr();
        drop(first);
        let mut second = Block::zeroed(8192);
        assert_eq!(second.as_mut_ptr().cast_const(), place, "a block of this size was to be had");
        assert!(second.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn zeros_take_memory_when_they_are_changed() {
        let mut owner = Block::zeroed(4096);
        let shared = owner.clone();
        assert!(owner.is_untouched() && shared.is_untouched());
        assert_eq!(owner.as_ptr(), shared.as_ptr());
        owner[4095] = 1;
        assert!(!owner.is_untouched() && shared.is_untouched());
        assert_eq!((owner[0], owner[4095], shared[4095], owner.len()), (0, 1, 0, 4096));
    }

    #[test]
    fn a_leaving_image_does_not_see_later_changes() {
        let mut owner = Block::zeroed(512).image();
        let leaving = owner.clone();
        Arc::make_mut(&mut owner)[0] = 1;
        assert_eq!((leaving[0], owner[0]), (0, 1));
    }
}
