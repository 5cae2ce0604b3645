//! A volume as it lies there: blocks, inodes and groups, each taken alone.

use crate::{Source, Why};
use ordo_ondisk::dinode::{IFMT, mode};
use ordo_ondisk::{Cgx, Dinode, FragNo, Geometry, Ino, Superblock};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::Rc;

/// Bytes of blocks that are kept.
const KEPT: usize = 32 << 20;
/// What is read one by one after a block could not be read whole.
pub(crate) const SECTOR: u64 = 512;

/// See the crate's invariants.
pub struct Volume {
    source: Box<dyn Source>,
    pub(crate) geo: Geometry,
    /// The same without check hashes.
    lenient: Geometry,
    kept: RefCell<FxHashMap<u64, Rc<[u8]>>>,
}

/// An inode that can be used.
#[derive(Debug, Clone)]
pub struct Inode {
    /// Its number.
    pub ino: Ino,
    /// What it says.
    pub dinode: Dinode,
    /// Its check hash is wrong: something in it is not what was written.
    pub suspect: bool,
}

impl Volume {
    /// The volume that `superblock` describes, whose first byte is the first of `source`.
    pub fn new(source: Box<dyn Source>, superblock: &Superblock) -> Volume {
        let geo = superblock.geometry();
        let mut lenient = geo.clone();
        lenient.inode_hash = false;
        Volume { source, geo, lenient, kept: RefCell::default() }
    }

    /// The numbers of the volume.
    pub fn geometry(&self) -> &Geometry {
        &self.geo
    }

    /// Reads without keeping.
    pub(crate) fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Why> {
        match at.checked_add(into.len() as u64).is_some_and(|end| end <= self.source.size()) {
            true => self.source.read(at, into),
            false => Err(Why::Beyond),
        }
    }

    /// `len` bytes from a fragment on, which are kept for the next that asks.
    pub(crate) fn block(&self, frag: FragNo, len: usize) -> Result<Rc<[u8]>, Why> {
        if let Some(kept) = self.kept.borrow().get(&frag.0).filter(|kept| kept.len() >= len) {
            return Ok(kept.clone());
        }
        let mut bytes = vec![0; len];
        self.read(self.geo.byte(frag).0, &mut bytes)?;
        let bytes: Rc<[u8]> = bytes.into();
        let mut kept = self.kept.borrow_mut();
        if kept.len() * self.geo.bsize as usize > KEPT {
            kept.clear();
        }
        kept.insert(frag.0, bytes.clone());
        Ok(bytes)
    }

    /// An inode that is in use.
    ///
    /// # Errors
    /// It is free, its block cannot be read, or it breaks a rule on which its contents depend.
    pub fn inode(&self, ino: Ino) -> Result<Inode, Why> {
        let inode = self.raw_inode(ino)?;
        match inode.dinode.mode {
            0 => Err(Why::Damaged("the inode is free".into())),
            _ => Ok(inode),
        }
    }

    /// The same of an inode in any state.
    ///
    /// # Errors
    /// As [`Volume::inode`].
    pub fn raw_inode(&self, ino: Ino) -> Result<Inode, Why> {
        if !self.geo.is_valid_ino(ino) {
            return Err(Why::Damaged(format!("the volume has no inode {}", ino.0)));
        }
        let (block, within) = self.geo.inode_at(ino);
        let size = self.geo.dinode_size as usize;
        // The whole block: its other inodes are asked for next. Where it cannot be read, the inode alone perhaps can.
        match self.block(block, self.geo.bsize as usize) {
            Ok(bytes) => self.decoded(bytes.get(within..).unwrap_or_default(), ino),
            Err(why) => {
                let mut bytes = vec![0; size];
                let at = self.geo.byte(block).0.saturating_add(within as u64);
                self.read(at, &mut bytes).map_err(|_| why)?;
                self.decoded(&bytes, ino)
            }
        }
    }

    fn decoded(&self, bytes: &[u8], ino: Ino) -> Result<Inode, Why> {
        let damaged = |error: ordo_ondisk::Corrupt| Why::Damaged(error.to_string());
        let (dinode, suspect) = match Dinode::decode(bytes, &self.geo, ino) {
            Ok(dinode) => (dinode, false),
            Err(_) => (Dinode::decode(bytes, &self.lenient, ino).map_err(damaged)?, true),
        };
        dinode.check_size(&self.geo, ino).map_err(damaged)?;
        Ok(Inode { ino, dinode, suspect })
    }

    /// The number of inodes of a group that were ever written; all of them if its block does not say.
    pub(crate) fn written_inodes(&self, c: Cgx) -> u32 {
        let bytes = self.block(self.geo.cgtod(c), self.geo.cgsize as usize);
        let group = bytes.ok().and_then(|bytes| {
            let layout = ordo_ondisk::cg::check(&bytes, &self.geo, c).ok()?;
            Some(ordo_ondisk::cg::Cg::new(&bytes, layout, self.geo.endian)?.initediblk())
        });
        match (self.geo.format, group) {
            (ordo_ondisk::Format::Ufs2, Some(written)) => written.min(self.geo.ipg),
            _ => self.geo.ipg,
        }
    }
}

/// The type of a directory entry for a file of this mode.
pub(crate) fn entry_kind(mode: u16) -> u8 {
    // `d_type` is the four upper bits of the mode.
    u8::try_from((mode & IFMT) >> 12).unwrap_or(0)
}

/// The kinds of files that a directory entry may name.
pub(crate) fn is_kind(kind: u8) -> bool {
    let kinds = [mode::FIFO, mode::CHR, mode::DIR, mode::BLK, mode::REG, mode::LNK, mode::SOCK];
    kinds.into_iter().any(|mode| entry_kind(mode) == kind)
}
