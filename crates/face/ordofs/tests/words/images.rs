//! The volumes that are damaged: their shapes, their contents, and the places of the words.

use crate::common;
use crate::common::tree::{Tree, look};
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, Geometry, Ino, check_hash_without};
use ordo_workload::Session;
use ordofs::NewVolume;
use ordofs::disk::RamDisk;
use ordofs::rt::Rt;
use ordofs::vfs::{FileSystem, Kind, Mode as Bits, Name, XattrMode};
use std::rc::Rc;

/// A volume to be damaged.
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) format: Format,
    pub(crate) endian: Endian,
    /// The volume carries check hashes.
    pub(crate) hashes: bool,
    /// The hashes are made to match the damage, so that the damage itself is met.
    pub(crate) resealed: bool,
}

pub(crate) const VARIANTS: [Variant; 5] = [
    Variant { name: "ufs2le", format: Format::Ufs2, endian: Endian::Little, hashes: true, resealed: false },
    Variant { name: "ufs2le-resealed", format: Format::Ufs2, endian: Endian::Little, hashes: true, resealed: true },
    Variant { name: "ufs2be", format: Format::Ufs2, endian: Endian::Big, hashes: false, resealed: false },
    Variant { name: "ufs1le", format: Format::Ufs1, endian: Endian::Little, hashes: false, resealed: false },
    Variant { name: "ufs1be", format: Format::Ufs1, endian: Endian::Big, hashes: false, resealed: false },
];

/// The structure that contains the damaged word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Superblock,
    Summary,
    Group,
    Inode(u64),
    /// The blocks that its pointers lead to.
    Blocks(u64),
    Root,
}

impl Part {
    /// The inode of the file that may be lost.
    pub(crate) fn file(self) -> Option<u64> {
        match self {
            Part::Inode(ino) | Part::Blocks(ino) => Some(ino),
            _ => None,
        }
    }
}

/// A structure on the disk: its place, its length, and where its check hash is.
pub(crate) struct Target {
    pub(crate) part: Part,
    pub(crate) at: u64,
    pub(crate) len: u64,
    pub(crate) hash: Option<u64>,
}

pub(crate) struct Base {
    pub(crate) ram: RamDisk,
    pub(crate) tree: Tree,
    pub(crate) targets: Vec<Target>,
}

impl Variant {
    pub(crate) fn base(&self) -> Base {
        let rt = Rt::virtual_time(7);
        let bytes = 4 << 20;
        let ram = RamDisk::new(bytes);
        let params = NewfsParams {
            endian: self.endian,
            bsize: 4096,
            fsize: 512,
            density: Some(8192),
            max_fpg: Some(4096),
            check_hashes: self.hashes,
            ..NewfsParams::new(self.format, bytes)
        };
        let sb = params.superblock().expect("the shape is possible");
        NewVolume { params }.create_on(&rt, Rc::new(ram.clone()), true).expect("the shape is possible");
        let mounted = common::mount(&rt, &ram, "async");
        rt.block_on(populate(&**mounted.fs())).expect("there is room");
        let tree = rt.block_on(look(&**mounted.fs())).expect("the volume is sound");
        rt.block_on(mounted.unmount()).expect("the disk is well");
        rt.drop_tasks();
        common::assert_clean(&rt, &ram, self.name);
        assert!(tree.dead.is_empty() && tree.leaves.values().all(|leaf| leaf.data.is_some() && leaf.xattrs.is_some()));
        let targets = self.targets(&sb.geometry(), sb.at.0, &ram, &tree);
        Base { ram, tree, targets }
    }

    fn targets(&self, g: &Geometry, superblock: u64, ram: &RamDisk, tree: &Tree) -> Vec<Target> {
        let hash = |at| self.resealed.then_some(at);
        let dinode = |ino: u64| {
            let mut bytes = vec![0; g.dinode_size as usize];
            ram.peek(Dinode::place(g, Ino(ino as u32)).0, &mut bytes);
            Dinode::decode(&bytes, g, Ino(ino as u32)).expect("it is sound")
        };
        let mut targets = vec![
            Target { part: Part::Superblock, at: superblock, len: 1376, hash: hash(1304) },
            Target { part: Part::Group, at: g.byte(g.cgtod(Cgx(0))).0, len: g.cgsize.into(), hash: hash(132) },
        ];
        for ino in 2..10 {
            let at = Dinode::place(g, Ino(ino)).0;
            targets.push(Target { part: Part::Inode(ino.into()), at, len: g.dinode_size.into(), hash: hash(244) });
        }
        if self.resealed {
            return targets;
        }
        // These have no hashes.
        let mut plain = |part, at, len| targets.push(Target { part, at: g.byte(at).0, len, hash: None });
        plain(Part::Summary, g.csaddr, u64::from(g.ncg) * 16);
        let root = dinode(2);
        assert!(root.size >= 1024, "the root has two chunks: {}", root.size);
        plain(Part::Root, root.db[0], 1024);
        let ino = tree.leaves[&b"/indirect"[..]].attr.ino;
        plain(Part::Blocks(ino), dinode(ino).ib[0], 128);
        let ino = tree.leaves[&b"/tagged"[..]].attr.ino;
        if self.format == Format::Ufs2 {
            plain(Part::Blocks(ino), dinode(ino).extb[0], 128);
        }
        targets
    }

    /// Writes `value` into a word, and updates the structure's hash if requested.
    pub(crate) fn damage(&self, ram: &RamDisk, target: &Target, word: u64, value: u32) {
        let put = |at: u64, value: u32| {
            let mut bytes = [0; 4];
            let _ = self.endian.put_u32(&mut bytes, 0, value);
            ram.poke(at, &bytes);
        };
        put(target.at + 4 * word, value);
        if let Some(hash) = target.hash {
            let mut bytes = vec![0; target.len as usize];
            ram.peek(target.at, &mut bytes);
            put(target.at + hash, check_hash_without(&bytes, hash as usize));
        }
    }
}

/// Makes a file of each kind, most of them in the first eight inodes.
async fn populate<F: FileSystem>(fs: &F) -> ordofs::vfs::Result<()> {
    let s = Session::new(fs);
    s.write_file("small", b"a fragment and a bit of another one").await?;
    s.write_file("indirect", &[0x5a; 15 * 4096 + 700]).await?;
    let root = s.root().await?;
    fs.symlink(&s.who, root.node(), Name::new(b"short")?, b"small").await?;
    fs.symlink(&s.who, root.node(), Name::new(b"long")?, &[b'x'; 300]).await?;
    s.write_file("tagged", &[7; 5000]).await?;
    let tagged = s.resolve("tagged").await?;
    // UFS1 has no attributes.
    let _ = fs.setxattr(&s.who, tagged.node(), b"user.a", &[1; 700], XattrMode::Set).await;
    s.write_file("sparse", b"head").await?;
    let sparse = s.resolve("sparse").await?;
    s.write_at(&sparse, (12 + 1024 + 5) * 4096, b"behind a double indirect block").await?;
    let small = s.resolve("small").await?;
    fs.link(small.node(), root.node(), Name::new(b"second-name")?).await?;
    fs.mknod(&s.who, root.node(), Name::new(b"fifo")?, Kind::Fifo, Bits::new(0o600), 0).await?;
    for dir in ["d", "e/f/g", "h"] {
        s.mkdir_all(dir).await?;
        s.write_file(&format!("{dir}/file"), dir.as_bytes()).await?;
    }
    for i in 0..9 {
        s.write_file(&format!("{i}-{}", "a-long-name-that-fills-the-directory".repeat(2)), &[i; 600]).await?;
    }
    Ok(())
}
