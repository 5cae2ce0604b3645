//! The numbers of FreeBSD's snapshot files.
//!
//! A snapshot is a regular file with the flag `SF_SNAPSHOT`, as long as the volume and one block more. Its block `n` is
//! block `n` of the volume as that was when the snapshot was taken.
//!
//! N1. A pointer of it says where that block is now ([`Held`]). 1 and 2 are no addresses: the boot area is there.
//! N2. The 12 direct blocks are always copies, and all indirect blocks exist: a block is kept later by one pointer in
//!     an indirect block, and the inode stays as it is.
//! N3. A pointer that leads to the block's own place means that the block itself belongs to the snapshot now: its file
//!     has freed it. A copy is never there.

use crate::num::len64;
use crate::{Endian, FragNo, Geometry};

/// The pointer to a block that was free.
pub const NOCOPY: FragNo = FragNo(1);
/// The pointer to a block that belonged to another snapshot.
pub const SNAP: FragNo = FragNo(2);

/// What a pointer of a snapshot says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// Nothing was written there since: the volume still has it.
    Current,
    /// It was of no file: reads as zeros.
    Nothing,
    /// The snapshot's own block.
    Own(FragNo),
}

impl Held {
    /// Of a pointer.
    pub fn of(pointer: FragNo) -> Held {
        match pointer {
            FragNo::HOLE => Held::Current,
            NOCOPY | SNAP => Held::Nothing,
            own => Held::Own(own),
        }
    }
}

impl Geometry {
    /// Blocks of the volume, the last one perhaps partial: `numblks`.
    pub fn snapshot_blocks(&self) -> u64 {
        self.size.div_ceil(self.frag.max(1).into())
    }

    /// Bytes of a snapshot whose list has so many entries: the blocks of the volume, and the list, at least a block.
    pub fn snapshot_bytes(&self, entries: u64) -> u64 {
        let blocks = self.snapshot_blocks().saturating_mul(self.bsize.into());
        blocks.saturating_add(entries.saturating_mul(8).max(self.bsize.into()))
    }

    /// The block of the volume that begins at this fragment, or has it.
    pub fn block_of_frag(&self, frag: FragNo) -> u64 {
        frag.0.checked_div(self.frag.into()).unwrap_or(0)
    }

    /// The first fragment of a block of the volume.
    pub fn frag_of_block(&self, block: u64) -> FragNo {
        FragNo(block.saturating_mul(self.frag.into()))
    }
}

/// The list at the end of a snapshot: how many numbers it has, itself included, and the blocks of which the snapshot
/// had copies from the beginning, without the direct ones.
pub fn encode_list(blocks: &[u64], endian: Endian) -> Vec<u8> {
    let numbers = std::iter::once(len64(blocks.len()).saturating_add(1)).chain(blocks.iter().copied());
    numbers.flat_map(|number| endian.i64_bytes(i64::try_from(number).unwrap_or(i64::MAX))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::superblock::newfs::NewfsParams;

    #[test]
    fn a_snapshot_is_one_block_longer_than_its_volume() {
        let p = NewfsParams { bsize: 8192, fsize: 1024, ..NewfsParams::new(Format::Ufs2, (8 << 20) + 3072) };
        let g = p.superblock().unwrap().geometry();
        assert_eq!(g.snapshot_blocks(), 1025);
        assert_eq!(g.snapshot_bytes(5), 1026 * 8192);
        assert_eq!(g.snapshot_bytes(1025), 1025 * 8192 + 8200);
        assert_eq!((g.block_of_frag(FragNo(17)), g.frag_of_block(2)), (2, FragNo(16)));
    }

    #[test]
    fn the_list_counts_itself() {
        let bytes = encode_list(&[16, 300], Endian::Big);
        assert_eq!(
            bytes.chunks(8).map(|n| n[6..].to_vec()).collect::<Vec<_>>(),
            [vec![0, 3], vec![0, 16], vec![1, 44]]
        );
        assert_eq!(Held::of(FragNo(2)), Held::Nothing);
        assert_eq!((Held::of(FragNo(0)), Held::of(FragNo(3))), (Held::Current, Held::Own(FragNo(3))));
    }
}
