//! A small log-structured volume, and partial segments behind its checkpoint.

use super::run;
use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::lfs::newfs::{NewfsOptions, initial};
use ordo_ondisk::lfs::summary::{PsegBuilder, Stamp, SumFlags};
use ordo_ondisk::lfs::{
    Daddr, Geometry, IFILE, IfileEntry, IfilePlace, SegNo, SegUse, Serial, Superblock, Version, inode_block,
};
use ordo_ondisk::{Dinode, Encoding, Endian, Ino, Lbn, Timestamp, dirent};

pub(super) const SIZE: u64 = 24 << 20;
pub(super) const NOW: Timestamp = Timestamp { sec: 2_000, nsec: 0 };

/// What goes into a partial segment.
pub(super) enum Put {
    /// A file: its number, generation, contents and link count; the blocks named are written, and the inode if asked.
    File { ino: u32, version: u32, kind: u16, bytes: Vec<u8>, nlink: u16, inode: bool },
}

pub(super) fn file(ino: u32, bytes: &[u8]) -> Put {
    Put::File { ino, version: 1, kind: mode::REG | 0o644, bytes: bytes.to_vec(), nlink: 1, inode: true }
}

pub(super) fn directory(ino: u32, parent: u32, names: &[(u32, u16, &str)]) -> Put {
    let format = dirent::DirFormat { endian: Endian::Little, old: false, block: 512, wide: false, hidden: Ino::NONE };
    let mut bytes = dirent::new_directory(format, Ino(ino), Ino(parent));
    let mut last = (12, 500);
    for (number, kind, name) in names {
        let own = if last.0 == 12 { 12 } else { dirent::min_reclen(dirent_name(&bytes, last.0)) };
        dirent::set_reclen(&mut bytes, last.0, format, own as u16).expect("an entry");
        let at = last.0 + own;
        let rest = (last.1 - own) as u16;
        dirent::write(&mut bytes, at, format, rest, Ino(*number), (kind >> 12) as u8, name.as_bytes()).expect("room");
        last = (at, rest.into());
    }
    let subdirectories = names.iter().filter(|name| name.1 == mode::DIR).count() as u16;
    Put::File { ino, version: 1, kind: mode::DIR | 0o755, bytes, nlink: 2 + subdirectories, inode: true }
}

fn dirent_name(bytes: &[u8], at: usize) -> usize {
    bytes[at + 7].into()
}

pub(super) struct Built {
    pub(super) bytes: Vec<u8>,
    pub(super) sb: Superblock,
    pub(super) g: Geometry,
    at: Daddr,
    serial: u64,
}

impl Built {
    /// A new volume, not marked clean.
    pub(super) fn new() -> Built {
        let of = NewfsOptions { ident: 77, now: 1_000, segment: Some(1 << 17), ..NewfsOptions::new(Version::V2, SIZE) };
        let made = initial(&of).expect("a volume");
        let mut bytes = vec![0; SIZE as usize];
        for (at, part) in made.psegs.iter().chain(&made.superblocks) {
            bytes[at.0 as usize..at.0 as usize + part.len()].copy_from_slice(part);
        }
        let (at, serial) = (made.superblock.fields.offset, made.superblock.fields.serial.0);
        let mut built = Built { bytes, g: made.superblock.geometry(), sb: made.superblock, at, serial };
        built.superblocks(|sb| sb.set_clean(false));
        built
    }

    /// A clean volume with a few files: `a` (5 bytes), `big` (30 blocks), `dir/b`.
    pub(super) fn filled() -> Built {
        let mut built = Built::new();
        let (dir, reg) = (mode::DIR, mode::REG);
        built.append(
            SumFlags::DIROP,
            true,
            &[
                directory(2, 2, &[(3, reg, "a"), (4, dir, "dir"), (6, reg, "big")]),
                file(3, b"hello"),
                directory(4, 2, &[(5, reg, "b")]),
                file(5, &[7; 700]),
            ],
        );
        built.append(SumFlags::default(), true, &[file(6, &[9; 30 * 1024])]);
        let disk = built.disk();
        let report = run(&disk, Mode::Preen);
        assert_eq!(report.exit_code(), 0, "{}", common::told(&report));
        assert_eq!(run(&disk, Mode::Check).exit_code(), 0, "{}", common::told(&run(&disk, Mode::Check)));
        Built::of(&disk)
    }

    pub(super) fn of(disk: &RamDisk) -> Built {
        let bytes = disk.to_vec();
        let sb = Superblock::decode(&bytes[8192..]).expect("a superblock");
        let (at, serial) = (sb.fields.offset, sb.fields.serial.0);
        Built { bytes, g: sb.geometry(), sb, at, serial }
    }

    pub(super) fn disk(&self) -> RamDisk {
        RamDisk::from_bytes(&self.bytes)
    }

    /// Changes both superblocks.
    pub(super) fn superblocks(&mut self, change: impl FnOnce(&mut Superblock)) {
        change(&mut self.sb);
        for copy in 0..2 {
            self.superblock(copy, |_| {});
        }
    }

    /// Changes one superblock; the other keeps what it had.
    pub(super) fn superblock(&mut self, copy: usize, change: impl FnOnce(&mut Superblock)) {
        let mut sb = self.sb.clone();
        change(&mut sb);
        let at = self.g.byte(self.g.sboffs[copy]).0 as usize;
        self.bytes[at..at + 8192].copy_from_slice(&sb.encode());
    }

    /// The next partial segment's number is this much higher.
    pub(super) fn skip_numbers(&mut self, by: u64) {
        self.serial += by;
    }

    pub(super) fn place(&self, at: Daddr) -> usize {
        self.g.byte(at).0 as usize
    }

    /// Appends a partial segment; returns where its summary is.
    pub(super) fn append(&mut self, flags: SumFlags, sealed: bool, puts: &[Put]) -> usize {
        let g = self.g;
        let mut pseg = PsegBuilder::new(&g, self.at).expect("room");
        let mut contents: Vec<(Daddr, Vec<u8>)> = vec![];
        for Put::File { ino, version, kind, bytes, nlink, inode } in puts {
            let now = NOW;
            let mut dinode = Dinode { mode: *kind, nlink: *nlink, gen_: *version, mtime: now, ..Dinode::default() };
            dinode.size = bytes.len() as u64;
            let mut indirect = vec![0; 1024];
            let mut units = 0;
            for (lbn, block) in (0..).map(Lbn).zip(bytes.chunks(g.bsize as usize)) {
                let len = g.block_bytes(dinode.size, lbn);
                let at = pseg.block(Ino(*ino), *version, lbn, len).expect("room in the segment");
                units += g.units(len.into());
                match dinode.db.get_mut(lbn.0 as usize) {
                    Some(pointer) => *pointer = at.pointer(),
                    None => {
                        Encoding::from(&g).put_pointer(&mut indirect, lbn.0 as u32 - 12, at.pointer()).expect("room")
                    }
                }
                contents.push((at, block.to_vec()));
            }
            if bytes.len() > 12 * g.bsize as usize {
                let at = pseg.block(Ino(*ino), *version, Lbn(-12), g.bsize).expect("room in the segment");
                dinode.ib[0] = at.pointer();
                units += g.units(g.bsize.into());
                contents.push((at, indirect));
            }
            dinode.blocks = g.bytes(units) / 512;
            if *inode {
                let slot = pseg.inode().expect("room in the segment");
                if slot.fresh {
                    contents.push((slot.at, vec![0; g.ibsize as usize]));
                }
                let block = contents.iter_mut().find(|(at, _)| *at == slot.at).expect("its block");
                inode_block::put(&mut block.1, slot.slot, &g, Ino(*ino), &dinode).expect("a slot");
            }
        }
        let mut bytes = vec![0; pseg.bytes()];
        for (at, content) in contents {
            let from = pseg.offset_of(at);
            bytes[from..from + content.len()].copy_from_slice(&content);
        }
        self.serial += 1;
        let n = pseg.segment();
        let next = g.segment_start(SegNo(n.0 + 1));
        let stamp = Stamp { flags, serial: Serial(self.serial), create: 2_000, next, reclino: 0 };
        let done = if sealed { pseg.seal_with_crc(&stamp, &mut bytes) } else { pseg.seal(&stamp, &mut bytes) };
        done.expect("all bytes are there");
        let start = self.place(self.at);
        self.bytes[start..start + bytes.len()].copy_from_slice(&bytes);
        self.at = g.next_pseg(n, pseg.end()).unwrap_or(next);
        start
    }

    /// The ifile's inode, and its place.
    pub(super) fn inode(&self, ino: u32) -> (usize, Dinode) {
        let at = if ino == IFILE.0 { self.sb.fields.idaddr } else { self.entry(ino).1.daddr };
        let place = self.place(at);
        let block = &self.bytes[place..place + self.g.ibsize as usize];
        let slot = inode_block::find(block, &self.g, Ino(ino)).expect("the inode");
        (place + inode_block::slot_at(&self.g, slot), inode_block::get(block, slot, &self.g).expect("an inode"))
    }

    /// Changes an inode in place.
    pub(super) fn change_inode(&mut self, ino: u32, change: impl FnOnce(&mut Dinode)) {
        let (place, mut dinode) = self.inode(ino);
        change(&mut dinode);
        let g = self.g;
        inode_block::put(&mut self.bytes[place..], 0, &g, Ino(ino), &dinode).expect("a slot");
    }

    /// Where byte `at` of the ifile's block `lbn` is.
    pub(super) fn ifile(&self, IfilePlace { lbn, at }: IfilePlace) -> usize {
        let (_, dinode) = self.inode(IFILE.0);
        let to = match dinode.db.get(lbn.0 as usize) {
            Some(to) => *to,
            None => {
                let indirect = self.place(dinode.ib[0].into());
                Encoding::from(&self.g).pointer(&self.bytes[indirect..], lbn.0 as u32 - 12).expect("a pointer")
            }
        };
        self.place(to.into()) + at
    }

    pub(super) fn entry(&self, ino: u32) -> (usize, IfileEntry) {
        let place = self.ifile(self.g.entry_place(Ino(ino)));
        let entry = IfileEntry::decode(&self.bytes[place..], 0, Ino(ino), self.g.version, self.g.endian);
        (place, entry.expect("an entry"))
    }

    pub(super) fn change_entry(&mut self, ino: u32, change: impl FnOnce(&mut IfileEntry)) {
        let (place, mut entry) = self.entry(ino);
        change(&mut entry);
        entry.encode(&mut self.bytes[place..], 0, self.g.version, self.g.endian).expect("room");
    }

    pub(super) fn change_usage(&mut self, n: u32, change: impl FnOnce(&mut SegUse)) {
        let place = self.ifile(self.g.seguse_place(SegNo(n)));
        let (version, e) = (self.g.version, self.g.endian);
        let mut usage = SegUse::decode(&self.bytes[place..], 0, SegNo(n), version, e).expect("an entry");
        change(&mut usage);
        usage.encode(&mut self.bytes[place..], 0, version, e).expect("room");
    }

    /// The segment of an address.
    pub(super) fn segment(&self, at: Daddr) -> u32 {
        self.g.segment_of(at).expect("in a segment").0
    }
}
