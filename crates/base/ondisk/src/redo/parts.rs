//! A transaction that is longer than a record of its log is split into several; the last one is marked.

use super::Undecodable;

const MORE: u8 = 0;
const LAST: u8 = 1;

/// The records for a transaction's bytes, each of at most `most` bytes.
pub fn parts(bytes: &[u8], most: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut pieces = bytes.chunks(most.saturating_sub(1).max(1)).peekable();
    std::iter::from_fn(move || {
        let piece = pieces.next()?;
        let kind = if pieces.peek().is_some() { MORE } else { LAST };
        Some([&[kind], piece].concat())
    })
}

/// Reassembles transactions from the records of a log, in order.
#[derive(Debug, Default)]
pub struct Joined(Vec<u8>);

impl Joined {
    /// Adds the next record; returns the bytes of a transaction when it is complete.
    ///
    /// # Errors
    /// A record that is not of a transaction.
    pub fn add(&mut self, record: &[u8]) -> Result<Option<Vec<u8>>, Undecodable> {
        let wrong = Undecodable { at: 0, what: "a record that is no part of one" };
        let (kind, piece) = record.split_first().ok_or_else(|| wrong.clone())?;
        self.0.extend_from_slice(piece);
        match *kind {
            MORE => Ok(None),
            LAST => Ok(Some(std::mem::take(&mut self.0))),
            _ => Err(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_cut_comes_together_again() {
        for (len, most) in [(1, 10), (9, 10), (10, 10), (100, 10), (5, 0)] {
            let bytes: Vec<u8> = (0..len).collect();
            let mut joined = Joined::default();
            let mut records = parts(&bytes, most).peekable();
            while let Some(record) = records.next() {
                let whole = joined.add(&record).unwrap();
                assert_eq!(whole, records.peek().is_none().then(|| bytes.clone()), "{len} by {most}");
            }
        }
        assert!(Joined::default().add(&[]).is_err() && Joined::default().add(&[7, 1]).is_err());
    }
}
