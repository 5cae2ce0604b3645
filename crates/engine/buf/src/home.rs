//! The layout as the cache sees it.

use crate::{Buf, Undo};
use ordo_disk::DiskOff;

/// What the cache needs from a layout.
pub trait Home {
    /// Where `buf` lives, called when it is written. A layout that places early returns [`Buf::addr`].
    fn place(&self, buf: &Buf) -> Option<DiskOff>;

    /// Fills in what belongs on the disk only (times, check-hashes) in an image about to be written.
    fn seal(&self, buf: &Buf, image: &mut [u8]);

    /// Undoes a change in an image about to be written; the image is sealed afterwards. For an inode, returns the slots
    /// whose pointers are not in the image, a bit each: those that were named, and those beyond the size.
    fn undo(&self, _image: &mut [u8], _undo: &Undo<'_>) -> u32 {
        0
    }
}
