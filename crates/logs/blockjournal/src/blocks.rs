//! The journal's own blocks: descriptor, revoke, note and commit.
//!
//! Each begins with the same header, whose checksum covers the whole block. After the header come a list of entries, a
//! piece of the note, or, in a commit block, the time and the checksum that complete the transaction.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::Seq;
use ordo_disk::{ByteRange, DiskOff, Stored};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Bytes of a header.
pub(crate) const HEADER: usize = 48;
/// Bytes of an entry of a descriptor or revoke block.
pub(crate) const TAG: usize = 16;

/// Each of the journal's own blocks begins with it; no other block in the journal does (blockjournal-5).
pub(crate) const MAGIC: [u8; 4] = *b"oBJb";

/// The block began with the magic, which is replaced by zeros in the journal.
const ESCAPED: u32 = 1;

/// What all blocks of a journal share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Bytes of a block.
    pub(crate) block: usize,
    /// See [`crate::superblock::Superblock`].
    pub(crate) salt: u64,
}

impl Shape {
    /// Bytes after the header.
    pub(crate) fn payload(self) -> usize {
        self.block.saturating_sub(HEADER)
    }

    /// Entries that fit in a descriptor or revoke block.
    pub(crate) fn entries(self) -> usize {
        self.payload() / TAG
    }
}

/// The kind of a journal block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Describes the blocks of the caller that follow it.
    Descriptor,
    /// Lists what must not be replayed.
    Revoke,
    /// Holds bytes of the caller.
    Note,
    /// Ends a transaction.
    Commit,
}

impl Kind {
    fn from_raw(raw: u32) -> Option<Kind> {
        [Kind::Descriptor, Kind::Revoke, Kind::Note, Kind::Commit].into_iter().find(|kind| kind.raw() == raw)
    }

    pub(crate) fn raw(self) -> u32 {
        match self {
            Kind::Descriptor => 1,
            Kind::Revoke => 2,
            Kind::Note => 3,
            Kind::Commit => 4,
        }
    }
}

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawHeader {
    magic: [u8; 4],
    checksum: U32,
    kind: U32,
    count: U32,
    seq: U64,
    line: U64,
    epoch: U64,
    sure: U64,
}
const _: () = assert!(size_of::<RawHeader>() == HEADER);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawTag {
    home: U64,
    sum: U32,
    flags: U32,
}
const _: () = assert!(size_of::<RawTag>() == TAG);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawRevoked {
    from: U64,
    length: U64,
}
const _: () = assert!(size_of::<RawRevoked>() == TAG);

#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct RawCommit {
    time: U64,
    body: U32,
    unused: U32,
}

/// The header of a journal block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    /// Number of entries; bytes of a note; in a commit block, the blocks of its transaction, including itself.
    pub(crate) count: u32,
    /// The transaction.
    pub(crate) seq: Seq,
    /// Its own place (blockjournal-3).
    pub(crate) line: u64,
    /// The newest superblock that was durable when the transaction began (blockjournal-4).
    pub(crate) epoch: u64,
    /// The newest transaction that was durable then (ring-4).
    pub(crate) sure: Seq,
}

impl Header {
    /// The header of the block at `line`, if it is valid, belongs to this journal, and was written for this place or,
    /// for ring-4, for the same place in a later lap of `size` blocks.
    pub(crate) fn read(shape: Shape, bytes: &[u8], line: u64, size: u64) -> Option<Header> {
        let (raw, _) = RawHeader::ref_from_prefix(bytes).ok()?;
        if raw.magic != MAGIC || raw.checksum.get() != checksum(shape.salt, bytes) {
            return None;
        }
        let header = Header {
            kind: Kind::from_raw(raw.kind.get())?,
            count: raw.count.get(),
            seq: Seq(raw.seq.get()),
            line: raw.line.get(),
            epoch: raw.epoch.get(),
            sure: Seq(raw.sure.get()),
        };
        let fits = header.line.checked_sub(line).is_some_and(|later| later.is_multiple_of(size));
        #[cfg(feature = "planted")]
        let fits = fits || has(Broken::Number);
        (fits && header.sure < header.seq).then_some(header)
    }

    fn put(&self, bytes: &mut [u8]) {
        let raw = RawHeader {
            magic: MAGIC,
            checksum: 0.into(),
            kind: self.kind.raw().into(),
            count: self.count.into(),
            seq: self.seq.0.into(),
            line: self.line.into(),
            epoch: self.epoch.into(),
            sure: self.sure.0.into(),
        };
        bytes[..HEADER].copy_from_slice(raw.as_bytes());
    }

    /// Writes the header into the block, with the checksum over the whole block. Returns the checksum.
    pub(crate) fn seal(&self, shape: Shape, bytes: &mut [u8]) -> u32 {
        self.put(bytes);
        let sum = checksum(shape.salt, bytes);
        bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        sum
    }
}

/// The checksum that a block carries.
pub(crate) fn carried(bytes: &[u8]) -> u32 {
    RawHeader::ref_from_prefix(bytes).map_or(0, |(raw, _)| raw.checksum.get())
}

/// CRC-32C of the salt, and of the block except its magic and its checksum.
pub(crate) fn checksum(salt: u64, bytes: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), &bytes[8..])
}

/// An entry of a descriptor block: describes one block of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    /// Its home location.
    pub(crate) home: DiskOff,
    /// CRC-32C of the block as stored in the journal.
    pub(crate) sum: u32,
    pub(crate) escaped: bool,
}

impl Tag {
    /// Describes `image`.
    pub(crate) fn of(home: DiskOff, image: &[u8]) -> Tag {
        let escaped = image.starts_with(&MAGIC);
        #[cfg(feature = "planted")]
        let escaped = escaped && !has(Broken::Escape);
        let sum = match escaped {
            true => crc32c::crc32c_append(crc32c::crc32c(&[0; MAGIC.len()]), &image[MAGIC.len()..]),
            false => crc32c::crc32c(image),
        };
        Tag { home, sum, escaped }
    }

    /// What it describes: `image`, whose home is `home`, in the journal at `at`.
    pub(crate) fn stored(&self, home: DiskOff, image: &[u8], at: DiskOff) -> Stored {
        match self.escaped {
            false => Stored { home, at: Some(at), sum: self.sum },
            true => Stored { home, at: None, sum: crc32c::crc32c(image) },
        }
    }

    /// Copies the block that it describes into its place in the journal.
    pub(crate) fn lay(&self, image: &[u8], into: &mut [u8]) {
        into.copy_from_slice(image);
        if self.escaped {
            into[..MAGIC.len()].fill(0);
        }
    }

    /// Restores the original block in place. Returns whether its checksum was right.
    pub(crate) fn restore(&self, bytes: &mut [u8]) -> bool {
        let whole = crc32c::crc32c(bytes) == self.sum;
        #[cfg(feature = "planted")]
        let whole = whole || has(Broken::Checksum);
        if self.escaped {
            bytes[..MAGIC.len()].copy_from_slice(&MAGIC);
        }
        whole
    }

    pub(crate) fn put(&self, number: usize, block: &mut [u8]) {
        let flags = if self.escaped { ESCAPED } else { 0 };
        let raw = RawTag { home: self.home.0.into(), sum: self.sum.into(), flags: flags.into() };
        entry(block, number).copy_from_slice(raw.as_bytes());
    }

    /// The first `count` entries of a descriptor block, or fewer if it has fewer.
    pub(crate) fn all(bytes: &[u8], count: u32) -> Vec<Tag> {
        let raw = entries(bytes, count).filter_map(|entry| RawTag::ref_from_bytes(entry).ok());
        let tag = |raw: &RawTag| Tag {
            home: DiskOff(raw.home.get()),
            sum: raw.sum.get(),
            escaped: raw.flags.get() & ESCAPED != 0,
        };
        raw.map(tag).collect()
    }
}

/// Writes an entry of a revoke block.
pub(crate) fn put_revoked(number: usize, range: ByteRange, block: &mut [u8]) {
    let raw = RawRevoked { from: range.at().0.into(), length: range.len().into() };
    entry(block, number).copy_from_slice(raw.as_bytes());
}

/// The first `count` entries of a revoke block; `None` for one that is no range.
pub(crate) fn revoked(bytes: &[u8], count: u32) -> impl Iterator<Item = Option<ByteRange>> {
    let raw = entries(bytes, count).filter_map(|entry| RawRevoked::ref_from_bytes(entry).ok());
    raw.map(|raw| ByteRange::new(DiskOff(raw.from.get()), raw.length.get()))
}

fn entry(block: &mut [u8], number: usize) -> &mut [u8] {
    // OK to expect: whoever fills a block puts no more into it than [`Shape::entries`].
    block[HEADER..].chunks_exact_mut(TAG).nth(number).expect("the block has room for the entry")
}

fn entries(bytes: &[u8], count: u32) -> impl Iterator<Item = &[u8]> {
    bytes[HEADER..].chunks_exact(TAG).take(count as usize)
}

/// The payload of a commit block: what makes the transaction complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ending {
    /// When it was committed, in nanoseconds since 1970.
    pub(crate) time: u64,
    /// See [`Body`].
    pub(crate) body: u32,
}

impl Ending {
    pub(crate) fn put(&self, block: &mut [u8]) {
        let raw = RawCommit { time: self.time.into(), body: self.body.into(), unused: 0.into() };
        entry(block, 0).copy_from_slice(raw.as_bytes());
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Ending> {
        let (raw, _) = RawCommit::ref_from_prefix(bytes.get(HEADER..)?).ok()?;
        Some(Ending { time: raw.time.get(), body: raw.body.get() })
    }
}

/// The checksum over a transaction (blockjournal-2): CRC-32C of the checksums of its descriptor, revoke and note
/// blocks, in order. The checksums of descriptor blocks cover those of the caller's blocks.
#[derive(Default)]
pub(crate) struct Body(u32);

impl Body {
    pub(crate) fn add(&mut self, sum: u32) {
        self.0 = crc32c::crc32c_append(self.0, &sum.to_le_bytes());
    }

    pub(crate) fn sum(&self) -> u32 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    const SHAPE: Shape = Shape { block: 512, salt: 77 };
    const ONE: Header = Header { kind: Kind::Descriptor, count: 2, seq: Seq(5), line: 130, epoch: 3, sure: Seq(4) };

    fn block() -> Vec<u8> {
        let mut block = vec![0; 512];
        let tag = Tag { home: DiskOff(4096), sum: 9, escaped: true };
        tag.put(0, &mut block);
        Tag { home: DiskOff(8192), sum: 10, escaped: false }.put(1, &mut block);
        ONE.seal(SHAPE, &mut block);
        block
    }

    #[test]
    fn a_block_survives_being_written_and_read() {
        let block = block();
        assert_eq!(Header::read(SHAPE, &block, 130, 100), Some(ONE));
        let tags = Tag::all(&block, ONE.count);
        assert_eq!(
            tags.iter().map(|tag| (tag.home.0, tag.sum, tag.escaped)).collect::<Vec<_>>(),
            [(4096, 9, true), (8192, 10, false)]
        );
        assert_eq!(Tag::all(&block, u32::MAX).len(), SHAPE.entries());
    }

    #[test]
    fn any_changed_byte_is_noticed_and_so_is_another_journal_and_another_place() {
        let good = block();
        let read = |bytes: &[u8], line| Header::read(SHAPE, bytes, line, 100);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= 0x20;
            assert_eq!(read(&bad, 130), None, "byte {at}");
        }
        assert_eq!(Header::read(Shape { salt: 78, ..SHAPE }, &good, 130, 100), None);
        assert_eq!((read(&good, 131), read(&good, 230)), (None, None));
        assert_eq!(read(&good, 30), Some(ONE), "of a later lap");
        assert_eq!(read(&good[..20], 130), None);
    }

    #[test]
    fn a_block_that_begins_with_the_magic_comes_back_as_it_was() {
        for first in [*b"oBJb", *b"oBJc", [0; 4]] {
            let image: Vec<u8> = first.into_iter().chain((4..512).map(|i| i as u8)).collect();
            let mut lies = vec![0; 512];
            let tag = Tag::of(DiskOff(0), &image);
            tag.lay(&image, &mut lies);
            assert_eq!(tag.escaped, first == MAGIC);
            assert!(!lies.starts_with(&MAGIC));
            assert!(tag.restore(&mut lies));
            assert_eq!(lies, image);
            lies[100] ^= 1;
            assert!(!tag.restore(&mut lies));
        }
    }

    #[test]
    fn the_tables_in_the_format_page_are_those_of_the_declarations() {
        let page = include_str!("../../../../docs/format/block-journal.md");
        let fields = [
            ("magic", offset_of!(RawHeader, magic)),
            ("checksum", offset_of!(RawHeader, checksum)),
            ("kind", offset_of!(RawHeader, kind)),
            ("count", offset_of!(RawHeader, count)),
            ("seq", offset_of!(RawHeader, seq)),
            ("line", offset_of!(RawHeader, line)),
            ("epoch", offset_of!(RawHeader, epoch)),
            ("sure", offset_of!(RawHeader, sure)),
            ("home", offset_of!(RawTag, home)),
            ("sum", offset_of!(RawTag, sum)),
            ("flags", offset_of!(RawTag, flags)),
            ("from", offset_of!(RawRevoked, from)),
            ("length", offset_of!(RawRevoked, length)),
            ("time", HEADER + offset_of!(RawCommit, time)),
            ("body", HEADER + offset_of!(RawCommit, body)),
            ("unused", HEADER + offset_of!(RawCommit, unused)),
        ];
        for (name, at) in fields {
            let is_row = |line: &str| line.starts_with(&format!("| {at} |")) && line.contains(&format!("| {name} |"));
            assert!(page.lines().any(is_row), "{name} at byte {at}");
        }
    }
}
