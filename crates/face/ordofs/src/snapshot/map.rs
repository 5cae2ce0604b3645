//! The pointers of a snapshot, all of them in memory: eight bytes for a block of the volume, or four.
//!
//! M1. Every pointer was checked: it leads to a whole block of data, or says what [`Held`] has. No block of the
//!     snapshot has two places in it, but for one that an interrupted copy leaves, which is resolved (see
//!     [`Map::load`]).
//! M2. A leaf is an indirect block that points to data. Leaves are numbered by the blocks of the file that they lead
//!     to, whatever the depth of the tree.

use crate::SnapshotError;
use crate::sectors::get;
use ordo_disk::{Disk, Kind};
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::snapshot::{Held, NOCOPY};
use ordo_ondisk::{ByteOff, Dinode, FragNo, Geometry, Ino};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Direct blocks of a file.
const DIRECT: u64 = ordo_ondisk::NDADDR as u64;

/// An indirect block that points to data.
pub(super) struct Leaf {
    pub(super) at: FragNo,
    pub(super) bytes: Vec<u8>,
}

/// See the module's invariants.
pub(super) struct Map {
    pub(super) ino: Ino,
    pub(super) dinode: Dinode,
    pub(super) leaves: Vec<Leaf>,
    /// The blocks of the volume where they are.
    leaf_blocks: BTreeSet<u64>,
    /// The other indirect blocks.
    uppers: Vec<FragNo>,
    g: Rc<Geometry>,
}

impl Map {
    /// Reads the map of a file: of a snapshot, or of one that is to become a snapshot.
    ///
    /// A crash can leave a block in two places of a snapshot: as the copy that it has become, and as the reserve that
    /// it was, at its own place (keep-3). The reserve is forgotten then. The second value says whether there was one.
    ///
    /// # Errors
    /// `Damaged`, a failing disk.
    pub(super) async fn load(
        disk: &Rc<dyn Disk>,
        g: &Rc<Geometry>,
        ino: Ino,
        is_made: bool,
    ) -> Result<(Map, Vec<u64>), SnapshotError> {
        let wrong = |why: String| SnapshotError::Damaged { ino: ino.0, why };
        if !g.is_valid_ino(ino) {
            return Err(wrong("the volume has no such inode".into()));
        }
        let (block, within) = g.inode_at(ino);
        let bytes = get(disk, g.byte(block), g.bsize as usize, Kind::Inodes).await?;
        let dinode =
            Dinode::decode(bytes.get(within..).unwrap_or_default(), g, ino).map_err(|e| wrong(e.to_string()))?;
        if dinode.kind() != mode::REG || is_made != (dinode.flags & flags::SF_SNAPSHOT != 0) {
            return Err(wrong("the inode is no snapshot".into()));
        }
        if dinode.size < g.snapshot_bytes(0) || dinode.size > g.snapshot_bytes(g.snapshot_blocks() + 1) {
            return Err(wrong(format!("it has {} bytes, which does not fit the volume", dinode.size)));
        }
        let mut map = Map { ino, dinode, leaves: vec![], leaf_blocks: BTreeSet::new(), uppers: vec![], g: g.clone() };
        map.read_leaves(disk).await?;
        map.leaf_blocks = map.leaves.iter().map(|leaf| g.block_of_frag(leaf.at)).collect();
        let stale = map.check()?;
        Ok((map, stale))
    }

    /// Of the volume.
    pub(super) fn geometry(&self) -> &Rc<Geometry> {
        &self.g
    }

    /// Blocks of the file.
    pub(super) fn blocks(&self) -> u64 {
        self.dinode.size.div_ceil(self.g.bsize.into())
    }

    async fn read_leaves(&mut self, disk: &Rc<dyn Disk>) -> Result<(), SnapshotError> {
        let g = self.g.clone();
        let needed = self.blocks().saturating_sub(DIRECT).div_ceil(u64::from(g.nindir).max(1));
        let mut seen = BTreeSet::new();
        for (i, root) in self.dinode.ib.into_iter().enumerate() {
            // Each is a block and its level: 0 points to data.
            let mut waiting = vec![(root, i)];
            while let Some((at, level)) = waiting.pop() {
                if self.leaves.len() as u64 >= needed {
                    return Ok(());
                }
                if !g.is_data_range(at, g.frag) || !seen.insert(at) {
                    return Err(self.wrong(format!("an indirect block of it would be at fragment {}", at.0)));
                }
                let bytes = get(disk, g.byte(at), g.bsize as usize, Kind::Indirect).await?;
                match level {
                    0 => self.leaves.push(Leaf { at, bytes }),
                    _ => {
                        let below =
                            (0..g.nindir).rev().map(|k| (g.pointer(&bytes, k).unwrap_or(FragNo::HOLE), level - 1));
                        waiting.extend(below);
                        self.uppers.push(at);
                    }
                }
            }
        }
        match self.leaves.len() as u64 >= needed {
            true => Ok(()),
            false => Err(self.wrong("indirect blocks are missing".into())),
        }
    }

    fn wrong(&self, why: String) -> SnapshotError {
        SnapshotError::Damaged { ino: self.ino.0, why }
    }

    /// Checks all pointers (M1); returns the blocks whose pointers were what a crash left behind.
    fn check(&mut self) -> Result<Vec<u64>, SnapshotError> {
        let mut places: BTreeMap<FragNo, u64> = BTreeMap::new();
        let mut stale = vec![];
        let indirect: BTreeSet<FragNo> = self.indirect().collect();
        for lbn in 0..self.blocks() {
            let Held::Own(at) = Held::of(self.get(lbn)) else { continue };
            if !self.g.is_data_range(at, self.g.frag) || indirect.contains(&at) {
                return Err(self.wrong(format!("its block {lbn} would be at fragment {}", at.0)));
            }
            let Some(other) = places.insert(at, lbn) else { continue };
            let own = self.g.block_of_frag(at);
            if own != lbn && own != other {
                return Err(self.wrong(format!("its blocks {other} and {lbn} are both at fragment {}", at.0)));
            }
            stale.push(own);
        }
        for &lbn in &stale {
            self.set(lbn, NOCOPY);
        }
        Ok(stale)
    }

    /// The leaf of a block of the file, and the index of its pointer.
    pub(super) fn place(&self, lbn: u64) -> Option<(usize, u32)> {
        let rest = lbn.checked_sub(DIRECT)?;
        let nindir = u64::from(self.g.nindir).max(1);
        Some(((rest / nindir) as usize, (rest % nindir) as u32))
    }

    /// The pointer of a block of the file.
    pub(super) fn get(&self, lbn: u64) -> FragNo {
        match self.place(lbn) {
            None => self.dinode.db.get(lbn as usize).copied().unwrap_or_default(),
            Some((leaf, i)) => {
                self.leaves.get(leaf).and_then(|leaf| self.g.pointer(&leaf.bytes, i)).unwrap_or_default()
            }
        }
    }

    /// Sets it, in memory. One beyond the file does not exist.
    pub(super) fn set(&mut self, lbn: u64, to: FragNo) {
        match self.place(lbn) {
            None => {
                if let Some(pointer) = self.dinode.db.get_mut(lbn as usize) {
                    *pointer = to;
                }
            }
            Some((leaf, i)) => {
                // OK to ignore: the index is below the number of pointers in a block.
                let _ = self.leaves.get_mut(leaf).and_then(|leaf| self.g.put_pointer(&mut leaf.bytes, i, to));
            }
        }
    }

    /// The indirect blocks.
    pub(super) fn indirect(&self) -> impl Iterator<Item = FragNo> {
        self.leaves.iter().map(|leaf| leaf.at).chain(self.uppers.iter().copied())
    }

    /// The blocks of data that are its own: block of the file, and place.
    pub(super) fn own(&self) -> impl Iterator<Item = (u64, FragNo)> {
        (0..self.blocks()).filter_map(|lbn| match Held::of(self.get(lbn)) {
            Held::Own(at) => Some((lbn, at)),
            _ => None,
        })
    }

    /// All blocks of the volume that belong to its file.
    pub(super) fn all_own(&self) -> impl Iterator<Item = u64> {
        self.own().map(|(_, at)| at).chain(self.indirect()).map(|at| self.g.block_of_frag(at))
    }

    /// Whether a block of the volume is an indirect block that points to data.
    pub(super) fn is_leaf(&self, block: u64) -> bool {
        self.leaf_blocks.contains(&block)
    }

    /// Takes over bytes that were written at a byte of the volume, as far as indirect blocks are there.
    pub(super) fn overwrite(&mut self, at: u64, bytes: &[u8]) {
        let (g, end) = (self.g.clone(), at + bytes.len() as u64);
        let bsize = u64::from(g.bsize);
        if !(at / bsize..end.div_ceil(bsize)).any(|block| self.is_leaf(block)) {
            return;
        }
        for leaf in &mut self.leaves {
            let home = g.byte(leaf.at).0;
            let (from, to) = (home.max(at), (home + bsize).min(end));
            if from < to {
                leaf.bytes[(from - home) as usize..(to - home) as usize]
                    .copy_from_slice(&bytes[(from - at) as usize..(to - at) as usize]);
            }
        }
    }

    /// The byte of the volume where its inode is.
    pub(super) fn inode_at(&self) -> ByteOff {
        Dinode::place(&self.g, self.ino)
    }
}
