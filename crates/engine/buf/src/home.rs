//! The layout as the cache sees it.

use crate::{Boxed, Buf, BufRef, Role, Undo};
use ordo_disk::DiskOff;
use ordo_vfs::{Error, Result};

/// One write, as a layout has shaped it.
pub struct Batch {
    /// Where it goes.
    pub at: DiskOff,
    /// Bytes of the write: whole sectors.
    pub len: usize,
    /// What most of it is, for the recorder and the statistics.
    pub kind: Role,
    /// Its bufs, and where the image of each begins, in bytes from the start of the batch. What no image covers is the
    /// layout's own, or zero.
    pub bufs: Vec<(BufRef, usize)>,
}

/// What the cache needs from a layout.
pub trait Home {
    /// Where `buf` lives, called when it is written. A layout that places early returns [`Buf::addr`]: its batch is one
    /// buf at its place. `None`: the buf leaves in a batch, for which the layout has the three methods below.
    fn place(&self, buf: &Buf) -> Option<DiskOff>;

    /// Reads what [`Home::shape`] changes for these bufs: the blocks of pointers and the dinodes that lead to them.
    /// What it has read must stay cached until `shape`, which it may precede several times: if it fails, the bufs are
    /// prepared one by one.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    fn prepare(&self, _wanted: &[BufRef]) -> Boxed<'static, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    /// Shapes batches out of `wanted` and of what else should leave with them, only bufs for which `may_leave`: gives
    /// each its address ([`crate::Cache::place`]), and changes what leads to it. What leads to it and may not leave yet
    /// stays dirty, for a later batch. Waits for nothing. What could not be shaped stays dirty and without a place.
    /// Called after each [`Home::prepare`] that succeeded, even if nothing is wanted any more.
    ///
    /// # Errors
    /// `NoSpace`, where no segment is free.
    fn shape(&self, wanted: &[BufRef], _may_leave: &dyn Fn(&BufRef) -> bool) -> Result<Vec<Batch>> {
        let Some(buf) = wanted.first() else { return Ok(Vec::new()) };
        Err(Error::bug(format!("{buf:?} is dirty, and its layout gave it no place")))
    }

    /// Completes the bytes of a batch, which hold the images of its bufs: puts in the summary and the checksums.
    fn seal_batch(&self, _batch: &Batch, _image: &mut [u8]) {}

    /// Fills in what belongs on the disk only (times, check-hashes) in an image about to be written.
    fn seal(&self, buf: &Buf, image: &mut [u8]);

    /// Undoes a change in an image about to be written; the image is sealed afterwards. For an inode, returns the slots
    /// whose pointers are not in the image, a bit each: those that were named, and those beyond the size.
    fn undo(&self, _image: &mut [u8], _undo: &Undo<'_>) -> u32 {
        0
    }
}
