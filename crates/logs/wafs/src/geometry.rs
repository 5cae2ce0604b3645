//! How large a log is, and what follows from that.

use crate::Error;
use crate::superblock::Superblock;
use ordo_ring::{Circle, FIRST, Place, SLOT, UNIT_MOST, UNITS_LEAST, can_be_unit};

/// The unit on a disk with this sector (`asked` or the default), and the bytes for records in `len` bytes, in whole
/// units.
pub(crate) fn geometry(asked: Option<u32>, sector: u32, len: u64) -> Result<(u32, u64), Error> {
    let unit = asked.unwrap_or(sector.max(SLOT as u32));
    if !can_be_unit(unit, sector) {
        return Err(Error::Unit { unit, sector, most: UNIT_MOST });
    }
    let size = len.saturating_sub(FIRST) / u64::from(unit) * u64::from(unit);
    let least = UNITS_LEAST * u64::from(unit);
    if size < least {
        return Err(Error::TooSmall { len, least: FIRST + least });
    }
    Ok((unit, size))
}

/// The records of the log with this superblock; refuses a log that does not fit in the place.
pub(crate) fn admit(place: Place, superblock: &Superblock) -> Result<Circle, Error> {
    let sector = place.queue().info().sector;
    if superblock.unit < sector {
        return Err(Error::Unit { unit: superblock.unit, sector, most: UNIT_MOST });
    }
    match superblock.size > place.len().saturating_sub(FIRST) {
        true => Err(Error::CutOff { size: superblock.size, len: place.len() }),
        false => Ok(circle(place, superblock)),
    }
}

/// The records of the log with this superblock: they begin right after both slots.
pub(crate) fn circle(place: Place, superblock: &Superblock) -> Circle {
    Circle { place, first: FIRST, size: superblock.size, unit: superblock.unit.into() }
}

/// The most bytes that may be appended and not durable. A record this far after another one therefore states that the
/// earlier one was durable (ring-4), and recovery searches no farther.
pub(crate) fn window(circle: &Circle) -> u64 {
    circle.size.min(64 << 20)
}

/// The longest record that the log accepts, in bytes of the caller: it leaves room for another one.
pub(crate) fn record_most(circle: &Circle) -> usize {
    (window(circle) / 2).min(8 << 20) as usize - crate::record::HEADER
}

/// Writes zeros over all of it, durably.
pub(crate) async fn wipe(circle: &Circle) -> Result<(), Error> {
    let piece = circle.transfer_most();
    let zeros = ordo_disk::Block::zeroed(piece as usize).image();
    for at in (0..circle.size).step_by(piece as usize) {
        let len = piece.min(circle.size - at) as usize;
        let image = if len == zeros.len() { zeros.clone() } else { ordo_disk::Block::zeroed(len).image() };
        for written in circle.write(at, image, false) {
            written.completed().await?;
        }
    }
    Ok(circle.place.queue().flush().await?)
}
