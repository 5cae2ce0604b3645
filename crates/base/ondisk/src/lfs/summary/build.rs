//! Builds a partial segment: gives each block its address, and knows when summary or segment is full.
//!
//! U1. What was added always fits: [`PsegBuilder::block`] and [`PsegBuilder::inode`] refuse what does not, and change
//!     nothing then.
//! U2. The order of the calls is the order on disk. A record ends with a short block, with another file and with a new
//!     inode block, so that a walk meets each block where it is (lfs-summary-2, lfs-summary-3).
//! U3. The checksums are computed by [`PsegBuilder::seal`], from the bytes that will be written. No byte may change
//!     after it.
//! U4. The bytes that a seal needs ([`seal`]) stay free, whether the caller asks for one or not.

use super::walk::offset_in;
use super::{Finfo, Item, Pseg, SumFlags, Summary, seal};
use crate::lfs::{Daddr, Geometry, SegNo, Serial};
use crate::num::roundup;
use crate::{Ino, Lbn};

/// Why something does not fit into a partial segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Full {
    /// The summary has no room for its record.
    #[error("the summary of the partial segment is full")]
    Summary,
    /// The segment has no room for its bytes.
    #[error("the segment is full")]
    Segment,
}

/// What a summary says that does not follow from the blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Stamp {
    /// Flags.
    pub flags: SumFlags,
    /// Serial number: one more than that of the partial segment before.
    pub serial: Serial,
    /// Time of writing, seconds; not before the superblock's.
    pub create: u64,
    /// Start of the next segment.
    pub next: Daddr,
    /// The inode that was reclaimed, with that flag; else 0.
    pub reclino: u64,
}

/// The place of an inode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InodeSlot {
    /// The inode block.
    pub at: Daddr,
    /// The slot in it.
    pub slot: u32,
    /// The inode block was begun for this inode: its slots must be cleared first.
    pub fresh: bool,
}

/// A partial segment that is being built. See the module's invariants.
#[derive(Debug, Clone)]
pub struct PsegBuilder {
    g: Geometry,
    at: Daddr,
    segment: SegNo,
    pos: Daddr,
    finfos: Vec<Finfo>,
    /// The last record may get more blocks.
    open: bool,
    inode_blocks: Vec<Daddr>,
    ninos: u16,
    items: Vec<Item>,
    /// Bytes of the summary in use, with those kept for a seal (summary-seal-2).
    used: u32,
}

impl PsegBuilder {
    /// An empty partial segment whose summary will be at `at`. `None` if not even the summary fits there.
    pub fn new(g: &Geometry, at: Daddr) -> Option<PsegBuilder> {
        let segment = g.segment_of(at)?;
        let pos = at.plus(g.summary_units());
        (pos <= g.segment_end(segment)).then(|| PsegBuilder {
            g: *g,
            at,
            segment,
            pos,
            finfos: Vec::new(),
            open: false,
            inode_blocks: Vec::new(),
            ninos: 0,
            items: Vec::new(),
            used: g.version.summary_header().saturating_add(seal::size(g.version)),
        })
    }

    /// Where the summary will be.
    pub fn at(&self) -> Daddr {
        self.at
    }

    /// The segment.
    pub fn segment(&self) -> SegNo {
        self.segment
    }

    /// First unit that is not used yet: where the partial segment ends if nothing is added.
    pub fn end(&self) -> Daddr {
        self.pos
    }

    /// Bytes of the segment that are not used yet.
    pub fn segment_left(&self) -> u64 {
        self.g.bytes(self.g.segment_end(self.segment).since(self.pos))
    }

    /// Bytes of the summary that are not used yet.
    pub fn summary_left(&self) -> u32 {
        self.g.sumsize.saturating_sub(self.used)
    }

    /// `true` if nothing was added.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Inodes (not inode blocks) so far.
    pub fn ninos(&self) -> u16 {
        self.ninos
    }

    /// Inode blocks so far.
    pub fn inode_blocks(&self) -> usize {
        self.inode_blocks.len()
    }

    /// What was added, with its addresses.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Bytes of the summary that a block of this file needs: its number, and a new record if it cannot join the last.
    fn record_bytes(&self, ino: Ino, version: u32) -> u32 {
        let new = if self.joins(ino, version) { 0 } else { self.g.version.finfo_header() };
        self.g.version.pointer_size().saturating_add(new)
    }

    fn joins(&self, ino: Ino, version: u32) -> bool {
        let whole = |f: &&Finfo| f.lastlength == self.g.bsize;
        self.open && self.finfos.last().filter(whole).is_some_and(|f| (f.ino, f.version) == (ino, version))
    }

    /// Whether `blocks` blocks of a file, `bytes` together and all whole but the last, can be added now.
    ///
    /// # Errors
    /// What is full.
    pub fn fits(&self, ino: Ino, version: u32, blocks: u32, bytes: u64) -> Result<(), Full> {
        let more = u64::from(blocks.saturating_sub(1)).saturating_mul(self.g.version.pointer_size().into());
        if u64::from(self.summary_left()) < more.saturating_add(self.record_bytes(ino, version).into()) {
            return Err(Full::Summary);
        }
        if self.segment_left() < roundup(bytes, self.g.fsize.into()) { Err(Full::Segment) } else { Ok(()) }
    }

    /// Adds a block of a file, of `bytes` bytes, and gives its address.
    ///
    /// # Errors
    /// What is full.
    pub fn block(&mut self, ino: Ino, version: u32, lbn: Lbn, bytes: u32) -> Result<Daddr, Full> {
        self.fits(ino, version, 1, bytes.into())?;
        self.used = self.used.saturating_add(self.record_bytes(ino, version));
        if !self.joins(ino, version) {
            self.finfos.push(Finfo { version, ino, lastlength: bytes, lbns: Vec::new() });
            self.open = true;
        }
        if let Some(finfo) = self.finfos.last_mut() {
            finfo.lastlength = bytes;
            finfo.lbns.push(lbn);
        }
        let at = self.pos;
        self.push(Item::Block { ino, version, lbn, at, bytes });
        Ok(at)
    }

    /// Ends the last record: the next block starts another, even if it is of the same file.
    pub fn end_record(&mut self) {
        self.open = false;
    }

    /// Whether an inode can be added now.
    ///
    /// # Errors
    /// What is full.
    pub fn fits_inode(&self) -> Result<(), Full> {
        if self.slot_in_open_block() != 0 {
            return Ok(());
        }
        if self.summary_left() < self.g.version.pointer_size() || self.ninos == u16::MAX {
            return Err(Full::Summary);
        }
        if self.segment_left() < self.g.ibsize.into() { Err(Full::Segment) } else { Ok(()) }
    }

    /// The next slot of the last inode block; 0 if it is full or there is none.
    fn slot_in_open_block(&self) -> u32 {
        u32::from(self.ninos).checked_rem(self.g.inopb).unwrap_or(0)
    }

    /// Gives the next inode its place: in the last inode block, or in a new one here if that is full.
    ///
    /// # Errors
    /// What is full.
    pub fn inode(&mut self) -> Result<InodeSlot, Full> {
        self.fits_inode()?;
        let slot = self.slot_in_open_block();
        let fresh = slot == 0;
        if fresh {
            self.used = self.used.saturating_add(self.g.version.pointer_size());
            self.inode_blocks.push(self.pos);
            // Blocks behind it need a record of their own (U2).
            self.open = false;
            self.push(Item::Inodes { at: self.pos });
        }
        self.ninos = self.ninos.saturating_add(1);
        let at = self.inode_blocks.last().copied().unwrap_or(self.pos);
        Ok(InodeSlot { at, slot, fresh })
    }

    fn push(&mut self, item: Item) {
        self.pos = self.pos.plus(item.units(&self.g));
        self.items.push(item);
    }

    /// Index of the first byte of an address in the bytes of this partial segment.
    pub fn offset_of(&self, at: Daddr) -> usize {
        offset_in(&self.g, self.at, at)
    }

    /// Bytes from the summary to the end.
    pub fn bytes(&self) -> usize {
        self.offset_of(self.pos)
    }

    /// The partial segment as [`Summary::walk`] will find it.
    pub fn pseg(&self) -> Pseg {
        Pseg { at: self.at, segment: self.segment, end: self.pos, items: self.items.clone() }
    }

    /// The summary that says this without a seal, with the given checksum of the blocks.
    pub fn summary(&self, stamp: &Stamp, datasum: u32) -> Summary {
        let v1 = self.g.version == crate::lfs::Version::V1;
        Summary {
            next: stamp.next,
            ident: if v1 { 0 } else { self.g.ident },
            flags: stamp.flags,
            reclino: stamp.reclino,
            serial: if v1 { Serial(0) } else { stamp.serial },
            create: stamp.create,
            datasum,
            ninos: self.ninos,
            finfos: self.finfos.clone(),
            inode_blocks: self.inode_blocks.clone(),
        }
    }

    /// The bytes of the summary, with the given checksum of the blocks ([`Pseg::datasum`], or [`super::super::Cksum`]
    /// over the first 4 bytes of each block).
    pub fn summary_bytes(&self, stamp: &Stamp, datasum: u32) -> Vec<u8> {
        // Cannot fail: what was added fits (U1).
        self.summary(stamp, datasum).encode(&self.g, None).unwrap_or_default()
    }

    /// The same with a seal; `crc` is [`seal::crc`] over all bytes behind the summary.
    pub fn sealed_summary_bytes(&self, stamp: &Stamp, datasum: u32, crc: u32) -> Vec<u8> {
        // Cannot fail: what was added fits, and beside it the seal (U1).
        let summary = Summary { serial: stamp.serial, ..self.summary(stamp, datasum) };
        summary.encode(&self.g, Some(crc)).unwrap_or_default()
    }

    /// Writes the summary to the start of `pseg`, which has all bytes of the partial segment with the blocks in their
    /// places. `None`, and nothing written, if it is too short.
    pub fn seal(&self, stamp: &Stamp, pseg: &mut [u8]) -> Option<()> {
        let datasum = self.pseg().datasum(pseg, &self.g)?;
        let summary = self.summary_bytes(stamp, datasum);
        pseg.get_mut(..summary.len())?.copy_from_slice(&summary);
        Some(())
    }

    /// The same, and the summary gets a seal over all bytes behind it up to the partial segment's end.
    pub fn seal_with_crc(&self, stamp: &Stamp, pseg: &mut [u8]) -> Option<()> {
        let datasum = self.pseg().datasum(pseg, &self.g)?;
        let crc = seal::crc(0, pseg.get(..self.bytes())?.get(crate::num::index(self.g.sumsize)..)?);
        let summary = self.sealed_summary_bytes(stamp, datasum, crc);
        pseg.get_mut(..summary.len())?.copy_from_slice(&summary);
        Some(())
    }

    /// Most blocks of one file that fit into an empty partial segment's summary, beside one inode block.
    pub fn most_blocks(g: &Geometry) -> u32 {
        let v = g.version;
        let fixed = v.summary_header().saturating_add(v.finfo_header()).saturating_add(v.pointer_size());
        let fixed = fixed.saturating_add(seal::size(v));
        g.sumsize.saturating_sub(fixed).checked_div(v.pointer_size()).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests;
