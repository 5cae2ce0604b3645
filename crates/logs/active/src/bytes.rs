//! The checksum of this crate's own structures. All their numbers are little-endian.

/// The checksum of a page or a root: CRC-32C of everything behind its own four bytes.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes.get(4..).unwrap_or_default())
}
