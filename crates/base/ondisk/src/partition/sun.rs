//! Sun's labels: eight slices `a` to `h` by cylinders in sector 0 of a SPARC's disk, big-endian; and the table of
//! contents (VTOC) of Solaris on x86, little-endian, in sector 1 of its MBR slice.
//!
//! The slice of the whole disk (tag 5, usually `c`) is left out: a volume in it that begins at byte 0 is found without
//! a table, and otherwise it would be named twice.

use super::source::{Extent, Source, be16, be32, le16, le32};
use std::io;

const LABEL_BYTES: u64 = 512;
const MAGIC: u16 = 0xdabe;
const SANITY: u32 = 0x600d_deee;
const SLICES: usize = 8;
/// Slices of a table on x86.
const SLICES_X86: usize = 16;
/// The tag of a slice that is the whole disk.
const WHOLE: u16 = 5;
/// Labels count in these, whatever the disk's sectors are.
const SECTOR: u64 = 512;

/// Finds the slices of a Sun label in sector 0; `false` if there is none.
pub(super) fn scan(source: &mut Source<'_, '_>) -> io::Result<bool> {
    let Some(label) = source.bytes(0, LABEL_BYTES as usize)? else { return Ok(false) };
    let sum = (0..LABEL_BYTES as usize).step_by(2).fold(0, |sum, at| sum ^ be16(&label, at));
    if be16(&label, 508) != MAGIC || sum != 0 {
        return Ok(false);
    }
    let cylinder = u64::from(be16(&label, 436)) * u64::from(be16(&label, 438));
    let tagged = be32(&label, 188) == SANITY;
    for (n, letter) in (0..SLICES).zip('a'..) {
        let (first, count) = (be32(&label, 444 + 8 * n), be32(&label, 448 + 8 * n));
        let tag = if tagged { be16(&label, 142 + 4 * n) } else { u16::MAX };
        let whole = tag == WHOLE || !tagged && letter == 'c' && first == 0;
        if count == 0 || whole {
            continue;
        }
        // The product of two numbers of 16 bits and one of 32 fits.
        let extent = Extent { start: u64::from(first) * cylinder, count: count.into(), sector: SECTOR };
        source.add(letter.to_string(), extent, kind_name(tag), String::new());
    }
    Ok(true)
}

/// Finds the slices of Solaris on x86 in an MBR slice that begins at byte `start`.
pub(super) fn scan_x86(source: &mut Source<'_, '_>, name: &str, start: u64) -> io::Result<()> {
    let Some(at) = start.checked_add(SECTOR) else { return Ok(()) };
    let Some(table) = source.bytes(at, LABEL_BYTES as usize)? else { return Ok(()) };
    let sector = u64::from(le16(&table, 28));
    let count = usize::from(le16(&table, 30));
    let known = le32(&table, 12) == SANITY && le32(&table, 16) == 1;
    if !known || count > SLICES_X86 || !matches!(sector, 512 | 1024 | 2048 | 4096) {
        return Ok(());
    }
    for (n, letter) in (0..count).zip('a'..) {
        let entry = 72 + 12 * n;
        let (tag, first, count) = (le16(&table, entry), le32(&table, entry + 4), le32(&table, entry + 8));
        if count == 0 || tag == WHOLE {
            continue;
        }
        // Counted from the MBR slice. A start that overflows is refused by its size.
        let begin = (start / sector).saturating_add(first.into());
        let extent = Extent { start: begin, count: count.into(), sector };
        source.add(format!("{name}{letter}"), extent, kind_name(tag), String::new());
    }
    Ok(())
}

fn kind_name(tag: u16) -> String {
    match tag {
        u16::MAX => "Sun slice".into(),
        1 => "Sun boot".into(),
        2 => "Sun root".into(),
        3 => "Sun swap".into(),
        4 => "Sun usr".into(),
        7 => "Sun var".into(),
        8 => "Sun home".into(),
        other => format!("Sun slice type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::mbr::tests::put;
    use super::super::testing::{names, scan_bytes, scan_with_every_word_damaged};

    /// A label with 4 tracks of 16 sectors a cylinder. Slices: tag, first cylinder, sectors.
    fn label(slices: &[(u16, u32, u32)], tagged: bool) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[..4].copy_from_slice(b"SUN0");
        if tagged {
            bytes[188..192].copy_from_slice(&0x600d_deee_u32.to_be_bytes());
        }
        bytes[436..438].copy_from_slice(&4_u16.to_be_bytes());
        bytes[438..440].copy_from_slice(&16_u16.to_be_bytes());
        for (n, (tag, first, count)) in slices.iter().enumerate() {
            bytes[142 + 4 * n..][..2].copy_from_slice(&tag.to_be_bytes());
            bytes[444 + 8 * n..][..4].copy_from_slice(&first.to_be_bytes());
            bytes[448 + 8 * n..][..4].copy_from_slice(&count.to_be_bytes());
        }
        bytes[508..510].copy_from_slice(&0xdabe_u16.to_be_bytes());
        let sum = (0..510).step_by(2).fold(0, |sum, at| sum ^ u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        bytes[510..512].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    fn starts(bytes: &[u8], size: u64, sector: u64) -> Vec<(String, u64, u64)> {
        scan_bytes(bytes, size, sector).partitions.into_iter().map(|p| (p.name, p.start / 512, p.len / 512)).collect()
    }

    #[test]
    fn slices_begin_with_their_cylinders() {
        let slices = [(2, 0, 640), (3, 10, 1280), (5, 0, 6400), (0, 0, 0), (0, 0, 0), (0, 0, 0), (4, 30, 4480)];
        let right = [("a".into(), 0, 640), ("b".into(), 640, 1280), ("g".into(), 1920, 4480)];
        for sector in [512, 2048, 4096] {
            assert_eq!(starts(&label(&slices, true), 6400 * 512, sector), right, "sectors of {sector}");
        }
        // Without tags the third slice is the whole disk if it begins with it.
        assert_eq!(starts(&label(&slices, false), 6400 * 512, 512), right);
        let kinds = scan_bytes(&label(&slices, true), 6400 * 512, 512).partitions;
        assert_eq!(kinds[0].kind, "Sun root");
    }

    #[test]
    fn a_label_with_a_wrong_sum_is_none_and_a_slice_beyond_the_disk_is_refused() {
        let mut bytes = label(&[(2, 0, 640)], true);
        bytes[100] ^= 1;
        assert!(starts(&bytes, 6400 * 512, 512).is_empty());
        let table = scan_bytes(&label(&[(2, 0, 640), (4, 99, 640), (4, u32::MAX, u32::MAX)], true), 6400 * 512, 512);
        assert_eq!((names(&table), table.refused.len()), (vec!["a"], 2));
    }

    #[test]
    fn slices_of_solaris_on_x86_count_from_their_mbr_slice() {
        for kind in [0x82, 0xbf] {
            let mut bytes = vec![0; 8192];
            put(&mut bytes, 0, 0, kind, 8, 4000);
            let at = 9 * 512;
            bytes[at + 12..at + 16].copy_from_slice(&0x600d_deee_u32.to_le_bytes());
            bytes[at + 16..at + 20].copy_from_slice(&1_u32.to_le_bytes());
            bytes[at + 28..at + 30].copy_from_slice(&512_u16.to_le_bytes());
            bytes[at + 30..at + 32].copy_from_slice(&16_u16.to_le_bytes());
            for (n, (tag, first, count)) in [(2_u16, 100_u32, 900_u32), (3, 1000, 500), (5, 0, 4000)].iter().enumerate()
            {
                let entry = at + 72 + 12 * n;
                bytes[entry..entry + 2].copy_from_slice(&tag.to_le_bytes());
                bytes[entry + 4..entry + 8].copy_from_slice(&first.to_le_bytes());
                bytes[entry + 8..entry + 12].copy_from_slice(&count.to_le_bytes());
            }
            let right = [("s1".into(), 8, 4000), ("s1a".into(), 108, 900), ("s1b".into(), 1008, 500)];
            assert_eq!(starts(&bytes, 1 << 22, 512), right);
            scan_with_every_word_damaged(&bytes, at..at + 512, 1 << 22, 512);
            bytes[at + 12] ^= 1;
            assert_eq!(starts(&bytes, 1 << 22, 512).len(), 1);
        }
    }

    #[test]
    fn damaged_labels_never_leave_the_disk() {
        let bytes = label(&[(2, 0, 640), (3, 10, 1280), (5, 0, 6400)], true);
        for at in (0..508).step_by(4) {
            for value in [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&value.to_be_bytes());
                // With the right sum, so that the damage is looked at.
                damaged[510..512].fill(0);
                let word = |at| u16::from_be_bytes([damaged[at], damaged[at + 1]]);
                let sum = (0..510).step_by(2).fold(0, |sum, at| sum ^ word(at));
                damaged[510..512].copy_from_slice(&sum.to_be_bytes());
                for partition in scan_bytes(&damaged, 6400 * 512, 512).partitions {
                    assert!(partition.start + partition.len <= 6400 * 512, "{partition:?} leaves the disk");
                }
            }
        }
    }
}
