//! Conversions between number types for this crate, each total.

/// A byte offset or count of the format as an index. The formats bound blocks to 64 KiB, so the value always fits; a
/// value that would not (on a 16-bit host) becomes an index beyond any slice.
pub(crate) fn index(n: u32) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// A length in memory as a number in the format.
pub(crate) fn len64(n: usize) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// `n`, or the largest `u32` if it is larger: an index that no group, inode or block has.
pub(crate) fn low32(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

/// `n` divided by `by`, rounded up; 0 if `by` is 0.
pub(crate) fn howmany(n: u64, by: u64) -> u64 {
    match n.checked_rem(by) {
        None => 0,
        Some(0) => n.checked_div(by).unwrap_or(0),
        Some(_) => n.checked_div(by).unwrap_or(0).saturating_add(1),
    }
}

/// The smallest multiple of `to` that is at least `n`; 0 if `to` is 0.
pub(crate) fn roundup(n: u64, to: u64) -> u64 {
    howmany(n, to).saturating_mul(to)
}

/// The bits of a signed field as an unsigned number of the same width.
pub(crate) fn bits64(n: i64) -> u64 {
    u64::from_ne_bytes(n.to_ne_bytes())
}

/// The bits of an unsigned number as the signed field of the same width.
pub(crate) fn signed64(n: u64) -> i64 {
    i64::from_ne_bytes(n.to_ne_bytes())
}

/// Like [`bits64`], for 32 bits.
pub(crate) fn bits32(n: i32) -> u32 {
    u32::from_ne_bytes(n.to_ne_bytes())
}

/// Like [`signed64`], for 32 bits.
pub(crate) fn signed32(n: u32) -> i32 {
    i32::from_ne_bytes(n.to_ne_bytes())
}

/// The low half of `n`, for the 32-bit copies that UFS1 keeps of wide counters.
pub(crate) fn narrow(n: i64) -> i32 {
    let [a, b, c, d, ..] = n.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_is_exact_and_total() {
        assert_eq!((howmany(0, 8), howmany(1, 8), howmany(8, 8), howmany(9, 8), howmany(9, 0)), (0, 1, 1, 2, 0));
        assert_eq!((roundup(1376, 512), roundup(u64::MAX, 4096)), (1536, u64::MAX));
        assert_eq!((narrow(-1), narrow(0x1_0000_0002), signed32(bits32(-7)), signed64(bits64(-7))), (-1, 2, -7, -7));
    }
}
