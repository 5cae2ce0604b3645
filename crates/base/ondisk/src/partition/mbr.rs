//! MBR: four primary entries in sector 0, and a chain of extended boot records with one logical entry each.
//!
//! Logical entries are numbered from 5. The chain is refused if it returns to a sector already visited: such a loop is
//! the simplest way to hang a parser.

use super::disklabel;
use super::source::{Extent, Source, le16, le32};
use std::io;

const ENTRIES: usize = 446;
const SIGNATURE: u16 = 0xaa55;

struct Entry {
    kind: u8,
    start: u64,
    count: u64,
}

/// Finds the slices of an MBR, and their disklabels; `false` if sector 0 is not an MBR.
pub(super) fn scan(source: &mut Source<'_, '_>, sector: u64) -> io::Result<bool> {
    let Some(primary) = entries(source, 0)? else { return Ok(false) };
    let mut found = false;
    for (entry, number) in primary.iter().zip(1u32..) {
        match entry.kind {
            0 => continue,
            0x05 | 0x0f | 0x85 => logical(source, entry, sector)?,
            _ => slice(source, number, entry, sector)?,
        }
        found = true;
    }
    Ok(found)
}

/// The four entries of the boot record at byte `at`. A boot sector of another file system ends with the same signature;
/// it is recognised by its code in the status bytes, which are 0 or 0x80 in a table.
fn entries(source: &mut Source<'_, '_>, at: u64) -> io::Result<Option<Vec<Entry>>> {
    let Some(record) = source.bytes(at, 512)? else { return Ok(None) };
    if le16(&record, 510) != SIGNATURE {
        return Ok(None);
    }
    let table: Vec<&[u8]> = record[ENTRIES..510].chunks_exact(16).collect();
    if table.iter().any(|entry| entry[0] & 0x7f != 0) {
        return Ok(None);
    }
    let decode = |e: &&[u8]| Entry { kind: e[4], start: le32(e, 8).into(), count: le32(e, 12).into() };
    Ok(Some(table.iter().map(decode).collect()))
}

fn logical(source: &mut Source<'_, '_>, extended: &Entry, sector: u64) -> io::Result<()> {
    let mut passed = vec![];
    let mut at = extended.start;
    let mut number = 5;
    // Sector 0 is the primary table: a chain that returns there would list the primaries again as logical ones.
    while at != 0 && !source.is_full() && !passed.contains(&at) {
        passed.push(at);
        let Some(record) = at.checked_mul(sector).map(|byte| entries(source, byte)).transpose()?.flatten() else {
            break;
        };
        let (first, next) = (&record[0], &record[1]);
        if first.kind != 0 {
            let start = at.saturating_add(first.start);
            slice(source, number, &Entry { start, ..*first }, sector)?;
            number += 1;
        }
        if next.start == 0 || !matches!(next.kind, 0x05 | 0x0f | 0x85) {
            break;
        }
        at = extended.start.saturating_add(next.start);
    }
    Ok(())
}

fn slice(source: &mut Source<'_, '_>, number: u32, entry: &Entry, sector: u64) -> io::Result<()> {
    let name = format!("s{number}");
    let extent = Extent { start: entry.start, count: entry.count, sector };
    let range = source.add(name.clone(), extent, kind_name(entry.kind), String::new());
    if let Some((start, _)) = range.filter(|_| matches!(entry.kind, 0x82 | 0xbf)) {
        super::sun::scan_x86(source, &name, start)?;
    }
    if let Some((start, _)) = range.filter(|_| matches!(entry.kind, 0xa5 | 0xa6 | 0xa9)) {
        // FreeBSD's offsets are relative to the slice's start, or to partition `c`'s offset; the others' to the disk.
        disklabel::scan(source, &disklabel::Holder { name, start, relative: entry.kind == 0xa5 })?;
    }
    Ok(())
}

fn kind_name(kind: u8) -> String {
    match kind {
        0x07 => "NTFS or exFAT".into(),
        0x01 | 0x04 | 0x06 | 0x0b | 0x0c | 0x0e => "FAT".into(),
        0x82 => "Linux swap or Solaris".into(),
        0x83 => "Linux".into(),
        0xbf => "Solaris".into(),
        0xa5 => "FreeBSD".into(),
        0xa6 => "OpenBSD".into(),
        0xa8 => "Apple UFS".into(),
        0xa9 => "NetBSD".into(),
        0xee => "GPT protective".into(),
        0xef => "EFI system".into(),
        other => format!("MBR type {other:#04x}"),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::testing::{names, scan_bytes, scan_with_every_word_damaged};
    use super::*;

    pub(crate) fn put(image: &mut [u8], sector: usize, slot: usize, kind: u8, start: u32, count: u32) {
        let at = sector * 512 + ENTRIES + slot * 16;
        image[at + 4] = kind;
        image[at + 8..at + 12].copy_from_slice(&start.to_le_bytes());
        image[at + 12..at + 16].copy_from_slice(&count.to_le_bytes());
        image[sector * 512 + 510..sector * 512 + 512].copy_from_slice(&[0x55, 0xaa]);
    }

    fn with_logicals() -> Vec<u8> {
        let mut image = vec![0; 64 * 512];
        put(&mut image, 0, 0, 0x83, 1, 4);
        put(&mut image, 0, 1, 0x05, 10, 40);
        put(&mut image, 10, 0, 0xa9, 1, 5);
        put(&mut image, 10, 1, 0x05, 10, 10);
        put(&mut image, 20, 0, 0x83, 2, 6);
        image
    }

    #[test]
    fn primary_and_logical_slices_are_found() {
        let table = scan_bytes(&with_logicals(), 64 * 512, 512);
        assert_eq!(names(&table), ["s1", "s5", "s6"]);
        let ranges: Vec<_> = table.partitions.iter().map(|p| (p.start, p.len)).collect();
        assert_eq!(ranges, [(512, 2048), (11 * 512, 2560), (22 * 512, 3072)]);
    }

    #[test]
    fn sectors_of_4096_bytes_scale_the_entries() {
        let mut image = vec![0; 512];
        put(&mut image, 0, 0, 0x83, 1, 4);
        let table = scan_bytes(&image, 1 << 20, 4096);
        assert_eq!((table.partitions[0].start, table.partitions[0].len), (4096, 16384));
    }

    #[test]
    fn chain_that_returns_to_itself_ends() {
        let mut image = with_logicals();
        put(&mut image, 20, 1, 0x05, 0x0000_000a, 1);
        assert_eq!(names(&scan_bytes(&image, 64 * 512, 512)), ["s1", "s5", "s6"]);
        put(&mut image, 10, 1, 0x05, u32::MAX, 1);
        assert_eq!(names(&scan_bytes(&image, 64 * 512, 512)), ["s1", "s5"]);
    }

    #[test]
    fn slice_beyond_the_disk_is_refused_with_its_name() {
        let mut image = vec![0; 512];
        put(&mut image, 0, 2, 0xa5, 1, u32::MAX);
        let table = scan_bytes(&image, 64 * 512, 512);
        assert!(table.partitions.is_empty());
        assert_eq!(table.refused[0].name, "s3");
    }

    #[test]
    fn boot_sector_with_code_in_place_of_a_table_is_no_mbr() {
        let mut image = vec![0x33; 512];
        image[510..].copy_from_slice(&[0x55, 0xaa]);
        assert!(scan_bytes(&image, 1 << 20, 512).partitions.is_empty());
    }

    #[test]
    fn damaged_tables_never_leave_the_disk() {
        let image = with_logicals();
        for sector in [0, 10, 20] {
            scan_with_every_word_damaged(&image, sector * 512 + 444..sector * 512 + 512, 64 * 512, 512);
        }
    }
}
