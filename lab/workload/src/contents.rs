//! Sizes and contents of files, from a seed.

use ordo_rt::{Rng, splitmix64};

/// `count` sizes, uniform between `mean - spread` and `mean + spread`, in pairs with a sum of two means: so the sum is
/// the same for every seed. The last of an odd number is `mean`. `spread` must not be above `mean`.
pub(crate) fn sizes(rng: &mut Rng, count: u64, mean: u64, spread: u64) -> Vec<u64> {
    let pairs = (0..count / 2).flat_map(|_| {
        let size = rng.within(mean - spread, mean + spread);
        [size, 2 * mean - size]
    });
    let mut sizes: Vec<u64> = pairs.collect();
    sizes.resize(count as usize, mean);
    sizes
}

/// Fills `data` with bytes that depend on `seed` and on their offset in the file, so that a misplaced block is
/// detected. `offset` is that of the first byte.
pub(crate) fn fill(data: &mut [u8], seed: u64, offset: u64) {
    let mut at = offset;
    let mut rest = data;
    while !rest.is_empty() {
        let word = splitmix64(&mut (seed ^ (at / 8))).to_le_bytes();
        let within = (at % 8) as usize;
        let len = rest.len().min(8 - within);
        let (now, later) = std::mem::take(&mut rest).split_at_mut(len);
        now.copy_from_slice(&word[within..within + len]);
        at += len as u64;
        rest = later;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_differ_with_the_seed_and_their_sum_does_not() {
        let of = |seed| sizes(&mut Rng::new(seed), 501, 1000, 400);
        assert_ne!(of(1), of(2));
        for sizes in [of(1), of(2)] {
            assert_eq!((sizes.len(), sizes.iter().sum::<u64>(), sizes[500]), (501, 501_000, 1000));
            assert!(sizes.iter().all(|size| (600..=1400).contains(size)));
            assert!(sizes.iter().any(|size| *size < 620) && sizes.iter().any(|size| *size > 1380));
        }
    }

    #[test]
    fn filled_pieces_join_to_the_same_bytes_as_one_fill() {
        let mut whole = [0; 64];
        fill(&mut whole, 7, 3);
        let mut parts = [0; 64];
        fill(&mut parts[..21], 7, 3);
        fill(&mut parts[21..], 7, 24);
        assert_eq!(whole, parts);
    }
}
