//! The volume as the repairs so far make it: what is on the disk, and over it what differs.
//!
//! V1. Nothing of the log is changed in place. What differs is kept here by file and block ([`Volume::blocks`]), inode
//!     ([`Volume::inodes`]) and entry of the ifile, until `write.rs` appends all of it to the log.
//! V2. A pointer to a block that has no address yet is [`Volume::unwritten`]; it is valid only while the block is kept
//!     here. So a damaged pointer with that value is a bad pointer.

use super::log::LogEnd;
use super::newest::Scan;
use super::tables::Ifile;
use crate::bits::Bits;
use crate::{Error, Finding, LfsFinding, Mode, Phase, Progress, Report, Severity};
use ordo_ondisk::dinode::{IFMT, mode};
use ordo_ondisk::lfs::{Daddr, Geometry, IFILE, NextFree, Superblock, inode_block};
use ordo_ondisk::{Dinode, Encoding, FragNo, Ino, Lbn};
use ordo_recover::Image;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::BTreeMap;
use std::rc::Rc;

/// What later phases want to know of an inode that phase 1 has seen.
#[derive(Clone, Copy)]
pub(crate) struct Brief {
    pub(crate) mode: u16,
    pub(crate) nlink: u16,
}

impl Brief {
    pub(crate) fn of(dinode: &Dinode) -> Brief {
        Brief { mode: dinode.mode, nlink: dinode.nlink }
    }

    pub(crate) fn is_dir(self) -> bool {
        self.mode & IFMT == mode::DIR
    }
}

/// Names of all inodes, found by phase 2.
#[derive(Default)]
pub(crate) struct Names {
    count: Vec<u32>,
    /// The directory that names a directory.
    pub(crate) parent: FxHashMap<u32, u32>,
    /// What `..` of a directory says.
    pub(crate) dotdot: FxHashMap<u32, u32>,
}

impl Names {
    /// Names of an inode, without `.` and `..`.
    pub(crate) fn count(&self, ino: u32) -> u32 {
        self.count.get(ino as usize).copied().unwrap_or(0)
    }

    /// Sets them. Inode numbers are below the size of the inode map.
    pub(crate) fn set_count(&mut self, ino: u32, names: u32) {
        let at = ino as usize;
        if at >= self.count.len() {
            self.count.resize(at + 1, 0);
        }
        if let Some(count) = self.count.get_mut(at) {
            *count = names;
        }
    }
}

/// See the module's invariants.
pub(crate) struct Volume {
    pub(crate) image: Image,
    pub(crate) g: Geometry,
    pub(crate) sb: Superblock,
    /// The later of the times that the two superblocks had.
    pub(crate) latest: u64,
    pub(crate) mode: Mode,
    /// Seconds since 1970.
    pub(crate) now: u64,
    pub(crate) report: Report,
    pub(crate) progress: Progress,
    /// Findings of this round.
    pub(crate) found: u64,
    /// Of these, those that stop a preen.
    pub(crate) manual: u64,
    pub(crate) ifile: Ifile,
    /// Changed inodes.
    pub(crate) inodes: FxHashMap<u32, Dinode>,
    /// Changed blocks of directories and of pointers.
    pub(crate) blocks: BTreeMap<(u32, i64), Vec<u8>>,
    /// Bytes of copies of blocks that had two owners.
    pub(crate) copied: usize,
    /// Units that a block, an inode block or a copy of the superblock occupies.
    pub(crate) used: Bits,
    pub(crate) inode_blocks: FxHashSet<u64>,
    /// Live bytes of each segment.
    pub(crate) live: Vec<u64>,
    /// Inodes in use that are directories, and all that are in use.
    pub(crate) dirs: Vec<u32>,
    pub(crate) files: u64,
    pub(crate) names: Names,
    /// `lost+found` and the names in it; 0 until it was looked up in this round.
    pub(crate) lost: (u32, FxHashSet<Vec<u8>>),
    /// Of the inodes that phase 1 has seen in this round.
    pub(crate) briefs: Vec<Option<Brief>>,
    /// The inode block that was read last: its inodes are asked for one after the other.
    pub(crate) last_inodes: Option<(Daddr, Vec<u8>)>,
    pub(crate) log: LogEnd,
    pub(crate) scan: Option<Rc<Scan>>,
    /// The segments of what was rolled forward.
    pub(crate) tail_segments: FxHashSet<u32>,
    /// Something must be written although no rule is broken: the log was rolled forward.
    pub(crate) rolled: bool,
    /// The superblock's place of the log's end is wrong.
    pub(crate) misplaced: bool,
}

impl Volume {
    pub(crate) fn find(&mut self, finding: impl Into<Finding>) {
        let finding = finding.into();
        let severity = finding.severity();
        self.found += 1;
        self.manual += u64::from(severity == Severity::Manual);
        self.report.note(finding, severity);
    }

    pub(crate) fn step(&mut self, phase: Phase, done: u64, total: u64) {
        if let Some(progress) = &mut self.progress {
            progress(phase, done, total);
        }
    }

    /// The pointer to a block that has no address yet (V2).
    pub(crate) fn unwritten(&self) -> FragNo {
        FragNo(if self.g.version.is_wide() { u64::MAX - 1 } else { 0xffff_fffe })
    }

    /// Whether this pointer leads to a block that is only kept here.
    pub(crate) fn is_unwritten(&self, ino: u32, lbn: i64, to: FragNo) -> bool {
        let ifile = ino == IFILE.0 && usize::try_from(lbn).is_ok_and(|lbn| self.ifile.is_lost(lbn));
        to == self.unwritten() && (ifile || self.blocks.contains_key(&(ino, lbn)))
    }

    /// Units of block `lbn` of a file of this size.
    pub(crate) fn block_units(&self, size: u64, lbn: i64) -> u64 {
        self.g.units(self.g.block_bytes(size, Lbn(lbn)).into())
    }

    pub(crate) fn encoding(&self) -> Encoding {
        Encoding::from(&self.g)
    }

    /// Bytes of the volume from an address on.
    pub(crate) async fn read(&mut self, at: Daddr, len: usize) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; len];
        self.image.read(self.g.byte(at), &mut bytes).await?;
        Ok(bytes)
    }

    /// The inode in a block on the disk; `None` if it is not there.
    pub(crate) async fn inode_on_disk(&mut self, at: Daddr, ino: u32) -> Result<Option<Dinode>, Error> {
        if !self.g.is_data_range(at, self.g.inode_block_units()) {
            return Ok(None);
        }
        let g = self.g;
        Ok(inode_block::get_ino(self.inode_block(at).await?, &g, Ino(ino)).ok())
    }

    /// Whether the inode is in this block on the disk.
    pub(crate) async fn is_on_disk(&mut self, at: Daddr, ino: u32) -> Result<bool, Error> {
        let g = self.g;
        if !g.is_data_range(at, g.inode_block_units()) {
            return Ok(false);
        }
        let block = self.inode_block(at).await?;
        let Some(slot) = inode_block::find(block, &g, Ino(ino)) else { return Ok(false) };
        Ok(inode_block::get(block, slot, &g).is_ok())
    }

    async fn inode_block(&mut self, at: Daddr) -> Result<&[u8], Error> {
        if self.last_inodes.as_ref().is_none_or(|(known, _)| *known != at) {
            self.last_inodes = Some((at, self.read(at, self.g.ibsize as usize).await?));
        }
        Ok(self.last_inodes.as_ref().map(|(_, block)| &**block).unwrap_or_default())
    }

    /// What phase 1 has seen of an inode, or what is there now; `None` if it is free.
    pub(crate) async fn brief(&mut self, ino: u32) -> Result<Option<Brief>, Error> {
        match self.briefs.get(ino as usize).copied().flatten() {
            Some(brief) => Ok(Some(brief)),
            None => Ok(self.dinode(ino).await?.as_ref().map(Brief::of)),
        }
    }

    pub(crate) fn set_brief(&mut self, ino: u32, brief: Option<Brief>) {
        if let Some(known) = self.briefs.get_mut(ino as usize) {
            *known = brief;
        }
    }

    /// An inode as it is now; `None` if it is free.
    pub(crate) async fn dinode(&mut self, ino: u32) -> Result<Option<Dinode>, Error> {
        if ino == IFILE.0 {
            return Ok(Some(self.ifile.dinode.clone()));
        }
        if let Some(dinode) = self.inodes.get(&ino) {
            return Ok(Some(dinode.clone()));
        }
        match self.ifile.entry(ino).daddr {
            at if at.is_hole() => Ok(None),
            at => self.inode_on_disk(at, ino).await,
        }
    }

    pub(crate) fn put_dinode(&mut self, ino: u32, dinode: Dinode) {
        if ino == IFILE.0 {
            self.ifile.dinode = dinode;
        } else {
            self.set_brief(ino, Some(Brief::of(&dinode)));
            self.inodes.insert(ino, dinode);
        }
    }

    /// A block of a file as it is now, `len` bytes from the address `to`.
    pub(crate) async fn content(&mut self, ino: u32, lbn: i64, to: FragNo, len: usize) -> Result<Vec<u8>, Error> {
        if let Some(block) = self.blocks.get(&(ino, lbn)) {
            let mut block = block.clone();
            block.resize(len, 0);
            return Ok(block);
        }
        let at = Daddr::from(to);
        if !self.g.is_data_range(at, self.g.units(len as u64)) {
            return Ok(vec![0; len]);
        }
        self.read(at, len).await
    }

    /// Frees an inode: its entry gets the next generation.
    pub(crate) fn free(&mut self, ino: u32) {
        self.set_brief(ino, None);
        self.inodes.remove(&ino);
        let kept: Vec<_> = self.blocks.range((ino, i64::MIN)..=(ino, i64::MAX)).map(|(key, _)| *key).collect();
        for key in kept {
            self.blocks.remove(&key);
        }
        if let Some(entry) = self.ifile.entry_mut(ino) {
            entry.daddr = Daddr::HOLE;
            entry.version = entry.version.checked_add(1).unwrap_or(1);
            entry.nextfree = NextFree::End;
        }
    }

    /// Whether an inode is in use.
    pub(crate) fn in_use(&self, ino: u32) -> bool {
        self.inodes.contains_key(&ino) || !self.ifile.entry(ino).daddr.is_hole()
    }

    /// Adds live bytes to the segment of an address.
    pub(crate) fn add_live(&mut self, at: Daddr, bytes: u64) {
        let segment = self.g.segment_of(at).map_or(usize::MAX, |n| n.0 as usize);
        if let Some(live) = self.live.get_mut(segment) {
            *live += bytes;
        }
    }
}

impl From<LfsFinding> for Finding {
    fn from(finding: LfsFinding) -> Finding {
        Finding::Log { finding }
    }
}
