//! Nothing reaches the image that nobody put there: not what the disk held before, not what another file held.
//!
//! The disk is full of one pattern before the volume is made, and its free blocks are full of another before files come
//! to lie there. Then the image is inspected: the padding of names, the rest of directory blocks, of the last fragments
//! of files, links and attributes, of indirect blocks and of inodes.

mod common;

use common::SHAPES;
use ondisk::superblock::newfs::NewfsParams;
use ondisk::{Cgx, Dinode, Format, FragNo, Geometry, Ino, dirent, extattr};
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Kind, Mode, Name, RenameMode, Result, SetAttr, XattrMode};
use ordofs::{NewVolume, locate_on};
use std::rc::Rc;
use workload::Session;

/// What the disk held before it had a volume.
const DISK: u8 = 0xa5;
/// What files hold, before they are removed and while they are there.
const DATA: u8 = 0xee;

/// Names of every length, which come and go; files that grow, shrink and end within fragments; and all of it where
/// other files were.
async fn work<F: FileSystem>(fs: &F, bsize: u64, fsize: u64) -> Result<()> {
    let s = Session::new(fs);
    let data = |len: u64| vec![DATA; len as usize];
    for i in 0..12 {
        s.write_file(&format!("old-{i}"), &data(14 * bsize)).await?;
    }
    for i in 0..12 {
        s.remove_tree(&format!("old-{i}")).await?;
    }
    fs.syncfs().await?;
    s.mkdir_all("names").await?;
    for round in [255, 200, 90, 33] {
        for len in 1..=255usize {
            let path = format!("names/{}", "n".repeat(len.min(round)));
            if s.resolve(&path).await.is_err() {
                s.write_file(&path, b"").await?;
            }
            if len % 3 == round % 3 {
                s.remove_tree(&path).await?;
            }
        }
    }
    let (root, names) = (s.root().await?, s.resolve("names").await?);
    for (i, len) in [1, fsize - 1, fsize, fsize + 1, bsize - 1, bsize, bsize + 1, 5 * bsize + 7, 12 * bsize + 3]
        .into_iter()
        .enumerate()
    {
        let path = format!("file-{i}");
        s.write_file(&path, &data(len)).await?;
        let file = s.resolve(&path).await?;
        // Cut within a fragment, then grown again behind a gap.
        let size = Some(len / 2 + 1);
        fs.setattr(file.node(), &SetAttr { size, ..SetAttr::default() }).await?;
        s.write_at(&file, len + 100, b"end").await?;
        let _ = fs.setxattr(&s.who, file.node(), b"user.a", &data(len.min(900)), XattrMode::Set).await;
        let _ = fs.setxattr(&s.who, file.node(), b"user.a", b"less", XattrMode::Set).await;
        let name = format!("link-{i}");
        let target = "t".repeat([3, 59, 60, 61, 119, 120, 121, 600, 1023][i]);
        fs.symlink(&s.who, root.node(), Name::new(name.as_bytes())?, target.as_bytes()).await?;
        let to = "m".repeat(20 * i + 4);
        fs.rename(
            root.node(),
            Name::new(name.as_bytes())?,
            names.node(),
            Name::new(to.as_bytes())?,
            RenameMode::Replace,
        )
        .await?;
        s.mkdir_all(&format!("names/d{i}/e")).await?;
    }
    let sparse = s.create(&root, Name::new(b"sparse")?).await?;
    s.write_at(&sparse, (12 + bsize / 4 + 3) * bsize + 9, b"behind single indirect blocks").await?;
    fs.mknod(&s.who, root.node(), Name::new(b"fifo")?, Kind::Fifo, Mode::new(0o600), 0).await?;
    Ok(())
}

/// An image that is looked into.
struct Image {
    ram: RamDisk,
    g: Geometry,
    what: String,
}

impl Image {
    fn read(&self, at: FragNo, frags: u32) -> Vec<u8> {
        let mut bytes = vec![0; (frags * self.g.fsize) as usize];
        self.ram.peek(self.g.byte(at).0, &mut bytes);
        bytes
    }

    fn zero(&self, bytes: &[u8], what: &str, ino: Ino) {
        let wrong = bytes.iter().position(|&byte| byte != 0);
        assert_eq!(wrong, None, "{}, inode {}: {what} is not zero", self.what, ino.0);
    }

    /// Looks at every inode that was ever written. Returns how many are in use.
    fn inspect(&self) -> u32 {
        let mut used = 0;
        for c in (0..self.g.ncg).map(Cgx) {
            let mut block = vec![0; self.g.cgsize as usize];
            self.ram.peek(self.g.byte(self.g.cgtod(c)).0, &mut block);
            let layout = ondisk::cg::check(&block, &self.g, c).expect("the group is sound");
            let cg = ondisk::cg::Cg::new(&block, layout, self.g.endian).expect("the group is sound");
            let written = if self.g.format == Format::Ufs2 { cg.initediblk().min(self.g.ipg) } else { self.g.ipg };
            for i in 0..written {
                let ino = Ino(c.0 * self.g.ipg + i);
                let mut raw = vec![0; self.g.dinode_size as usize];
                self.ram.peek(Dinode::place(&self.g, ino).0, &mut raw);
                self.inode(ino, &raw);
                if ondisk::cg::map::get(cg.iused(), i) && ino.0 >= 2 {
                    let dinode = Dinode::decode(&raw, &self.g, ino).expect("the inode is sound");
                    self.contents(ino, &dinode);
                    used += 1;
                }
            }
        }
        used
    }

    fn inode(&self, ino: Ino, raw: &[u8]) {
        let dinode = Dinode::decode(raw, &self.g, ino).expect("the inode is sound");
        // What is no field stays as newfs wrote it; a free inode keeps the hash of its last use.
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
            // Of one that was freed, who and when; of one that never was in use, nothing.
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
            self.zero(&bytes[valid..], "what lies behind the end", ino);
            if dinode.is_dir() {
                self.names(ino, &bytes[..valid], lbn);
            } else {
                assert!(!bytes.contains(&DISK), "{}, inode {}: what the disk held", self.what, ino.0);
            }
        }
    }

    /// The pointer to a block, looked up the long way; every pointer beside it must be one.
    fn indirect(&self, ino: Ino, dinode: &Dinode, lbn: u64) -> FragNo {
        let path = self.g.path(ondisk::Lbn(lbn as i64)).expect("the file has it");
        let ondisk::Root::Indirect(root) = path.root else { unreachable!("it is behind the direct ones") };
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
            if entry.is_name() {
                let name_end = entry.offset + dirent::HEADER + entry.name.len();
                self.zero(&bytes[name_end..entry.offset + own], "the padding of a name", ino);
            }
            // Behind an entry there may be remains of older ones: their headers and names, nothing else.
            let rest = &bytes[entry.offset + own..end];
            let foreign = rest.windows(2).any(|two| two == [DISK; 2] || two == [DATA; 2]);
            assert!(!foreign, "{}, inode {}: the room behind an entry holds what was no entry", self.what, ino.0);
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

#[test]
fn nothing_reaches_the_image_that_nobody_put_there() {
    for (i, &(format, endian, bsize, fsize)) in SHAPES.iter().enumerate() {
        for scheme in ["sync", "async"] {
            let rt = Rt::virtual_time(3);
            let bytes = 24 << 20;
            let ram = RamDisk::from_bytes(&vec![DISK; bytes]);
            let params = NewfsParams { endian, bsize, fsize, ..NewfsParams::new(format, bytes as u64) };
            NewVolume { params }.create_on(&rt, Rc::new(ram.clone()), false).expect("the shape is possible");
            let mounted = common::mount(&rt, &ram, scheme);
            rt.block_on(work(&**mounted.fs(), bsize.into(), fsize.into())).expect("there is room");
            rt.block_on(mounted.unmount()).expect("the disk is well");
            let what = format!("shape {i}, {scheme}");
            common::assert_clean(&rt, &ram, &what);
            rt.drop_tasks();
            let found = locate_on(&rt, Rc::new(ram.clone())).expect("it is there").found;
            let used = Image { ram, g: found.superblock.geometry(), what }.inspect();
            assert!(used > 200, "{used} inodes are in use");
        }
    }
}
