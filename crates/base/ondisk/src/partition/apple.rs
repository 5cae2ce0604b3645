//! Apple's partition map: `ER` in block 0 with the size of a block, and from block 1 on an entry `PM` for each
//! partition, big-endian. Each entry has the number of entries, the map itself among them.
//!
//! On CDs block 0 often has blocks of 2048 bytes, and the map has entries every 512 bytes and counts in those.

use super::source::{Extent, Source, be16, be32};
use std::io;

const DRIVER_MAP: u16 = 0x4552;
const ENTRY: u16 = 0x504d;
const ENTRY_BYTES: usize = 512;
/// Sizes of blocks: those of disks.
const BLOCKS: std::ops::RangeInclusive<u64> = 512..=4096;

/// Finds the partitions of a map; `false` if the disk has none.
pub(super) fn scan(source: &mut Source<'_, '_>) -> io::Result<bool> {
    let Some(first) = source.bytes(0, ENTRY_BYTES)? else { return Ok(false) };
    if be16(&first, 0) != DRIVER_MAP {
        return Ok(false);
    }
    let said = u64::from(be16(&first, 2));
    for block in [said, 512] {
        if block.is_power_of_two() && BLOCKS.contains(&block) && entry(source, block, 1)?.is_some() {
            list(source, block)?;
            return Ok(true);
        }
    }
    Ok(false)
}

/// Entry `n` of a map with blocks of this size.
fn entry(source: &mut Source<'_, '_>, block: u64, n: u64) -> io::Result<Option<Vec<u8>>> {
    let Some(at) = block.checked_mul(n) else { return Ok(None) };
    Ok(source.bytes(at, ENTRY_BYTES)?.filter(|entry| be16(entry, 0) == ENTRY))
}

fn list(source: &mut Source<'_, '_>, block: u64) -> io::Result<()> {
    let mut count = 1;
    let mut number: u64 = 1;
    while number <= count && !source.is_full() {
        // A map that ends early ends there.
        let Some(entry) = entry(source, block, number)? else { break };
        if number == 1 {
            count = be32(&entry, 4).into();
        }
        let (kind, name) = (text(&entry, 48), text(&entry, 16));
        let (start, len) = (u64::from(be32(&entry, 8)), u64::from(be32(&entry, 12)));
        if len > 0 && kind != "Apple_Free" {
            let kind = if name.is_empty() { kind } else { format!("{kind} \"{name}\"") };
            let extent = Extent { start, count: len, sector: block };
            source.add(format!("p{number}"), extent, kind, String::new());
        }
        number += 1;
    }
    Ok(())
}

/// The text of 32 bytes, up to the first NUL.
fn text(entry: &[u8], at: usize) -> String {
    let bytes = entry.get(at..at + 32).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    bytes[..end].escape_ascii().to_string()
}

#[cfg(test)]
mod tests {
    use super::super::testing::{names, scan_bytes};

    /// A map with entries every `step` bytes: name, type, first block, blocks.
    fn map(said: u16, step: usize, entries: &[(&str, &str, u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; (entries.len() + 2) * step.max(512)];
        bytes[..2].copy_from_slice(b"ER");
        bytes[2..4].copy_from_slice(&said.to_be_bytes());
        for (n, (name, kind, first, count)) in entries.iter().enumerate() {
            let at = (n + 1) * step;
            bytes[at..at + 2].copy_from_slice(b"PM");
            bytes[at + 4..at + 8].copy_from_slice(&(entries.len() as u32).to_be_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&first.to_be_bytes());
            bytes[at + 12..at + 16].copy_from_slice(&count.to_be_bytes());
            bytes[at + 16..][..name.len()].copy_from_slice(name.as_bytes());
            bytes[at + 48..][..kind.len()].copy_from_slice(kind.as_bytes());
        }
        bytes
    }

    const ENTRIES: [(&str, &str, u32, u32); 3] =
        [("Apple", "Apple_partition_map", 1, 63), ("Server", "Apple_UFS", 64, 1000), ("", "Apple_Free", 1064, 100)];

    #[test]
    fn partitions_count_in_the_blocks_of_their_map() {
        for (said, step) in [(512, 512), (2048, 2048), (2048, 512), (0, 512)] {
            let table = scan_bytes(&map(said, step, &ENTRIES), 1 << 22, 512);
            assert_eq!(names(&table), ["p1", "p2"], "{said} {step}");
            let ufs = &table.partitions[1];
            assert_eq!((ufs.start, ufs.len), (64 * step as u64, 1000 * step as u64), "{said} {step}");
            assert_eq!(ufs.kind, "Apple_UFS \"Server\"");
        }
    }

    #[test]
    fn hostile_maps_end_and_stay_on_the_disk() {
        let bytes = map(512, 512, &ENTRIES);
        for at in (0..2048).step_by(4) {
            for value in [0u32, 1, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff] {
                let mut damaged = bytes.clone();
                damaged[at..at + 4].copy_from_slice(&value.to_be_bytes());
                for partition in scan_bytes(&damaged, 1 << 22, 512).partitions {
                    assert!(partition.start + partition.len <= 1 << 22, "{partition:?} leaves the disk");
                }
            }
        }
        // As many entries as a map can claim, and all are there.
        let all: Vec<_> = (0..1000).map(|_| ENTRIES[1]).collect();
        let table = scan_bytes(&map(512, 512, &all), 1 << 22, 512);
        assert_eq!(table.partitions.len(), super::super::MAX_PARTITIONS);
        assert!(scan_bytes(&map(512, 512, &[]), 1 << 22, 512).partitions.is_empty());
    }
}
