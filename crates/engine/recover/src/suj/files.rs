//! Inodes and their blocks, as the replay sees them.

use super::replay::Replay;
use crate::dirty::Order;
use crate::outcome::NotReplayed;
use crate::walk::{Pointer, Slot, Walk};
use ordo_disk::Image as Leaving;
use ordo_ondisk::{ByteOff, Dinode, FragNo, Geometry, Ino, Lbn, Root, dirent};

impl Replay {
    /// An inode with valid sizes (recover-suj-7). One that was never written is free, whatever its bytes are.
    pub(crate) async fn dinode(&mut self, ino: u32) -> Result<Dinode, NotReplayed> {
        if !self.is_initialised(ino).await? {
            return Ok(Dinode::default());
        }
        let (line, within) = self.image.line(Dinode::place(&self.geo, Ino(ino))).await?;
        let dinode = Dinode::decode(line.get(within..).unwrap_or_default(), &self.geo, Ino(ino))?;
        dinode.check_size(&self.geo, Ino(ino))?;
        Ok(dinode)
    }

    /// Writes an inode with its check hash.
    pub(crate) async fn put_dinode(&mut self, ino: u32, dinode: &Dinode) -> Result<(), NotReplayed> {
        let at = Dinode::place(&self.geo, Ino(ino));
        let mut bytes = vec![0; self.geo.dinode_size as usize];
        self.image.read(at, &mut bytes).await?;
        let done = dinode.encode(&mut bytes, &self.geo);
        debug_assert!(done.is_some(), "an inode fits in its bytes");
        Ok(self.image.write(at, &bytes, Order::Inodes).await?)
    }

    /// Where block `lbn` of an inode is, and how many fragments it has; `None` for a hole. Negative numbers are those
    /// of the journal.
    pub(super) async fn mapped(
        &mut self,
        ino: u32,
        dinode: &Dinode,
        lbn: Lbn,
    ) -> Result<Option<(FragNo, u32)>, NotReplayed> {
        let run = |frag: FragNo, count: u32, whole: u32| (frag, if count == 0 { whole } else { count });
        let whole = self.geo.frag;
        if let -2..=-1 = lbn.0 {
            let k = (-1 - lbn.0) as usize;
            let frag = dinode.extb.get(k).copied().unwrap_or_default();
            let count = self.geo.blkfrags(dinode.extsize.into(), k as u64);
            return self.in_range(ino, run(frag, count, whole));
        }
        if !dinode.has_blocks(&self.geo) {
            return Ok(None);
        }
        // An indirect block is on the path to the lowest block that it leads to.
        let lowest = match Geometry::indirect_level(lbn) {
            Some(level) => Lbn(-lbn.0 - level as i64),
            None => lbn,
        };
        let Some(path) = self.geo.path(lowest) else { return Ok(None) };
        let mut frag = match path.root {
            Root::Direct(i) => {
                let frag = dinode.db.get(i).copied().unwrap_or_default();
                return self.in_range(ino, run(frag, self.geo.blkfrags(dinode.size, i as u64), whole));
            }
            Root::Indirect(i) => dinode.ib.get(i).copied().unwrap_or_default(),
        };
        for (known_as, index) in path.indirects() {
            if known_as == lbn || frag.is_hole() {
                break;
            }
            self.in_range(ino, (frag, whole))?;
            let (line, within) = self.image.line(self.geo.byte(frag)).await?;
            let block = line.get(within..).unwrap_or_default();
            frag = self.geo.pointer(block, index).unwrap_or_default();
        }
        self.in_range(ino, (frag, whole))
    }

    /// The run, `None` for a hole.
    pub(super) fn in_range(
        &self,
        ino: u32,
        (frag, count): (FragNo, u32),
    ) -> Result<Option<(FragNo, u32)>, NotReplayed> {
        if frag.is_hole() {
            return Ok(None);
        }
        match self.geo.is_data_range(frag, count) {
            true => Ok(Some((frag, count))),
            false => Err(NotReplayed::Pointer { ino, frag: frag.0 }),
        }
    }

    /// The next pointer of a walk, checked so that it may be followed.
    pub(crate) async fn step(&mut self, ino: u32, walk: &mut Walk) -> Result<Option<Pointer>, NotReplayed> {
        let Some(pointer) = walk.next(&mut self.image, &self.geo).await? else { return Ok(None) };
        self.spend(pointer.count.into())?;
        self.in_range(ino, (pointer.frag, pointer.count))?;
        Ok(Some(pointer))
    }

    /// Clears a pointer. One in the inode is changed in `dinode` only.
    pub(super) async fn drop_pointer(&mut self, dinode: &mut Dinode, slot: Slot) -> Result<(), NotReplayed> {
        let root = match slot {
            Slot::Direct(index) => dinode.db.get_mut(index),
            Slot::Indirect(index) => dinode.ib.get_mut(index),
            Slot::Ext(index) => dinode.extb.get_mut(index),
            Slot::Block(at) => {
                let zero = [0; 8];
                let bytes = zero.get(..self.geo.pointer_size()).unwrap_or_default();
                return Ok(self.image.write(at, bytes, Order::Contents).await?);
            }
        };
        if let Some(root) = root {
            *root = FragNo::HOLE;
        }
        Ok(())
    }

    /// Where on the volume the directory block at byte `at` of a directory is; `None` if it has none.
    pub(super) async fn directory_place(
        &mut self,
        ino: u32,
        dinode: &Dinode,
        at: u64,
    ) -> Result<Option<ByteOff>, NotReplayed> {
        let chunk = u64::from(self.geo.dirblksiz);
        if !dinode.is_dir() || at.saturating_add(chunk) > dinode.size {
            return Ok(None);
        }
        let run = self.mapped(ino, dinode, Lbn(self.geo.lblkno(at) as i64)).await?;
        let within = u64::from(self.geo.blkoff(at));
        let inside = |(frag, count): (FragNo, u32)| {
            let there = within + chunk <= u64::from(count) * u64::from(self.geo.fsize);
            there.then(|| ByteOff(self.geo.byte(frag).0 + within))
        };
        Ok(run.and_then(inside))
    }

    /// The directory block at byte `at` of a directory; `None` if it has none.
    pub(super) async fn directory_block(
        &mut self,
        ino: u32,
        dinode: &Dinode,
        at: u64,
    ) -> Result<Option<Vec<u8>>, NotReplayed> {
        let Some(place) = self.directory_place(ino, dinode, at).await? else { return Ok(None) };
        let mut block = vec![0; self.geo.dirblksiz as usize];
        self.image.read(place, &mut block).await?;
        Ok(Some(block))
    }

    /// Passes the names of a directory, each with its offset, to `look` until it returns a value. Iterates over the
    /// existing blocks, not up to the size (recover-suj-7).
    pub(crate) async fn look_at_names<T>(
        &mut self,
        ino: u32,
        dinode: &Dinode,
        mut look: impl FnMut(u64, &dirent::Dirent<'_>) -> Option<T>,
    ) -> Result<Option<T>, NotReplayed> {
        let (format, chunk, bsize) = (self.geo.dir_format(), self.geo.dirblksiz as usize, u64::from(self.geo.bsize));
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = self.step(ino, &mut walk).await? {
            if pointer.level > 0 || matches!(pointer.slot, Slot::Ext(_)) {
                continue;
            }
            let from = pointer.lbn.saturating_mul(bsize);
            for at in (from..dinode.size.min(from.saturating_add(bsize))).step_by(chunk) {
                let Some(block) = self.directory_block(ino, dinode, at).await? else { continue };
                for entry in dirent::entries(&block, format, Ino(ino), at) {
                    let entry = entry?;
                    if entry.is_name()
                        && let Some(found) = look(at + entry.offset as u64, &entry)
                    {
                        return Ok(Some(found));
                    }
                }
            }
        }
        Ok(None)
    }

    /// A block of pointers.
    pub(super) async fn pointers(&mut self, frag: FragNo) -> Result<(Leaving, usize), NotReplayed> {
        Ok(self.image.line(self.geo.byte(frag)).await?)
    }
}
