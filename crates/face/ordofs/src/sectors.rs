//! Bytes at any place of a disk, whose requests are of whole sectors.

use ordo_disk::{Block, Disk, DiskError, DiskOff, Kind, ReadPart, Tag, WritePart};
use ordo_ondisk::ByteOff;
use ordo_rt::Rt;
use std::io;
use std::rc::Rc;

/// Reads any bytes, regardless of the disk's sector size.
pub(crate) fn read_bytes(rt: &Rt, disk: &Rc<dyn Disk>, at: u64, bytes: &mut [u8]) -> io::Result<()> {
    let sector = u64::from(disk.info().sector);
    let start = at - at % sector;
    let end = (at + bytes.len() as u64).next_multiple_of(sector);
    let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::default() };
    let parts = rt.block_on(disk.read(DiskOff(start), vec![part])).map_err(io::Error::other)?;
    bytes.copy_from_slice(&parts[0].block[(at - start) as usize..][..bytes.len()]);
    Ok(())
}

/// Reads bytes of the disk.
pub(crate) async fn get(disk: &Rc<dyn Disk>, at: ByteOff, len: usize, kind: Kind) -> Result<Vec<u8>, DiskError> {
    let part = ReadPart { block: Block::zeroed(len), tag: Tag::of(kind) };
    let parts = disk.read(DiskOff(at.0), vec![part]).await?;
    Ok(parts.into_iter().flat_map(|part| part.block.to_vec()).collect())
}

/// Writes bytes; the rest of their sectors stays unchanged.
pub(crate) async fn put(disk: &Rc<dyn Disk>, at: ByteOff, bytes: &[u8], kind: Kind) -> Result<(), DiskError> {
    let sector = u64::from(disk.info().sector.max(512));
    let from = at.0 / sector * sector;
    let len = (at.0 + bytes.len() as u64).next_multiple_of(sector) - from;
    let mut around = get(disk, ByteOff(from), len as usize, kind).await?;
    if let Some(place) = around.get_mut((at.0 - from) as usize..).and_then(|rest| rest.get_mut(..bytes.len())) {
        place.copy_from_slice(bytes);
    }
    let image = Block::copy_of(&around).image();
    disk.write(DiskOff(from), vec![WritePart { image, tag: Tag::of(kind) }], false).await
}
