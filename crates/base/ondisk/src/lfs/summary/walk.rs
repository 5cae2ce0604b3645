//! The blocks of a partial segment with their places, in their order on disk.

use super::{Finfo, Summary};
use crate::lfs::{Cksum, Daddr, Geometry, SegNo, Version};
use crate::num::index;
use crate::{Corrupt, Ino, Lbn, Rule, Structure};

/// What lies in a partial segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// A block of a file, of the inode map's file included.
    Block {
        /// The file.
        ino: Ino,
        /// Generation of the file.
        version: u32,
        /// The block; negative for an indirect block.
        lbn: Lbn,
        /// Where it is.
        at: Daddr,
        /// Bytes, as the record says: a short last block may end inside a fragment.
        bytes: u32,
    },
    /// An inode block.
    Inodes {
        /// Where it is.
        at: Daddr,
    },
}

impl Item {
    /// Where it is.
    pub fn at(&self) -> Daddr {
        match self {
            Item::Block { at, .. } | Item::Inodes { at } => *at,
        }
    }

    /// Units that it occupies.
    pub fn units(&self, g: &Geometry) -> u64 {
        match self {
            Item::Block { bytes, .. } => g.units(crate::num::roundup((*bytes).into(), g.fsize.into())),
            Item::Inodes { .. } => g.inode_block_units(),
        }
    }
}

/// A partial segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pseg {
    /// Where its summary is.
    pub at: Daddr,
    /// The segment that it is in.
    pub segment: SegNo,
    /// First unit after it.
    pub end: Daddr,
    /// What lies in it, in order of address.
    pub items: Vec<Item>,
}

impl Pseg {
    /// Where the next partial segment is in the same segment; `None`: in the segment that the summary names.
    pub fn next_here(&self, g: &Geometry) -> Option<Daddr> {
        g.next_pseg(self.segment, self.end)
    }

    /// Bytes from the summary to the end.
    pub fn bytes(&self, g: &Geometry) -> u64 {
        g.bytes(self.end.since(self.at))
    }

    /// The checksum of the blocks; `pseg` has all bytes from the summary to the end. `None` if it has fewer.
    pub fn datasum(&self, pseg: &[u8], g: &Geometry) -> Option<u32> {
        self.sum(pseg, g, 4)
    }

    fn sum(&self, pseg: &[u8], g: &Geometry, bytes: usize) -> Option<u32> {
        let mut sum = Cksum::new(g.endian);
        for item in &self.items {
            let at = usize::try_from(g.bytes(item.at().since(self.at))).ok()?;
            sum.add(pseg.get(at..)?.get(..bytes)?);
        }
        Some(sum.get())
    }

    /// Checks the blocks against the summary's checksum. In version 1 the machine that wrote it summed a word of its
    /// own, of 4 or of 8 bytes.
    ///
    /// # Errors
    /// A wrong checksum; too few bytes.
    pub fn check_data(&self, summary: &Summary, pseg: &[u8], g: &Geometry) -> Result<(), Corrupt> {
        let short = || Corrupt::cut_short(Structure::PartialSegment, pseg.len()).at(g.byte(self.at));
        let right = self.datasum(pseg, g).ok_or_else(short)?;
        let long = || self.sum(pseg, g, 8) == Some(summary.datasum);
        if summary.datasum == right || (g.version == Version::V1 && long()) {
            return Ok(());
        }
        let wrong = Corrupt::new(Structure::PartialSegment, "ss_datasum", summary.datasum, Rule::IsHex(right));
        Err(wrong.at(g.byte(self.at)))
    }
}

impl Summary {
    /// The partial segment whose summary, this one, is at `at`.
    ///
    /// # Errors
    /// A list of blocks that leaves the segment, an inode block's address at which the walk does not arrive, or a next
    /// segment that is none.
    pub fn walk(&self, g: &Geometry, at: Daddr) -> Result<Pseg, Corrupt> {
        let damage = |field, found: u64, words| {
            Corrupt::new(Structure::PartialSegment, field, found, Rule::Words(words)).at(g.byte(at))
        };
        let segment = g.segment_of(at).ok_or_else(|| damage("address", at.0, "which is in no segment"))?;
        if g.segment_starting(self.next).is_none() {
            return Err(damage("ss_next", self.next.0, "which is not the start of a segment"));
        }
        let mut walk = Walk { g, end: g.segment_end(segment), pos: at, items: Vec::new() };
        let leaves = |pos: Daddr| damage("block address", pos.0, "from where the block leaves the segment");
        walk.skip(g.summary_units()).map_err(leaves)?;
        let (mut files, mut inodes) = (self.finfos.iter(), self.inode_blocks.iter().peekable());
        loop {
            if let Some(&inode_block) = inodes.next_if(|&&block| block == walk.pos) {
                walk.put(Item::Inodes { at: inode_block }).map_err(leaves)?;
            } else if let Some(file) = files.next() {
                walk.file(file).map_err(leaves)?;
            } else if let Some(block) = inodes.next() {
                return Err(damage("ss_inode_blocks", block.0, "which is not where a block begins"));
            } else {
                return Ok(Pseg { at, segment, end: walk.pos, items: walk.items });
            }
        }
    }
}

struct Walk<'a> {
    g: &'a Geometry,
    end: Daddr,
    pos: Daddr,
    items: Vec<Item>,
}

impl Walk<'_> {
    /// Moves on; an error has the position where that is impossible.
    fn skip(&mut self, units: u64) -> Result<(), Daddr> {
        let to = self.pos.plus(units);
        if to > self.end {
            return Err(self.pos);
        }
        self.pos = to;
        Ok(())
    }

    fn put(&mut self, item: Item) -> Result<(), Daddr> {
        self.skip(item.units(self.g))?;
        self.items.push(item);
        Ok(())
    }

    fn file(&mut self, file: &Finfo) -> Result<(), Daddr> {
        let &Finfo { ino, version, lastlength, .. } = file;
        let last = file.lbns.len().saturating_sub(1);
        for (i, &lbn) in file.lbns.iter().enumerate() {
            let bytes = if i == last { lastlength } else { self.g.bsize };
            self.put(Item::Block { ino, version, lbn, at: self.pos, bytes })?;
        }
        Ok(())
    }
}

/// Index of an address's first byte in the bytes of its partial segment.
pub(super) fn offset_in(g: &Geometry, start: Daddr, at: Daddr) -> usize {
    index(crate::num::low32(g.bytes(at.since(start))))
}
