//! GPT: a header in sector 1 with an array of entries, and a copy of both at the end of the disk.
//!
//! The header and the array have a CRC-32 each. Both must match before any entry is used; if the primary fails, the
//! backup in the last sector is tried. The place of the header tells sectors of 512 and 4096 bytes apart.

use super::disklabel;
use super::source::{Extent, Source, le16, le32, le64};
use std::io;

const SIGNATURE: &[u8] = b"EFI PART";
/// Larger entry arrays do not exist; reading one would only waste memory.
const ARRAY_BYTES_MAX: u64 = 1 << 20;

/// Type of a partition that holds a BSD disklabel.
const FREEBSD_LABEL: &str = "516e7cb4-6ecf-11d6-8ff8-00022d09712b";

/// Finds the partitions of a GPT; `false` if the disk has no intact one.
pub(super) fn scan(source: &mut Source<'_, '_>) -> io::Result<bool> {
    for sector in [512, 4096] {
        let last = (source.size / sector).saturating_sub(1);
        for at in [1, last] {
            if let Some((array, entry_bytes)) = entries(source, at, sector)? {
                list(source, &array, entry_bytes, sector)?;
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// The entry array of the header in sector `at`, if both are intact.
fn entries(source: &mut Source<'_, '_>, at: u64, sector: u64) -> io::Result<Option<(Vec<u8>, usize)>> {
    let Some(header) = source.bytes(at.saturating_mul(sector), 512)? else { return Ok(None) };
    let header_bytes = le32(&header, 12) as usize;
    if !header.starts_with(SIGNATURE) || !(92..=512).contains(&header_bytes) || le64(&header, 24) != at {
        return Ok(None);
    }
    let mut hashed = header[..header_bytes].to_vec();
    hashed[16..20].fill(0);
    if crc32(&hashed) != le32(&header, 16) {
        return Ok(None);
    }
    let (first, count, entry_bytes) = (le64(&header, 72), le32(&header, 80), le32(&header, 84));
    let array_bytes = u64::from(count) * u64::from(entry_bytes);
    if !(128..=4096).contains(&entry_bytes) || array_bytes > ARRAY_BYTES_MAX {
        return Ok(None);
    }
    let Some(byte) = first.checked_mul(sector) else { return Ok(None) };
    let array = source.bytes(byte, array_bytes as usize)?;
    Ok(array.filter(|array| crc32(array) == le32(&header, 88)).map(|array| (array, entry_bytes as usize)))
}

fn list(source: &mut Source<'_, '_>, array: &[u8], entry_bytes: usize, sector: u64) -> io::Result<()> {
    for (entry, number) in array.chunks_exact(entry_bytes).zip(1u32..) {
        if entry[..16].iter().all(|&byte| byte == 0) || source.is_full() {
            continue;
        }
        let (first, last) = (le64(entry, 32), le64(entry, 40));
        // The range includes its last sector. A last before the first becomes 0 sectors, which `add` refuses.
        let count = last.checked_sub(first).map_or(0, |n| n.saturating_add(1));
        let name = format!("p{number}");
        let guid = guid(&entry[..16]);
        let extent = Extent { start: first, count, sector };
        let range = source.add(name.clone(), extent, kind_name(&guid), label(entry));
        if let Some((start, _)) = range.filter(|_| guid == FREEBSD_LABEL) {
            disklabel::scan(source, &disklabel::Holder { name, start, relative: true })?;
        }
    }
    Ok(())
}

fn label(entry: &[u8]) -> String {
    let units = (56..128).step_by(2).map(|at| le16(entry, at)).take_while(|&unit| unit != 0);
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

/// A GUID as text: the first three groups are little-endian integers, the rest are bytes.
fn guid(b: &[u8]) -> String {
    let tail: String = b[10..16].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{:08x}-{:04x}-{:04x}-{:02x}{:02x}-{tail}", le32(b, 0), le16(b, 4), le16(b, 6), b[8], b[9])
}

fn kind_name(guid: &str) -> String {
    let name = match guid {
        FREEBSD_LABEL => "FreeBSD disklabel",
        "516e7cb5-6ecf-11d6-8ff8-00022d09712b" => "FreeBSD swap",
        "516e7cb6-6ecf-11d6-8ff8-00022d09712b" => "FreeBSD UFS",
        "516e7cba-6ecf-11d6-8ff8-00022d09712b" => "FreeBSD ZFS",
        "83bd6b9d-7f41-11dc-be0b-001560b84f0f" => "FreeBSD boot",
        "49f48d5a-b10e-11dc-b99b-0019d1879648" => "NetBSD FFS",
        "49f48d82-b10e-11dc-b99b-0019d1879648" => "NetBSD LFS",
        "49f48d32-b10e-11dc-b99b-0019d1879648" => "NetBSD swap",
        "824cc7a0-36a8-11e3-890a-952519ad3f61" => "OpenBSD",
        "0fc63daf-8483-4772-8e79-3d69d8477de4" => "Linux",
        "c12a7328-f81f-11d2-ba4b-00a0c93ec93b" => "EFI system",
        "ebd0a0a2-b9e5-4433-87c0-68b6b72699c7" => "Microsoft basic data",
        "21686148-6449-6e6f-744e-656564454649" => "BIOS boot",
        other => return format!("GPT type {other}"),
    };
    name.into()
}

const CRC32_TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut value = i as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[i] = value;
        i += 1;
    }
    table
};

/// CRC-32 of IEEE 802.3, as UEFI requires; not the CRC-32C of the check hashes.
fn crc32(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0, |crc: u32, &byte| crc >> 8 ^ CRC32_TABLE[usize::from(crc as u8 ^ byte)])
}

#[cfg(test)]
mod tests {
    use super::super::testing::{names, scan_bytes, scan_with_every_word_damaged};
    use super::*;

    const SIZE: usize = 256 * 4096;

    fn seal(image: &mut [u8], sector: usize, at: usize, array: usize) {
        let entries = image[array * sector..array * sector + 128 * 4].to_vec();
        let header = &mut image[at * sector..at * sector + 92];
        header[..8].copy_from_slice(SIGNATURE);
        header[12..16].copy_from_slice(&92u32.to_le_bytes());
        header[24..32].copy_from_slice(&(at as u64).to_le_bytes());
        header[72..80].copy_from_slice(&(array as u64).to_le_bytes());
        header[80..84].copy_from_slice(&4u32.to_le_bytes());
        header[84..88].copy_from_slice(&128u32.to_le_bytes());
        header[88..92].copy_from_slice(&crc32(&entries).to_le_bytes());
        header[16..20].fill(0);
        let crc = crc32(header);
        header[16..20].copy_from_slice(&crc.to_le_bytes());
    }

    fn image(sector: usize) -> Vec<u8> {
        let mut image = vec![0; SIZE];
        let last = SIZE / sector - 1;
        for array in [2, last - 1] {
            for (slot, first, end) in [(0usize, 40u64, 47u64), (2, 48, 50)] {
                let at = array * sector + slot * 128;
                // FreeBSD UFS.
                let kind = [0xb6, 0x7c, 0x6e, 0x51, 0xcf, 0x6e, 0xd6, 0x11, 0x8f, 0xf8, 0, 2, 0x2d, 9, 0x71, 0x2b];
                image[at..at + 16].copy_from_slice(&kind);
                image[at + 32..at + 40].copy_from_slice(&first.to_le_bytes());
                image[at + 40..at + 48].copy_from_slice(&end.to_le_bytes());
                for (i, c) in format!("part{slot}").encode_utf16().enumerate() {
                    image[at + 56 + 2 * i..at + 58 + 2 * i].copy_from_slice(&c.to_le_bytes());
                }
            }
        }
        seal(&mut image, sector, 1, 2);
        seal(&mut image, sector, last, last - 1);
        image
    }

    #[test]
    fn crc_gives_the_published_check_value() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn partitions_are_found_with_both_sector_sizes() {
        for sector in [512, 4096] {
            let table = scan_bytes(&image(sector), SIZE as u64, 512);
            assert_eq!(names(&table), ["p1", "p3"]);
            assert_eq!((table.partitions[0].start, table.partitions[0].len), (40 * sector as u64, 8 * sector as u64));
            assert_eq!(
                (table.partitions[1].label.as_str(), table.partitions[1].kind.as_str()),
                ("part2", "FreeBSD UFS")
            );
        }
    }

    #[test]
    fn damaged_primary_falls_back_to_the_backup() {
        for at in [512, 512 + 40, 1024 + 32] {
            let mut damaged = image(512);
            damaged[at] ^= 1;
            assert_eq!(names(&scan_bytes(&damaged, SIZE as u64, 512)), ["p1", "p3"]);
        }
    }

    #[test]
    fn without_a_whole_header_there_is_no_gpt() {
        let mut damaged = image(512);
        damaged[512] ^= 1;
        damaged[SIZE - 512] ^= 1;
        assert!(scan_bytes(&damaged, SIZE as u64, 512).partitions.is_empty());
    }

    #[test]
    fn range_that_overflows_is_refused() {
        let mut damaged = image(512);
        damaged[1024 + 32..1024 + 40].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
        damaged[1024 + 40..1024 + 48].copy_from_slice(&u64::MAX.to_le_bytes());
        seal(&mut damaged, 512, 1, 2);
        let table = scan_bytes(&damaged, SIZE as u64, 512);
        assert_eq!((names(&table), table.refused.len()), (vec!["p3"], 1));
    }

    #[test]
    fn damaged_headers_with_a_right_crc_are_bounded() {
        for at in (512 + 24..512 + 88).step_by(4) {
            for value in [0u32, 1, 0x7fff_ffff, u32::MAX] {
                let mut damaged = image(512);
                damaged[at..at + 4].copy_from_slice(&value.to_le_bytes());
                damaged[512 + 16..512 + 20].fill(0);
                let crc = crc32(&damaged[512..512 + 92]);
                damaged[512 + 16..512 + 20].copy_from_slice(&crc.to_le_bytes());
                scan_bytes(&damaged, SIZE as u64, 512);
            }
        }
        scan_with_every_word_damaged(&image(512), 512..1024 + 512, SIZE as u64, 512);
    }
}
