//! What comes from TCP: records, made of fragments, and lengths within them.
//!
//! W1. A record is refused when its fragments announce more than [`MOST`] bytes, not when these have come; and when it
//!     has more fragments than any client makes, since empty ones cost no bytes.
//! W2. [`is_sound`] compares each length in the arguments with the bytes that are there, before they are decoded: the
//!     decoder makes room for as many bytes as a length says, up to 4 GiB, before it looks for them.

/// Most bytes that a READ or a WRITE moves.
pub(crate) const MOST_DATA: u32 = 256 << 10;
/// Most bytes of a record: a WRITE, its handle and its credentials.
const MOST: usize = MOST_DATA as usize + 4096;
/// Most fragments of a record.
const FRAGMENTS: u32 = 1024;
/// The mark of a record's last fragment.
const LAST: u32 = 1 << 31;

/// The client does not speak this protocol, or means ill: the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hostile;

/// The record that is coming in.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    record: Vec<u8>,
    head: Vec<u8>,
    /// Bytes of the fragment that are missing.
    left: usize,
    last: bool,
    fragments: u32,
}

impl Incoming {
    /// Takes bytes; passes on the records that are complete.
    pub(crate) fn feed(&mut self, mut bytes: &[u8], mut complete: impl FnMut(Vec<u8>)) -> Result<(), Hostile> {
        while !bytes.is_empty() {
            if self.left == 0 {
                bytes = self.head(bytes)?;
            }
            let (now, later) = bytes.split_at(self.left.min(bytes.len()));
            self.record.extend_from_slice(now);
            self.left -= now.len();
            bytes = later;
            if self.left == 0 && self.last {
                complete(std::mem::take(&mut self.record));
                (self.last, self.fragments) = (false, 0);
            }
        }
        Ok(())
    }

    /// Takes what there is of the header of a fragment.
    fn head<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], Hostile> {
        let (now, later) = bytes.split_at((4 - self.head.len()).min(bytes.len()));
        self.head.extend_from_slice(now);
        if let Ok(word) = <[u8; 4]>::try_from(&self.head[..]) {
            let word = u32::from_be_bytes(word);
            let len = (word & !LAST) as usize;
            self.head.clear();
            self.fragments += 1;
            if self.record.len() + len > MOST || self.fragments > FRAGMENTS {
                return Err(Hostile);
            }
            (self.left, self.last) = (len, word & LAST != 0);
        }
        Ok(later)
    }
}

/// A record of one fragment, with room in front for its header.
pub(crate) fn outgoing() -> Vec<u8> {
    vec![0; 4]
}

/// Puts in the header of a record that was begun with [`outgoing`].
pub(crate) fn finish(mut record: Vec<u8>) -> Vec<u8> {
    let len = (record.len() - 4) as u32 | LAST;
    record[..4].copy_from_slice(&len.to_be_bytes());
    record
}

/// A part of a procedure's arguments, as far as lengths in them go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// A length, and so many bytes.
    Opaque,
    /// Attributes to be set, each present or not.
    Sattr,
    /// So many bytes.
    Fixed(usize),
}

/// Every length in `bytes` is followed by so many bytes (W2).
pub(crate) fn is_sound(bytes: &[u8], parts: &[Part]) -> bool {
    let mut rest = Some(bytes);
    for part in parts {
        rest = rest.and_then(|bytes| match part {
            Part::Opaque => {
                let (len, bytes) = word(bytes)?;
                bytes.get((len as usize).checked_next_multiple_of(4)?..)
            }
            Part::Sattr => skip_sattr(bytes),
            Part::Fixed(len) => bytes.get(*len..),
        });
    }
    rest.is_some()
}

/// The first word, and what follows.
pub(crate) fn word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_be_bytes(*word), rest))
}

fn skip_sattr(mut bytes: &[u8]) -> Option<&[u8]> {
    // Mode, owner, group and size are there after a 1; a time after a 2.
    for (present, len) in [(1, 4), (1, 4), (1, 4), (1, 8), (2, 8), (2, 8)] {
        let (flag, rest) = word(bytes)?;
        bytes = if flag == present { rest.get(len..)? } else { rest };
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(stream: &[u8], piece: usize) -> Result<Vec<Vec<u8>>, Hostile> {
        let (mut incoming, mut all) = (Incoming::default(), Vec::new());
        for bytes in stream.chunks(piece) {
            incoming.feed(bytes, |record| all.push(record))?;
        }
        Ok(all)
    }

    #[test]
    fn records_come_together_from_fragments_and_pieces_of_any_size() {
        let mut stream = Vec::new();
        for (word, bytes) in [(3, &b"one"[..]), (0, b""), (LAST | 3, b"two"), (LAST | 1, b"x"), (LAST, b"")] {
            stream.extend(u32::to_be_bytes(word));
            stream.extend(bytes);
        }
        for piece in 1..stream.len() + 1 {
            let all = records(&stream, piece).unwrap();
            assert_eq!(all, [&b"onetwo"[..], b"x", b""], "in pieces of {piece}");
        }
    }

    #[test]
    fn a_record_that_announces_too_much_is_refused_before_it_comes() {
        assert_eq!(records(&(LAST - 1).to_be_bytes(), 4), Err(Hostile));
        assert_eq!(records(b"GET / HTTP/1.1\r\n", 16), Err(Hostile), "a browser");
        assert_eq!(records(&[0; 4 * (FRAGMENTS as usize + 1)], 64), Err(Hostile), "empty fragments for ever");
        let slowly: Vec<u8> = (0..MOST + 1).flat_map(|_| [0, 0, 0, 1, 7]).collect();
        assert_eq!(records(&slowly, 4096), Err(Hostile));
    }

    #[test]
    fn what_is_sent_is_what_comes_in() {
        let mut record = outgoing();
        record.extend(b"reply");
        assert_eq!(records(&finish(record), 3).unwrap(), [b"reply"]);
    }

    #[test]
    fn lengths_are_compared_with_what_is_there() {
        let named = [0, 0, 0, 5, b'a', b'b', b'c', b'd', b'e', 0, 0, 0, 9];
        assert!(is_sound(&named, &[Part::Opaque, Part::Fixed(1)]));
        assert!(!is_sound(&named, &[Part::Opaque, Part::Opaque]));
        assert!(!is_sound(&u32::MAX.to_be_bytes(), &[Part::Opaque]));
        assert!(!is_sound(&[0, 0], &[Part::Opaque]));
        let mode = [&[0, 0, 0, 1, 0, 0, 1, 0xa4][..], &[0; 20], &[0, 0, 0, 1, b'n']].concat();
        assert!(!is_sound(&mode, &[Part::Sattr, Part::Opaque]), "the name is not padded");
        assert!(is_sound(&[&mode[..], &[0; 3]].concat(), &[Part::Sattr, Part::Opaque]));
    }
}
