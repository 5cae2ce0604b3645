//! Phase 3: every directory is reached from the root; and `lost+found`, where what is not gets a name.

use super::dirblock::Name;
use super::volume::Volume;
use crate::{Error, Finding, Phase};
use ordo_ondisk::Ino;
use ordo_ondisk::lfs::{DIRBLOCK, NextFree};
use rustc_hash::{FxHashMap, FxHashSet};

const ROOT: u32 = Ino::ROOT.0;
const LOST: &[u8] = b"lost+found";

impl Volume {
    /// Phase 3.
    pub(crate) async fn check_connectivity(&mut self) -> Result<(), Error> {
        let mut reached: FxHashSet<u32> = FxHashSet::from_iter([ROOT]);
        let dirs = self.dirs.clone();
        for (done, ino) in (0u64..).zip(&dirs) {
            self.step(Phase::Connectivity, done, dirs.len() as u64);
            self.connect(*ino, &mut reached).await?;
        }
        let parents: Vec<(u32, u32)> = self.names.parent.iter().map(|(ino, parent)| (*ino, *parent)).collect();
        let parents: FxHashMap<u32, u32> = parents.into_iter().chain([(ROOT, ROOT)]).collect();
        for ino in self.dirs.clone() {
            let (Some(&right), Some(&found)) = (parents.get(&ino), self.names.dotdot.get(&ino)) else { continue };
            if right != found {
                self.find(Finding::WrongParent { ino, found, right });
                self.set_parent(ino, right).await?;
            }
        }
        Ok(())
    }

    /// Follows the parents of a directory up to one that is known to be reached.
    async fn connect(&mut self, ino: u32, reached: &mut FxHashSet<u32>) -> Result<(), Error> {
        let (mut way, mut at) = (FxHashSet::default(), ino);
        while !reached.contains(&at) {
            if way.contains(&at) {
                self.find(Finding::DirectoryLoop { ino: at });
                if let Some(parent) = self.names.parent.remove(&at) {
                    self.remove_name(parent, at).await?;
                }
                self.adopt(at).await?;
                break;
            }
            way.insert(at);
            match self.names.parent.get(&at) {
                Some(parent) => at = *parent,
                None => {
                    let named = self.names.dotdot.get(&at).copied().unwrap_or(0);
                    self.find(Finding::DirectoryUnconnected { ino: at, named });
                    self.adopt(at).await?;
                    break;
                }
            }
        }
        reached.extend(way);
        Ok(())
    }

    /// Names a directory in `lost+found`; where that is impossible, it stays without a name and is freed.
    async fn adopt(&mut self, ino: u32) -> Result<(), Error> {
        if self.name_in_lost(ino).await? {
            self.names.set_count(ino, 1);
        } else if ino != ROOT {
            self.release(ino);
        }
        Ok(())
    }

    async fn set_parent(&mut self, ino: u32, parent: u32) -> Result<(), Error> {
        let Some(dinode) = self.dinode(ino).await? else { return Ok(()) };
        let form = self.form();
        let mut block = self.directory_block(ino, &dinode, 0).await?;
        let (mut names, _) = form.decode(block.get(..DIRBLOCK as usize).unwrap_or_default());
        if let Some(dotdot) = names.get_mut(1).filter(|name| name.name == b"..") {
            dotdot.ino = parent;
            let bytes = form.encode(&names);
            block.iter_mut().zip(bytes).for_each(|(to, from)| *to = from);
            self.blocks.insert((ino, 0), block);
        }
        Ok(())
    }

    /// Removes the names of `ino` from a directory.
    async fn remove_name(&mut self, dir: u32, ino: u32) -> Result<(), Error> {
        self.edit(dir, 0, |names| {
            let before = names.len();
            names.retain(|name| name.ino != ino || name.is_dots());
            names.len() != before
        })
        .await
        .map(|_| ())
    }

    /// Changes the first directory block that `change` accepts, from block `first` on; `false` if none.
    async fn edit(
        &mut self,
        dir: u32,
        first: u64,
        mut change: impl FnMut(&mut Vec<Name>) -> bool,
    ) -> Result<bool, Error> {
        let Some(dinode) = self.dinode(dir).await? else { return Ok(false) };
        let form = self.form();
        for lbn in first..self.g.file_blocks(dinode.size) {
            let mut block = self.directory_block(dir, &dinode, lbn).await?;
            for (i, chunk) in block.chunks_exact_mut(DIRBLOCK as usize).enumerate() {
                let within = lbn * u64::from(self.g.bsize) + i as u64 * u64::from(DIRBLOCK);
                let (mut names, _) = form.decode(chunk);
                if within < dinode.size && change(&mut names) && form.fits(&names) {
                    chunk.copy_from_slice(&form.encode(&names));
                    self.blocks.insert((dir, lbn as i64), block);
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// The inode that a directory has under a name.
    async fn lookup(&mut self, dir: u32, wanted: &[u8]) -> Result<Option<u32>, Error> {
        Ok(self.entries(dir).await?.into_iter().find(|name| name.name == wanted).map(|name| name.ino))
    }

    async fn names_in(&mut self, dir: u32) -> Result<FxHashSet<Vec<u8>>, Error> {
        Ok(self.entries(dir).await?.into_iter().map(|name| name.name).collect())
    }

    /// All entries of a directory.
    async fn entries(&mut self, dir: u32) -> Result<Vec<Name>, Error> {
        let Some(dinode) = self.dinode(dir).await? else { return Ok(vec![]) };
        let (form, mut all) = (self.form(), vec![]);
        for lbn in 0..self.g.file_blocks(dinode.size) {
            let block = self.directory_block(dir, &dinode, lbn).await?;
            for chunk in block.chunks_exact(DIRBLOCK as usize) {
                all.extend(form.decode(chunk).0);
            }
        }
        Ok(all)
    }

    /// Names an inode in `lost+found`; `false` if that is impossible.
    pub(crate) async fn name_in_lost(&mut self, ino: u32) -> Result<bool, Error> {
        let Some(lost) = self.lost_and_found(ino).await? else { return Ok(false) };
        let Some(dinode) = self.dinode(ino).await? else { return Ok(false) };
        let mut name = format!("#{ino}").into_bytes();
        while self.lost.1.contains(&name) && name.len() < 200 {
            name.push(b'_');
        }
        self.lost.1.insert(name.clone());
        let kind = if self.form().old { 0 } else { (dinode.mode >> 12) as u8 };
        self.add_name(lost, Name { ino, kind, name }).await?;
        if dinode.is_dir() {
            self.names.parent.insert(ino, lost);
        }
        Ok(true)
    }

    /// `lost+found`, made if it is missing. It must not be the inode that is to be named in it.
    async fn lost_and_found(&mut self, not: u32) -> Result<Option<u32>, Error> {
        if self.lost.0 != 0 {
            return Ok(Some(self.lost.0).filter(|ino| *ino != not));
        }
        let mut name = LOST.to_vec();
        while let Some(ino) = self.lookup(ROOT, &name).await? {
            let there = self.dinode(ino).await?.is_some_and(|dinode| dinode.is_dir()) && self.in_use(ino);
            if there && ino != not {
                self.lost = (ino, self.names_in(ino).await?);
                return Ok(Some(ino));
            }
            // Something else has the name.
            name.push(b'_');
            if name.len() > 2 * LOST.len() {
                return Ok(None);
            }
        }
        let ino = self.allocate().await?;
        self.make_directory(ino, ROOT);
        let kind = if self.form().old { 0 } else { 4 };
        self.add_name(ROOT, Name { ino, kind, name }).await?;
        self.names.set_count(ino, 1);
        self.names.parent.insert(ino, ROOT);
        self.names.dotdot.insert(ino, ROOT);
        self.lost = (ino, FxHashSet::default());
        Ok(Some(ino))
    }

    /// A free inode.
    async fn allocate(&mut self) -> Result<u32, Error> {
        loop {
            let free = (3..self.ifile.entries.len() as u32).find(|ino| !self.in_use(*ino));
            match free {
                Some(ino) => {
                    if let Some(entry) = self.ifile.entry_mut(ino) {
                        (entry.nextfree, entry.version) = (NextFree::End, entry.version.max(1));
                    }
                    return Ok(ino);
                }
                None => self.grow_ifile().await?,
            }
        }
    }

    /// Adds a name to a directory, which grows if it is full.
    async fn add_name(&mut self, dir: u32, name: Name) -> Result<(), Error> {
        let form = self.form();
        let fits = |names: &mut Vec<Name>| {
            names.push(name.clone());
            form.fits(names)
        };
        // Only the last block of `lost+found`: to look through all of them for each file would take too long.
        let last = self.dinode(dir).await?.map_or(0, |dinode| self.g.file_blocks(dinode.size).saturating_sub(1));
        let first = if self.lost.0 == dir { last } else { 0 };
        if self.edit(dir, first, fits).await? {
            return Ok(());
        }
        let Some(mut dinode) = self.dinode(dir).await? else { return Ok(()) };
        let lbn = dinode.size / u64::from(self.g.bsize);
        let within = (dinode.size % u64::from(self.g.bsize)) as usize;
        let mut block = if within > 0 { self.directory_block(dir, &dinode, lbn).await? } else { vec![] };
        dinode.size += u64::from(DIRBLOCK);
        let len = self.g.block_bytes(dinode.size, ordo_ondisk::Lbn(lbn as i64)) as usize;
        block.resize(len, 0);
        let fresh = form.encode(&[name]);
        block.iter_mut().skip(within).zip(fresh).for_each(|(to, from)| *to = from);
        self.blocks.insert((dir, lbn as i64), block);
        // The block is longer than that on the disk, whose place does not have room for it.
        let unwritten = self.unwritten();
        self.set_pointer(dir, &mut dinode, lbn as i64, unwritten).await?;
        self.recount(dir, &mut dinode).await?;
        self.put_dinode(dir, dinode);
        Ok(())
    }
}
