//! A bitmap with a bit for each fragment of the volume.

/// Bits numbered from 0. Numbers beyond the end read as set, so that nothing there can be claimed or allocated.
pub(crate) struct Bits {
    words: Vec<u64>,
    len: u64,
}

impl Bits {
    pub(crate) fn new(len: u64) -> Bits {
        Bits { words: vec![0; len.div_ceil(64) as usize], len }
    }

    /// Whether any of `n` bits is set.
    #[inline]
    pub(crate) fn any(&self, bit: u64, n: u64) -> bool {
        let end = bit.saturating_add(n);
        n > 0 && end > self.len || (bit..end).step_by(64).any(|at| self.run(at, (end - at).min(64) as u32) != 0)
    }

    pub(crate) fn set(&mut self, bit: u64, n: u64) {
        self.each(bit, n, |word, mask| *word |= mask);
    }

    pub(crate) fn clear(&mut self, bit: u64, n: u64) {
        self.each(bit, n, |word, mask| *word &= !mask);
    }

    /// The `n` bits from `bit` on, lowest first; `n` is at most 64.
    #[inline]
    pub(crate) fn run(&self, bit: u64, n: u32) -> u64 {
        let at = |index: u64| self.words.get(index as usize).copied().unwrap_or(0);
        let (index, shift) = (bit >> 6, bit & 63);
        let mut run = at(index) >> shift;
        if shift != 0 {
            run |= at(index + 1) << (64 - shift);
        }
        if n < 64 { run & ((1 << n) - 1) } else { run }
    }

    fn each(&mut self, bit: u64, n: u64, change: impl Fn(&mut u64, u64)) {
        let end = bit.saturating_add(n).min(self.len);
        let mut at = bit;
        while at < end {
            let (index, shift) = ((at >> 6) as usize, at & 63);
            let count = (64 - shift).min(end - at);
            let mask = if count == 64 { u64::MAX } else { ((1 << count) - 1) << shift };
            if let Some(word) = self.words.get_mut(index) {
                change(word, mask);
            }
            at += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Bits {
        fn get(&self, bit: u64) -> bool {
            self.any(bit, 1)
        }
    }

    #[test]
    fn ranges_cross_words() {
        let mut bits = Bits::new(200);
        bits.set(60, 80);
        assert!(!bits.get(59) && bits.get(60) && bits.get(139) && !bits.get(140));
        assert!(bits.any(0, 61) && !bits.any(0, 60) && !bits.any(61, 0));
        assert!(bits.any(130, 70) && !bits.any(140, 60) && bits.any(140, 61));
        bits.clear(64, 64);
        assert!(bits.get(63) && !bits.get(64) && !bits.get(127) && bits.get(128));
        assert_eq!(bits.run(60, 8), 0x0f);
        assert_eq!(bits.run(120, 20), 0xfff << 8);
    }

    #[test]
    fn bits_beyond_the_end_are_taken() {
        let mut bits = Bits::new(70);
        bits.set(u64::MAX - 1, 5);
        bits.set(60, u64::MAX);
        assert!(bits.get(69) && bits.get(70) && bits.get(u64::MAX) && !bits.get(59));
        assert_eq!(bits.run(69, 64), 1);
    }
}
