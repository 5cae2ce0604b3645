//! Allocating fragments and inodes for the repair itself: copies, `lost+found`, a new root.
//!
//! Phase 5 writes the bitmaps, so allocating only marks `used` and `groups`.
//!
//! Space that this repair itself has freed is allocated only when nothing else is left. Until everything is written, an
//! inode on the disk may still point to it: an interrupted repair would leave one fragment in two files, and the next
//! repair could not be automatic.

use crate::volume::{InodeState, Known, Volume};
use crate::{Error, Finding};
use ordo_ondisk::{Cgx, FragNo, Ino};
use ordo_recover::Order;

impl Volume {
    /// `count` free fragments in one block; `None` if there are none. Continues the search at the last place.
    pub(crate) fn take_frags(&mut self, count: u32) -> Option<FragNo> {
        let (size, per_block) = (self.geo.size, u64::from(self.geo.frag));
        // Otherwise a full volume with many lost files would be searched completely for each of them.
        if count >= self.no_room_for {
            return None;
        }
        let (start, mask) = (self.rotor, (1u64 << count) - 1);
        let blocks = size / per_block;
        let places = (0..blocks).map(|step| ((start + step) % blocks, false));
        for (block, freed) in places.clone().chain(places.map(|(block, _)| (block, true))) {
            if self.freed_blocks.contains(&block) != freed {
                continue;
            }
            let block = block * per_block;
            let bits = self.used.run(block, self.geo.frag);
            if let Some(offset) = (0..=self.geo.frag - count).find(|offset| bits >> offset & mask == 0) {
                let frag = FragNo(block + u64::from(offset));
                // A partial last block has no data range beyond its end; `used` says so for other bits.
                if self.geo.is_data_range(frag, count) {
                    self.rotor = block / per_block;
                    self.used.set(frag.0, count.into());
                    return Some(frag);
                }
            }
        }
        self.no_room_for = count;
        None
    }

    /// Marks fragments as free.
    pub(crate) fn free_frags(&mut self, frag: FragNo, count: u32) {
        let (frag, count) = (frag.0, u64::from(count));
        self.used.clear(frag, count);
        let per_block = u64::from(self.geo.frag);
        self.freed_blocks.extend(frag / per_block..(frag + count).div_ceil(per_block));
    }

    /// A free inode, marked as `known`; `None` if there is none.
    pub(crate) async fn take_inode(&mut self, known: Known) -> Result<Option<u32>, Error> {
        match self.take_inode_that(known, |freed| !freed).await? {
            Some(ino) => Ok(Some(ino)),
            None => self.take_inode_that(known, |_| true).await,
        }
    }

    /// The same, among inodes that `will_do` accepts; its argument is whether this repair has freed the inode.
    async fn take_inode_that(&mut self, known: Known, will_do: fn(bool) -> bool) -> Result<Option<u32>, Error> {
        for c in 0..self.geo.ncg {
            let first = if c == 0 { Ino::ROOT.0 + 1 } else { 0 };
            let group = self.groups.get(c as usize);
            let inited = group.map_or(0, |group| group.inited);
            let free = (first..inited).find(|&index| {
                let known = group.and_then(|group| group.inodes.get(index as usize));
                let is_free = known.is_none_or(|known| known.state == InodeState::Free);
                is_free && will_do(self.freed_inodes.contains(&(c * self.geo.ipg + index)))
            });
            let index = match free {
                Some(index) => index,
                None if inited < self.geo.ipg && self.init_inodes(c, inited).await? => inited.max(first),
                None => continue,
            };
            let ino = c * self.geo.ipg + index;
            self.know(ino, known);
            self.born.insert(ino);
            return Ok(Some(ino));
        }
        Ok(None)
    }

    /// Records what an inode is, including one beyond those in use so far.
    pub(crate) fn know(&mut self, ino: u32, known: Known) {
        let (c, index) = ((ino / self.geo.ipg) as usize, (ino % self.geo.ipg) as usize);
        if let Some(group) = self.groups.get_mut(c) {
            if group.inodes.len() <= index {
                group.inodes.resize(index + 1, Known::default());
            }
            if let Some(slot) = group.inodes.get_mut(index) {
                *slot = known;
            }
        }
    }

    /// Writes one more block of free inodes in group `c`, of which the first `inited` are initialised.
    async fn init_inodes(&mut self, c: u32, inited: u32) -> Result<bool, Error> {
        let block = FragNo(self.geo.cgimin(Cgx(c)).0 + u64::from(inited / self.geo.inopb * self.geo.frag));
        let zeros = vec![0; self.geo.bsize as usize];
        self.image.write(self.byte(block), &zeros, Order::InodeBlocks).await?;
        let Some(group) = self.groups.get_mut(c as usize) else { return Ok(false) };
        group.inited = inited + self.geo.inopb;
        Ok(true)
    }

    /// Rule 20: makes a root directory if there is none.
    pub(crate) async fn ensure_root(&mut self) -> Result<(), Error> {
        let root = Ino::ROOT.0;
        let why = match self.known(root).state {
            InodeState::Dir => return Ok(()),
            InodeState::Free => "its inode is free",
            InodeState::EmptyDir => "it is empty",
            InodeState::File | InodeState::Hidden => "its inode is not a directory",
        };
        self.find(Finding::RootMissing { why });
        if self.known(root).state != InodeState::Free {
            self.move_root_away().await?;
        }
        self.make_directory(root, root, 0o755).await?;
        Ok(())
    }

    /// A file has the root's inode: moves it to another one, if there is room.
    async fn move_root_away(&mut self) -> Result<(), Error> {
        let root = Ino::ROOT.0;
        let (dinode, known) = (self.dinode(root).await?, self.known(root));
        let free = Known::default();
        self.know(root, free);
        match if known.state == InodeState::File { self.take_inode(known).await? } else { None } {
            Some(ino) => self.put_dinode(ino, &dinode).await,
            None => self.release(&dinode).await,
        }
    }
}
