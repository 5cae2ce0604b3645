//! Leaks of a crash under soft updates, planted into the bytes of an unmounted volume.

use ordo_ondisk::cg::{self, Cg, CgMut, map};
use ordo_ondisk::dirent;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::search;
use ordo_ondisk::{ByteOff, CgLayout, Cgx, Dinode, FragNo, Geometry, Ino, Superblock};
use ordofs::disk::{Disk, RamDisk};

/// The bytes of a volume.
pub(crate) struct Raw {
    pub(crate) ram: RamDisk,
    pub(crate) sb: Superblock,
    pub(crate) g: Geometry,
}

impl Raw {
    pub(crate) fn of(ram: &RamDisk) -> Raw {
        let size = ram.info().size;
        let mut read = |at: ByteOff, bytes: &mut [u8]| {
            ram.peek(at.0, bytes);
            Ok(())
        };
        let sb = search::find(&mut read, size).expect("there is a volume").superblock;
        Raw { ram: ram.clone(), g: sb.geometry(), sb }
    }

    fn bytes(&self, at: FragNo, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.ram.peek(self.g.byte(at).0, &mut bytes);
        bytes
    }

    /// Writes the superblock of a crashed soft-updates volume, with totals that are wrong.
    pub(crate) fn crash(&mut self) {
        self.sb.fields.clean = 0;
        self.sb.fields.flags |= flag::DOSOFTDEP;
        self.sb.fields.cs_nbfree -= 3;
        let bytes = self.sb.encode(1_000_000_000);
        self.ram.poke(self.sb.at.0, &bytes);
    }

    pub(crate) fn inode(&self, ino: Ino) -> Dinode {
        let (at, within) = self.g.inode_at(ino);
        let block = self.bytes(at, self.g.bsize as usize);
        Dinode::decode(&block[within..], &self.g, ino).expect("the inode is whole")
    }

    pub(crate) fn set_inode(&self, ino: Ino, change: impl FnOnce(&mut Dinode)) {
        let mut dinode = self.inode(ino);
        change(&mut dinode);
        let mut bytes = vec![0; self.g.dinode_size as usize];
        dinode.encode(&mut bytes, &self.g).expect("there is room");
        let (at, within) = self.g.inode_at(ino);
        self.ram.poke(self.g.byte(at).0 + within as u64, &bytes);
    }

    /// Changes the maps of a group; its counts follow, unless the write is `torn`.
    pub(crate) fn group<R>(&self, c: Cgx, torn: bool, change: impl FnOnce(&mut CgMut<'_>) -> R) -> R {
        let at = self.g.cgtod(c);
        let mut bytes = self.bytes(at, self.g.cgsize as usize);
        let layout = CgLayout::computed(&self.g, c);
        let mut cg = CgMut::new(&mut bytes, layout, self.g.endian).expect("a whole group");
        let result = change(&mut cg);
        if !torn {
            let ndir = cg.view().ndir();
            cg.rebuild_counts(ndir);
            cg::seal(&mut bytes, &self.g, 7).expect("a whole group");
        }
        self.ram.poke(self.g.byte(at).0, &bytes);
        result
    }

    pub(crate) fn look<R>(&self, c: Cgx, look: impl FnOnce(&Cg<'_>) -> R) -> R {
        let bytes = self.bytes(self.g.cgtod(c), self.g.cgsize as usize);
        look(&Cg::new(&bytes, CgLayout::computed(&self.g, c), self.g.endian).expect("a whole group"))
    }

    /// Marks every `step`th free fragment of a group as used, at most `most`; returns how many.
    pub(crate) fn leak_frags(&self, c: Cgx, step: u32, most: usize, torn: bool) -> u64 {
        self.group(c, torn, |cg| {
            let free = |cg: &CgMut<'_>, i: &u32| map::get(cg.view().free(), *i);
            let ndblk = cg.view().layout().ndblk;
            let these: Vec<u32> = (0..ndblk).step_by(step as usize).filter(|i| free(cg, i)).take(most).collect();
            these.iter().for_each(|&i| map::clear(cg.free_mut(), i));
            these.len() as u64
        })
    }

    /// Marks `n` free initialised inodes as used, with nothing in them; returns how many there were.
    pub(crate) fn leak_numbers(&self, c: Cgx, n: usize) -> u64 {
        self.group(c, false, |cg| {
            let end = if self.g.format == ordo_ondisk::Format::Ufs2 { cg.view().initediblk() } else { self.g.ipg };
            let free: Vec<u32> = (0..end).filter(|&i| !map::get(cg.view().iused(), i)).take(n).collect();
            free.iter().for_each(|&i| map::set(cg.iused_mut(), i));
            free.len() as u64
        })
    }

    /// The blocks of a directory, with the fragments' addresses.
    fn chunks(&self, dir: Ino) -> Vec<(u64, Vec<u8>)> {
        let dinode = self.inode(dir);
        let mut chunks = Vec::new();
        for lbn in 0..dinode.size.div_ceil(self.g.bsize.into()).min(12) {
            let len = self.g.blksize(dinode.size, lbn) as usize;
            let bytes = self.bytes(dinode.db[lbn as usize], len);
            let start = self.g.byte(dinode.db[lbn as usize]).0;
            let size = self.g.dirblksiz as usize;
            let end = (dinode.size - lbn * u64::from(self.g.bsize)).min(len as u64) as usize;
            chunks.extend((0..end / size).map(|i| (start + (i * size) as u64, bytes[i * size..][..size].to_vec())));
        }
        chunks
    }

    /// Finds an entry, and changes its chunk: the offset of the entry, and of the one before it.
    fn entry(&self, dir: Ino, name: &[u8], change: impl FnOnce(&mut [u8], usize, Option<usize>) -> Option<()>) {
        let format = self.g.dir_format();
        for (at, mut chunk) in self.chunks(dir) {
            let entries: Vec<(usize, bool)> = dirent::entries(&chunk, format, dir, 0)
                .map(|entry| entry.expect("the directory is whole"))
                .map(|entry| (entry.offset, entry.is_name() && entry.name == name))
                .collect();
            if let Some(i) = entries.iter().position(|entry| entry.1) {
                let before = i.checked_sub(1).map(|before| entries[before].0);
                change(&mut chunk, entries[i].0, before).expect("the entry is whole");
                self.ram.poke(at, &chunk);
                return;
            }
        }
        panic!("the name is there");
    }

    /// Removes a name, and changes nothing else.
    pub(crate) fn unname(&self, dir: Ino, name: &[u8]) {
        let format = self.g.dir_format();
        self.entry(dir, name, |chunk, at, before| dirent::clear(chunk, at, before, format));
    }

    /// Makes a name refer to another inode.
    pub(crate) fn rename_to(&self, dir: Ino, name: &[u8], ino: Ino, kind: u8) {
        let format = self.g.dir_format();
        self.entry(dir, name, |chunk, at, _| dirent::set_inode(chunk, at, format, ino, kind));
    }
}
