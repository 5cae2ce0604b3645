//! Random numbers from a seed (SplitMix64): small, and the same on every machine.

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub(crate) struct Luck(u64);

impl Luck {
    /// The stream of a seed and of the trace that draws from it: two traces of one seed are not the same.
    pub(crate) fn of(seed: u64, name: &str) -> Luck {
        let mut luck = Luck(seed);
        for byte in name.bytes() {
            luck.0 = luck.next() ^ u64::from(byte);
        }
        luck
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not including 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// From 0 up to but not including `end`, which is not 0.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (self.unit() * f64::from(end)) as u32
    }

    /// True once in so many times.
    pub(crate) fn chance(&mut self, part: f64) -> bool {
        self.unit() < part
    }

    /// Between half and one and a half times `mean`.
    pub(crate) fn about(&mut self, mean: f64) -> f64 {
        mean * (0.5 + self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_and_name_draw_the_same_numbers_and_others_draw_others() {
        let draw = |seed, name| Luck::of(seed, name).unit();
        assert_eq!(draw(1, "gcc"), draw(1, "gcc"));
        assert!(draw(1, "gcc") != draw(2, "gcc") && draw(1, "gcc") != draw(1, "ccg"));
    }
}
