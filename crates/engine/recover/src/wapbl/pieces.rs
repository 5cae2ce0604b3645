//! Which bytes of the log are the newest image of which bytes of the volume.
//!
//! The table has an entry for each extent of a record, and not for each unit of one: a hostile record of some bytes may
//! claim gigabytes of images in a sparse file.

use ordo_ondisk::wapbl::Circle;
use std::collections::BTreeMap;

/// A run of bytes of the volume, by its first one.
#[derive(Clone, Copy)]
struct Piece {
    end: u64,
    /// Byte of the log at which its image begins.
    from: u64,
}

/// The newest images.
pub(super) struct Pieces {
    circle: Circle,
    runs: BTreeMap<u64, Piece>,
}

impl Pieces {
    pub(super) fn new(circle: Circle) -> Pieces {
        Pieces { circle, runs: BTreeMap::new() }
    }

    /// The image of these bytes begins at byte `from` of the log; older images of them do not count any more.
    pub(super) fn add(&mut self, at: u64, len: u64, from: u64) {
        let end = at.saturating_add(len);
        self.revoke(at, len);
        self.runs.insert(at, Piece { end, from });
    }

    /// No image of these bytes counts.
    pub(super) fn revoke(&mut self, at: u64, len: u64) {
        self.take(at, at.saturating_add(len));
    }

    /// Takes the images of the bytes from `at` to `end` out of the table: the first byte, the end, and the byte of the
    /// log. In the order of the volume.
    pub(super) fn take(&mut self, at: u64, end: u64) -> Vec<(u64, u64, u64)> {
        // A run that begins before ends there.
        if let Some((&start, piece)) = self.runs.range_mut(..at).next_back()
            && piece.end > at
        {
            let rest = Piece { end: piece.end, from: self.circle.advance(piece.from, at - start) };
            piece.end = at;
            self.runs.insert(at, rest);
        }
        let mut taken = vec![];
        while let Some((&start, &piece)) = self.runs.range(at..end).next() {
            self.runs.remove(&start);
            if piece.end > end {
                self.runs.insert(end, Piece { end: piece.end, from: self.circle.advance(piece.from, end - start) });
            }
            taken.push((start, piece.end.min(end), piece.from));
        }
        taken
    }

    /// Bytes of all images.
    pub(super) fn bytes(&self) -> u64 {
        self.runs.iter().map(|(start, piece)| piece.end - start).sum()
    }

    /// The number of runs.
    pub(super) fn count(&self) -> u64 {
        self.runs.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each byte of a small volume and the byte of the log that is its newest image, kept one by one.
    #[test]
    fn newest_images_are_those_of_a_table_of_single_bytes() {
        let circle = Circle { first: 100, size: 37 };
        let rng = ordo_rt::Rt::virtual_time(7).rng();
        let mut rng = rng;
        for _ in 0..300 {
            let (mut pieces, mut model) = (Pieces::new(circle), vec![None; 64]);
            for _ in 0..rng.below(12) {
                let at = rng.below(60);
                let (len, from) = (1 + rng.below(64 - at), 100 + rng.below(37));
                let adds = rng.below(3) > 0;
                if adds {
                    pieces.add(at, len, from);
                } else {
                    pieces.revoke(at, len);
                }
                for n in 0..len {
                    model[(at + n) as usize] = adds.then(|| 100 + (from - 100 + n) % 37);
                }
            }
            assert_eq!(pieces.bytes(), model.iter().flatten().count() as u64);
            let mut found = vec![None; 64];
            for (at, end, from) in pieces.take(0, u64::MAX) {
                for n in at..end {
                    found[n as usize] = Some(circle.advance(from, n - at));
                }
            }
            assert_eq!(found, model);
            assert_eq!(pieces.count(), 0);
        }
    }
}
