//! Bitmaps: bit n is bit `n % 8` of byte `n / 8`, in either byte order. Bits beyond the end read as 0 and cannot be
//! set, so an index from a damaged pointer does no harm.

use crate::num::index;

fn place(i: u32) -> (usize, u8) {
    (index(i / 8), 1 << (i % 8))
}

/// Bit `i`.
#[inline]
pub fn get(map: &[u8], i: u32) -> bool {
    let (byte, bit) = place(i);
    map.get(byte).is_some_and(|b| b & bit != 0)
}

/// Sets bit `i`.
#[inline]
pub fn set(map: &mut [u8], i: u32) {
    let (byte, bit) = place(i);
    if let Some(b) = map.get_mut(byte) {
        *b |= bit;
    }
}

/// Clears bit `i`.
#[inline]
pub fn clear(map: &mut [u8], i: u32) {
    let (byte, bit) = place(i);
    if let Some(b) = map.get_mut(byte) {
        *b &= !bit;
    }
}

/// Whether the `n` bits from `from` on all equal `value`. True for no bits.
pub fn all(map: &[u8], from: u32, n: u32, value: bool) -> bool {
    (from..from.saturating_add(n)).all(|i| get(map, i) == value)
}

/// Sets or clears `n` bits from `from` on.
pub fn fill(map: &mut [u8], from: u32, n: u32, value: bool) {
    let end = from.saturating_add(n);
    let change = if value { set } else { clear };
    let head = from.checked_next_multiple_of(8).unwrap_or(end).min(end);
    (from..head).for_each(|i| change(map, i));
    let whole = index(head / 8)..index(end / 8).min(map.len());
    if let Some(bytes) = map.get_mut(whole) {
        bytes.fill(if value { 0xff } else { 0 });
    }
    (head.max(end.saturating_sub(end % 8))..end).for_each(|i| change(map, i));
}

/// The map in words of 64 bits, the lowest bit first; the last word is padded with 0.
pub fn words(map: &[u8]) -> impl Iterator<Item = u64> {
    let (whole, rest) = map.as_chunks::<8>();
    let mut last = [0; 8];
    for (to, from) in last.iter_mut().zip(rest) {
        *to = *from;
    }
    let last = (!rest.is_empty()).then_some(last);
    whole.iter().copied().chain(last).map(u64::from_le_bytes)
}

/// The first set bit at or after `from` and before `end`.
pub fn first_set(map: &[u8], from: u32, end: u32) -> Option<u32> {
    let from = from.min(end);
    let part = map.get(index(from / 8)..).unwrap_or_default();
    let below = u64::MAX.checked_shl(from % 8).unwrap_or(0);
    let starts = (from / 8..).map(|byte| byte.saturating_mul(8)).step_by(8);
    let mut masked = words(part).zip(starts).zip([below].into_iter().chain(std::iter::repeat(u64::MAX)));
    let ((word, start), mask) = masked.find(|((word, _), mask)| word & mask != 0)?;
    Some(start.saturating_add((word & mask).trailing_zeros())).filter(|bit| *bit < end)
}

/// The bits of block number `block` in a map of fragments, `frag` (1, 2, 4 or 8) of them, in the low bits.
#[inline]
pub fn block(map: &[u8], block: u32, frag: u32) -> u8 {
    let first = block.saturating_mul(frag);
    let byte = map.get(index(first / 8)).copied().unwrap_or(0);
    byte.checked_shr(first % 8).unwrap_or(0) & whole(frag)
}

/// A block of `frag` fragments, all of them set.
#[inline]
pub fn whole(frag: u32) -> u8 {
    0xffu8.checked_shr(8u32.saturating_sub(frag)).unwrap_or(0)
}

/// The maximal runs of set bits in a block of `frag` fragments: where each starts, and how long it is.
pub fn runs(bits: u8, frag: u32) -> impl Iterator<Item = (u32, u32)> {
    let mut rest = u32::from(bits & whole(frag));
    let mut from = 0u32;
    std::iter::from_fn(move || {
        let gap = rest.trailing_zeros();
        if gap >= 8 {
            return None;
        }
        rest = rest.checked_shr(gap)?;
        let len = rest.trailing_ones();
        rest = rest.checked_shr(len)?;
        let start = from.saturating_add(gap);
        from = start.saturating_add(len);
        Some((start, len))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_counted_from_the_low_end_of_each_byte() {
        let mut map = [0u8; 2];
        set(&mut map, 0);
        set(&mut map, 9);
        set(&mut map, 16);
        assert_eq!(map, [1, 2]);
        assert!(get(&map, 9) && !get(&map, 8) && !get(&map, 16) && !get(&map, u32::MAX));
        clear(&mut map, 9);
        assert_eq!(map, [1, 0]);
    }

    #[test]
    fn ranges_are_filled_to_the_bit() {
        let mut map = [0u8; 4];
        fill(&mut map, 5, 20, true);
        assert_eq!(map, [0xe0, 0xff, 0xff, 0x01]);
        assert!(all(&map, 5, 20, true) && !all(&map, 4, 2, true) && all(&map, 25, 7, false));
        fill(&mut map, 8, 9, false);
        assert_eq!(map, [0xe0, 0, 0xfe, 0x01]);
        fill(&mut map, 24, 100, true);
        assert_eq!(map[3], 0xff);
        fill(&mut map, 40, u32::MAX, true);
        fill(&mut map, u32::MAX, 9, false);
        fill(&mut map, 10, 3, true);
        fill(&mut map, 28, 4, false);
        assert_eq!(map, [0xe0, 0x1c, 0xfe, 0x0f]);
    }

    #[test]
    fn words_hold_every_bit_and_zeros_behind_the_last() {
        assert_eq!(words(&[]).count(), 0);
        assert_eq!(words(&[1, 0, 0, 0, 0, 0, 0, 0x80, 3]).collect::<Vec<_>>(), [1 << 63 | 1, 3]);
        assert_eq!(words(&[0xff; 16]).collect::<Vec<_>>(), [u64::MAX; 2]);
    }

    #[test]
    fn the_first_set_bit_is_the_one_that_a_search_bit_by_bit_finds() {
        for bits in [[0, 1], [9, 63], [64, 65], [71, 150], [158, 159], [40, 41]] {
            let mut map = [0u8; 20];
            bits.iter().for_each(|&bit| set(&mut map, bit));
            for (from, end) in (0..170).flat_map(|from| (0..170).map(move |end| (from, end))) {
                assert_eq!(first_set(&map, from, end), (from..end).find(|&i| get(&map, i)), "{bits:?} {from} {end}");
            }
        }
        assert_eq!((first_set(&[], 0, 9), first_set(&[1], u32::MAX, u32::MAX)), (None, None));
    }

    #[test]
    fn runs_are_maximal_and_stay_in_their_block() {
        assert_eq!(runs(0b1101_1001, 8).collect::<Vec<_>>(), [(0, 1), (3, 2), (6, 2)]);
        assert_eq!(runs(0xff, 8).collect::<Vec<_>>(), [(0, 8)]);
        assert_eq!(runs(0, 8).count(), 0);
        assert_eq!(runs(0b1011, 2).collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!((block(&[0xa5, 0x3c], 3, 4), block(&[0xa5, 0x3c], 1, 4), block(&[0xa5], 0, 8)), (3, 0xa, 0xa5));
        assert_eq!((whole(1), whole(2), whole(4), whole(8)), (1, 3, 15, 255));
    }
}
