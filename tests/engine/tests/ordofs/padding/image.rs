//! Inspecting an image, and filling its unused bytes with a pattern.

use crate::padding::{DATA, DISK};
use ordo_ondisk::{Cgx, Dinode, Format, FragNo, Geometry, Ino, dirent, extattr};
use ordofs::disk::RamDisk;
use ordofs::vfs::Kind;

/// An image under inspection.
pub(crate) struct Image {
    pub(crate) ram: RamDisk,
    pub(crate) g: Geometry,
    pub(crate) what: String,
    /// Inspect only what was written after the pattern was put in.
    pub(crate) spoiled: bool,
}

impl Image {
    fn read(&self, at: FragNo, frags: u32) -> Vec<u8> {
        let mut bytes = vec![0; (frags * self.g.fsize) as usize];
        self.ram.peek(self.g.byte(at).0, &mut bytes);
        bytes
    }

    pub(crate) fn zero(&self, bytes: &[u8], what: &str, ino: Ino) {
        let wrong = bytes.iter().position(|&byte| byte != 0);
        assert_eq!(wrong, None, "{}, inode {}: {what} is not zero", self.what, ino.0);
    }

    /// Visits every inode that was ever written: its bytes, and the inode if it is in use.
    fn visit(&self, mut see: impl FnMut(Ino, &[u8], Option<&Dinode>)) {
        for c in (0..self.g.ncg).map(Cgx) {
            let mut block = vec![0; self.g.cgsize as usize];
            self.ram.peek(self.g.byte(self.g.cgtod(c)).0, &mut block);
            let layout = ordo_ondisk::cg::check(&block, &self.g, c).expect("the group is sound");
            let cg = ordo_ondisk::cg::Cg::new(&block, layout, self.g.endian).expect("the group is sound");
            let written = if self.g.format == Format::Ufs2 { cg.initediblk().min(self.g.ipg) } else { self.g.ipg };
            for i in 0..written {
                let ino = Ino(c.0 * self.g.ipg + i);
                let mut raw = vec![0; self.g.dinode_size as usize];
                self.ram.peek(Dinode::place(&self.g, ino).0, &mut raw);
                let used = ordo_ondisk::cg::map::get(cg.iused(), i) && ino.0 >= 2;
                let dinode = used.then(|| Dinode::decode(&raw, &self.g, ino).expect("the inode is sound"));
                see(ino, &raw, dinode.as_ref());
            }
        }
    }

    pub(crate) fn inspect(&self) {
        let mut used = 0;
        self.visit(|ino, raw, dinode| {
            self.inode(ino, raw);
            if let Some(dinode) = dinode {
                self.contents(ino, dinode);
                used += 1;
            }
        });
        assert!(used > 200, "{used} inodes are in use");
    }

    /// Fills unused bytes, after entries and after the ends of files.
    pub(crate) fn spoil(&self) {
        self.visit(|ino, _, dinode| {
            let Some(dinode) = dinode.filter(|dinode| dinode.has_blocks(&self.g) && dinode.size > 0) else { return };
            for lbn in 0..=self.g.lblkno(dinode.size - 1).min(11) {
                let at = dinode.db[lbn as usize];
                if at.is_hole() {
                    continue;
                }
                let mut bytes = self.read(at, self.g.blkfrags(dinode.size, lbn));
                let valid = (dinode.size - lbn * u64::from(self.g.bsize)).min(bytes.len() as u64) as usize;
                bytes[valid..].fill(DISK);
                if dinode.is_dir() {
                    let gap = |entry: dirent::Dirent<'_>| {
                        let end = entry.offset + usize::from(entry.reclen);
                        end - entry.free() + if entry.is_name() { 0 } else { dirent::HEADER }..end
                    };
                    let entries = dirent::entries(&bytes[..valid], self.g.dir_format(), ino, 0);
                    let gaps: Vec<_> = entries.map(|entry| gap(entry.expect("the directory is sound"))).collect();
                    gaps.into_iter().for_each(|gap| bytes[gap].fill(DISK));
                }
                self.ram.poke(self.g.byte(at).0, &bytes);
            }
        });
    }

    fn inode(&self, ino: Ino, raw: &[u8]) {
        let dinode = Dinode::decode(raw, &self.g, ino).expect("the inode is sound");
        // Bytes outside all fields stay as newfs wrote them; a free inode keeps the hash of its last use.
        let mut fields = vec![0; raw.len()];
        if self.g.format == Format::Ufs2 && dinode.mode == 0 {
            fields[244..248].copy_from_slice(&raw[244..248]);
        }
        dinode.encode(&mut fields, &self.g).expect("it has the size of an inode");
        assert!(fields == raw, "{}, inode {}: more than its fields", self.what, ino.0);
        if dinode.mode == 0 {
            let kept = Dinode {
                gen_: dinode.gen_,
                atime: dinode.atime,
                mtime: dinode.mtime,
                ctime: dinode.ctime,
                birth: dinode.birth,
                uid: dinode.uid,
                gid: dinode.gid,
                modrev: dinode.modrev,
                ..Dinode::default()
            };
            // A freed inode keeps its owner and times; one that was never used has none.
            let never = dinode.ctime.sec == 0;
            let rest = if never { Dinode { gen_: dinode.gen_, ..Dinode::default() } } else { kept };
            assert_eq!(dinode, rest, "{}, free inode {}", self.what, ino.0);
        }
        if let Some(link) = dinode.short_link(&self.g).filter(|_| dinode.mode >> 12 == Kind::Symlink as u16) {
            let at = if self.g.format == Format::Ufs2 { 112 } else { 40 };
            let room = self.g.maxsymlinklen as usize;
            self.zero(&raw[at + link.bytes().len()..at + room], "the room behind a short target", ino);
        }
    }

    fn contents(&self, ino: Ino, dinode: &Dinode) {
        self.attributes(ino, dinode);
        if !dinode.has_blocks(&self.g) || dinode.size == 0 {
            return;
        }
        for lbn in 0..=self.g.lblkno(dinode.size - 1) {
            let at = match lbn {
                0..12 => dinode.db[lbn as usize],
                _ => self.indirect(ino, dinode, lbn),
            };
            if at.is_hole() {
                continue;
            }
            let bytes = self.read(at, self.g.blkfrags(dinode.size, lbn));
            let valid = (dinode.size - lbn * u64::from(self.g.bsize)).min(bytes.len() as u64) as usize;
            if !self.spoiled {
                self.zero(&bytes[valid..], "what lies behind the end", ino);
            }
            if dinode.is_dir() {
                self.names(ino, &bytes[..valid], lbn);
            } else {
                assert!(self.spoiled || !bytes.contains(&DISK), "{}, inode {}: what the disk held", self.what, ino.0);
            }
        }
    }

    /// The pointer to a block, looked up step by step; every word beside it must be a pointer.
    fn indirect(&self, ino: Ino, dinode: &Dinode, lbn: u64) -> FragNo {
        let path = self.g.path(ordo_ondisk::Lbn(lbn as i64)).expect("the file has it");
        let ordo_ondisk::Root::Indirect(root) = path.root else { unreachable!("it is behind the direct ones") };
        let mut at = dinode.ib[root];
        for (_, step) in path.indirects() {
            if at.is_hole() {
                return at;
            }
            let block = self.read(at, self.g.frag);
            for i in 0..self.g.nindir {
                let pointer = self.g.pointer(&block, i).expect("it is within the block");
                let sound = pointer.is_hole() || self.g.is_data_range(pointer, self.g.frag);
                assert!(sound, "{}, inode {}: indirect block with {}", self.what, ino.0, pointer.0);
            }
            at = self.g.pointer(&block, step).expect("it is within the block");
        }
        at
    }

    fn names(&self, ino: Ino, bytes: &[u8], lbn: u64) {
        let format = self.g.dir_format();
        for entry in dirent::entries(bytes, format, ino, lbn * u64::from(self.g.bsize)) {
            let entry = entry.expect("the directory is sound");
            let own = if entry.is_name() { dirent::min_reclen(entry.name.len()) } else { dirent::HEADER };
            let end = entry.offset + usize::from(entry.reclen);
            if entry.is_name() && (!self.spoiled || entry.name.starts_with(b"z")) {
                let name_end = entry.offset + dirent::HEADER + entry.name.len();
                self.zero(&bytes[name_end..entry.offset + own], "the padding of a name", ino);
            }
            if !self.spoiled {
                // Names that were removed stay there, and nothing else.
                let room = &bytes[entry.offset + own..end];
                let strange = room.windows(4).any(|four| four == [DISK; 4] || four == [DATA; 4]);
                assert!(!strange, "{}, inode {}: the room behind an entry: {room:02x?}", self.what, ino.0);
            }
        }
    }

    fn attributes(&self, ino: Ino, dinode: &Dinode) {
        let mut area = Vec::new();
        for (k, &at) in dinode.extb.iter().enumerate().filter(|(_, at)| !at.is_hole()) {
            area.extend(self.read(at, self.g.blkfrags(dinode.extsize.into(), k as u64)));
        }
        let size = dinode.extsize as usize;
        let used = extattr::used(&area[..size], self.g.endian, ino).expect("the area is sound");
        self.zero(&area[used..], "what lies behind the last attribute", ino);
    }
}
