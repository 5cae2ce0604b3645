//! A hash of the contents of a disk, updated write by write.
//!
//! The fingerprint of an image is the exclusive or, over all sectors, of a hash of the sector's number and bytes; the
//! part of the sectors that were never written cancels out. So a write changes it by the hashes of its new and old
//! bytes, no image is ever read whole, and equal contents have equal fingerprints whatever led to them.

use ordo_disk::{RamDisk, SECTOR};
use rustc_hash::FxHashMap;
use xxhash_rust::xxh3::xxh3_128_with_seed;

/// The contribution of a sector. All zeroes contribute nothing.
pub(crate) fn of_sector(sector: u64, bytes: &[u8]) -> u128 {
    if bytes.iter().all(|byte| *byte == 0) { 0 } else { xxh3_128_with_seed(bytes, sector) }
}

/// The contributions of the sectors of a write, first to last.
pub(crate) fn of_image(at: u64, image: &[u8]) -> impl Iterator<Item = (u64, u128)> + '_ {
    let first = at / SECTOR as u64;
    image.chunks(SECTOR).zip(first..).map(|(bytes, sector)| (sector, of_sector(sector, bytes)))
}

/// The fingerprint of a disk, relative to the image that it began with.
#[derive(Clone, Default)]
pub(crate) struct Fingerprint {
    /// The number itself.
    pub(crate) value: u128,
    /// The current contribution of each sector, where it is known.
    sectors: FxHashMap<u64, u128>,
}

impl Fingerprint {
    /// A disk whose fingerprint is known, and whose sectors were not read yet.
    pub(crate) fn starting(value: u128) -> Fingerprint {
        Fingerprint { value, ..Fingerprint::default() }
    }

    /// The current contribution of a sector of `disk`, which must be in the state that the fingerprint describes.
    pub(crate) fn sector(&mut self, disk: &RamDisk, sector: u64) -> u128 {
        *self.sectors.entry(sector).or_insert_with(|| {
            let mut bytes = [0; SECTOR];
            disk.peek(sector * SECTOR as u64, &mut bytes);
            of_sector(sector, &bytes)
        })
    }

    /// Records that `sector` now contributes `new`. `disk` must not have been changed there yet.
    pub(crate) fn set(&mut self, disk: &RamDisk, sector: u64, new: u128) {
        let old = self.sector(disk, sector);
        self.value ^= old ^ new;
        self.sectors.insert(sector, new);
    }
}
