//! Random numbers from a seed, the same on every machine.

/// The generator xoshiro256** of Blackman and Vigna (2018), seeded through their splitmix64.
#[derive(Debug, Clone)]
pub struct Rng([u64; 4]);

impl Rng {
    /// A generator; different seeds give unrelated streams.
    pub fn new(mut seed: u64) -> Rng {
        Rng(std::array::from_fn(|_| splitmix(&mut seed)))
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[1].wrapping_mul(5).rotate_left(7).wrapping_mul(9);
        let shifted = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= shifted;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// A number below `n`, or 0 when `n` is 0. The bias is below `n` / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `low` to `high`, both included; `low` when `high` is below it.
    pub fn within(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high.saturating_sub(low).saturating_add(1))
    }

    /// `true` in `percent` of 100 cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// One of `items`, which must not be empty.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }
}

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

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// Fills `data` with bytes that depend on `seed` and on their offset in the file, so that a misplaced block is
/// detected. `offset` is that of the first byte.
pub(crate) fn fill(data: &mut [u8], seed: u64, offset: u64) {
    let mut at = offset;
    let mut rest = data;
    while !rest.is_empty() {
        let word = splitmix(&mut (seed ^ (at / 8))).to_le_bytes();
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
    fn splitmix_gives_the_published_first_numbers() {
        let mut state = 1234567;
        assert_eq!(splitmix(&mut state), 6457827717110365317);
        assert_eq!(splitmix(&mut state), 3203168211198807973);
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(1);
        let mut seen = [0u32; 8];
        for _ in 0..8000 {
            seen[rng.within(2, 9) as usize - 2] += 1;
        }
        assert!(seen.iter().all(|&count| (800..1200).contains(&count)), "{seen:?}");
        assert_eq!(rng.below(0), 0);
        assert_eq!(rng.within(5, 4), 5);
    }

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
