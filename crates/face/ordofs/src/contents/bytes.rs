//! Access to a few bytes of a disk here and there: each piece of the disk is read once.

use std::collections::BTreeMap;
use std::io;

/// Fills the buffer with the bytes from this offset on.
pub(super) type ReadAt<'a> = &'a mut dyn FnMut(u64, &mut [u8]) -> io::Result<()>;

/// Bytes that are read at once.
const PIECE: u64 = 32 << 10;

/// The bytes of a disk or a file.
pub(super) struct Bytes<'a> {
    read: ReadAt<'a>,
    size: u64,
    pieces: BTreeMap<u64, Vec<u8>>,
    failed: Option<io::Error>,
}

impl<'a> Bytes<'a> {
    pub(super) fn new(read: ReadAt<'a>, size: u64) -> Bytes<'a> {
        Bytes { read, size, pieces: BTreeMap::new(), failed: None }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    /// `len` bytes; `None` beyond the end of the disk, or if they could not be read.
    pub(super) fn get(&mut self, at: u64, len: usize) -> Option<Vec<u8>> {
        let end = at.checked_add(len as u64).filter(|&end| end <= self.size)?;
        let mut found = Vec::with_capacity(len);
        for piece in at / PIECE..end.div_ceil(PIECE) {
            let start = piece * PIECE;
            let bytes = self.piece(start)?;
            let (from, to) = (at.max(start) - start, end.min(start + PIECE) - start);
            found.extend_from_slice(&bytes[from as usize..to as usize]);
        }
        Some(found)
    }

    fn piece(&mut self, start: u64) -> Option<&[u8]> {
        if !self.pieces.contains_key(&start) {
            let mut bytes = vec![0; (self.size - start).min(PIECE) as usize];
            if let Err(error) = (self.read)(start, &mut bytes) {
                self.failed.get_or_insert(error);
                return None;
            }
            self.pieces.insert(start, bytes);
        }
        self.pieces.get(&start).map(Vec::as_slice)
    }

    /// Whether these bytes are there.
    pub(super) fn has(&mut self, at: u64, wanted: &[u8]) -> bool {
        self.get(at, wanted.len()).is_some_and(|found| found == wanted)
    }

    /// A 32-bit little-endian number; 0 if it cannot be read.
    pub(super) fn le32(&mut self, at: u64) -> u32 {
        self.word(at).map_or(0, u32::from_le_bytes)
    }

    /// A 32-bit big-endian number; 0 if it cannot be read.
    pub(super) fn be32(&mut self, at: u64) -> u32 {
        self.word(at).map_or(0, u32::from_be_bytes)
    }

    fn word(&mut self, at: u64) -> Option<[u8; 4]> {
        self.get(at, 4)?.try_into().ok()
    }

    /// The first read error.
    pub(super) fn failure(self) -> io::Result<()> {
        self.failed.map_or(Ok(()), Err)
    }
}
