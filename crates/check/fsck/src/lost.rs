//! `lost+found`: where nameless files and directories get a name, `#` and their inode number.

use crate::volume::{Extent, InodeState, Lost, Volume};
use crate::{Error, dirblock};
use ordo_ondisk::{ByteOff, Dinode, Ino};
use ordo_recover::{Order, Slot};
use rustc_hash::FxHashSet;

const NAME: &[u8] = b"lost+found";

/// True if the name is the one that inode `ino` gets here.
pub(crate) fn is_lost_name(name: &[u8], ino: u32) -> bool {
    let digits = name.strip_prefix(b"#").and_then(|digits| std::str::from_utf8(digits).ok());
    digits.and_then(|digits| digits.trim_end_matches('_').parse().ok()) == Some(ino)
}

impl Volume {
    /// Names an inode in `lost+found`. Returns the directory; `None` if there is no room for the name.
    pub(crate) async fn lose(&mut self, ino: u32) -> Result<Option<u32>, Error> {
        if self.lost.ino == 0 && !self.lost.hopeless {
            let displaced = self.open_lost().await?;
            for other in displaced.into_iter().filter(|&other| other != ino) {
                if self.known(other).links == 0 && self.name_in_lost(other).await?.is_some() {
                    self.put_count(other).await?;
                }
            }
        }
        self.name_in_lost(ino).await
    }

    async fn name_in_lost(&mut self, ino: u32) -> Result<Option<u32>, Error> {
        let known = self.known(ino);
        // The directory must not be named in itself.
        if self.lost.hopeless || ino == self.lost.ino {
            return Ok(None);
        }
        let digits = self.geo.inodes().saturating_sub(1).to_string().len();
        let mut name = format!("#{ino:0digits$}").into_bytes();
        while self.lost.names.contains(&name) && name.len() < 200 {
            name.push(b'_');
        }
        let kind = if self.geo.old_dirent { 0 } else { known.type_ };
        if !self.enter_lost(ino, kind, &name).await? {
            return Ok(None);
        }
        self.lost.names.insert(name);
        self.count_link(ino, 1);
        let parent = self.lost.ino;
        if let Some(dir) = self.dir_mut(ino) {
            dir.parent = parent;
        }
        Ok(Some(parent))
    }

    /// Whether a link count of this inode grew because something was named in `lost+found`, and not by damage.
    pub(crate) fn lost_gained(&self, ino: u32) -> bool {
        self.lost.ino != 0 && (ino == self.lost.ino || ino == Ino::ROOT.0 && self.lost.made)
    }

    /// Finds or makes the directory. Returns the inodes that had its name but are not directories.
    async fn open_lost(&mut self) -> Result<Vec<u32>, Error> {
        let mut displaced = vec![];
        let root = self.dinode(Ino::ROOT.0).await?;
        let (extents, _) = self.extents(&root).await?;
        let format = self.geo.dir_format();
        for extent in &extents {
            let mut bytes = vec![0; extent.len as usize];
            self.image.read(extent.at, &mut bytes).await?;
            for (block, n) in bytes.chunks_exact_mut(format.block).zip(0u64..) {
                let Some(entry) = dirblock::entries(block, format).0.into_iter().find(|e| e.name == NAME) else {
                    continue;
                };
                if self.known(entry.ino).state == InodeState::Dir {
                    self.use_lost(entry.ino).await?;
                    return Ok(displaced);
                }
                // Another file has the name: it loses the name, and is the first to be named here.
                displaced.push(entry.ino);
                ordo_ondisk::dirent::set_inode(block, entry.at, format, Ino::NONE, 0);
                let at = ByteOff(extent.at.0 + n * format.block as u64);
                self.image.write(at, block, Order::Contents).await?;
                self.count_link(entry.ino, -1);
            }
        }
        let made = self.make_lost(root, extents).await?;
        self.lost.hopeless = !made;
        Ok(displaced)
    }

    async fn make_lost(&mut self, mut root: Dinode, mut extents: Vec<Extent>) -> Result<bool, Error> {
        let taken = crate::volume::Known { state: InodeState::File, ..Default::default() };
        let Some(ino) = self.take_inode(taken).await? else { return Ok(false) };
        let kind = if self.geo.old_dirent { 0 } else { 4 };
        let made = self.make_directory(ino, Ino::ROOT.0, 0o700).await?;
        let named = made && self.enter(Ino::ROOT.0, &mut root, &mut extents, &mut (0, 0), (ino, kind, NAME)).await?;
        if !named {
            self.clear_inode(ino).await?;
            return Ok(false);
        }
        self.count_link(ino, 1);
        if self.dots_counted {
            self.count_link(ino, 1);
            self.count_link(Ino::ROOT.0, 1);
        }
        self.use_lost(ino).await?;
        self.lost.made = true;
        Ok(true)
    }

    async fn use_lost(&mut self, ino: u32) -> Result<(), Error> {
        let dinode = self.dinode(ino).await?;
        let (extents, _) = self.extents(&dinode).await?;
        let format = self.geo.dir_format();
        let mut names = FxHashSet::default();
        for extent in &extents {
            let mut bytes = vec![0; extent.len as usize];
            self.image.read(extent.at, &mut bytes).await?;
            for block in bytes.chunks_exact(format.block) {
                names.extend(dirblock::entries(block, format).0.into_iter().map(|entry| entry.name));
            }
        }
        self.lost = Lost { ino, hopeless: false, made: false, extents, next: (0, 0), names };
        Ok(())
    }

    async fn enter_lost(&mut self, ino: u32, kind: u8, name: &[u8]) -> Result<bool, Error> {
        let lost = self.lost.ino;
        let mut dinode = self.dinode(lost).await?;
        let (mut extents, mut next) = (std::mem::take(&mut self.lost.extents), self.lost.next);
        let done = self.enter(lost, &mut dinode, &mut extents, &mut next, (ino, kind, name)).await;
        (self.lost.extents, self.lost.next) = (extents, next);
        done
    }

    /// Adds a name to a directory, which grows if necessary. The search for room starts at `next`.
    async fn enter(
        &mut self,
        dir: u32,
        dinode: &mut Dinode,
        extents: &mut Vec<Extent>,
        next: &mut (usize, u64),
        (ino, kind, name): (u32, u8, &[u8]),
    ) -> Result<bool, Error> {
        let format = self.geo.dir_format();
        let mut block = vec![0; format.block];
        loop {
            while let Some(extent) = extents.get(next.0) {
                if next.1 + format.block as u64 > extent.len {
                    *next = (next.0 + 1, 0);
                    continue;
                }
                let at = ByteOff(extent.at.0 + next.1);
                self.image.read(at, &mut block).await?;
                if dirblock::insert(&mut block, format, ino, kind, name) {
                    self.image.write(at, &block, Order::Contents).await?;
                    return Ok(true);
                }
                next.1 += format.block as u64;
            }
            if !self.grow_directory(dir, dinode).await? {
                return Ok(false);
            }
            *extents = self.extents(dinode).await?.0;
            *next = (extents.len().saturating_sub(1), 0);
        }
    }

    /// Adds a directory block, in the last fragment, in one more, or in a new block.
    async fn grow_directory(&mut self, ino: u32, dinode: &mut Dinode) -> Result<bool, Error> {
        let (block, bsize) = (u64::from(self.geo.dirblksiz), u64::from(self.geo.bsize));
        let within = dinode.size % bsize;
        let grown = if within == 0 {
            self.add_block(dinode, dinode.size / bsize).await?
        } else if !within.is_multiple_of(self.geo.fsize.into()) || dinode.size > 12 * bsize {
            // There is room in the last fragment or, beyond the direct blocks, in the last block.
            self.format_tail(dinode).await?;
            Some(block)
        } else {
            self.add_fragment(dinode).await?
        };
        let Some(bytes) = grown else { return Ok(false) };
        dinode.size += bytes;
        self.put_dinode(ino, dinode).await?;
        Ok(true)
    }

    /// Makes the directory block after the end an empty one.
    async fn format_tail(&mut self, dinode: &Dinode) -> Result<(), Error> {
        let (extents, _) = self.extents(dinode).await?;
        let Some(last) = extents.last() else { return Ok(()) };
        let fresh = ordo_ondisk::dirent::fresh_block(self.geo.dir_format());
        self.image.write(ByteOff(last.at.0 + last.len), &fresh, Order::Contents).await
    }

    /// Reallocates the last, partial block of a directory with one more fragment.
    async fn add_fragment(&mut self, dinode: &mut Dinode) -> Result<Option<u64>, Error> {
        let geo = self.geo.clone();
        let lbn = geo.lblkno(dinode.size);
        let count = geo.blkfrags(dinode.size, lbn);
        let old = dinode.db.get(lbn as usize).copied().unwrap_or_default();
        let Some(new) = self.take_frags(count + 1) else { return Ok(None) };
        let mut contents = vec![0; (count * geo.fsize) as usize];
        self.image.read(geo.byte(old), &mut contents).await?;
        self.put_fresh_blocks(new, count + 1).await?;
        self.image.write(geo.byte(new), &contents, Order::Fresh).await?;
        self.free_frags(old, count);
        self.set_pointer(dinode, Slot::Direct(lbn as usize), new).await?;
        dinode.blocks += u64::from(geo.fsize / 512);
        Ok(Some(geo.dirblksiz.into()))
    }

    /// Adds a block after the last whole one: a fragment within the direct pointers, a whole block beyond them.
    async fn add_block(&mut self, dinode: &mut Dinode, lbn: u64) -> Result<Option<u64>, Error> {
        let geo = self.geo.clone();
        let sectors = |count: u32| u64::from(count) * u64::from(geo.fsize / 512);
        let count = if lbn < 12 { 1 } else { geo.frag };
        let Some(frag) = self.take_frags(count) else { return Ok(None) };
        self.put_fresh_blocks(frag, count).await?;
        let mut indirect = dinode.ib.first().copied().unwrap_or_default();
        let slot = if lbn < 12 {
            Slot::Direct(lbn as usize)
        } else if lbn - 12 < geo.nindir.into() {
            if indirect.is_hole() {
                let Some(block) = self.take_frags(geo.frag) else { return Ok(None) };
                self.image.write(geo.byte(block), &vec![0; geo.bsize as usize], Order::Fresh).await?;
                self.set_pointer(dinode, Slot::Indirect(0), block).await?;
                dinode.blocks += sectors(geo.frag);
                indirect = block;
            }
            Slot::Block(ByteOff(geo.byte(indirect).0 + (lbn - 12) * geo.pointer_size() as u64))
        } else {
            self.free_frags(frag, count);
            return Ok(None);
        };
        self.set_pointer(dinode, slot, frag).await?;
        dinode.blocks += sectors(count);
        Ok(Some(if lbn < 12 { geo.dirblksiz.into() } else { geo.bsize.into() }))
    }
}
