//! A transaction that is longer than a record of its log: cut into several, of which the last says so.

const MORE: u8 = 0;
const LAST: u8 = 1;

/// The records for a transaction's bytes, each of at most `most` bytes.
pub fn parts(bytes: &[u8], most: usize) -> impl Iterator<Item = Vec<u8>> {
    let pieces = bytes.chunks(most.max(2) - 1);
    let count = pieces.len();
    pieces.enumerate().map(move |(n, piece)| {
        let kind = if n + 1 == count { LAST } else { MORE };
        [&[kind], piece].concat()
    })
}

/// Puts transactions together again from the records of a log, in their order.
#[derive(Debug, Default)]
pub struct Joined(Vec<u8>);

impl Joined {
    /// The next record; the bytes of a transaction when it is whole. `Err` for what is no record of a transaction.
    #[allow(clippy::result_unit_err)]
    pub fn add(&mut self, record: &[u8]) -> Result<Option<Vec<u8>>, ()> {
        let (kind, piece) = record.split_first().ok_or(())?;
        self.0.extend_from_slice(piece);
        match *kind {
            MORE => Ok(None),
            LAST => Ok(Some(std::mem::take(&mut self.0))),
            _ => Err(()),
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
