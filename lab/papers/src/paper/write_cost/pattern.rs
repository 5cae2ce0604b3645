//! Which files are overwritten (write-cost-1).

use ordofs::rt::Rng;

/// Which file is overwritten next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pattern {
    Uniform,
    /// Nine of ten times one of a tenth of the files.
    HotAndCold,
}

impl Pattern {
    pub(super) const ALL: [Pattern; 2] = [Pattern::Uniform, Pattern::HotAndCold];

    pub(super) fn name(self) -> &'static str {
        match self {
            Pattern::Uniform => "uniform",
            Pattern::HotAndCold => "hot and cold",
        }
    }

    /// One of `count`, of which the first tenth is hot.
    pub(super) fn next(self, rng: &mut Rng, count: u64) -> u64 {
        let hot = (count / 10).max(1);
        match self {
            Pattern::Uniform => rng.below(count),
            Pattern::HotAndCold if rng.chance(9, 10) => rng.below(hot),
            Pattern::HotAndCold => hot + rng.below((count - hot).max(1)),
        }
    }
}
