//! The parsers of files that others made, as the targets of `fuzz/` call them: bytes in, and no panic.

use crate::archive::{Reader, Source};
use crate::commands::mkfs;
use std::io::{Error, ErrorKind};

struct Bytes<'a>(&'a [u8]);

impl Source for Bytes<'_> {
    fn fetch(&mut self, at: u64, bytes: &mut [u8]) -> std::io::Result<()> {
        let from = usize::try_from(at).ok().and_then(|at| self.0.get(at..));
        let found = from.and_then(|from| from.get(..bytes.len()));
        found.map(|found| bytes.copy_from_slice(found)).ok_or(Error::from(ErrorKind::UnexpectedEof))
    }
}

/// Reads a manifest of mtree(5), and applies it to nothing.
pub fn mtree(bytes: &[u8]) {
    mkfs::read_manifest(bytes);
}

/// Reads all headers of a tar archive.
///
/// # Panics
/// When what was accepted contradicts itself.
pub fn tar(bytes: &[u8]) {
    let mut archive = Reader::new(Bytes(bytes));
    while let Ok(Some(found)) = archive.next() {
        let Ok(mut entry) = found else { continue };
        entry.take_lists(|_| Some(1), |_| None);
        for extent in &entry.extents {
            let end = extent.at.checked_add(extent.len);
            assert!(end.is_some_and(|end| end <= entry.size), "an extent beyond the end of its file");
        }
    }
}
