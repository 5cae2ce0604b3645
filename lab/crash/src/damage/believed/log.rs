//! Finds the structures of a log-structured volume.

use super::super::volumes::broken;
use super::structure::Structure;
use super::sums::{Fix, How};
use crate::Error;
use ordo_disk::RamDisk;
use ordo_ondisk::lfs::summary::seal;
use ordo_ondisk::lfs::{self, Geometry, IFILE, Item, Pseg, SegNo, Summary};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes of a superblock, and the offset of its sum.
const SUPERBLOCK: u64 = 512;
const SUPERBLOCK_SUM: u64 = 508;
/// In a summary: its own sum, and that of the blocks.
const SUMMARY_SUM: u64 = 0;
const BLOCKS_SUM: u64 = 4;
/// In a seal.
const SEAL_CRC: u64 = 8;
/// Bytes of a block that the sum of the blocks covers.
const COVERED: u64 = 4;

/// The structures, and the bytes of a unit of addresses.
pub(super) fn structures(ram: &RamDisk, directories: &BTreeSet<u64>) -> Result<(Vec<Structure>, u64), Error> {
    let whole = ram.to_vec();
    let first = u64::from(lfs::LABEL_PAD);
    let sb = lfs::Superblock::decode(&whole[first as usize..]).map_err(broken)?;
    let g = sb.geometry();
    let mut found = Vec::new();
    let copies: BTreeSet<u64> = sb.fields.sboffs.iter().filter(|at| !at.is_hole()).map(|at| g.byte(*at).0).collect();
    for at in copies.iter().copied() {
        let sum = Fix::sum(How::Words, at..at + SUPERBLOCK_SUM, at + SUPERBLOCK_SUM, g.endian);
        // Only the first two follow the checkpoints.
        let class = if copies.iter().position(|copy| *copy == at) < Some(2) { "superblock" } else { "superblock copy" };
        found.push(Structure::new(class, at, SUPERBLOCK, g.endian).fixed([sum]).guarding());
    }
    let mut newest = BTreeMap::<(u32, i64), BTreeMap<u64, Structure>>::new();
    for segment in (0..g.nseg).map(SegNo) {
        let (start, end) = (g.byte(g.segment_start(segment)).0, g.byte(g.segment_end(segment)).0);
        let has_superblock = copies.range(start..end).next().is_some();
        let mut at = Some(g.first_pseg(segment, has_superblock));
        while let Some(place) = at {
            let Some(bytes) = whole.get(g.byte(place).0 as usize..) else { break };
            let Ok(summary) = Summary::decode(bytes, &g) else { break };
            let Ok(pseg) = summary.walk(&g, place) else { break };
            for (key, structure) in of_partial_segment(&g, bytes, &summary, &pseg, directories) {
                match key {
                    // Of the images of a block only the newest one is alive.
                    Some(block) => drop(newest.entry(block).or_default().insert(summary.serial.0, structure)),
                    None => found.push(structure),
                }
            }
            at = pseg.next_here(&g);
        }
    }
    found.extend(newest.into_values().filter_map(|mut images| images.pop_last()).map(|(_, newest)| newest));
    Ok((found, g.unit.into()))
}

/// Its structures; with the file and the block, where it is one.
fn of_partial_segment(
    g: &Geometry,
    bytes: &[u8],
    summary: &Summary,
    pseg: &Pseg,
    directories: &BTreeSet<u64>,
) -> Vec<(Option<(u32, i64)>, Structure)> {
    let (at, len) = (g.byte(pseg.at).0, u64::from(g.sumsize));
    let whole = pseg.bytes(g);
    let own = Fix::sum(How::Words, at + SUMMARY_SUM + 4..at + len, at + SUMMARY_SUM, g.endian);
    let covered = |item: &Item| g.byte(item.at()).0..g.byte(item.at()).0 + COVERED;
    let blocks = Fix::Sum {
        how: How::Words,
        start: Vec::new(),
        over: pseg.items.iter().map(covered).collect(),
        at: at + BLOCKS_SUM,
        endian: g.endian,
    };
    let mut fixes = vec![blocks];
    if bytes.get(..whole as usize).is_some_and(|bytes| seal::verify(bytes, g, summary) == seal::Seal::Good) {
        let crc = at + seal::seal_at(g, summary.inode_blocks.len()) as u64 + SEAL_CRC;
        fixes.push(Fix::sum(How::Crc, at + len..at + whole, crc, g.endian));
    }
    fixes.push(own.clone());
    let mut found = vec![(None, Structure::new("segment summary", at, len, g.endian).fixed([own]).guarding())];
    for item in &pseg.items {
        let (key, class, len) = match item {
            Item::Inodes { .. } => (None, "inode block", u64::from(g.ibsize)),
            Item::Block { ino, lbn, bytes, .. } => {
                let class = match (*ino == IFILE, lbn.0 < 0) {
                    (true, true) => "indirect block of the ifile",
                    (true, false) => "ifile",
                    (false, true) => "indirect block",
                    (false, false) if directories.contains(&ino.0.into()) => "directory",
                    (false, false) => continue,
                };
                (Some((ino.0, lbn.0)), class, u64::from(*bytes))
            }
        };
        found.push((key, Structure::new(class, g.byte(item.at()).0, len, g.endian).fixed(fixes.clone())));
    }
    found
}
