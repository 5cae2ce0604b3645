//! The journal's blocks: an unbounded sequence of block numbers (the line), mapped onto a circular area.

use crate::blocks::Shape;
use crate::place::is_bad_sector;
use crate::superblock::{BLOCK_LEAST, BLOCK_MOST, BLOCKS_LEAST, BLOCKS_MOST, FIRST, SLOT, Superblock};
use crate::{Error, Place};
use ordo_disk::{DiskOff, Kind};

/// The blocks: block `n` of the line lies at block `n` modulo their count.
#[derive(Clone)]
pub(crate) struct Area {
    pub(crate) place: Place,
    /// Their count.
    pub(crate) size: u64,
    pub(crate) shape: Shape,
}

impl Area {
    pub(crate) fn new(place: Place, superblock: &Superblock) -> Area {
        let shape = Shape { block: superblock.block as usize, salt: superblock.salt };
        Area { place, size: superblock.size, shape }
    }

    /// The disk address of block `line`, and how many blocks follow it contiguously.
    pub(crate) fn run(&self, line: u64) -> (DiskOff, u64) {
        let (block, number) = (self.shape.block as u64, line % self.size);
        let (at, bytes) = self.place.run(first(block) + number * block);
        (at, (bytes / block).min(self.size - number))
    }

    /// The most blocks of one request, up to 1 MiB.
    pub(crate) fn transfer_most(&self) -> u64 {
        let most = u64::from(self.place.queue().info().max_transfer).min(1 << 20);
        (most / self.shape.block as u64).max(1)
    }

    /// Reads `count` blocks from `line` on. Sectors that the disk reports as lost are returned as zeros, which are not
    /// a valid block of the journal.
    pub(crate) async fn read(&self, mut line: u64, mut count: u64, into: &mut Vec<u8>) -> Result<(), Error> {
        let mut pieces = Vec::new();
        while count > 0 {
            let (at, run) = self.run(line);
            let now = run.min(count).min(self.transfer_most());
            pieces.push((at, now as usize * self.shape.block));
            (line, count) = (line + now, count - now);
        }
        let answers = self.place.queue().read_many(&pieces, Kind::Log.into());
        for (answer, (at, len)) in answers.into_iter().zip(pieces) {
            match answer.await {
                Ok(block) => into.extend_from_slice(&block),
                Err(error) if is_bad_sector(&error) => self.read_by_sector(at, len, into).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn read_by_sector(&self, at: DiskOff, len: usize, into: &mut Vec<u8>) -> Result<(), Error> {
        let sector = self.place.queue().info().sector as usize;
        for from in (0..len).step_by(sector) {
            match self.place.queue().read(at + from as u64, sector, Kind::Log.into()).await {
                Ok(block) => into.extend_from_slice(&block),
                Err(error) if is_bad_sector(&error) => into.resize(into.len() + sector, 0),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// The offset in the place of the first block, for this block size: after both superblock slots.
fn first(block: u64) -> u64 {
    FIRST.max(block)
}

/// The number of blocks that a journal at `place` has.
pub(crate) fn geometry(place: &Place, block: u32) -> Result<u64, Error> {
    let sector = place.queue().info().sector;
    let possible = block.is_power_of_two() && (BLOCK_LEAST.max(sector)..=BLOCK_MOST).contains(&block);
    if !possible || u64::from(sector) > SLOT || !place.holds_whole(block.into()) {
        return Err(Error::BlockSize { size: block, least: BLOCK_LEAST.max(sector), most: BLOCK_MOST });
    }
    let first = first(block.into());
    let size = place.len().saturating_sub(first) / u64::from(block);
    match size < BLOCKS_LEAST {
        true => Err(Error::TooSmall { len: place.len(), least: first + BLOCKS_LEAST * u64::from(block) }),
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
