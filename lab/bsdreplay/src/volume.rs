//! The volume as the replay sees and changes it: bytes, inodes, pointers, and the maps of its groups.

use crate::outcome::{Done, Outcome, Why, give_up};
use ordo_disk::{Disk, RamDisk, SECTOR};
use ordo_ondisk::cg::{self, Cg, CgMut, map};
use ordo_ondisk::superblock::search::{self, NotFound};
use ordo_ondisk::{ByteOff, CgLayout, Cgx, Dinode, FragNo, Geometry, Ino, Lbn, Root, Superblock};
use std::collections::{BTreeMap, BTreeSet};

/// What kind of bytes they are: written in this order (bsdreplay-finish-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Order {
    Groups,
    Contents,
    Inodes,
    Sums,
    Superblock,
}

/// A group that the replay has looked at.
pub(crate) struct Group {
    pub(crate) bytes: Vec<u8>,
    pub(crate) layout: CgLayout,
    pub(crate) changed: bool,
}

/// The volume.
pub(crate) struct Volume {
    /// A copy, with what was changed so far.
    ram: RamDisk,
    pub(crate) sb: Superblock,
    pub(crate) geo: Geometry,
    /// The same without check hashes: FreeBSD's replay verifies none.
    unhashed: Geometry,
    pub(crate) groups: BTreeMap<u32, Group>,
    /// Where sectors were changed: kind, first byte, length.
    pub(crate) changed: BTreeSet<(Order, u64, usize)>,
}

impl Volume {
    /// The volume, if it waits for a replay.
    pub(crate) fn open(disk: &RamDisk) -> Result<Volume, Outcome> {
        let (ram, size) = (disk.snapshot(), disk.info().size);
        let mut read = |at: ByteOff, into: &mut [u8]| {
            ram.peek(at.0, into);
            Ok(())
        };
        let sb = match search::find(&mut read, size) {
            Ok(found) => found.superblock,
            Err(NotFound::Damaged(damage)) if damage.field == "fs_ckhash" => {
                return Err(Outcome::Torn("the superblock".into()));
            }
            Err(error) => return Err(Outcome::GivesUp(Why::Other(error.to_string()))),
        };
        let (features, geo) = (sb.features(), sb.geometry());
        if !features.suj || features.needs_fsck || sb.is_clean() {
            return Err(Outcome::NotDue);
        }
        let mut unhashed = geo.clone();
        (unhashed.inode_hash, unhashed.cg_hash) = (false, false);
        let volume = Volume { ram, sb, geo, unhashed, groups: BTreeMap::new(), changed: BTreeSet::new() };
        match (0..volume.geo.ncg).map(Cgx).find(|c| !volume.is_whole(*c)) {
            Some(torn) => Err(Outcome::Torn(format!("group {}", torn.0))),
            None => Ok(volume),
        }
    }

    /// Whether a group was written wholly: its hash is right, or, without one, its counts are those of its maps.
    fn is_whole(&self, c: Cgx) -> bool {
        let Ok(bytes) = self.read(self.geo.byte(self.geo.cgtod(c)).0, self.geo.cgsize as usize) else { return false };
        if self.geo.cg_hash {
            return cg::is_sealed(&bytes, &self.geo);
        }
        let Ok(layout) = cg::check(&bytes, &self.geo, c) else { return false };
        Cg::new(&bytes, layout, self.geo.endian).is_some_and(|cg| cg.recount(cg.cs().ndir) == cg.stated())
    }

    pub(crate) fn read(&self, at: u64, len: usize) -> Done<Vec<u8>> {
        if at.checked_add(len as u64).is_none_or(|end| end > self.ram.info().size) {
            return give_up(format!("byte {at} is not on the disk"));
        }
        let mut bytes = vec![0; len];
        self.ram.peek(at, &mut bytes);
        Ok(bytes)
    }

    pub(crate) fn write(&mut self, at: u64, bytes: &[u8], order: Order) {
        self.ram.poke(at, bytes);
        let sector = SECTOR as u64;
        let (from, to) = (at / sector * sector, (at + bytes.len() as u64).next_multiple_of(sector));
        self.changed.insert((order, from, (to - from) as usize));
    }

    /// An inode, whatever its hash, and whether or not it was ever written.
    pub(crate) fn dinode(&self, ino: u32) -> Done<Dinode> {
        if !self.geo.is_valid_ino(Ino(ino)) {
            return give_up(format!("there is no inode {ino}"));
        }
        let bytes = self.read(Dinode::place(&self.geo, Ino(ino)).0, self.geo.dinode_size as usize)?;
        Dinode::decode(&bytes, &self.unhashed, Ino(ino)).map_err(|damage| Why::Other(damage.to_string()))
    }

    pub(crate) fn put_dinode(&mut self, ino: u32, dinode: &Dinode) -> Done<()> {
        let at = Dinode::place(&self.geo, Ino(ino)).0;
        let mut bytes = self.read(at, self.geo.dinode_size as usize)?;
        if dinode.encode(&mut bytes, &self.geo).is_none() {
            return give_up("an inode does not fit");
        }
        self.write(at, &bytes, Order::Inodes);
        Ok(())
    }

    /// Fragments of block `lbn` of a file of `size` bytes, as FreeBSD counts them: also behind its end.
    pub(crate) fn frags_by_size(&self, size: u64, lbn: u64) -> u32 {
        let bsize = u64::from(self.geo.bsize);
        if lbn >= 12 || lbn.checked_add(1).and_then(|n| n.checked_mul(bsize)).is_some_and(|end| size >= end) {
            return self.geo.frag;
        }
        self.geo.blkoff(size).div_ceil(self.geo.fsize)
    }

    /// The pointer of block `lbn` of an inode, 0 for none, and the fragments that it has by the size on
    /// the disk (bsdreplay-blocks-3).
    pub(crate) fn pointer(&self, dinode: &Dinode, lbn: Lbn) -> Done<(FragNo, u32)> {
        let geo = &self.geo;
        if let -2..=-1 = lbn.0 {
            let k = (-1 - lbn.0) as usize;
            if k as u64 * u64::from(geo.bsize) >= u64::from(dinode.extsize) {
                return Ok((FragNo::HOLE, 0));
            }
            let frag = dinode.extb.get(k).copied().unwrap_or_default();
            return Ok((frag, self.frags_by_size(dinode.extsize.into(), k as u64)));
        }
        if dinode.is_short_link(geo) {
            return Ok((FragNo::HOLE, 0));
        }
        let lowest = match (lbn.0 < 0, Geometry::indirect_level(lbn)) {
            (false, _) => lbn,
            (true, Some(level)) => Lbn(-lbn.0 - level as i64),
            (true, None) => return give_up(format!("no block of a file has the number {}", lbn.0)),
        };
        let Some(path) = geo.path(lowest) else {
            return give_up(format!("no pointer leads to block {}", lbn.0));
        };
        let mut frag = match path.root {
            Root::Direct(i) => {
                let frag = dinode.db.get(i).copied().unwrap_or_default();
                return Ok((frag, self.frags_by_size(dinode.size, i as u64)));
            }
            Root::Indirect(i) => dinode.ib.get(i).copied().unwrap_or_default(),
        };
        for (name, index) in path.indirects() {
            if name == lbn || frag.is_hole() {
                break;
            }
            frag = geo.pointer(&self.block(frag)?, index).unwrap_or_default();
        }
        Ok((frag, geo.frag))
    }

    /// The bytes of a whole block.
    pub(crate) fn block(&self, frag: FragNo) -> Done<Vec<u8>> {
        self.read(self.geo.byte(frag).0, self.geo.bsize as usize)
    }

    /// Each block of an inode: its number, its place, and its fragments by the size on the disk. An indirect block
    /// comes after what it leads to.
    pub(crate) fn blocks(&self, dinode: &Dinode) -> Done<Vec<(Lbn, FragNo, u32)>> {
        let mut all = vec![];
        for (k, frag) in dinode.extb.iter().enumerate().filter(|(_, frag)| !frag.is_hole()) {
            let frags = self.frags_by_size(dinode.extsize.into(), k as u64);
            all.push((Geometry::extattr_lbn(k), *frag, frags));
        }
        if dinode.is_device() || dinode.is_short_link(&self.geo) {
            return Ok(all);
        }
        for (i, frag) in dinode.db.iter().enumerate().filter(|(_, frag)| !frag.is_hole()) {
            all.push((Lbn(i as i64), *frag, self.frags_by_size(dinode.size, i as u64)));
        }
        for (level, frag) in dinode.ib.iter().enumerate().filter(|(_, frag)| !frag.is_hole()) {
            self.below(self.geo.indirect_root(level), level, *frag, &mut all)?;
        }
        Ok(all)
    }

    fn below(&self, name: Lbn, level: usize, frag: FragNo, all: &mut Vec<(Lbn, FragNo, u32)>) -> Done<()> {
        // Pointer blocks in a cycle would be followed for ever.
        if all.len() as u64 > self.geo.size {
            return give_up("a file has more blocks than the volume");
        }
        let bytes = self.block(frag)?;
        for index in 0..self.geo.nindir {
            let child = self.geo.pointer(&bytes, index).unwrap_or_default();
            if child.is_hole() {
                continue;
            }
            let lbn = self.geo.indirect_child(name, level, index);
            match level.checked_sub(1) {
                None => all.push((lbn, child, self.geo.frag)),
                Some(level) => self.below(lbn, level, child, all)?,
            }
        }
        all.push((name, frag, self.geo.frag));
        Ok(())
    }

    fn group(&mut self, c: Cgx) -> Done<&mut Group> {
        if c.0 >= self.geo.ncg {
            return give_up(format!("there is no group {}", c.0));
        }
        if !self.groups.contains_key(&c.0) {
            let bytes = self.read(self.geo.byte(self.geo.cgtod(c)).0, self.geo.cgsize as usize)?;
            let layout = cg::check_maps(&bytes, &self.unhashed, c).map_err(|damage| Why::Other(damage.to_string()))?;
            self.groups.insert(c.0, Group { bytes, layout, changed: false });
        }
        self.groups.get_mut(&c.0).ok_or_else(|| Why::Other("a group is not there".into()))
    }

    /// Frees fragments of one block, one bit each in `mask`. What is free stays free.
    pub(crate) fn free(&mut self, base: u64, mask: u8) -> Done<()> {
        if base >= self.geo.size {
            return give_up(format!("fragment {base} is not on the volume"));
        }
        let (c, first, endian) = (self.geo.dtog(FragNo(base)), self.geo.dtogd(FragNo(base)).0, self.geo.endian);
        let group = self.group(c)?;
        let Some(mut cg) = CgMut::new(&mut group.bytes, group.layout, endian) else { return Ok(()) };
        for bit in (0..8).filter(|n| mask >> n & 1 == 1).map(|n| first + n) {
            if !map::get(cg.view().free(), bit) {
                map::set(cg.free_mut(), bit);
                group.changed = true;
            }
        }
        Ok(())
    }

    /// Whether a whole block is free in the map. With the quirk the number of its fragment is taken for that of its
    /// block.
    pub(crate) fn is_free(&mut self, frag: u64, wrong_bit: bool) -> Done<bool> {
        let (c, first) = (self.geo.dtog(FragNo(frag)), self.geo.dtogd(FragNo(frag)).0);
        let (endian, per_block) = (self.geo.endian, self.geo.frag);
        let group = self.group(c)?;
        let Some(cg) = Cg::new(&group.bytes, group.layout, endian) else { return Ok(false) };
        let block = if wrong_bit { first } else { first / per_block };
        Ok(map::block(cg.free(), block, per_block) == map::whole(per_block))
    }

    /// Clears the bit of an inode, and counts that.
    pub(crate) fn free_inode(&mut self, ino: u32, directory: bool) -> Done<()> {
        let (c, bit, endian) = (self.geo.ino_to_cg(Ino(ino)), self.geo.ino_in_cg(Ino(ino)), self.geo.endian);
        let group = self.group(c)?;
        let Some(mut cg) = CgMut::new(&mut group.bytes, group.layout, endian) else { return Ok(()) };
        if !map::get(cg.view().iused(), bit) {
            return Ok(());
        }
        map::clear(cg.iused_mut(), bit);
        let mut cs = cg.view().cs();
        cs.nifree = cs.nifree.saturating_add(1);
        cs.ndir = cs.ndir.saturating_sub(directory.into());
        cg.set_cs(cs);
        if cg.view().irotor() > bit {
            cg.set_irotor(bit);
        }
        group.changed = true;
        Ok(())
    }
}
