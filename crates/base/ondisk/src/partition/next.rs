//! NeXT's labels: eight partitions `a` to `h`, big-endian on every machine. The label is in sector 0, and has copies in
//! sectors 15, 30 and 45 of its own size of sectors.
//!
//! Partitions begin behind the "front porch", and all is counted in the label's sectors, often of 1024 bytes on disks
//! that have 512.

use super::source::{Extent, Source, be16, be32};
use std::io;

/// `NeXT`, `dlV2` and `dlV3`.
const VERSIONS: [u32; 3] = [0x4e65_5854, 0x646c_5632, 0x646c_5633];
const LABEL_BYTES: usize = 7240;
/// The check sum behind the partitions, of version 3, and the one behind the list of bad blocks, of 1 and 2.
const SUM_V3: usize = 558;
const SUM: usize = 7238;
const PARTITIONS: usize = 190;
const PARTITION_BYTES: usize = 46;
const LETTERS: usize = 8;
/// Where a label may be, in bytes: sector 0, and its copies in sectors of 512 and 1024.
const PLACES: [u64; 7] = [0, 15 * 512, 30 * 512, 45 * 512, 15 * 1024, 30 * 1024, 45 * 1024];

/// Finds the partitions of a NeXT label; `false` if there is none.
pub(super) fn scan(source: &mut Source<'_, '_>) -> io::Result<bool> {
    for place in PLACES {
        // Most disks have none: four bytes tell.
        let Some(head) = source.bytes(place, 4)? else { continue };
        if !VERSIONS.contains(&be32(&head, 0)) {
            continue;
        }
        if let Some(label) = source.bytes(place, LABEL_BYTES)?.filter(|label| is_whole(label)) {
            list(source, &label);
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether the check sum is right, and so are the sectors.
fn is_whole(label: &[u8]) -> bool {
    let at = if be32(label, 0) == VERSIONS[2] { SUM_V3 } else { SUM };
    // Ones' complement. The sum of 3619 words fits.
    let sum = (0..at).step_by(2).fold(0_u32, |sum, at| sum.wrapping_add(be16(label, at).into()));
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = if folded > 0xffff { folded - 0xffff } else { folded };
    folded == u32::from(be16(label, at)) && matches!(be32(label, 92), 512 | 1024 | 2048 | 4096)
}

fn list(source: &mut Source<'_, '_>, label: &[u8]) {
    let sector = u64::from(be32(label, 92));
    let porch = u64::from(be16(label, 112));
    for (n, letter) in (0..LETTERS).zip('a'..) {
        let at = PARTITIONS + n * PARTITION_BYTES;
        let (first, count) = (be32(label, at), be32(label, at + 4));
        // Unused: -1, or nothing.
        if first == u32::MAX || count == 0 || count == u32::MAX {
            continue;
        }
        let kind = label.get(at + 37..at + 45).unwrap_or_default();
        let end = kind.iter().position(|byte| *byte == 0).unwrap_or(kind.len());
        let kind = match &kind[..end] {
            [] => "NeXT".to_owned(),
            kind => format!("NeXT {}", kind.escape_ascii()),
        };
        let extent = Extent { start: porch + u64::from(first), count: count.into(), sector };
        source.add(letter.to_string(), extent, kind, String::new());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{names, scan_bytes};

    /// A label of this version at byte `place`: first sector, sectors, type.
    fn label(place: usize, version: &[u8; 4], sector: u32, partitions: &[(i32, i32, &str)]) -> Vec<u8> {
        let mut bytes = vec![0; place + 8192];
        let all = &mut bytes[place..];
        all[..4].copy_from_slice(version);
        all[92..96].copy_from_slice(&sector.to_be_bytes());
        all[112..114].copy_from_slice(&160_u16.to_be_bytes());
        for n in 0..8 {
            let (first, count, kind) = partitions.get(n).copied().unwrap_or((-1, -1, ""));
            let at = 190 + 46 * n;
            all[at..at + 4].copy_from_slice(&first.to_be_bytes());
            all[at + 4..at + 8].copy_from_slice(&count.to_be_bytes());
            all[at + 37..][..kind.len()].copy_from_slice(kind.as_bytes());
        }
        seal(all);
        bytes
    }

    fn seal(label: &mut [u8]) {
        let at = if label.starts_with(b"dlV3") { 558 } else { 7238 };
        let sum: u32 = (0..at).step_by(2).map(|at| u32::from(u16::from_be_bytes([label[at], label[at + 1]]))).sum();
        let sum = (sum & 0xffff) + (sum >> 16);
        label[at..at + 2].copy_from_slice(&(sum as u16).to_be_bytes());
    }

    const DISK: u64 = 8 << 20;
    const TWO: [(i32, i32, &str); 2] = [(0, 2000, "4.3BSD"), (2000, 1000, "")];

    #[test]
    fn partitions_begin_behind_the_front_porch() {
        for version in [b"NeXT", b"dlV2", b"dlV3"] {
            for (place, sector) in [(0, 512), (0, 1024), (0, 2048), (15 * 1024, 1024), (45 * 512, 512)] {
                let table = scan_bytes(&label(place, version, sector, &TWO), DISK, 512);
                assert_eq!(names(&table), ["a", "b"], "{version:?} {place} {sector}");
                let (a, b, unit) = (&table.partitions[0], &table.partitions[1], u64::from(sector));
                assert_eq!((a.start, a.len, &*a.kind), (160 * unit, 2000 * unit, "NeXT 4.3BSD"));
                assert_eq!((b.start, b.len, &*b.kind), (2160 * unit, 1000 * unit, "NeXT"));
            }
        }
    }

    #[test]
    fn a_damaged_label_is_none_and_its_copy_counts() {
        let mut bytes = label(15 * 1024, b"dlV3", 1024, &TWO);
        let first = label(0, b"dlV3", 1024, &TWO);
        bytes[..8192].copy_from_slice(&first);
        bytes[200] ^= 1;
        assert_eq!(names(&scan_bytes(&bytes, DISK, 512)), ["a", "b"]);
        bytes[15 * 1024 + 200] ^= 1;
        assert!(scan_bytes(&bytes, DISK, 512).partitions.is_empty());
    }

    #[test]
    fn hostile_labels_stay_on_the_disk() {
        let bytes = label(0, b"dlV3", 1024, &TWO);
        for at in (4..558).step_by(4) {
            for value in [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&value.to_be_bytes());
                seal(&mut damaged);
                for partition in scan_bytes(&damaged, DISK, 512).partitions {
                    assert!(partition.start + partition.len <= DISK, "{partition:?} leaves the disk");
                }
            }
        }
    }
}
