//! The disk, before there is a log: the superblocks, and the ifile that one leads to.

use crate::ifile::Ifile;
use ordo_buf::{Cache, Role};
use ordo_disk::{Block, DiskOff, Tag};
use ordo_ondisk::lfs::{Daddr, Geometry, IFILE, Superblock, inode_block};
use ordo_ondisk::{Corrupt, Dinode, Encoding, FragNo, Lbn, NIADDR, Rule, Structure};
use ordo_vfs::{Error, Result};
use std::collections::BTreeMap;
use std::rc::Rc;

/// The disk, before there is a log.
pub(crate) struct Disk<'a> {
    pub(crate) cache: &'a Rc<Cache>,
}

impl Disk<'_> {
    pub(crate) async fn read(&self, at: u64, len: usize, role: Role) -> Result<Block> {
        self.cache.queue().read(DiskOff(at), len, Tag::of(role)).await.map_err(Error::io)
    }

    /// The two superblocks that checkpoints write.
    pub(crate) async fn superblocks(&self) -> Result<[std::result::Result<Superblock, Corrupt>; 2]> {
        let bytes = self.read(8192, 8192, Role::Superblock).await?;
        let first = Superblock::decode(&bytes);
        // The first may be torn: its geometry is still there, and says where the second is.
        let places = first.clone().or_else(|_| Superblock::decode_whatever_the_sum(&bytes));
        let end = self.cache.queue().info().size;
        let at = match &places {
            Ok(sb) => Some(sb.geometry().byte(sb.fields.sboffs[1])),
            Err(_) => Superblock::second_of_damaged(&bytes),
        };
        let at = at.filter(|at| at.0.checked_add(8192).is_some_and(|after| after <= end));
        let second = match (at, places) {
            (Some(at), _) => Superblock::decode_at(&self.read(at.0, 8192, Role::Superblock).await?, at),
            (None, Err(damage)) => Err(damage),
            (None, Ok(sb)) => {
                let rule = Rule::AtMost((end / u64::from(sb.geometry().unit)).into());
                Err(Corrupt::new(Structure::Superblock, "lfs_size", sb.fields.size, rule))
            }
        };
        Ok([first, second])
    }

    /// The ifile that a superblock leads to.
    pub(crate) async fn ifile(&self, sb: &Superblock) -> Result<Ifile> {
        let g = sb.geometry();
        let at = sb.fields.idaddr;
        if !g.is_data_range(at, g.inode_block_units()) {
            let rule = Rule::Words("which is not in a segment");
            return Err(Error::corrupt(Corrupt::new(Structure::Superblock, "lfs_idaddr", at.0, rule)));
        }
        let block = self.read(g.byte(at).0, g.ibsize as usize, Role::Inodes).await?;
        let dinode = inode_block::get_ino(&block, &g, IFILE).map_err(Error::corrupt)?;
        let blocks = dinode.size / u64::from(g.bsize);
        if dinode.size % u64::from(g.bsize) != 0 || g.units(dinode.size) > g.size {
            let rule = Rule::Words("which is no size of an ifile");
            return Err(Error::corrupt(Corrupt::new(Structure::Inode(IFILE), "di_size", dinode.size, rule)));
        }
        let mut reading = OwnFile { disk: self, g, dinode: &dinode, indirect: BTreeMap::new() };
        let mut contents = Vec::new();
        for lbn in 0..blocks {
            contents.push(reading.block(Lbn(lbn.cast_signed())).await?);
        }
        let indirect = reading.indirect;
        Ifile::of(g, dinode, contents, indirect).map_err(Error::corrupt)
    }
}

/// The ifile while it is read.
struct OwnFile<'a> {
    disk: &'a Disk<'a>,
    g: Geometry,
    dinode: &'a Dinode,
    indirect: BTreeMap<Lbn, Vec<u8>>,
}

impl OwnFile<'_> {
    async fn block(&mut self, lbn: Lbn) -> Result<Vec<u8>> {
        let (tree, encoding) = (self.g.tree(), Encoding::from(&self.g));
        let mut way = vec![lbn];
        while let Some((above, _)) = way.last().and_then(|lbn| tree.parent(*lbn)) {
            way.push(above);
        }
        for name in way.iter().skip(1).rev() {
            if !self.indirect.contains_key(name) {
                let at = self.pointer(*name, &encoding);
                let bytes = self.read(at, *name).await?;
                self.indirect.insert(*name, bytes);
            }
        }
        let at = self.pointer(lbn, &encoding);
        self.read(at, lbn).await
    }

    fn pointer(&self, lbn: Lbn, encoding: &Encoding) -> Daddr {
        let tree = self.g.tree();
        let pointer = match tree.parent(lbn) {
            Some((above, index)) => self.indirect.get(&above).and_then(|block| encoding.pointer(block, index)),
            None => match usize::try_from(lbn.0) {
                Ok(direct) => self.dinode.db.get(direct).copied(),
                Err(_) => {
                    (0..NIADDR).find(|i| tree.indirect_root(*i) == lbn).and_then(|i| self.dinode.ib.get(i).copied())
                }
            },
        };
        pointer.unwrap_or(FragNo::HOLE).into()
    }

    async fn read(&self, at: Daddr, lbn: Lbn) -> Result<Vec<u8>> {
        if !self.g.is_data_range(at, self.g.block_units.into()) {
            let rule = Rule::Words("which is not in a segment");
            let what = if lbn.0 < 0 { "pointer to an indirect block" } else { "block pointer" };
            return Err(Error::corrupt(Corrupt::new(Structure::Inode(IFILE), what, at.0, rule)));
        }
        let role = if lbn.0 < 0 { Role::Indirect } else { Role::Inodes };
        Ok(self.disk.read(self.g.byte(at).0, self.g.bsize as usize, role).await?.to_vec())
    }
}
