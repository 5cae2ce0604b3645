//! The volumes that are damaged: their shapes, their contents, and the places of the words.

use crate::Error;
use ordo_disk::RamDisk;
use ordo_ondisk::superblock::newfs::NewfsParams;
use ordo_ondisk::{Cgx, Dinode, Endian, Format, Geometry, Ino, check_hash_without};
use ordo_rt::Rt;
use ordo_vfs::{FileSystem, Kind, Mode as Bits, Name, XattrMode};
use ordo_workload::{Seen, Session, look};
use ordofs::{MountOptions, Mounted, NewVolume};
use std::rc::Rc;

/// Bytes of each volume.
pub(super) const SIZE: u64 = 4 << 20;

/// A kind of volume.
#[derive(Debug)]
pub(super) struct Variant {
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) endian: Endian,
    /// The volume carries check hashes.
    pub(super) hashes: bool,
    /// The hashes are made to match the damage, so that the damage itself is met.
    pub(super) resealed: bool,
}

pub(super) const VARIANTS: [Variant; 5] = [
    Variant { name: "ufs2le", format: Format::Ufs2, endian: Endian::Little, hashes: true, resealed: false },
    Variant { name: "ufs2le-resealed", format: Format::Ufs2, endian: Endian::Little, hashes: true, resealed: true },
    Variant { name: "ufs2be", format: Format::Ufs2, endian: Endian::Big, hashes: false, resealed: false },
    Variant { name: "ufs1le", format: Format::Ufs1, endian: Endian::Little, hashes: false, resealed: false },
    Variant { name: "ufs1be", format: Format::Ufs1, endian: Endian::Big, hashes: false, resealed: false },
];

/// The structure that contains the damaged word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
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
    pub(super) fn file(self) -> Option<u64> {
        match self {
            Part::Inode(ino) | Part::Blocks(ino) => Some(ino),
            _ => None,
        }
    }
}

/// A structure on the disk: its place, its length, and where its check hash is.
#[derive(Debug)]
pub(super) struct Target {
    pub(super) part: Part,
    pub(super) at: u64,
    pub(super) len: u64,
    pub(super) hash: Option<u64>,
}

/// A volume before the damage.
pub(super) struct Base {
    pub(super) ram: RamDisk,
    pub(super) tree: Seen,
    /// The place of the superblock.
    pub(super) superblock: u64,
    pub(super) targets: Vec<Target>,
}

pub(super) fn broken(why: impl ToString) -> Error {
    Error::Run(format!("a volume to be damaged cannot be made: {}", why.to_string()))
}

impl Variant {
    /// Makes the volume, the same each time.
    pub(super) fn base(&self) -> Result<Base, Error> {
        let rt = Rt::virtual_time(7);
        let ram = RamDisk::new(SIZE);
        let params = NewfsParams {
            endian: self.endian,
            bsize: 4096,
            fsize: 512,
            density: Some(8192),
            max_fpg: Some(4096),
            check_hashes: self.hashes,
            ..NewfsParams::new(self.format, SIZE)
        };
        let sb = params.superblock().map_err(broken)?;
        NewVolume { params }.create_on(&rt, Rc::new(ram.clone()), true).map_err(broken)?;
        let options = MountOptions { scheme: Some("async".into()), ..MountOptions::default() };
        let located = ordofs::locate_on(&rt, Rc::new(ram.clone())).map_err(broken)?;
        let mounted = rt.block_on(Mounted::mount(&rt, located, &options)).map_err(broken)?;
        rt.block_on(populate(&**mounted.fs())).map_err(broken)?;
        let tree = rt.block_on(look(&**mounted.fs())).map_err(broken)?;
        rt.block_on(mounted.unmount()).map_err(broken)?;
        rt.drop_tasks();
        let whole = tree.leaves.values().all(|leaf| leaf.data.is_some() && leaf.xattrs.is_some());
        if !whole || !tree.dead.is_empty() {
            return Err(broken("its files cannot all be read"));
        }
        let targets = self.targets(&sb.geometry(), sb.at.0, &ram, &tree)?;
        Ok(Base { ram, tree, superblock: sb.at.0, targets })
    }

    fn targets(&self, g: &Geometry, superblock: u64, ram: &RamDisk, tree: &Seen) -> Result<Vec<Target>, Error> {
        let hash = |at| self.resealed.then_some(at);
        let dinode = |ino: u32| {
            let mut bytes = vec![0; g.dinode_size as usize];
            ram.peek(Dinode::place(g, Ino(ino)).0, &mut bytes);
            Dinode::decode(&bytes, g, Ino(ino)).map_err(broken)
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
            return Ok(targets);
        }
        // These have no hashes.
        let mut plain = |part, at, len| targets.push(Target { part, at: g.byte(at).0, len, hash: None });
        plain(Part::Summary, g.csaddr, u64::from(g.ncg) * 16);
        let root = dinode(2)?;
        if root.size < 1024 {
            return Err(broken("its root has less than two chunks"));
        }
        plain(Part::Root, root.db[0], 1024);
        let ino_of = |path: &[u8]| tree.leaves.get(path).map_or(0, |leaf| leaf.attr.ino);
        let ino = ino_of(b"/indirect");
        plain(Part::Blocks(ino), dinode(ino as u32)?.ib[0], 128);
        let ino = ino_of(b"/tagged");
        if self.format == Format::Ufs2 {
            plain(Part::Blocks(ino), dinode(ino as u32)?.extb[0], 128);
        }
        Ok(targets)
    }

    /// Writes `value` into a word, and updates the structure's hash if requested.
    pub(super) fn damage(&self, ram: &RamDisk, target: &Target, word: u64, value: u32) {
        let put = |at: u64, value: u32| {
            let mut bytes = [0; 4];
            // OK to ignore: four bytes have room for a word.
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
pub(super) async fn populate<F: FileSystem>(fs: &F) -> ordo_vfs::Result<()> {
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
