//! The journal's blocks: an unbounded sequence of block numbers (the line), mapped onto a circular area.

use crate::Error;
use crate::blocks::Shape;
use crate::superblock::{BLOCKS_MOST, Superblock};
use ordo_disk::DiskOff;
use ordo_ring::{Circle, FIRST, Place, UNIT_LEAST, UNIT_MOST, UNITS_LEAST, can_be_unit};

/// The blocks: block `n` of the line lies at block `n` modulo their count.
#[derive(Clone)]
pub(crate) struct Area {
    circle: Circle,
    /// Their count.
    pub(crate) size: u64,
    pub(crate) shape: Shape,
}

impl Area {
    pub(crate) fn new(place: Place, superblock: &Superblock) -> Area {
        let (size, unit) = (superblock.size, superblock.block.into());
        let circle = Circle { place, first: first(unit), size: size * unit, unit };
        Area { circle, size, shape: Shape { block: superblock.block as usize, salt: superblock.salt } }
    }

    /// Where it lies.
    pub(crate) fn place(&self) -> &Place {
        &self.circle.place
    }

    /// The disk address of block `line`, and how many blocks follow it contiguously.
    pub(crate) fn run(&self, line: u64) -> (DiskOff, u64) {
        let (at, bytes) = self.circle.run(self.byte(line));
        (at, bytes / self.circle.unit)
    }

    /// The most blocks of one request, up to 1 MiB.
    pub(crate) fn transfer_most(&self) -> u64 {
        self.circle.transfer_most() / self.circle.unit
    }

    /// Reads `count` blocks from `line` on. Sectors that the disk reports as lost are returned as zeros, which are not
    /// a valid block of the journal.
    pub(crate) async fn read(&self, line: u64, count: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let from = self.byte(line);
        Ok(self.circle.read(from..from + count * self.circle.unit, into).await?)
    }

    /// The byte of the circle at which block `line` begins.
    fn byte(&self, line: u64) -> u64 {
        line % self.size * self.circle.unit
    }
}

/// The offset in the place of the first block, for this block size: after both superblock slots.
fn first(block: u64) -> u64 {
    FIRST.max(block)
}

/// The number of blocks that a journal at `place` has.
pub(crate) fn geometry(place: &Place, block: u32) -> Result<u64, Error> {
    let sector = place.queue().info().sector;
    if !can_be_unit(block, sector) || !place.holds_whole(block.into()) {
        return Err(Error::BlockSize { size: block, least: UNIT_LEAST.max(sector), most: UNIT_MOST });
    }
    let first = first(block.into());
    let size = place.len().saturating_sub(first) / u64::from(block);
    match size < UNITS_LEAST {
        true => Err(Error::TooSmall { len: place.len(), least: first + UNITS_LEAST * u64::from(block) }),
        false => Ok(size.min(BLOCKS_MOST)),
    }
}

/// Refuses a superblock of a journal that does not fit in this place.
pub(crate) fn admit(place: &Place, superblock: &Superblock) -> Result<(), Error> {
    let needs = first(superblock.block.into()) + superblock.size * u64::from(superblock.block);
    if needs > place.len() {
        return Err(Error::CutOff { needs, len: place.len() });
    }
    geometry(place, superblock.block).map(|_| ())
}
