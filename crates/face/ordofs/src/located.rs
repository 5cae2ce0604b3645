//! A disk that holds a volume, and what its superblock says.

use crate::OpenError;
use crate::found::{self, Found};
use crate::sectors::read_bytes;
use ordo_disk::{Block, Disk, DiskOff, ReadPart, Tag};
use ordo_ondisk::superblock::SBLOCKSIZE;
use ordo_ondisk::superblock::search::{self, Copy};
use ordo_ondisk::{ByteOff, Superblock};
use ordo_rt::Rt;
use std::rc::Rc;

/// A disk that holds a volume, and the volume's superblock.
pub struct Located {
    /// The volume's own disk: the image, or a window on it.
    pub disk: Rc<dyn Disk>,
    /// The format, and the superblock.
    pub found: Found,
    /// Where its log is, if that is not a file of the volume.
    pub log: Option<ordo_disk::LogHome>,
    /// The claim by which this volume may be written to, if it was made with this value: who uses it gives it back.
    pub claim: Option<ordo_disk::fence::Claim>,
}

/// Finds the volume that begins with the first byte of `disk`.
///
/// # Errors
/// `NotFound`.
pub fn locate_on(rt: &Rt, disk: Rc<dyn Disk>) -> Result<Located, OpenError> {
    find(rt, disk, found::find)
}

/// The same UFS volume, after its superblock was written. Only the superblock's location is taken from `located`.
///
/// # Errors
/// When it cannot be read, or is not valid.
pub(crate) async fn located_again(located: Located) -> Result<Located, OpenError> {
    let Located { disk, found, log, claim } = located;
    let found = superblock_at(&disk, found.ufs()?.superblock.at).await?.into();
    Ok(Located { disk, found, log, claim })
}

/// The superblock at this place, which must be a primary one.
pub(crate) async fn superblock_at(disk: &Rc<dyn Disk>, at: ByteOff) -> Result<search::FoundUfs, OpenError> {
    let sector = u64::from(disk.info().sector);
    let start = at.0 - at.0 % sector;
    let end = (at.0 + SBLOCKSIZE as u64).next_multiple_of(sector).min(disk.info().size);
    let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::of(ordo_disk::Kind::Superblock) };
    let parts = disk.read(DiskOff(start), vec![part]).await?;
    let bytes: Vec<u8> =
        parts.iter().flat_map(|part| part.block.iter().copied()).skip((at.0 - start) as usize).collect();
    let superblock = Superblock::decode(&bytes, at).map_err(ordo_vfs::Error::corrupt)?;
    Ok(search::FoundUfs { superblock, copy: Copy::Primary })
}

pub(crate) type Search = fn(&mut search::ReadAt<'_>, u64) -> Result<Found, search::NotFound>;

/// Finds the volume that begins with the first byte of `disk` by this search.
pub(crate) fn find(rt: &Rt, disk: Rc<dyn Disk>, search: Search) -> Result<Located, OpenError> {
    let size = disk.info().size;
    let found = search(&mut |at: ByteOff, bytes: &mut [u8]| read_bytes(rt, &disk, at.0, bytes), size)?;
    Ok(Located { disk, found, log: None, claim: None })
}
