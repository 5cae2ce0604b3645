//! What a server may still lose: the changes that it has answered and that no answered flush covers.
//!
//! The pieces do not overlap: a newer one cuts its range out of the older ones. So they can be sent again in any order,
//! and at the same time, without an older byte landing over a newer one (nbd-4). The bytes are those of the caller's
//! own images, shared; a caller that changes its buffer copies it first.

use std::collections::BTreeMap;

use crate::{Image, WritePart};

/// Memory that a piece takes beside its bytes.
const OVERHEAD: u64 = 128;

/// A change of a range.
#[derive(Clone)]
pub(super) enum What {
    /// The bytes of an image, from one of them on.
    Data(Image, usize),
    /// The range was given back; its contents are undefined.
    Trim,
}

/// A part of a change that nothing newer covers.
#[derive(Clone)]
pub(super) struct Piece {
    pub(super) len: u64,
    pub(super) what: What,
    /// The number of its answer.
    answer: u64,
}

/// The pieces, by the byte where they begin.
#[derive(Default)]
pub(super) struct Kept {
    pieces: BTreeMap<u64, Piece>,
    bytes: u64,
    /// Answers so far.
    answers: u64,
    /// No longer needed. Whoever made the images drops them: their memory goes back to the thread that wants it.
    spent: Vec<Piece>,
}

impl Piece {
    fn weight(&self) -> u64 {
        OVERHEAD
            + match &self.what {
                What::Data(image, _) if !image.is_untouched() => image.len() as u64,
                What::Data(..) | What::Trim => 0,
            }
    }

    /// The part from `skip` bytes on, of `len` bytes.
    fn part(&self, skip: u64, len: u64) -> Piece {
        let what = match &self.what {
            What::Data(image, from) => What::Data(image.clone(), from + skip as usize),
            What::Trim => What::Trim,
        };
        Piece { len, what, answer: self.answer }
    }
}

/// The memory that a write will take here.
pub(super) fn weight(parts: &[WritePart]) -> u64 {
    let bytes = |part: &WritePart| if part.image.is_untouched() { 0 } else { part.image.len() as u64 };
    parts.iter().map(|part| OVERHEAD + bytes(part)).sum()
}

impl Kept {
    /// A write was answered. With `forced` it is durable already, and is kept only where it covers what is not: a
    /// server that loses the older bytes must not be the one who decides which of the two it had.
    pub(super) fn write(&mut self, at: u64, parts: &[WritePart], forced: bool) {
        self.answers += 1;
        let mut place = at;
        for part in parts {
            let len = part.image.len() as u64;
            let covered = self.carve(place, len);
            if covered || !forced {
                self.insert(place, Piece { len, what: What::Data(part.image.clone(), 0), answer: self.answers });
            }
            place += len;
        }
    }

    /// A trim was answered.
    pub(super) fn trim(&mut self, at: u64, len: u64) {
        self.answers += 1;
        self.carve(at, len);
        self.insert(at, Piece { len, what: What::Trim, answer: self.answers });
    }

    /// What a flush that is sent now will cover.
    pub(super) fn mark(&self) -> u64 {
        self.answers
    }

    /// A flush was answered, which covers the answers up to this mark.
    pub(super) fn settle(&mut self, mark: u64) {
        if mark >= self.answers {
            self.bytes = 0;
            self.spent.extend(std::mem::take(&mut self.pieces).into_values());
            return;
        }
        let (spent, bytes) = (&mut self.spent, &mut self.bytes);
        self.pieces.retain(|_, piece| {
            if piece.answer > mark {
                return true;
            }
            *bytes -= piece.weight();
            spent.push(piece.clone());
            false
        });
    }

    /// The memory that it takes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What is to be sent again, by place.
    pub(super) fn pieces(&self) -> impl Iterator<Item = (u64, &Piece)> {
        self.pieces.iter().map(|(at, piece)| (*at, piece))
    }

    /// What is no longer needed.
    pub(super) fn take_spent(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.spent)
    }

    fn insert(&mut self, at: u64, piece: Piece) {
        if piece.len > 0 {
            self.bytes += piece.weight();
            self.pieces.insert(at, piece);
        }
    }

    /// Cuts the range out; true if something was there.
    fn carve(&mut self, at: u64, len: u64) -> bool {
        let end = at + len;
        let reaches_in = |(start, piece): (&u64, &Piece)| (*start + piece.len > at).then_some(*start);
        let first = self.pieces.range(..at).next_back().and_then(reaches_in);
        let found: Vec<u64> = first.into_iter().chain(self.pieces.range(at..end).map(|(start, _)| *start)).collect();
        for start in &found {
            let Some(piece) = self.pieces.remove(start) else { continue };
            self.bytes -= piece.weight();
            let its_end = start + piece.len;
            if *start < at {
                self.insert(*start, piece.part(0, at - start));
            }
            if its_end > end {
                self.insert(end, piece.part(end - start, its_end - end));
            }
            self.spent.push(piece);
        }
        !found.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Kind};
    use ordo_rt::Rng;

    fn parts(byte: u8, sectors: usize) -> Vec<WritePart> {
        vec![WritePart { image: Block::copy_of(&vec![byte; sectors * 512]).image(), tag: Kind::Data.into() }]
    }

    /// Applies the pieces to `disk`; the byte 0 stands for what a trim leaves.
    fn replay(kept: &Kept, disk: &mut [u8]) {
        for (at, piece) in kept.pieces() {
            let range = &mut disk[at as usize..(at + piece.len) as usize];
            match &piece.what {
                What::Data(image, from) => range.copy_from_slice(&image[*from..from + piece.len as usize]),
                What::Trim => range.fill(0),
            }
        }
    }

    #[test]
    fn a_server_that_lost_any_of_what_no_flush_covers_has_everything_again() {
        let mut rng = Rng::new(7);
        for _ in 0..300 {
            let (mut kept, mut truth, mut server) = (Kept::default(), vec![0u8; 64 * 512], vec![0u8; 64 * 512]);
            let mut marks = Vec::new();
            for byte in 1..60u8 {
                let (at, sectors) = (rng.below(56), rng.range(1, 8));
                let range = (at * 512) as usize..((at + sectors) * 512) as usize;
                match rng.below(8) {
                    0 => {
                        truth[range].fill(0);
                        kept.trim(at * 512, sectors * 512);
                    }
                    1 => marks.push((kept.mark(), truth.clone())),
                    2 if !marks.is_empty() => {
                        let (mark, then) = marks.swap_remove(rng.below(marks.len() as u64) as usize);
                        kept.settle(mark);
                        // The flush has made these bytes durable, or a later one has: the server keeps the newest.
                        server = then;
                        marks.retain(|(other, _)| *other > mark);
                    }
                    what => {
                        truth[range].fill(byte);
                        kept.write(at * 512, &parts(byte, sectors as usize), what == 3);
                        if what == 3 {
                            let range = (at * 512) as usize..((at + sectors) * 512) as usize;
                            server[range.clone()].fill(byte);
                            marks.iter_mut().for_each(|(_, then)| then[range.clone()].fill(byte));
                        }
                    }
                }
                let mut again = server.clone();
                replay(&kept, &mut again);
                assert!(again == truth);
                assert_eq!(kept.bytes(), kept.pieces().map(|(_, piece)| piece.weight()).sum::<u64>());
            }
        }
    }

    #[test]
    fn a_forced_write_is_kept_only_over_what_is_not_durable() {
        let mut kept = Kept::default();
        kept.write(0, &parts(1, 2), true);
        assert_eq!((kept.bytes(), kept.pieces().count()), (0, 0));
        kept.write(512, &parts(2, 2), false);
        kept.write(0, &parts(3, 2), true);
        assert_eq!(kept.pieces().map(|(at, piece)| (at, piece.len)).collect::<Vec<_>>(), [(0, 1024), (1024, 512)]);
        kept.settle(kept.mark());
        assert_eq!((kept.bytes(), kept.pieces().count(), kept.take_spent().len()), (0, 0, 3));
    }
}
