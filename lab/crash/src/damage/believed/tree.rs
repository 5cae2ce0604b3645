//! Finds the structures of a UFS volume.

use super::super::volumes::broken;
use super::structure::Structure;
use super::sums::{Fix, How, bytes};
use crate::Error;
use ordo_disk::{RamDisk, SECTOR};
use ordo_ondisk::{ByteOff, Cgx, Dinode, FragNo, Geometry, Ino, NIADDR, Superblock, suj};
use ordo_rt::Rt;
use std::rc::Rc;

/// Bytes of a superblock that have a meaning, and the offset of its hash.
const SUPERBLOCK: u64 = 1376;
const SUPERBLOCK_HASH: u64 = 1304;
/// Offset of a group's hash.
const GROUP_HASH: u64 = 132;
/// Offset of an inode's hash.
const INODE_HASH: u64 = 244;

/// The structures, and the bytes of a fragment.
pub(super) fn structures(ram: &RamDisk) -> Result<(Vec<Structure>, u64), Error> {
    let located = ordofs::locate_on(&Rt::virtual_time(0), Rc::new(ram.clone())).map_err(broken)?;
    let at = located.found.ufs().map_err(broken)?.superblock.at;
    let sb = Superblock::decode(&bytes(ram, &(at.0..at.0 + 8192)), at).map_err(broken)?;
    let mut finder = Finder { ram, g: sb.geometry(), found: Vec::new() };
    finder.superblocks(at);
    finder.inodes();
    finder.journal_of_soft_updates(sb.fields.mtime);
    Ok((finder.found, sb.geometry().fsize.into()))
}

struct Finder<'a> {
    ram: &'a RamDisk,
    g: Geometry,
    found: Vec<Structure>,
}

impl Finder<'_> {
    /// A structure of `len` bytes, with its check hash, of `covered` bytes, if it has one.
    fn hashed(&self, class: &'static str, at: u64, (len, covered): (u64, u64), hash: u64) -> Structure {
        let fix = Fix::sum(How::Hash, at..at + covered, at + hash, self.g.endian);
        let fixes = (hash < len && fix.holds(self.ram)).then_some(fix);
        Structure::new(class, at, len, self.g.endian).fixed(fixes)
    }

    fn superblocks(&mut self, at: ByteOff) {
        let g = self.g.clone();
        // The hash covers the whole fragments that the superblock fills.
        let superblock = (SUPERBLOCK, u64::from(g.sbsize));
        self.found.push(self.hashed("superblock", at.0, superblock, SUPERBLOCK_HASH).guarding());
        for group in (0..g.ncg).map(Cgx) {
            let copy = g.byte(g.cgsblock(group)).0;
            if copy != at.0 {
                self.found.push(self.hashed("superblock copy", copy, superblock, SUPERBLOCK_HASH).guarding());
            }
            let header = g.byte(g.cgtod(group)).0;
            self.found.push(self.hashed("group", header, (g.cgsize.into(), g.cgsize.into()), GROUP_HASH));
        }
        self.found.push(Structure::new("summary", g.byte(g.csaddr).0, g.cssize.into(), g.endian));
    }

    fn inodes(&mut self) {
        let g = self.g.clone();
        for ino in (2..g.inodes()).map(|ino| Ino(ino as u32)) {
            let (at, len) = (Dinode::place(&g, ino).0, u64::from(g.dinode_size));
            let Ok(inode) = Dinode::decode(&bytes(self.ram, &(at..at + len)), &g, ino) else { continue };
            if inode.mode == 0 {
                continue;
            }
            self.found.push(self.hashed("inode", at, (len, len), INODE_HASH));
            if inode.has_blocks(&g) {
                self.blocks(&inode);
            }
        }
    }

    fn blocks(&mut self, inode: &Dinode) {
        let g = self.g.clone();
        if inode.is_dir() {
            for (lbn, frag) in (0..).zip(inode.db).filter(|(_, frag)| !frag.is_hole()) {
                let len = g.blksize(inode.size, lbn);
                self.found.push(Structure::new("directory", g.byte(frag).0, len.into(), g.endian));
            }
        }
        for level in 0..NIADDR {
            self.indirect(inode.ib[level], level);
        }
        for frag in inode.extb.into_iter().filter(|frag| !frag.is_hole()).take(1) {
            let len = inode.extsize.min(g.bsize);
            self.found.push(Structure::new("attributes", g.byte(frag).0, len.into(), g.endian));
        }
    }

    fn indirect(&mut self, at: FragNo, level: usize) {
        let g = self.g.clone();
        if at.is_hole() {
            return;
        }
        let place = g.byte(at).0;
        self.found.push(Structure::new("indirect block", place, g.bsize.into(), g.endian));
        if level > 0 {
            let block = bytes(self.ram, &(place..place + u64::from(g.bsize)));
            for below in (0..g.nindir).filter_map(|i| g.pointer(&block, i)) {
                self.indirect(below, level - 1);
            }
        }
    }

    /// Its segments have no sums; each sector says which session it is of.
    fn journal_of_soft_updates(&mut self, session: i64) {
        let whole = self.ram.to_vec();
        for (at, sector) in (0..).step_by(SECTOR).zip(whole.chunks(SECTOR)) {
            if suj::may_hold_segments(sector, session, self.g.endian) && sector[..8] != [0; 8] {
                self.found.push(Structure::new("journal segment", at, SECTOR as u64, self.g.endian));
            }
        }
    }
}
