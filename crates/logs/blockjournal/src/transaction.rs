//! A transaction as the caller hands it over.

use crate::Error;
use crate::blocks::{Shape, TAG};
use ordo_disk::{ByteRange, DiskOff, Image};

/// Changes that become durable together, or not at all.
#[derive(Clone, Debug, Default)]
pub struct Transaction {
    /// Images with their home locations: whole blocks of the journal at multiples of its block size. Of two images of
    /// the same place the later one counts.
    pub blocks: Vec<(DiskOff, Image)>,
    /// Places, with their lengths in whole blocks, whose copies in earlier transactions must no longer be replayed
    /// (blockjournal-6). Images of this transaction are not affected.
    pub revoked: Vec<ByteRange>,
    /// Bytes of the caller, returned unchanged by recovery.
    pub note: Vec<u8>,
}

impl Transaction {
    /// Refuses images and ranges that are not whole blocks.
    pub(crate) fn check(&self, block: usize) -> Result<(), Error> {
        let images = self.blocks.iter().map(|(at, image)| (*at, image.len() as u64));
        for (at, len) in images.chain(self.revoked.iter().map(|range| (range.at(), range.len()))) {
            let whole = len > 0 && len.is_multiple_of(block as u64) && at.0.is_multiple_of(block as u64);
            if !whole || at.0.checked_add(len).is_none() {
                return Err(Error::Ragged { at, len, block: block as u32 });
            }
        }
        Ok(())
    }

    /// The number of the caller's blocks in it.
    pub(crate) fn images(&self, block: usize) -> u64 {
        self.blocks.iter().map(|(_, image)| (image.len() / block) as u64).sum()
    }

    /// The number of blocks of the journal that it takes.
    pub(crate) fn cost(&self, shape: Shape) -> u64 {
        cost(shape, self.images(shape.block), self.revoked.len() as u64, self.note.len() as u64)
    }

    /// The blocks of the caller, one by one.
    pub(crate) fn pieces(&self, block: usize) -> Vec<(DiskOff, &[u8])> {
        let mut pieces = Vec::with_capacity(self.images(block) as usize);
        for (at, image) in &self.blocks {
            pieces.extend(image.chunks(block).enumerate().map(|(i, piece)| (*at + (i * block) as u64, piece)));
        }
        pieces
    }
}

/// The blocks of the journal for these numbers of the caller's blocks, of revoked ranges, and of bytes of a note.
pub(crate) fn cost(shape: Shape, images: u64, revoked: u64, note: u64) -> u64 {
    let entries = (shape.payload() / TAG) as u64;
    images + images.div_ceil(entries) + revoked.div_ceil(entries) + note.div_ceil(shape.payload() as u64) + 1
}
