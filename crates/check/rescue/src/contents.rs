//! The contents of a file, piece by piece: bytes, holes, and gaps where bytes were.
//!
//! T1. The pieces come in the order of the file and cover it without overlap, up to its size.
//! T2. A pointer is followed only to data of the volume; an indirect block once in a file. A file that claims more
//!     blocks than the volume has is cut there, so the work on one file is bounded by the volume (check-rescue-3).

use crate::Why;
use crate::volume::{Inode, SECTOR, Volume};
use ordo_ondisk::FragNo;
use rustc_hash::FxHashSet;

/// A piece of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// These bytes.
    Data(&'a [u8]),
    /// Zeroes: nothing is stored there.
    Hole(u64),
    /// So many bytes cannot be read, and why.
    Gap(u64, &'a Why),
}

/// What happens to the pieces: each comes with its place in the file.
pub type Each<'a, E> = &'a mut dyn FnMut(u64, Piece<'_>) -> Result<(), E>;

/// A walk over the pointers of one file.
struct Reader<'a, E> {
    volume: &'a Volume,
    size: u64,
    each: Each<'a, E>,
    followed: FxHashSet<u64>,
    blocks_left: u64,
}

impl Volume {
    /// Reads the contents of a file, a directory or a long symbolic link.
    ///
    /// # Errors
    /// Only those of `each`.
    pub fn contents<E>(&self, inode: &Inode, each: Each<'_, E>) -> Result<(), E> {
        let (geo, dinode) = (&self.geo, &inode.dinode);
        if !dinode.has_blocks(geo) {
            return Ok(());
        }
        let blocks_left = geo.size / u64::from(geo.frag.max(1)) + u64::from(geo.ncg) + 1;
        let mut reader = Reader { volume: self, size: dinode.size, each, followed: FxHashSet::default(), blocks_left };
        for (lbn, pointer) in (0..).zip(dinode.db) {
            reader.data(lbn, pointer)?;
        }
        let mut lbn = 12u64;
        for (level, pointer) in (1..).zip(dinode.ib) {
            reader.follow(lbn, level, pointer)?;
            lbn = lbn.saturating_add(geo.span(level));
        }
        Ok(())
    }

    /// The target of a symbolic link.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub fn link_target(&self, inode: &Inode) -> Result<Vec<u8>, Why> {
        if let Some(link) = inode.dinode.short_link(&self.geo) {
            return Ok(link.bytes().to_vec());
        }
        if inode.dinode.size > self.geo.bsize.into() {
            return Err(Why::Damaged(format!("a symbolic link of {} bytes", inode.dinode.size)));
        }
        let mut target = Vec::new();
        self.contents(inode, &mut |_, piece| match piece {
            Piece::Data(bytes) => {
                target.extend_from_slice(bytes);
                Ok(())
            }
            Piece::Hole(_) => Err(Why::Damaged("a symbolic link with a hole".into())),
            Piece::Gap(_, why) => Err(why.clone()),
        })?;
        Ok(target)
    }
}

impl<E> Reader<'_, E> {
    /// The bytes of the file from block `lbn` on, at most `blocks` blocks.
    fn extent(&self, lbn: u64, blocks: u64) -> Option<(u64, u64)> {
        let block = u64::from(self.volume.geo.bsize);
        let at = lbn.checked_mul(block).filter(|at| *at < self.size)?;
        Some((at, blocks.saturating_mul(block).min(self.size - at)))
    }

    fn data(&mut self, lbn: u64, pointer: FragNo) -> Result<(), E> {
        let Some((at, len)) = self.extent(lbn, 1) else { return Ok(()) };
        let geo = &self.volume.geo;
        if pointer.is_hole() {
            return (self.each)(at, Piece::Hole(len));
        }
        if !geo.is_readable_range(pointer, geo.blkfrags(self.size, lbn)) {
            return (self.each)(at, Piece::Gap(len, &Why::Pointer(pointer)));
        }
        let Some(left) = self.blocks_left.checked_sub(1) else {
            return (self.each)(at, Piece::Gap(len, &Why::TooMany));
        };
        self.blocks_left = left;
        // At most a block.
        let mut bytes = vec![0; len as usize];
        let from = geo.byte(pointer).0;
        match self.volume.read(from, &mut bytes) {
            Ok(()) => (self.each)(at, Piece::Data(&bytes)),
            Err(_) => self.sectors(at, from, &mut bytes),
        }
    }

    /// The sectors of a block that cannot be read whole.
    fn sectors(&mut self, at: u64, from: u64, bytes: &mut [u8]) -> Result<(), E> {
        let mut done = 0u64;
        for sector in bytes.chunks_mut(SECTOR as usize) {
            let len = sector.len() as u64;
            match self.volume.read(from.saturating_add(done), sector) {
                Ok(()) => (self.each)(at + done, Piece::Data(sector))?,
                Err(why) => (self.each)(at + done, Piece::Gap(len, &why))?,
            }
            done += len;
        }
        Ok(())
    }

    /// What an indirect block leads to. At most three deep.
    fn follow(&mut self, lbn: u64, level: usize, pointer: FragNo) -> Result<(), E> {
        if level == 0 {
            return self.data(lbn, pointer);
        }
        let geo = &self.volume.geo;
        let Some((at, len)) = self.extent(lbn, geo.span(level)) else { return Ok(()) };
        if pointer.is_hole() {
            return (self.each)(at, Piece::Hole(len));
        }
        let block = match geo.is_data_range(pointer, geo.frag) {
            false => Err(Why::Pointer(pointer)),
            true if !self.followed.insert(pointer.0) => Err(Why::Twice(pointer)),
            true => self.volume.block(pointer, geo.bsize as usize),
        };
        let block = match block {
            Ok(block) => block,
            Err(why) => {
                let why = Why::Damaged(format!("its indirect block: {why}"));
                return (self.each)(at, Piece::Gap(len, &why));
            }
        };
        let below = geo.span(level - 1);
        for i in 0..geo.nindir {
            let lbn = lbn.saturating_add(below.saturating_mul(i.into()));
            if self.extent(lbn, 1).is_none() {
                break;
            }
            let pointer = geo.pointer(&block, i).unwrap_or(FragNo::HOLE);
            self.follow(lbn, level - 1, pointer)?;
        }
        Ok(())
    }
}
