//! The checksum of LFS: exclusive-or of 16-bit words.
//!
//! K1. The words are in the byte order of the volume, and so is the stored sum: the same bytes have another sum on a
//!     volume of the other order.
//! K2. The order of the words does not matter, and equal words cancel: a sum shows damage, not freshness. Identity and
//!     serial number of a summary do that.

use crate::Endian;

/// A sum that is being computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cksum {
    endian: Endian,
    sum: u16,
}

impl Cksum {
    /// The sum of nothing.
    pub fn new(endian: Endian) -> Cksum {
        Cksum { endian, sum: 0 }
    }

    /// Adds `bytes`; of an odd number of them, not the last.
    pub fn add(&mut self, bytes: &[u8]) {
        for word in bytes.chunks_exact(2) {
            if let [a, b] = *word {
                self.sum ^= self.endian.u16([a, b]);
            }
        }
    }

    /// The sum, as it is stored: in 32 bits.
    pub fn get(self) -> u32 {
        self.sum.into()
    }
}

/// The sum of `bytes`; of an odd number of them, without the last.
pub fn cksum(bytes: &[u8], endian: Endian) -> u32 {
    let mut sum = Cksum::new(endian);
    sum.add(bytes);
    sum.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_format() {
        let of = |bytes: &[u8]| cksum(bytes, Endian::Little);
        assert_eq!(of(&[]), 0);
        assert_eq!(of(&[1, 2, 3, 4, 5]), 0x0602);
        assert_eq!((of(b"ABCD"), of(b"WXYZ")), (0x0602, 0x020e));
        assert_eq!(cksum(b"ABCD", Endian::Big), 0x0206);
    }
}
