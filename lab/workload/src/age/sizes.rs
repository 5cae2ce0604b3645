//! Sizes of files, drawn from tables.
//!
//! S1. Only integers: the same numbers on every machine.

use ordo_rt::Rng;

/// Sizes by classes that end at powers of two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Files of each class. Class `k` has the sizes from 2^(k-1) + 1 to 2^k bytes; class 0 those of one byte.
    weights: &'static [u32],
}

/// The files of 1000 machines in November 1993, in tens: 12 million files, half of them up to 2 KB, 89 percent up to
/// 16 KB, 22 KB in the mean (G. Irlam, "Unix File Size Survey", 1993). Without empty files, and without those above
/// 32 MB, one in thirty thousand: 19 KB in the mean.
pub(super) const SURVEY: Sizes = Sizes {
    weights: &[
        329, 574, 1_023, 2_122, 6_714, 23_197, 28_208, 27_873, 51_290, 128_462, 180_853, 239_791, 171_787, 114_469,
        86_513, 57_465, 34_828, 19_486, 11_297, 5_864, 3_229, 1_614, 722, 248, 99, 48,
    ],
};

/// Articles of news: a header and a few lines have more than half a kilobyte, most articles 1 to 4 KB, and parts of
/// pictures and programs up to 64 KB. 3.9 KB in the mean, between the 2.7 KB and the 4.1 KB of the server of 2000 that
/// [`crate::Netnews`] describes.
pub(super) const ARTICLES: Sizes = Sizes { weights: &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 40, 390, 390, 120, 35, 15, 10] };

impl Sizes {
    /// A size, not above `most`.
    pub(super) fn draw(&self, rng: &mut Rng, most: u64) -> u64 {
        let all = self.weights.iter().map(|weight| u64::from(*weight)).sum();
        let mut at = rng.below(all);
        let class = self.weights.iter().position(|weight| {
            let here = at < u64::from(*weight);
            at = at.saturating_sub((*weight).into());
            here
        });
        let end = 1 << class.unwrap_or(0);
        rng.within(end / 2 + 1, end).min(most).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permille of sizes up to each of `limits`, and the mean.
    fn drawn(sizes: Sizes, limits: &[u64]) -> (Vec<u64>, u64) {
        let mut rng = Rng::new(1);
        let all: Vec<u64> = (0..200_000).map(|_| sizes.draw(&mut rng, u64::MAX)).collect();
        let below = |limit: &u64| all.iter().filter(|size| *size <= limit).count() as u64 * 1000 / all.len() as u64;
        (limits.iter().map(below).collect(), all.iter().sum::<u64>() / all.len() as u64)
    }

    #[test]
    fn the_survey_is_drawn_as_it_was_counted() {
        let (shares, mean) = drawn(SURVEY, &[512, 2048, 16384, 131_072]);
        let counted = [226, 575, 888, 981];
        assert!(shares.iter().zip(counted).all(|(drawn, counted)| drawn.abs_diff(counted) <= 4), "{shares:?}");
        assert!((14_000..24_000).contains(&mean), "{mean}");
    }

    #[test]
    fn articles_are_short_and_a_few_are_long() {
        let (shares, mean) = drawn(ARTICLES, &[512, 4096, 65_536]);
        assert_eq!((shares[0], shares[2]), (0, 1000));
        assert!(shares[1].abs_diff(820) <= 4 && (3_600..4_100).contains(&mean), "{shares:?} {mean}");
        assert!((0..1000).all(|seed| (1..=700).contains(&ARTICLES.draw(&mut Rng::new(seed), 700))));
    }
}
