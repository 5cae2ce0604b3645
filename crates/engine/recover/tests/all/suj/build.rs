//! The volume of the other tests with a journal, and ways to make crashed states.

use crate::common;
use crate::common::build::{FILE, Volume};
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::cg::map;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::suj::{self, BlockRecord, MoveRecord, Record, RefRecord, Segment, lay_out};
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{Cgx, Endian, Format, FragNo, Ino, Lbn, dirent};
use std::cell::Cell;
use std::ops::Deref;

/// The inode of the journal.
pub(crate) const JOURNAL: u32 = 14;
/// Free inodes.
pub(crate) const NEW: u32 = 15;
pub(crate) const NEWER: u32 = 16;
/// The time of the mount.
pub(crate) const MOUNTED: i64 = 1_000_000_500;
pub(crate) const FILE_MODE: u16 = mode::REG | 0o644;
pub(crate) const DIR_MODE: u16 = mode::DIR | 0o755;

const BYTES: u64 = 12 << 20;
const BLOCK: u64 = 8192;

pub(crate) struct Journaled {
    volume: Volume,
    /// Bytes of the volume at which the blocks of the journal are.
    blocks: Vec<u64>,
    /// Byte of the journal at which the next segment goes.
    next: Cell<u64>,
}

impl Deref for Journaled {
    type Target = Volume;

    fn deref(&self) -> &Volume {
        &self.volume
    }
}

impl Journaled {
    /// A volume with an empty journal of 4 MiB, mounted and not unmounted.
    pub(crate) fn new(format: Format, endian: Endian) -> Journaled {
        let volume = Volume::sized(format, endian, true, BYTES);
        let g = volume.g.clone();
        let count = suj::SUJ_MIN / BLOCK;
        let all = (g.cgdmin(Cgx(2)).0..g.size).step_by(8).map(FragNo);
        let free = all.filter(|&frag| g.is_data_range(frag, 8)).take(count as usize + 1);
        let mut free: Vec<FragNo> = free.collect();
        let indirect = free.remove(0);
        volume.inode(JOURNAL, |d| {
            (d.mode, d.nlink, d.size, d.flags) = (suj::MODE, 1, suj::SUJ_MIN, suj::NEW_FLAGS);
            (d.blocks, d.modrev, d.ib[0]) = ((count + 1) * BLOCK / 512, MOUNTED as u64, indirect);
            d.db.copy_from_slice(&free[..12]);
        });
        for (index, frag) in free[12..].iter().enumerate() {
            volume.set_pointer(indirect, index as u32, *frag);
        }
        let blocks = free.iter().map(|frag| g.byte(*frag).0).collect();
        let journaled = Journaled { volume, blocks, next: Cell::new(0) };
        journaled.name(2, suj::NAME, JOURNAL, 8);
        let report = common::run(&journaled.disk, Mode::Repair).expect("a volume");
        assert!(report.findings.iter().all(|found| (42..=46).contains(&found.finding.rule())));
        journaled.superblock(|sb| {
            sb.fields.flags |= flag::SUJ | flag::DOSOFTDEP;
            (sb.fields.clean, sb.fields.mtime) = (0, MOUNTED);
        });
        assert_eq!(common::run(&journaled.disk, Mode::Check).expect("a volume").count(), 0);
        journaled
    }

    pub(crate) fn copy(&self) -> Journaled {
        Journaled { volume: self.volume.copy(), blocks: self.blocks.clone(), next: self.next.clone() }
    }

    /// The same volume on another disk, without the list links that nameless inodes may still hold.
    pub(crate) fn without_list(&self, disk: &RamDisk) -> Vec<u8> {
        let volume = Volume { disk: disk.snapshot(), g: self.g.clone(), sb: self.sb.clone() };
        [FILE, NEW, NEWER].into_iter().for_each(|ino| volume.inode(ino, |d| d.freelink = 0));
        volume.disk.to_vec()
    }

    /// Writes a segment after the last one.
    pub(crate) fn segment(&self, seq: u64, oldest: u64, records: &[Record]) {
        let bytes = lay_out(Segment { seq, oldest, time: MOUNTED }, records, 512, self.g.endian).expect("records");
        self.write(self.next.get(), &bytes);
        self.next.set(self.next.get() + bytes.len() as u64);
    }

    /// Moves the next segment to this byte of the journal.
    pub(crate) fn seek(&self, at: u64) {
        self.next.set(at);
    }

    /// Writes into the journal.
    pub(crate) fn write(&self, at: u64, bytes: &[u8]) {
        for (n, sector) in bytes.chunks(512).enumerate() {
            let at = at + n as u64 * 512;
            self.disk.poke(self.blocks[(at / BLOCK) as usize] + at % BLOCK, sector);
        }
    }

    /// Block `n` of those at the end of the volume, which no file owns.
    pub(crate) fn block(&self, n: u64) -> FragNo {
        FragNo(self.g.size / 8 * 8 - 8 - 8 * n)
    }

    /// Marks fragments as in use, or free.
    pub(crate) fn use_frags(&self, frag: FragNo, count: u32, used: bool) {
        let (c, first) = (self.g.dtog(frag), self.g.dtogd(frag).0);
        self.maps(c.0, |cg| {
            map::fill(cg.free_mut(), first, count, !used);
            let ndir = cg.view().ndir();
            cg.rebuild_counts(ndir);
        });
    }

    /// Whether all of these fragments are in use, or none.
    pub(crate) fn frags_used(&self, frag: FragNo, count: u32) -> bool {
        let (c, first) = (self.g.dtog(frag), self.g.dtogd(frag).0);
        let mut free = vec![];
        self.maps(c.0, |cg| free = cg.view().free().to_vec());
        let used = map::all(&free, first, count, false);
        assert!(used || map::all(&free, first, count, true), "some of {count} from {}", frag.0);
        used
    }

    /// Marks an inode as in use, or free.
    pub(crate) fn use_inode(&self, ino: u32, used: bool, is_dir: bool) {
        let (c, bit) = (self.g.ino_to_cg(Ino(ino)), self.g.ino_in_cg(Ino(ino)));
        self.maps(c.0, |cg| {
            map::fill(cg.iused_mut(), bit, 1, used);
            let change = if used { 1 } else { -1 };
            let ndir = cg.view().ndir() + if is_dir { change } else { 0 };
            cg.rebuild_counts(ndir);
        });
    }

    /// A file of `frags` fragments at `at`, complete except for a name.
    pub(crate) fn new_file(&self, ino: u32, nlink: u16, at: FragNo, frags: u32) {
        self.use_inode(ino, true, false);
        self.use_frags(at, frags, true);
        self.inode(ino, |d| {
            (d.mode, d.nlink, d.size, d.db[0]) = (FILE_MODE, nlink, u64::from(frags) * 1024, at);
            d.blocks = u64::from(frags) * 2;
        });
    }

    /// An empty directory with its block at `at`, complete except for a name and the link to its parent.
    pub(crate) fn new_dir(&self, ino: u32, parent: u32, at: FragNo) {
        self.use_inode(ino, true, true);
        self.use_frags(at, 1, true);
        self.disk.poke(self.g.byte(at).0, &dirent::new_directory(self.g.dir_format(), Ino(ino), Ino(parent)));
        self.inode(ino, |d| (d.mode, d.nlink, d.size, d.db[0], d.blocks) = (DIR_MODE, 2, 512, at, 2));
    }

    fn edit(&self, dir: u32, change: impl FnOnce(&mut [u8])) {
        let at = self.byte(self.get(dir).db[0]).0;
        let mut block = vec![0; 512];
        self.disk.peek(at, &mut block);
        change(&mut block);
        self.disk.poke(at, &block);
    }

    /// Adds a name to a directory of one block; returns its byte.
    pub(crate) fn name(&self, dir: u32, name: &str, ino: u32, kind: u8) -> u64 {
        let (format, mut at) = (self.g.dir_format(), 0);
        self.edit(dir, |block| {
            let last = dirent::entries(block, format, Ino(dir), 0).last().expect("entries").expect("whole");
            let (offset, own) = (last.offset, dirent::min_reclen(last.name.len()));
            dirent::set_reclen(block, offset, format, own as u16).expect("room");
            at = offset + own;
            let rest = (512 - at) as u16;
            dirent::write(block, at, format, rest, Ino(ino), kind, name.as_bytes()).expect("room");
        });
        at as u64
    }

    /// The byte of a directory at which a name is.
    pub(crate) fn offset(&self, dir: u32, name: &str) -> u64 {
        self.entry(dir, name) - self.byte(self.get(dir).db[0]).0
    }

    /// Removes a name; returns where it was.
    pub(crate) fn unname(&self, dir: u32, name: &str) -> u64 {
        let (format, offset) = (self.g.dir_format(), self.offset(dir, name));
        self.edit(dir, |block| {
            let all = dirent::entries(block, format, Ino(dir), 0).map(|e| e.expect("whole").offset);
            let before = all.take_while(|at| (*at as u64) < offset).last();
            dirent::clear(block, offset as usize, before, format).expect("an entry");
        });
        offset
    }

    /// Whether a directory has a name.
    pub(crate) fn has(&self, dir: u32, name: &str) -> bool {
        self.names(dir).iter().any(|(known, _)| known == name)
    }

    /// The directory that `..` of a directory leads to.
    pub(crate) fn dotdot(&self, dir: u32) -> u32 {
        self.names(dir)[1].1
    }
}

pub(crate) fn add(ino: u32, parent: u32, diroff: u64, nlink: u16, mode: u16) -> Record {
    Record::AddRef(RefRecord { ino: Ino(ino), parent: Ino(parent), nlink, mode, diroff })
}

pub(crate) fn rem(ino: u32, parent: u32, diroff: u64, nlink: u16, mode: u16) -> Record {
    Record::RemRef(RefRecord { ino: Ino(ino), parent: Ino(parent), nlink, mode, diroff })
}

pub(crate) fn moved(ino: u32, parent: u32, oldoff: u64, newoff: u64) -> Record {
    Record::MvRef(MoveRecord { ino: Ino(ino), parent: Ino(parent), oldoff, newoff })
}

pub(crate) fn new(ino: u32, lbn: i64, blkno: FragNo, frags: u16, oldfrags: u16) -> Record {
    Record::NewBlk(BlockRecord { ino: Ino(ino), blkno, lbn: Lbn(lbn), frags, oldfrags })
}

pub(crate) fn free(ino: u32, lbn: i64, blkno: FragNo, frags: u16) -> Record {
    Record::FreeBlk(BlockRecord { ino: Ino(ino), blkno, lbn: Lbn(lbn), frags, oldfrags: 0 })
}
