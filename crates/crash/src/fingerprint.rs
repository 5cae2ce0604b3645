//! A number for the contents of a disk, kept up to date write by write.
//!
//! The fingerprint of an image is the exclusive or, over all sectors, of a hash of the sector's number and bytes; the
//! part of those sectors that nobody ever wrote cancels out. So a write changes it by what it puts there and by what it
//! covers, no image is ever read whole, and the same contents have the same number whatever way led to them.

use disk::{Image, RamDisk, SECTOR};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// What a sector adds to the fingerprint. All zeroes add nothing.
pub(crate) fn of_sector(sector: u64, bytes: &[u8]) -> u128 {
    if bytes.iter().all(|byte| *byte == 0) { 0 } else { xxh3_128_with_seed(bytes, sector) }
}

/// What the sectors of a write add, first to last.
pub(crate) fn of_image(at: u64, image: &Image) -> impl Iterator<Item = (u64, u128)> + '_ {
    let first = at / SECTOR as u64;
    image.chunks(SECTOR).zip(first..).map(|(bytes, sector)| (sector, of_sector(sector, bytes)))
}

/// The fingerprint of a disk, relative to the image that it began with.
#[derive(Clone, Default)]
pub(crate) struct Fingerprint {
    /// The number itself.
    pub(crate) value: u128,
    /// What each sector adds now, where that is known.
    sectors: FxHashMap<u64, u128>,
}

impl Fingerprint {
    /// A disk whose fingerprint is known, and of whose sectors none was looked at yet.
    pub(crate) fn starting(value: u128) -> Fingerprint {
        Fingerprint { value, ..Fingerprint::default() }
    }

    /// What a sector of `disk` adds now. `disk` must be in the state that the fingerprint describes.
    pub(crate) fn sector(&mut self, disk: &RamDisk, sector: u64) -> u128 {
        *self.sectors.entry(sector).or_insert_with(|| {
            let mut bytes = [0; SECTOR];
            disk.peek(sector * SECTOR as u64, &mut bytes);
            of_sector(sector, &bytes)
        })
    }

    /// `sector` now adds `new`. `disk` must not have been changed there yet.
    pub(crate) fn set(&mut self, disk: &RamDisk, sector: u64, new: u128) {
        let old = self.sector(disk, sector);
        self.value ^= old ^ new;
        self.sectors.insert(sector, new);
    }
}
