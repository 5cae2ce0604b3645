//! The difference between two states of a block.

use super::Piece;

/// Most equal bytes between two differences that are still stored in one piece, because that is shorter.
const GAP: usize = 6;
/// Bytes compared at a time.
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
    for (start, (old, new)) in (0..).step_by(WORD).zip(before.chunks(WORD).zip(now.chunks(WORD))) {
        if old != new {
            let unequal = (start..).zip(old.iter().zip(new)).filter(|(_, (a, b))| a != b);
            unequal.for_each(|(at, _)| differs(at));
        }
    }
    pieces.extend(open.map(|(from, to)| piece(now, from, to)));
    pieces
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
}
