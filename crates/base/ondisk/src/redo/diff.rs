//! The difference between two states of a block.

use super::Piece;

/// Most equal bytes between two differences that are still stored in one piece, because that is shorter.
const GAP: usize = 6;
/// Bytes compared at a time: most of a block is the same in both states, and long stretches are compared fast.
const STRETCH: usize = 1024;
/// The same in a stretch that differs.
const WORD: usize = 32;

/// The pieces of `now` that differ from `before`; both have the same length.
pub fn differences(before: &[u8], now: &[u8]) -> Vec<Piece> {
    let (mut pieces, mut open): (Vec<Piece>, Option<(usize, usize)>) = (Vec::new(), None);
    let mut differs = |at: usize| {
        let after = at.saturating_add(1);
        match &mut open {
            Some((_, end)) if at <= end.saturating_add(GAP) => *end = after,
            _ => {
                let done = open.replace((at, after));
                pieces.extend(done.map(|(from, to)| piece(now, from, to)));
            }
        }
    };
    for (at, old, new) in unequal(0, before, now, STRETCH) {
        for (at, old, new) in unequal(at, old, new, WORD) {
            let bytes = (at..).zip(old.iter().zip(new)).filter(|(_, (a, b))| a != b);
            bytes.for_each(|(at, _)| differs(at));
        }
    }
    pieces.extend(open.map(|(from, to)| piece(now, from, to)));
    pieces
}

/// The parts of `len` bytes that differ, each with its place; the first lies at `start`.
fn unequal<'a>(
    start: usize,
    before: &'a [u8],
    now: &'a [u8],
    len: usize,
) -> impl Iterator<Item = (usize, &'a [u8], &'a [u8])> {
    let parts = before.chunks(len).zip(now.chunks(len));
    (start..).step_by(len).zip(parts).filter(|(_, (old, new))| old != new).map(|(at, (old, new))| (at, old, new))
}

/// The non-zero pieces of `now`.
pub fn pieces_of(now: &[u8]) -> Vec<Piece> {
    differences(&vec![0; now.len()], now)
}

fn piece(now: &[u8], from: usize, to: usize) -> Piece {
    Piece { at: u32::try_from(from).unwrap_or(u32::MAX), bytes: now.get(from..to).unwrap_or_default().to_vec() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_what_differs_joined_over_short_gaps() {
        let before = vec![0; 200];
        let mut now = before.clone();
        (now[3], now[9], now[31], now[32], now[199]) = (1, 2, 3, 4, 5);
        let at = |pieces: Vec<Piece>| pieces.into_iter().map(|p| (p.at, p.bytes)).collect::<Vec<_>>();
        let expected = vec![(3, vec![1, 0, 0, 0, 0, 0, 2]), (31, vec![3, 4]), (199, vec![5])];
        assert_eq!(at(differences(&before, &now)), expected);
        assert_eq!(at(pieces_of(&now)), expected);
        assert_eq!(differences(&now, &now), []);
    }

    /// Wherever the differences lie among stretches and words, and in a last one that is not whole.
    #[test]
    fn pieces_are_found_at_the_ends_of_stretches_and_words() {
        let len = 3 * STRETCH + 70;
        let edges = [0, 31, 32, 1023, 1024, 1055, 1056, 2047, 2048, 3071, 3072, 3135, 3136, len - 1];
        for first in edges {
            for second in edges.into_iter().filter(|second| *second > first + GAP + 1) {
                let (before, mut now) = (vec![7; len], vec![7; len]);
                (now[first], now[second]) = (1, 2);
                let found: Vec<_> = differences(&before, &now).into_iter().map(|p| (p.at, p.bytes)).collect();
                assert_eq!(found, [(first as u32, vec![1]), (second as u32, vec![2])]);
            }
        }
    }
}
