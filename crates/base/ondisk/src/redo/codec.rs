//! Encodes a transaction as bytes: numbers with seven bits per byte, so that a small change is a small record.

use super::{Changed, Piece, Transaction, Waiting};
use crate::num::{index, len64};
use crate::{FragNo, Ino};

const VERSION: u64 = 1;
/// Kinds of what waits to be freed.
const BLOCKS: u64 = 0;
const INODE: u64 = 1;
const DIRECTORY: u64 = 2;

/// A record that is not a transaction (ondisk-redo-4).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("byte {at} of a transaction in the log: {what}")]
pub struct Undecodable {
    /// The position in it.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl Transaction {
    /// Encodes the transaction.
    pub fn encode(&self) -> Vec<u8> {
        let mut to = Vec::with_capacity(256);
        put(&mut to, VERSION);
        put(&mut to, len64(self.blocks.len()));
        for block in &self.blocks {
            put(&mut to, block.at);
            put(&mut to, u64::from(block.len).wrapping_shl(1) | u64::from(block.fresh));
            put(&mut to, len64(block.pieces.len()));
            let mut end = 0_u64;
            for piece in &block.pieces {
                put(&mut to, u64::from(piece.at).saturating_sub(end));
                put(&mut to, len64(piece.bytes.len()));
                to.extend_from_slice(&piece.bytes);
                end = u64::from(piece.at).saturating_add(len64(piece.bytes.len()));
            }
        }
        put(&mut to, len64(self.waiting.len()));
        for waiting in &self.waiting {
            match waiting {
                Waiting::Blocks(runs) => {
                    put(&mut to, BLOCKS);
                    put(&mut to, len64(runs.len()));
                    for (at, frags) in runs {
                        put(&mut to, at.0);
                        put(&mut to, (*frags).into());
                    }
                }
                Waiting::Inode(ino, directory) => {
                    put(&mut to, if *directory { DIRECTORY } else { INODE });
                    put(&mut to, ino.0.into());
                }
            }
        }
        put(&mut to, len64(self.nameless.len()));
        self.nameless.iter().for_each(|ino| put(&mut to, ino.0.into()));
        put(&mut to, len64(self.void.len()));
        for (at, len) in &self.void {
            put(&mut to, *at);
            put(&mut to, *len);
        }
        to
    }

    /// Decodes a transaction.
    ///
    /// # Errors
    /// [`Undecodable`] for anything that [`Transaction::encode`] cannot have written.
    pub fn decode(bytes: &[u8]) -> Result<Transaction, Undecodable> {
        let mut from = Reader { bytes, at: 0 };
        if from.number()? != VERSION {
            return Err(from.wrong("a version that this program does not know"));
        }
        let mut of = Transaction::default();
        for _ in 0..from.number()? {
            of.blocks.push(from.block()?);
        }
        for _ in 0..from.number()? {
            of.waiting.push(match from.number()? {
                BLOCKS => Waiting::Blocks(from.runs()?),
                kind @ (INODE | DIRECTORY) => Waiting::Inode(Ino(from.small()?), kind == DIRECTORY),
                _ => return Err(from.wrong("an unknown kind of what waits")),
            });
        }
        for _ in 0..from.number()? {
            of.nameless.push(Ino(from.small()?));
        }
        for _ in 0..from.number()? {
            of.void.push((from.number()?, from.number()?));
        }
        if from.at < bytes.len() { Err(from.wrong("more than a transaction")) } else { Ok(of) }
    }
}

fn put(to: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        to.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    to.push(number.to_le_bytes()[0]);
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn wrong(&self, what: &'static str) -> Undecodable {
        Undecodable { at: self.at, what }
    }

    fn take(&mut self, len: usize) -> Result<&[u8], Undecodable> {
        let end = self.at.saturating_add(len);
        let bytes = self.bytes.get(self.at..end).ok_or_else(|| self.wrong("it ends in the middle"))?;
        self.at = end;
        Ok(bytes)
    }

    fn number(&mut self) -> Result<u64, Undecodable> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?.first().copied().unwrap_or_default();
            number |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(self.wrong("a number that does not end"))
    }

    fn small(&mut self) -> Result<u32, Undecodable> {
        u32::try_from(self.number()?).map_err(|_| self.wrong("a number that is too large"))
    }

    fn block(&mut self) -> Result<Changed, Undecodable> {
        let (at, packed, count) = (self.number()?, self.number()?, self.number()?);
        let len = u32::try_from(packed >> 1).map_err(|_| self.wrong("a block that is too long"))?;
        let (mut pieces, mut end) = (Vec::new(), 0_u32);
        for _ in 0..count {
            let (gap, long) = (self.small()?, self.small()?);
            let from = end.saturating_add(gap);
            end =
                from.checked_add(long).filter(|to| *to <= len).ok_or_else(|| self.wrong("bytes beyond their block"))?;
            pieces.push(Piece { at: from, bytes: self.take(index(long))?.to_vec() });
        }
        Ok(Changed { at, len, fresh: packed & 1 == 1, pieces })
    }

    fn runs(&mut self) -> Result<Vec<(FragNo, u32)>, Undecodable> {
        let mut runs = Vec::new();
        for _ in 0..self.number()? {
            runs.push((FragNo(self.number()?), self.small()?));
        }
        Ok(runs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Transaction {
        let piece = |at, bytes: &[u8]| Piece { at, bytes: bytes.to_vec() };
        let pieces = vec![piece(0, &[1, 2]), piece(4000, &[3; 200])];
        Transaction {
            blocks: vec![
                Changed { at: 1 << 40, len: 32768, fresh: false, pieces },
                Changed { at: 4096, len: 512, fresh: true, pieces: Vec::new() },
            ],
            waiting: vec![Waiting::Blocks(vec![(FragNo(7), 8), (FragNo(1 << 33), 1)]), Waiting::Inode(Ino(9), true)],
            nameless: vec![Ino(3), Ino(u32::MAX)],
            void: vec![(1 << 30, 4096)],
        }
    }

    #[test]
    fn a_transaction_comes_back_as_it_was() {
        assert_eq!(Transaction::decode(&example().encode()), Ok(example()));
        assert_eq!(Transaction::decode(&Transaction::default().encode()), Ok(Transaction::default()));
    }

    #[test]
    fn what_was_cut_or_changed_is_refused_or_another_transaction_and_never_a_panic() {
        let whole = example().encode();
        for len in 0..whole.len() {
            assert!(Transaction::decode(&whole[..len]).is_err(), "{len} bytes");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                assert_ne!(Transaction::decode(&bytes), Ok(example()), "bit {bit} of byte {at}");
            }
        }
        assert!(Transaction::decode(&[whole, vec![0]].concat()).is_err());
    }
}
