//! For tests of the logs: images that their programs have not written, and whoever opens one gets what is there, or an
//! error. The feature `testing`.

use ordo_rt::Rng;
use std::ops::Range;

/// Says which word it was, if the test ends by a panic.
struct Note(String);

impl Drop for Note {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.0);
        }
    }
}

/// `bytes` with this value in a word of `width` bytes.
pub fn with_word(bytes: &[u8], at: usize, width: usize, value: u64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
    bytes
}

/// Each word of four and of eight bytes in `fields` of what lies at `start`, with each of `values`. `opens` makes the
/// sums right and tries. Returns how many opened, and of how many.
pub fn each_word(
    good: &[u8],
    (what, start): (&str, usize),
    fields: Range<usize>,
    values: &[u64],
    mut opens: impl FnMut(Vec<u8>) -> bool,
) -> (u32, u32) {
    let (mut opened, mut all) = (0, 0);
    for (at, width) in fields.step_by(4).flat_map(|at| [(at, 4), (at, 8)]) {
        for value in values.iter().filter(|value| (width < 8) == (**value <= u32::MAX.into()) || **value < 2) {
            let _note = Note(format!("{what} {start}, byte {at}, {width} bytes: {value:#x}"));
            opened += u32::from(opens(with_word(good, start + at, width, *value)));
            all += 1;
        }
    }
    (opened, all)
}

/// `good` with up to four pieces of up to `longest` bytes from elsewhere in it, or noise: either may look like what is
/// valid.
pub fn scrambled(rng: &mut Rng, good: &[u8], longest: u64) -> Vec<u8> {
    let mut bytes = good.to_vec();
    for _ in 0..rng.range(1, 5) {
        let at = rng.below(bytes.len() as u64) as usize;
        let len = rng.range(1, longest).min((bytes.len() - at) as u64) as usize;
        if rng.chance(1, 2) {
            let from = rng.below((bytes.len() - len) as u64) as usize;
            bytes.copy_within(from..from + len, at);
        } else {
            rng.fill(&mut bytes[at..at + len]);
        }
    }
    bytes
}
