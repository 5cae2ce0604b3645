//! A snapshot for which old contents are kept, in memory and on the disk.

use super::map::Map;
use crate::sectors::put;
use ordo_disk::{Disk, DiskError, Kind};
use ordo_ondisk::{Ino, Superblock};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The inodes in the superblock's list.
pub(crate) fn listed(sb: &Superblock) -> Vec<Ino> {
    sb.fields.snapinum.iter().copied().take_while(|&ino| ino != 0).map(Ino).collect()
}

/// A snapshot for which old contents are kept.
pub(super) struct Kept {
    pub(super) map: Map,
    /// Blocks of the volume that can become copies (snapshot-keep-2).
    pub(super) reserve: BTreeSet<u64>,
    /// Blocks that may still need a copy.
    pub(super) pending: u64,
    /// A repair has taken it away (snapshot-keep-6).
    pub(super) gone: bool,
}

impl Kept {
    /// Its contents are the volume's, until that is written over.
    pub(super) fn is_pending(&self, block: u64) -> bool {
        !self.gone && block < self.map.geometry().snapshot_blocks() && self.map.get(block).is_hole()
    }

    /// How many blocks may still need a copy.
    pub(super) fn pending(&self) -> u64 {
        (0..self.map.geometry().snapshot_blocks()).filter(|&block| self.is_pending(block)).count() as u64
    }

    /// How many blocks it can still copy; the largest number if that is all that may need it.
    pub(super) fn headroom(&self) -> u64 {
        let reserve = self.reserve.len() as u64;
        if self.gone || reserve >= self.pending { u64::MAX } else { reserve }
    }
}

/// Writes the inode of a snapshot.
pub(super) async fn write_inode(disk: &Rc<dyn Disk>, map: &Map) -> Result<(), DiskError> {
    let g = map.geometry();
    let mut bytes = vec![0; g.dinode_size as usize];
    // OK to ignore: the bytes are as many as an inode has.
    let _ = map.dinode.encode(&mut bytes, g);
    put(disk, map.inode_at(), &bytes, Kind::Inodes).await
}
