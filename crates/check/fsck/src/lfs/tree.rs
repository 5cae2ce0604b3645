//! The pointers of a file, in the order of its blocks, without recursion.

use super::volume::Volume;
use crate::Error;
use ordo_ondisk::dinode::mode;
use ordo_ondisk::{Dinode, FragNo, Lbn, NDADDR, Root, Tree};
use rustc_hash::FxHashSet;

/// Where a pointer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// `di_db`.
    Direct(usize),
    /// `di_ib`.
    Root(usize),
    /// In an indirect block: its number, its address, and the index in it.
    In(i64, FragNo, u32),
}

/// A pointer that is not a hole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    /// The block that it leads to.
    pub(crate) lbn: i64,
    /// 0 for data, else the height of the indirect block.
    pub(crate) level: usize,
    /// The first data block that it leads to.
    pub(crate) first: u64,
    pub(crate) to: FragNo,
    pub(crate) place: Place,
}

struct Frame {
    name: i64,
    at: FragNo,
    /// Height of the block: 1 points to data.
    level: usize,
    first: u64,
    bytes: Vec<u8>,
    next: u32,
}

/// A walk over the pointers of a file. Holes are left out. After an indirect block come those that it leads to, unless
/// [`Walk::skip`] is called in between. An indirect block is entered once: one that contains itself would otherwise be
/// walked `nindir` cubed times.
pub(crate) struct Walk {
    ino: u32,
    tree: Tree,
    db: [FragNo; 12],
    ib: [FragNo; 3],
    root: usize,
    frames: Vec<Frame>,
    enter: Option<Pointer>,
    entered: FxHashSet<(FragNo, i64)>,
}

/// Whether the pointers of an inode lead to blocks.
pub(crate) fn has_blocks(dinode: &Dinode, volume: &Volume) -> bool {
    match dinode.kind() {
        mode::REG | mode::DIR => true,
        mode::LNK => !dinode.is_short_link(volume.encoding()),
        _ => false,
    }
}

impl Walk {
    /// Of an inode whose pointers lead to blocks.
    pub(crate) fn new(volume: &Volume, ino: u32, dinode: &Dinode) -> Walk {
        let tree = volume.g.tree();
        Walk {
            ino,
            tree,
            db: dinode.db,
            ib: dinode.ib,
            root: 0,
            frames: vec![],
            enter: None,
            entered: FxHashSet::default(),
        }
    }

    /// Does not enter the indirect block that was just returned.
    pub(crate) fn skip(&mut self) {
        self.enter = None;
    }

    pub(crate) async fn next(&mut self, volume: &mut Volume) -> Result<Option<Pointer>, Error> {
        if let Some(Pointer { lbn, level, first, to, .. }) = self.enter.take() {
            let bytes = volume.content(self.ino, lbn, to, volume.g.bsize as usize).await?;
            self.frames.push(Frame { name: lbn, at: to, level, first, bytes, next: 0 });
        }
        while let Some(frame) = self.frames.last_mut() {
            match frame.next_pointer(self.tree, volume) {
                Some(pointer) => return Ok(Some(self.found(pointer))),
                None => _ = self.frames.pop(),
            }
        }
        Ok(self.next_root().map(|pointer| self.found(pointer)))
    }

    fn found(&mut self, pointer: Pointer) -> Pointer {
        // Two blocks that are only in memory have the same address.
        let name = if pointer.to.0 >= 0xffff_fffe { pointer.lbn } else { 0 };
        self.enter = (pointer.level > 0 && self.entered.insert((pointer.to, name))).then_some(pointer);
        pointer
    }

    /// The next pointer of the inode that leads anywhere.
    fn next_root(&mut self) -> Option<Pointer> {
        let (root, to) =
            self.db.iter().chain(&self.ib).copied().enumerate().skip(self.root).find(|(_, to)| !to.is_hole())?;
        self.root = root + 1;
        let Some(i) = root.checked_sub(NDADDR) else {
            return Some(Pointer { lbn: root as i64, level: 0, first: root as u64, to, place: Place::Direct(root) });
        };
        let first = (1..=i).fold(NDADDR as u64, |first, level| first + self.tree.span(level));
        Some(Pointer { lbn: self.tree.indirect_root(i).0, level: i + 1, first, to, place: Place::Root(i) })
    }
}

impl Frame {
    fn next_pointer(&mut self, tree: Tree, volume: &Volume) -> Option<Pointer> {
        loop {
            let i = self.next;
            let to = volume.encoding().pointer(&self.bytes, i)?;
            self.next += 1;
            if to.is_hole() {
                continue;
            }
            let lbn = tree.indirect_child(Lbn(self.name), self.level - 1, i).0;
            let first = self.first + tree.span(self.level - 1) * u64::from(i);
            return Some(Pointer { lbn, level: self.level - 1, first, to, place: Place::In(self.name, self.at, i) });
        }
    }
}

impl Volume {
    /// Changes a pointer: in `dinode`, which the caller puts back, or in the indirect block.
    pub(crate) async fn set_place(
        &mut self,
        ino: u32,
        dinode: &mut Dinode,
        place: Place,
        to: FragNo,
    ) -> Result<(), Error> {
        match place {
            Place::Direct(i) => dinode.db.get_mut(i).into_iter().for_each(|pointer| *pointer = to),
            Place::Root(i) => dinode.ib.get_mut(i).into_iter().for_each(|pointer| *pointer = to),
            Place::In(name, at, i) => {
                self.take_indirect(ino, name, at).await?;
                let encoding = self.encoding();
                if let Some(block) = self.blocks.get_mut(&(ino, name)) {
                    // Cannot fail: the index came from the block.
                    let _ = encoding.put_pointer(block, i, to);
                }
            }
        }
        Ok(())
    }

    /// Keeps an indirect block here, so that it can be changed.
    pub(crate) async fn take_indirect(&mut self, ino: u32, name: i64, at: FragNo) -> Result<(), Error> {
        if !self.blocks.contains_key(&(ino, name)) {
            let bytes = self.content(ino, name, at, self.g.bsize as usize).await?;
            self.blocks.insert((ino, name), bytes);
        }
        Ok(())
    }

    /// The pointer to a data block; a hole if there is none.
    pub(crate) async fn pointer(&mut self, ino: u32, dinode: &Dinode, lbn: i64) -> Result<FragNo, Error> {
        let Some(path) = self.g.tree().path(Lbn(lbn)) else { return Ok(FragNo::HOLE) };
        let mut to = match path.root {
            Root::Direct(i) => return Ok(dinode.db.get(i).copied().unwrap_or_default()),
            Root::Indirect(i) => dinode.ib.get(i).copied().unwrap_or_default(),
        };
        for (name, i) in path.indirects() {
            if to.is_hole() {
                return Ok(FragNo::HOLE);
            }
            let block = self.content(ino, name.0, to, self.g.bsize as usize).await?;
            to = self.encoding().pointer(&block, i).unwrap_or_default();
        }
        Ok(to)
    }

    /// Makes block `lbn` of a file lead to `to`; makes the indirect blocks on the way.
    pub(crate) async fn set_pointer(
        &mut self,
        ino: u32,
        dinode: &mut Dinode,
        lbn: i64,
        to: FragNo,
    ) -> Result<(), Error> {
        let Some(path) = self.g.tree().path(Lbn(lbn)) else { return Ok(()) };
        let mut place = match path.root {
            Root::Direct(i) => Place::Direct(i),
            Root::Indirect(i) => Place::Root(i),
        };
        for (name, i) in path.indirects() {
            let at = self.indirect_at(ino, dinode, place, name.0).await?;
            place = Place::In(name.0, at, i);
        }
        self.set_place(ino, dinode, place, to).await
    }

    /// The address of the indirect block to which the pointer at `place` leads; an empty one is made if it leads to
    /// none.
    async fn indirect_at(&mut self, ino: u32, dinode: &mut Dinode, place: Place, name: i64) -> Result<FragNo, Error> {
        let to = match place {
            Place::Direct(_) => FragNo::HOLE,
            Place::Root(i) => dinode.ib.get(i).copied().unwrap_or_default(),
            Place::In(parent, at, i) => {
                let block = self.content(ino, parent, at, self.g.bsize as usize).await?;
                self.encoding().pointer(&block, i).unwrap_or_default()
            }
        };
        let whole = self.g.is_data_range(to.into(), self.g.block_units.into());
        if whole || self.is_unwritten(ino, name, to) {
            return Ok(to);
        }
        self.blocks.insert((ino, name), vec![0; self.g.bsize as usize]);
        let unwritten = self.unwritten();
        self.set_place(ino, dinode, place, unwritten).await?;
        Ok(unwritten)
    }

    /// Counts the blocks of an inode anew.
    pub(crate) async fn recount(&mut self, ino: u32, dinode: &mut Dinode) -> Result<(), Error> {
        let mut units = 0;
        if has_blocks(dinode, self) {
            let mut walk = Walk::new(self, ino, dinode);
            while let Some(pointer) = walk.next(self).await? {
                units += self.block_units(dinode.size, pointer.lbn);
                let whole = self.g.is_data_range(pointer.to.into(), 1);
                if !whole && !self.is_unwritten(ino, pointer.lbn, pointer.to) {
                    walk.skip();
                }
            }
        }
        dinode.blocks = self.g.bytes(units) / 512;
        Ok(())
    }
}
