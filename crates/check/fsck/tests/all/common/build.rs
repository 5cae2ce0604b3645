//! A small volume with every kind of file, in any format and byte order, and ways to damage it.
//!
//! Inodes and directories are written by hand; the bitmaps of the groups are filled by a check with `-p`, which tests
//! on real volumes verify (`images.rs`).

use ordo_disk::RamDisk;
use ordo_fsck::Mode;
use ordo_ondisk::cg::{self, CgMut};
use ordo_ondisk::dinode::mode;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::superblock::search::Recovery;
use ordo_ondisk::{ByteOff, CgLayout, Cgx, Dinode, Endian, Format, FragNo, Geometry, Ino, Superblock, dirent};

pub(crate) const DIR: u32 = 3;
pub(crate) const FILE: u32 = 4;
pub(crate) const LINK: u32 = 5;
pub(crate) const BIG: u32 = 6;
pub(crate) const DEVICE: u32 = 7;
pub(crate) const LONG_LINK: u32 = 8;
pub(crate) const ATTRS: u32 = 9;
pub(crate) const OTHER: u32 = 10;
pub(crate) const SUB: u32 = 11;
pub(crate) const INNER: u32 = 12;

pub(crate) struct Volume {
    pub(crate) disk: RamDisk,
    pub(crate) g: Geometry,
    pub(crate) sb: Superblock,
}

/// Names of a directory: inode, type, name.
type Names<'a> = &'a [(u32, u8, &'a str)];

impl Volume {
    pub(crate) fn sized(format: Format, endian: Endian, softdep: bool, bytes: u64) -> Volume {
        let wanted = NewfsParams {
            endian,
            bsize: 8192,
            fsize: 1024,
            softdep,
            max_fpg: Some(1024),
            maxcontig: Some(8),
            now: 1_000_000_000,
            ..NewfsParams::new(format, bytes)
        };
        let sb = wanted.superblock().expect("a volume of 4 MiB");
        let volume = Volume { disk: RamDisk::new(bytes), g: sb.geometry(), sb };
        volume.write_frame();
        volume.write_tree();
        // With soft updates, a preen may not repair a count of too few directories.
        let mode = if softdep { Mode::Repair } else { Mode::Preen };
        let report = super::run(&volume.disk, mode).expect("a volume");
        let of_maps = |found: &ordo_fsck::Found| (42..=46).contains(&found.finding.rule());
        assert!(report.findings.iter().all(of_maps), "{}", super::told(&report));
        assert_eq!(super::run(&volume.disk, Mode::Check).expect("a volume").exit_code(), 0);
        volume
    }

    fn write_frame(&self) {
        let g = &self.g;
        for c in (0..g.ncg).map(Cgx) {
            let at = g.byte(g.cgsblock(c));
            self.disk.poke(at.0, &self.sb.encode_copy(at));
            self.group(c.0, |bytes, _| *bytes = cg::init(g, c, cg::first_inodes(g)));
        }
        let mut sb = self.sb.clone();
        sb.fields.clean = 0;
        self.disk.poke(sb.at.0, &sb.encode(1_000_000_000));
        if g.format == Format::Ufs2 {
            self.disk.poke(Recovery::AT.0, &Recovery::of(&sb).encode());
        }
    }

    fn write_tree(&self) {
        // One fragment each for directories and small files, at the start of group 1's data.
        let first = self.g.cgdmin(Cgx(1)).0;
        let block = |n: u64| FragNo(first + 8 * n);
        self.directory(
            2,
            2,
            block(0),
            &[
                (DIR, 4, "dir"),
                (FILE, 8, "file"),
                (LINK, 10, "link"),
                (BIG, 8, "big"),
                (DEVICE, 2, "device"),
                (LONG_LINK, 10, "long-link"),
                (ATTRS, 8, "attrs"),
                (OTHER, 4, "other"),
                (FILE, 8, "hard"),
            ],
        );
        self.directory(DIR, 2, block(1), &[(SUB, 4, "sub"), (INNER, 8, "inner")]);
        self.directory(OTHER, 2, block(2), &[]);
        self.directory(SUB, DIR, block(3), &[]);
        self.inode(2, |d| d.nlink = 4);
        self.inode(DIR, |d| d.nlink = 3);
        self.small(FILE, mode::REG, 2, 1500, block(4));
        self.small(INNER, mode::REG, 1, 10, block(5));
        self.small(LONG_LINK, mode::LNK, 1, 500, block(6));
        self.small(ATTRS, mode::REG, 1, 100, block(7));
        self.inode(LINK, |d| (d.mode, d.nlink) = (mode::LNK | 0o777, 1));
        let g = self.g.clone();
        self.inode(LINK, |d| d.set_short_link(&g, b"file").expect("a short link"));
        self.inode(DEVICE, |d| (d.mode, d.nlink) = (mode::CHR | 0o600, 1));
        self.inode(DEVICE, |d| d.db[0] = FragNo(0x0103));
        if g.format == Format::Ufs2 {
            let at = block(8);
            self.inode(ATTRS, |d| {
                (d.extsize, d.extb[0], d.blocks) = (32, at, d.blocks + 2);
            });
            let mut record = g.endian.u32_bytes(32).to_vec();
            record.extend_from_slice(&[1, 7, 4, b't', b'e', b's', b't', 0, 0, 0, 0, 0]);
            record.extend_from_slice(b"testvalue\0\0\0\0\0\0\0");
            self.disk.poke(g.byte(at).0, &record);
        }
        // Fourteen blocks of data: twelve direct, two below an indirect block.
        self.inode(BIG, |d| {
            (d.mode, d.nlink, d.size) = (mode::REG | 0o644, 1, 14 * 8192);
            d.blocks = 15 * 16;
            for (i, pointer) in d.db.iter_mut().enumerate() {
                *pointer = block(10 + i as u64);
            }
            d.ib[0] = block(22);
        });
        self.set_pointer(block(22), 0, block(23));
        self.set_pointer(block(22), 1, block(24));
    }

    fn small(&self, ino: u32, kind: u16, nlink: u16, size: u64, at: FragNo) {
        self.inode(ino, |d| {
            (d.mode, d.nlink, d.size, d.db[0]) = (kind | 0o644, nlink, size, at);
            d.blocks = size.div_ceil(1024) * 2;
        });
    }

    fn directory(&self, ino: u32, parent: u32, at: FragNo, names: Names<'_>) {
        self.small(ino, mode::DIR, 2, 512, at);
        let format = self.g.dir_format();
        let mut block = dirent::new_directory(format, Ino(ino), Ino(parent));
        let (mut last, mut own) = (12, 12);
        for &(ino, kind, name) in names {
            dirent::set_reclen(&mut block, last, format, own as u16).expect("room");
            last += own;
            dirent::write(&mut block, last, format, (512 - last) as u16, Ino(ino), kind, name.as_bytes())
                .expect("room");
            own = dirent::min_reclen(name.len());
        }
        self.disk.poke(self.g.byte(at).0, &block);
    }

    /// Changes an inode, and gives it its check hash.
    pub(crate) fn inode(&self, ino: u32, change: impl FnOnce(&mut Dinode)) {
        let mut dinode = self.get(ino);
        change(&mut dinode);
        let mut bytes = vec![0; self.g.dinode_size as usize];
        dinode.encode(&mut bytes, &self.g).expect("an inode fits");
        self.disk.poke(Dinode::place(&self.g, Ino(ino)).0, &bytes);
    }

    pub(crate) fn get(&self, ino: u32) -> Dinode {
        let mut bytes = vec![0; self.g.dinode_size as usize];
        self.disk.peek(Dinode::place(&self.g, Ino(ino)).0, &mut bytes);
        Dinode::decode(&bytes, &self.g, Ino(ino)).expect("a whole inode")
    }

    /// The names in a directory of one block, with their inodes.
    pub(crate) fn names(&self, dir: u32) -> Vec<(String, u32)> {
        let mut block = vec![0; 512];
        self.disk.peek(self.byte(self.get(dir).db[0]).0, &mut block);
        let entries = dirent::entries(&block, self.g.dir_format(), Ino(dir), 0).filter_map(Result::ok);
        let used = entries.filter(|entry| entry.ino != Ino::NONE);
        used.map(|entry| (String::from_utf8_lossy(entry.name).into_owned(), entry.ino.0)).collect()
    }

    /// A copy to damage.
    pub(crate) fn copy(&self) -> Volume {
        Volume { disk: self.disk.snapshot(), g: self.g.clone(), sb: self.sb.clone() }
    }

    pub(crate) fn set_pointer(&self, block: FragNo, index: u32, to: FragNo) {
        let at = self.g.byte(block).0 + u64::from(index) * self.g.pointer_size() as u64;
        let mut bytes = vec![0; self.g.pointer_size()];
        self.g.put_pointer(&mut bytes, 0, to).expect("a pointer fits");
        self.disk.poke(at, &bytes);
    }

    /// Byte of the volume where the entry `name` of a directory is.
    pub(crate) fn entry(&self, dir: u32, name: &str) -> u64 {
        let at = self.g.byte(self.get(dir).db[0]).0;
        let mut block = vec![0; 512];
        self.disk.peek(at, &mut block);
        let mut entries = dirent::entries(&block, self.g.dir_format(), Ino(dir), 0).filter_map(Result::ok);
        at + entries.find(|entry| entry.name == name.as_bytes()).expect("the name is there").offset as u64
    }

    pub(crate) fn put_u32(&self, at: u64, value: u32) {
        self.disk.poke(at, &self.g.endian.u32_bytes(value));
    }

    /// Changes the block of a group, and gives it its check hash.
    pub(crate) fn group(&self, c: u32, change: impl FnOnce(&mut Vec<u8>, CgLayout)) {
        let at = self.g.byte(self.g.cgtod(Cgx(c))).0;
        let mut bytes = vec![0; self.g.cgsize as usize];
        self.disk.peek(at, &mut bytes);
        change(&mut bytes, CgLayout::computed(&self.g, Cgx(c)));
        cg::seal(&mut bytes, &self.g, 1_000_000_000);
        self.disk.poke(at, &bytes);
    }

    /// Changes the maps of a group.
    pub(crate) fn maps(&self, c: u32, change: impl FnOnce(&mut CgMut<'_>)) {
        let endian = self.g.endian;
        self.group(c, |bytes, layout| change(&mut CgMut::new(bytes, layout, endian).expect("a whole group")));
    }

    /// Changes the superblock, and gives it its check hash.
    pub(crate) fn superblock(&self, change: impl FnOnce(&mut Superblock)) {
        let mut bytes = vec![0; 8192];
        self.disk.peek(self.sb.at.0, &mut bytes);
        let mut sb = Superblock::decode(&bytes, self.sb.at).expect("a whole superblock");
        change(&mut sb);
        self.disk.poke(sb.at.0, &sb.encode(1_000_000_000));
    }

    pub(crate) fn byte(&self, frag: FragNo) -> ByteOff {
        self.g.byte(frag)
    }
}
