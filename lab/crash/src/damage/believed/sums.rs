//! Sums of structures, and how they are made right again after the structure was damaged.
//!
//! W1. Computing a listed sum anew on the undamaged volume changes nothing
//!     (`the_sums_of_an_undamaged_volume_are_right`). A wrong list would itself make damage that every program sees at
//!     once, and the campaign would find nothing.

use ordo_disk::RamDisk;
use ordo_ondisk::{Endian, check_hash, lfs};
use std::ops::Range;

/// How a sum is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// CRC-32C, as the logs have it.
    Crc,
    /// CRC-32C that is not inverted, as FreeBSD's check hashes are.
    Hash,
    /// Exclusive-or of 16-bit words, as in LFS.
    Words,
}

/// A sum, or what must be equal to something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fix {
    Sum {
        how: How,
        /// Bytes that come first, and are not on the disk there.
        start: Vec<u8>,
        /// The bytes that it covers, in this order; in them the sum itself counts as zeroes.
        over: Vec<Range<u64>>,
        /// Where it is: four bytes.
        at: u64,
        endian: Endian,
    },
    /// A twin, or a sum that another structure repeats.
    Copy { from: Range<u64>, to: u64 },
}

/// Bytes of a sum.
const SUM: u64 = 4;

/// Reads a range.
pub(super) fn bytes(ram: &RamDisk, range: &Range<u64>) -> Vec<u8> {
    let mut bytes = vec![0; (range.end - range.start) as usize];
    ram.peek(range.start, &mut bytes);
    bytes
}

impl Fix {
    /// A sum over one range.
    pub(super) fn sum(how: How, over: Range<u64>, at: u64, endian: Endian) -> Fix {
        Fix::Sum { how, start: Vec::new(), over: vec![over], at, endian }
    }

    /// What belongs on the disk, and where.
    fn right(&self, ram: &RamDisk) -> (u64, Vec<u8>) {
        let Fix::Sum { how, start, over, at, endian } = self else {
            let Fix::Copy { from, to } = self else { unreachable!("there are two kinds") };
            return (*to, bytes(ram, from));
        };
        let mut covered = start.clone();
        for range in over {
            let mut piece = bytes(ram, range);
            for own in (*at..at + SUM).filter(|own| range.contains(own)) {
                piece[(own - range.start) as usize] = 0;
            }
            covered.extend(piece);
        }
        let sum = match how {
            How::Crc => !check_hash(&covered),
            How::Hash => check_hash(&covered),
            How::Words => lfs::cksum(&covered, *endian),
        };
        let mut field = vec![0; SUM as usize];
        // OK to ignore: four bytes have room for a sum.
        let _ = endian.put_u32(&mut field, 0, sum);
        (*at, field)
    }

    /// Whether it is right.
    pub(super) fn holds(&self, ram: &RamDisk) -> bool {
        let (at, right) = self.right(ram);
        bytes(ram, &(at..at + right.len() as u64)) == right
    }

    /// Makes it right.
    pub(super) fn apply(&self, ram: &RamDisk) {
        let (at, right) = self.right(ram);
        ram.poke(at, &right);
    }
}
