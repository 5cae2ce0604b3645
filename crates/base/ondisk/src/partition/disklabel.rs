//! BSD disklabel: up to 22 lettered partitions near the start of a slice or of the whole disk, in either byte order.
//!
//! Most ports have it in sector 1. Alpha, VAX, pmax and Digital UNIX have it at byte 64 of sector 0, SPARC at byte 128,
//! others at byte 0 or in a later sector. Its two magic numbers and its sum tell it from everything else, so it is
//! looked for at all those places.
//!
//! Offsets: NetBSD and OpenBSD count from the start of the disk. FreeBSD counts from the slice, or from an origin of
//! its own, which is the offset of partition `c` (the whole slice); both give the right place once `c`'s offset is
//! subtracted. OpenBSD's version 1 stores 16 more bits of each offset and size where the others store a fragment size.

use super::source::{Extent, Source};
use std::io;

const MAGIC: u32 = 0x8256_4557;
const LABEL_BYTES: usize = 512;
/// Bytes at the start of a slice that hold all places of a label.
const SEARCHED: u64 = 8192;
const PARTITIONS: usize = 148;
const PARTITION_BYTES: usize = 16;
/// Where a label may begin: a sector 1 of 512 or 4096 bytes, three places in sector 0, and sectors 2 to 15.
pub const PLACES: [u64; 18] =
    [512, 4096, 64, 128, 0, 1024, 1536, 2048, 2560, 3072, 3584, 4608, 5120, 5632, 6144, 6656, 7168, 7680];
/// As many as fit in a sector after the header.
const LETTERS_MAX: usize = (LABEL_BYTES - PARTITIONS) / PARTITION_BYTES;

/// What contains a label.
pub(super) struct Holder {
    /// The slice's name, empty for the whole disk.
    pub(super) name: String,
    /// First byte of the slice.
    pub(super) start: u64,
    /// Offsets are relative to the slice (FreeBSD) and not to the disk.
    pub(super) relative: bool,
}

impl Holder {
    /// A label without slices around it.
    pub(super) fn disk() -> Holder {
        Holder { name: String::new(), start: 0, relative: false }
    }
}

/// A label whose byte order is known.
struct Label {
    bytes: Vec<u8>,
    big_endian: bool,
}

impl Label {
    fn u16(&self, at: usize) -> u16 {
        let b = [self.bytes[at], self.bytes[at + 1]];
        if self.big_endian { u16::from_be_bytes(b) } else { u16::from_le_bytes(b) }
    }

    fn u32(&self, at: usize) -> u32 {
        let (first, second) = (u32::from(self.u16(at)), u32::from(self.u16(at + 2)));
        if self.big_endian { first << 16 | second } else { second << 16 | first }
    }

    /// Accepts bytes with both magics, a legal count, sectors of a disk and the right checksum (all words XOR to 0).
    fn check(bytes: Vec<u8>) -> Option<Label> {
        if bytes.len() < PARTITIONS {
            return None;
        }
        let big_endian = bytes.first() == Some(&0x82);
        let label = Label { bytes, big_endian };
        if label.u32(0) != MAGIC || label.u32(132) != MAGIC || !matches!(label.u32(40), 512 | 1024 | 2048 | 4096) {
            return None;
        }
        let count = usize::from(label.u16(138));
        let end = PARTITIONS + count.min(LETTERS_MAX) * PARTITION_BYTES;
        let whole = count <= LETTERS_MAX && end <= label.bytes.len();
        (whole && (0..end).step_by(2).fold(0, |sum, at| sum ^ label.u16(at)) == 0).then_some(label)
    }

    /// Offset and size of partition `index` in sectors, and its type.
    fn partition(&self, index: usize) -> (u64, u64, u8) {
        let at = PARTITIONS + index * PARTITION_BYTES;
        let (size, offset) = (u64::from(self.u32(at)), u64::from(self.u32(at + 4)));
        let high = |at| if self.u16(114) == 1 { u64::from(self.u16(at)) << 32 } else { 0 };
        (offset | high(at + 8), size | high(at + 10), self.bytes[at + 12])
    }
}

/// Finds the partitions of the disklabel inside `holder`; `false` if there is none.
pub(super) fn scan(source: &mut Source<'_, '_>, holder: &Holder) -> io::Result<bool> {
    let room = source.size.saturating_sub(holder.start).min(SEARCHED);
    let Some(head) = source.bytes(holder.start, room as usize)? else { return Ok(false) };
    let at = |place: u64| {
        let rest = head.get(place as usize..)?;
        Label::check(rest.get(..LABEL_BYTES).unwrap_or(rest).to_vec())
    };
    let Some(label) = PLACES.into_iter().find_map(at) else { return Ok(false) };
    list(source, holder, &label);
    Ok(true)
}

fn list(source: &mut Source<'_, '_>, holder: &Holder, label: &Label) {
    let sector = u64::from(label.u32(40));
    let count = usize::from(label.u16(138));
    let origin = if holder.relative && count > 2 { label.partition(2).0 } else { 0 };
    let base = if holder.relative { holder.start / sector } else { 0 };
    for (index, letter) in (0..count).zip('a'..='z') {
        let (offset, size, kind) = label.partition(index);
        if size == 0 || kind == 0 {
            continue;
        }
        // An offset before the origin cannot be in the slice; the value beyond the disk makes `add` refuse it.
        let start = offset.checked_sub(origin).and_then(|offset| base.checked_add(offset)).unwrap_or(u64::MAX);
        let extent = Extent { start, count: size, sector };
        source.add(format!("{}{letter}", holder.name), extent, kind_name(kind), String::new());
    }
}

fn kind_name(kind: u8) -> String {
    match kind {
        1 => "swap".into(),
        7 => "4.2BSD".into(),
        9 => "LFS".into(),
        other => format!("disklabel type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mbr::tests::put;
    use super::super::testing::{names, scan_bytes, scan_with_every_word_damaged};
    use super::*;

    /// A label of `(offset, size, type)` partitions at byte `at`.
    fn write_label(image: &mut [u8], at: usize, partitions: &[(u64, u64, u8)], big_endian: bool, version: u16) {
        let mut words = vec![0u16; LABEL_BYTES / 2];
        let halves = |value: u32| {
            if big_endian { [(value >> 16) as u16, value as u16] } else { [value as u16, (value >> 16) as u16] }
        };
        for (at, value) in [(0, MAGIC), (40, 512), (132, MAGIC)] {
            words[at / 2..at / 2 + 2].copy_from_slice(&halves(value));
        }
        words[114 / 2] = version;
        words[138 / 2] = partitions.len() as u16;
        for (index, &(offset, size, kind)) in partitions.iter().enumerate() {
            let word = (PARTITIONS + index * PARTITION_BYTES) / 2;
            words[word..word + 2].copy_from_slice(&halves(size as u32));
            words[word + 2..word + 4].copy_from_slice(&halves(offset as u32));
            words[word + 4] = (offset >> 32) as u16;
            words[word + 5] = (size >> 32) as u16;
            words[word + 6] = if big_endian { u16::from(kind) << 8 } else { kind.into() };
        }
        words[136 / 2] = words.iter().fold(0, |sum, word| sum ^ word);
        for (bytes, word) in image[at..at + LABEL_BYTES].chunks_exact_mut(2).zip(words) {
            bytes.copy_from_slice(&if big_endian { word.to_be_bytes() } else { word.to_le_bytes() });
        }
    }

    fn starts(image: &[u8], size: u64) -> Vec<(String, u64, u64)> {
        scan_bytes(image, size, 512).partitions.into_iter().map(|p| (p.name, p.start / 512, p.len / 512)).collect()
    }

    #[test]
    fn label_of_a_whole_disk_is_read_in_both_byte_orders() {
        for big_endian in [false, true] {
            let mut image = vec![0; 4096];
            write_label(&mut image, 512, &[(16, 48, 7), (64, 64, 1), (0, 128, 0)], big_endian, 0);
            assert_eq!(starts(&image, 128 * 512), [("a".into(), 16, 48), ("b".into(), 64, 64)]);
        }
    }

    #[test]
    fn freebsd_offsets_are_taken_from_partition_c() {
        for origin in [0, 8] {
            let mut image = vec![0; 16 * 512];
            put(&mut image, 0, 0, 0xa5, 8, 100);
            write_label(&mut image, 9 * 512, &[(origin + 16, 50, 7), (0, 0, 0), (origin, 100, 0)], false, 0);
            assert_eq!(starts(&image, 128 * 512), [("s1".into(), 8, 100), ("s1a".into(), 24, 50)]);
        }
    }

    #[test]
    fn netbsd_and_openbsd_offsets_count_from_the_disk() {
        for kind in [0xa6, 0xa9] {
            let mut image = vec![0; 16 * 512];
            put(&mut image, 0, 0, kind, 8, 100);
            write_label(&mut image, 9 * 512, &[(24, 50, 7), (0, 0, 0), (8, 100, 0)], false, 0);
            assert_eq!(starts(&image, 128 * 512), [("s1".into(), 8, 100), ("s1a".into(), 24, 50)]);
        }
    }

    #[test]
    fn openbsd_version_1_has_48_bit_offsets() {
        let mut image = vec![0; 4096];
        let far = (3u64 << 32) + 7;
        write_label(&mut image, 512, &[(far, 50, 7)], false, 1);
        assert_eq!(starts(&image, 1 << 44), [("a".into(), far, 50)]);
    }

    #[test]
    fn label_is_found_wherever_a_port_has_it_and_in_slices() {
        for (place, big_endian) in PLACES.into_iter().flat_map(|place| [(place, false), (place, true)]) {
            let mut image = vec![0; 64 * 512];
            write_label(&mut image, place as usize, &[(16, 48, 7), (64, 32, 1)], big_endian, 0);
            let table = scan_bytes(&image, 128 * 512, 512);
            assert_eq!((names(&table), table.is_read), (vec!["a", "b"], true), "{place}");
            assert_eq!(starts(&image, 128 * 512)[0], ("a".into(), 16, 48), "{place}");
            let mut image = vec![0; 64 * 512];
            put(&mut image, 0, 0, 0xa9, 8, 100);
            write_label(&mut image, 8 * 512 + place as usize, &[(24, 50, 7)], big_endian, 0);
            assert_eq!(starts(&image, 128 * 512)[1], ("s1a".into(), 24, 50), "{place}");
        }
        // A label says so if it has no partitions; a disk without one says nothing.
        let mut image = vec![0; 8192];
        write_label(&mut image, 64, &[], false, 0);
        let (empty, none) = (scan_bytes(&image, 128 * 512, 512), scan_bytes(&[], 128 * 512, 512));
        assert_eq!((names(&empty).len(), empty.is_read, none.is_read), (0, true, false));
    }

    #[test]
    fn label_with_a_wrong_checksum_is_ignored() {
        let mut image = vec![0; 4096];
        write_label(&mut image, 512, &[(16, 48, 7)], false, 0);
        image[512 + 150] ^= 1;
        assert!(starts(&image, 128 * 512).is_empty());
    }

    #[test]
    fn partition_before_its_origin_or_beyond_the_disk_is_refused() {
        let mut image = vec![0; 16 * 512];
        put(&mut image, 0, 0, 0xa5, 8, 100);
        write_label(&mut image, 9 * 512, &[(2, 50, 7), (200, 900, 7), (4, 100, 0)], false, 0);
        let table = scan_bytes(&image, 128 * 512, 512);
        assert_eq!((names(&table), table.refused.len()), (vec!["s1"], 2));
    }

    #[test]
    fn damaged_labels_never_leave_the_disk() {
        let mut image = vec![0; 4096];
        write_label(&mut image, 512, &[(16, 48, 7), (64, 64, 1), (0, 128, 0)], false, 0);
        scan_with_every_word_damaged(&image, 512..1024, 128 * 512, 512);
    }
}
