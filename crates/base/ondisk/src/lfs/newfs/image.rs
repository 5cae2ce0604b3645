//! The first partial segments of a volume and the copies of its superblock.
//!
//! The log gets its addresses first, then the contents are made: they hold addresses, and counts of what lies in each
//! segment. Nothing that is counted depends on the contents, so once is enough.

use super::log::Log;
use super::{NewfsError, NewfsOptions};
use crate::dinode::{flags, mode};
use crate::lfs::ifile::SegFlags;
use crate::lfs::summary::{PsegBuilder, Stamp, SumFlags};
use crate::lfs::{
    CleanerInfo, DIRBLOCK, Daddr, Geometry, IFILE, IfileEntry, IfilePlace, LOST_FOUND, NextFree, SegNo, SegUse, Serial,
    Superblock, Version, inode_block,
};
use crate::num::{index, len64, low32, roundup};
use crate::{ByteOff, Dinode, Encoding, Ino, Lbn, Timestamp};
use std::collections::BTreeMap;

/// What must be written for a new volume.
#[derive(Debug, Clone)]
pub struct Initial {
    /// The superblock of the checkpoint.
    pub superblock: Superblock,
    /// The partial segments: places and bytes. They must be durable before a superblock is written.
    pub psegs: Vec<(ByteOff, Vec<u8>)>,
    /// The copies of the superblock, 8192 bytes each.
    pub superblocks: Vec<(ByteOff, Vec<u8>)>,
}

/// The bytes of a new volume, as newfs_lfs leaves it: the ifile, the root directory and, in version 1, `lost+found`.
///
/// # Errors
/// The option that makes the volume impossible.
pub fn initial(of: &NewfsOptions) -> Result<Initial, NewfsError> {
    let mut sb = of.superblock()?;
    let g = sb.geometry();
    let plan = Contents::plan(&g)?;
    let usage = plan.log.usage(of.now);
    let contents = plan.fill(of, &mut sb, &usage);
    let mut psegs = Vec::new();
    for (serial, pseg) in (1..).map(Serial).zip(&plan.log.done) {
        // Where the log stopped, the superblock says which segment follows; before, the log went to the next one.
        let current = g.segment_start(pseg.segment()) == sb.fields.curseg;
        let next = if current { sb.fields.nextseg } else { g.segment_start(g.after(pseg.segment(), 0)) };
        let stamp = Stamp { flags: SumFlags::RFW, serial, create: of.now, next, reclino: 0 };
        psegs.push((g.byte(pseg.at()), sealed(pseg, &stamp, &contents)));
    }
    Ok(Initial { psegs, superblocks: copies(&sb), superblock: sb })
}

/// The bytes of a partial segment.
fn sealed(pseg: &PsegBuilder, stamp: &Stamp, contents: &BTreeMap<Daddr, Vec<u8>>) -> Vec<u8> {
    let mut bytes = vec![0; pseg.bytes()];
    for item in pseg.items() {
        let place = bytes.get_mut(pseg.offset_of(item.at())..).unwrap_or_default();
        let content = contents.get(&item.at()).map(Vec::as_slice).unwrap_or_default();
        place.iter_mut().zip(content).for_each(|(to, from)| *to = *from);
    }
    // Cannot fail: all bytes are there.
    let _ = pseg.seal(stamp, &mut bytes);
    bytes
}

/// All copies of a superblock; from the third on they have no time, which says that they do not follow checkpoints.
fn copies(sb: &Superblock) -> Vec<(ByteOff, Vec<u8>)> {
    let g = sb.geometry();
    let mut plain = sb.clone();
    plain.fields.tstamp = 0;
    let there = g.sboffs.iter().enumerate().filter(|(_, at)| !at.is_hole());
    there.map(|(i, at)| (g.byte(*at), if i < 2 { sb.encode() } else { plain.encode() })).collect()
}

/// A directory: its inode, its parent, and its entries.
struct Directory {
    ino: Ino,
    nlink: u16,
    at: Daddr,
    names: Vec<(Ino, u16, &'static str)>,
}

fn directories(version: Version) -> Vec<Directory> {
    let dots = |ino| vec![(ino, mode::DIR, "."), (Ino::ROOT, mode::DIR, "..")];
    let at = Daddr::HOLE;
    let mut root = Directory { ino: Ino::ROOT, nlink: 2, at, names: dots(Ino::ROOT) };
    if version != Version::V1 {
        return vec![root];
    }
    root.nlink = 3;
    root.names.extend([(IFILE, mode::REG, "ifile"), (LOST_FOUND, mode::DIR, "lost+found")]);
    vec![root, Directory { ino: LOST_FOUND, nlink: 2, at, names: dots(LOST_FOUND) }]
}

/// Everything in the log, with its address.
struct Contents<'a> {
    log: Log<'a>,
    directories: Vec<Directory>,
    /// Inode block and slot of each inode.
    inodes: Vec<(Ino, Daddr, u32)>,
    /// The ifile's blocks, direct and indirect.
    ifile: BTreeMap<Lbn, Daddr>,
    /// Data blocks of the ifile.
    blocks: u64,
}

impl<'a> Contents<'a> {
    fn plan(g: &'a Geometry) -> Result<Contents<'a>, NewfsError> {
        let mut log = Log::new(g)?;
        let (mut directories, mut inodes, mut ifile) = (directories(g.version), Vec::new(), BTreeMap::new());
        let frag = low32(roundup(DIRBLOCK.into(), g.fsize.into()));
        for directory in &mut directories {
            directory.at = log.add(|pseg| pseg.block(directory.ino, 1, Lbn(0), frag))?;
        }
        for directory in &directories {
            let slot = log.add(PsegBuilder::inode)?;
            inodes.push((directory.ino, slot.at, slot.slot));
        }
        let blocks = g.inode_map_start().saturating_add(1);
        let data = (0..i64::try_from(blocks).unwrap_or(0)).map(Lbn);
        for lbn in data.clone().chain(indirects(g, data)) {
            ifile.insert(lbn, log.add(|pseg| pseg.block(IFILE, 1, lbn, g.bsize))?);
        }
        let slot = log.add(PsegBuilder::inode)?;
        inodes.push((IFILE, slot.at, slot.slot));
        log.finish();
        Ok(Contents { log, directories, inodes, ifile, blocks })
    }

    /// The bytes at each address; completes the superblock.
    fn fill(&self, of: &NewfsOptions, sb: &mut Superblock, usage: &[SegUse]) -> BTreeMap<Daddr, Vec<u8>> {
        let g = self.log.g;
        self.checkpoint(sb, usage);
        let mut all = BTreeMap::new();
        for directory in &self.directories {
            all.insert(directory.at, dirblock(g, &directory.names));
        }
        for at in self.ifile.values() {
            all.insert(*at, vec![0; index(g.bsize)]);
        }
        self.fill_indirects(&mut all);
        self.fill_ifile(sb, usage, &mut all);
        for (ino, at, slot) in &self.inodes {
            let block = all.entry(*at).or_insert_with(|| vec![0; index(g.ibsize)]);
            // Cannot fail: the slot is in the block.
            let _ = inode_block::put(block, *slot, g, *ino, &self.inode(*ino, of.now));
        }
        all
    }

    /// The pointers of the ifile's indirect blocks.
    fn fill_indirects(&self, all: &mut BTreeMap<Daddr, Vec<u8>>) {
        let g = self.log.g;
        for (lbn, at) in &self.ifile {
            let Some((parent, i)) = g.tree().parent(*lbn) else { continue };
            let Some(block) = self.ifile.get(&parent).and_then(|parent| all.get_mut(parent)) else { continue };
            // Cannot fail: the index is in the block, the address in the volume.
            let _ = Encoding::from(g).put_pointer(block, i, at.pointer());
        }
    }

    /// Counts and places, which are the same in superblock and ifile.
    fn checkpoint(&self, sb: &mut Superblock, usage: &[SegUse]) {
        let g = self.log.g;
        let (offset, current) = self.log.end();
        let totals = g.totals(usage.iter().copied(), offset);
        let next = (0..g.nseg).map(|i| g.after(current, g.interleave.wrapping_add(i)));
        let dirty = |n: &SegNo| usage.get(index(n.0)).is_some_and(|usage| usage.flags.has(SegFlags::DIRTY));
        let f = &mut sb.fields;
        (f.offset, f.lastpseg, f.curseg) = (offset, offset, g.segment_start(current));
        f.nextseg = next.into_iter().find(|n| !dirty(n)).map_or(f.nextseg, |n| g.segment_start(n));
        f.idaddr = self.place(IFILE).unwrap_or_default();
        f.freehd = self.first_free();
        (f.avail, f.bfree, f.nclean) = (totals.avail, totals.middle_bfree(), totals.clean);
        let v1 = g.version == Version::V1;
        f.dmeta = i32::try_from(totals.dmeta).unwrap_or(i32::MAX);
        f.serial = if v1 { Serial(0) } else { Serial(len64(self.log.done.len())) };
    }

    fn place(&self, ino: Ino) -> Option<Daddr> {
        self.inodes.iter().find(|inode| inode.0 == ino).map(|inode| inode.1)
    }

    fn first_free(&self) -> Ino {
        let used = self.inodes.iter().map(|inode| inode.0.0).max().unwrap_or(0);
        Ino(used.saturating_add(1))
    }

    fn fill_ifile(&self, sb: &Superblock, usage: &[SegUse], all: &mut BTreeMap<Daddr, Vec<u8>>) {
        let (g, f) = (self.log.g, &sb.fields);
        let last = Ino(g.ifpb.saturating_sub(1));
        let info = CleanerInfo {
            clean: f.nclean,
            dirty: g.nseg.saturating_sub(f.nclean),
            bfree: f.bfree,
            avail: f.avail,
            free_head: f.freehd,
            free_tail: last,
            flags: 0,
        };
        let (version, e) = (g.version, g.endian);
        // None of this can fail: the places are in blocks of the ifile.
        let _ = self.ifile_block(Lbn(0), all).and_then(|block| info.encode(block, version, e));
        for (n, usage) in (0..g.nseg).map(SegNo).zip(usage) {
            let IfilePlace { lbn, at } = g.seguse_place(n);
            let _ = self.ifile_block(lbn, all).and_then(|block| usage.encode(block, at, version, e));
        }
        for ino in (1..=last.0).map(Ino) {
            let IfilePlace { lbn, at } = g.entry_place(ino);
            let entry = self.entry(ino, last);
            let _ = self.ifile_block(lbn, all).and_then(|block| entry.encode(block, at, version, e));
        }
    }

    fn ifile_block<'b>(&self, lbn: Lbn, all: &'b mut BTreeMap<Daddr, Vec<u8>>) -> Option<&'b mut Vec<u8>> {
        self.ifile.get(&lbn).and_then(|at| all.get_mut(at))
    }

    /// The entry of the inode map. That of the ifile has no address: the superblock has it.
    fn entry(&self, ino: Ino, last: Ino) -> IfileEntry {
        let next = if ino < last { NextFree::Ino(Ino(ino.0.saturating_add(1))) } else { NextFree::End };
        let free = ino >= self.first_free();
        let entry = IfileEntry::unused(if free { next } else { NextFree::End });
        match self.place(ino) {
            Some(daddr) if ino != IFILE => IfileEntry { daddr, ..entry },
            _ => entry,
        }
    }

    fn inode(&self, ino: Ino, now: u64) -> Dinode {
        let now = Timestamp { sec: i64::try_from(now).unwrap_or(i64::MAX), nsec: 0 };
        let common = Dinode { gen_: 1, atime: now, mtime: now, ctime: now, ..Dinode::default() };
        match self.directories.iter().find(|directory| directory.ino == ino) {
            Some(directory) => self.directory(directory, common),
            None => self.ifile_inode(common),
        }
    }

    fn directory(&self, of: &Directory, common: Dinode) -> Dinode {
        let bytes = roundup(DIRBLOCK.into(), self.log.g.fsize.into());
        let mut inode = Dinode { mode: mode::DIR | 0o755, nlink: of.nlink, size: DIRBLOCK.into(), ..common };
        inode.blocks = Dinode::sectors(bytes);
        let [first, ..] = &mut inode.db;
        *first = of.at.pointer();
        inode
    }

    fn ifile_inode(&self, common: Dinode) -> Dinode {
        let g = self.log.g;
        let bytes = |blocks: u64| blocks.saturating_mul(g.bsize.into());
        let mut inode = Dinode { mode: mode::REG | 0o600, nlink: 1, flags: flags::SF_IMMUTABLE, ..common };
        inode.size = bytes(self.blocks);
        inode.blocks = Dinode::sectors(bytes(len64(self.ifile.len())));
        for (lbn, pointer) in (0..).map(Lbn).zip(&mut inode.db) {
            *pointer = self.ifile.get(&lbn).copied().unwrap_or_default().pointer();
        }
        for (i, pointer) in inode.ib.iter_mut().enumerate() {
            *pointer = self.ifile.get(&g.tree().indirect_root(i)).copied().unwrap_or_default().pointer();
        }
        inode
    }
}

/// The indirect blocks above these, children before parents.
fn indirects(g: &Geometry, data: impl Iterator<Item = Lbn>) -> Vec<Lbn> {
    let mut levels: [Vec<Lbn>; 3] = Default::default();
    for lbn in data {
        let Some(path) = g.tree().path(lbn) else { continue };
        for (level, (name, _)) in levels.iter_mut().zip(path.indirects().rev()) {
            if level.last() != Some(&name) {
                level.push(name);
            }
        }
    }
    levels.concat()
}

/// A directory block. With 64-bit inode numbers the header has 12 bytes, else 8.
fn dirblock(g: &Geometry, names: &[(Ino, u16, &'static str)]) -> Vec<u8> {
    let mut block = vec![0; index(DIRBLOCK)];
    let header = if g.version.is_wide() { 12 } else { 8 };
    let mut at = 0usize;
    for (i, (ino, kind, name)) in names.iter().enumerate() {
        let own = name.len().saturating_add(header).saturating_add(4) & !3;
        let last = i == names.len().saturating_sub(1);
        let reclen = if last { block.len().saturating_sub(at) } else { own };
        // Cannot fail: a few short names fit into a directory block.
        let _ = put_name(&mut block, at, g, *ino, reclen, (*kind, *name));
        at = at.saturating_add(reclen);
    }
    block
}

fn put_name(block: &mut [u8], at: usize, g: &Geometry, ino: Ino, reclen: usize, of: (u16, &str)) -> Option<()> {
    let (kind, name) = of;
    let entry = block.get_mut(at..)?;
    let rest = if g.version.is_wide() {
        g.endian.put_u64(entry, 0, ino.0.into())?;
        entry.get_mut(8..)?
    } else {
        g.endian.put_u32(entry, 0, ino.0)?;
        entry.get_mut(4..)?
    };
    g.endian.put_u16(rest, 0, u16::try_from(reclen).ok()?)?;
    g.endian.put_u8(rest, 2, u8::try_from(kind >> 12).ok()?)?;
    g.endian.put_u8(rest, 3, u8::try_from(name.len()).ok()?)?;
    rest.get_mut(4..)?.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    Some(())
}
