//! The check hash of FreeBSD's UFS2: CRC-32C whose result is not inverted.

use crate::Endian;

/// Hash of `bytes`.
pub fn check_hash(bytes: &[u8]) -> u32 {
    !crc32c::crc32c(bytes)
}

/// Hash of `bytes` with the four bytes at `field` taken as zero, for a structure that contains its own hash. Bytes
/// outside the slice are not hashed.
pub fn check_hash_without(bytes: &[u8], field: usize) -> u32 {
    let (before, rest) = bytes.split_at(field.min(bytes.len()));
    let after = rest.get(4..).unwrap_or_default();
    let zeros = crc32c::crc32c_append(crc32c::crc32c(before), &[0; 4]);
    !crc32c::crc32c_append(zeros, after)
}

/// Computes the hash of `bytes` and stores it in the four bytes at `field`. `None` if they are not within `bytes`.
pub(crate) fn store_hash(bytes: &mut [u8], field: usize, endian: Endian) -> Option<u32> {
    let hash = check_hash_without(bytes, field);
    endian.put_u32(bytes, field, hash)?;
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_equals_the_known_values() {
        assert_eq!(check_hash(b""), 0xffff_ffff);
        assert_eq!(check_hash(b"123456789"), 0x1cf9_6d7c);
        assert_eq!(check_hash(&[0; 32]), 0x756e_c955);
        assert_eq!(check_hash(&[0xff; 32]), 0x9d57_54bc);
        let ramp: Vec<u8> = (0..32).collect();
        assert_eq!(check_hash(&ramp), 0xb922_86b1);
        assert_eq!(check_hash(&[0; 4096]), 0x6706_be76);
    }

    #[test]
    fn hash_field_counts_as_zero() {
        let mut b = [7u8; 64];
        b[20..24].fill(0);
        let plain = check_hash(&b);
        assert_eq!(store_hash(&mut b, 20, Endian::Big), Some(plain));
        assert_eq!(b[20..24], plain.to_be_bytes());
        assert_eq!(check_hash_without(&b, 20), plain);
        assert_eq!(store_hash(&mut b, 61, Endian::Big), None);
    }
}
