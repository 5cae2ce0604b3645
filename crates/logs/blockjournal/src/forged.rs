//! For tests: a journal whose contents are hostile, and whose sums are right.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::blocks::{Body, HEADER, Kind, MAGIC, Shape, carried, checksum};
use ordo_ring::SUPERBLOCK;

/// Makes the sums of the journal's own blocks right, in blocks that follow each other on the line.
pub fn make_sums_right(line: &mut [&mut [u8]], salt: u64) {
    let mut body = Body::default();
    for block in line.iter_mut().filter(|block| block.starts_with(&MAGIC)) {
        let shape = Shape { block: block.len(), salt };
        let ends = block[8..12] == Kind::Commit.raw().to_le_bytes();
        if ends {
            let sum = std::mem::take(&mut body).sum();
            block[HEADER + 8..HEADER + 12].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = checksum(shape.salt, block);
        block[4..8].copy_from_slice(&sum.to_le_bytes());
        if !ends {
            body.add(carried(block));
        }
    }
}

/// Makes the sum of a superblock right, and returns the journal's salt.
pub fn make_superblock_right(superblock: &mut [u8]) -> u64 {
    superblock[12..16].fill(0);
    let sum = crc32c::crc32c(&superblock[..SUPERBLOCK]);
    superblock[12..16].copy_from_slice(&sum.to_le_bytes());
    superblock[24..32].try_into().map_or(0, u64::from_le_bytes)
}
