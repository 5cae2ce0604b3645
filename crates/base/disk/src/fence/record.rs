//! Reading and writing the two sectors of the record, on disks with sectors of any size.

use ordo_ondisk::ByteOff;
use ordo_ondisk::mmp::{Beat, Damage, Owner, Place, SECTOR};

use rustix::io::Errno;

use super::error::ClaimError;
use crate::error::{Cause, DiskError};
use crate::{Block, Disk, DiskOff, Kind, ReadPart, Tag, WritePart, read_len};

/// What is in the record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The sector of the owner; `None` if it is nothing of ours.
    pub owner: Result<Option<Owner>, Damage>,
    /// The sector of the beats.
    pub beat: Result<Option<Beat>, Damage>,
    /// Both are zeros.
    pub is_blank: bool,
    /// Both, as they are: for who watches whether anything changes.
    raw: Vec<u8>,
}

impl Seen {
    /// The protection is on.
    pub fn is_on(&self) -> bool {
        !matches!((&self.owner, &self.beat), (Ok(None), Ok(None)))
    }

    /// The owner's sector, if it can be relied on.
    ///
    /// # Errors
    /// It is damaged, or gone while the other one is there. Damage of the beats does no harm.
    pub fn owner(&self) -> Result<Option<&Owner>, Damage> {
        match &self.owner {
            Ok(Some(owner)) => Ok(Some(owner)),
            Ok(None) if self.is_on() => Err(Damage("only one of its two sectors is there")),
            Ok(None) => Ok(None),
            Err(damage) => Err(*damage),
        }
    }

    pub(super) fn is_as(&self, other: &Seen) -> bool {
        self.raw == other.raw
    }
}

/// Reads the record; `None` if the disk ends before it.
pub async fn look(disk: &dyn Disk, place: Place) -> Result<Option<Seen>, DiskError> {
    seen(disk, place, false).await
}

/// The same for who only shows or mends it: a sector that the disk cannot read is damage, which can be mended by
/// writing it.
pub async fn look_at_damage(disk: &dyn Disk, place: Place) -> Result<Option<Seen>, DiskError> {
    seen(disk, place, true).await
}

/// The same for who wants to claim it: only who may make it anew takes an unreadable sector for damage. To all others
/// it is a failure of the disk, which may pass.
///
/// # Errors
/// [`ClaimError::Unread`].
pub async fn look_to_claim(disk: &dyn Disk, place: Place, anew: bool) -> Result<Option<Seen>, ClaimError> {
    seen(disk, place, anew).await.map_err(ClaimError::Unread)
}

async fn seen(disk: &dyn Disk, place: Place, is_damage: bool) -> Result<Option<Seen>, DiskError> {
    if place.owner.0.max(place.beat.0) + SECTOR as u64 > disk.info().size {
        return Ok(None);
    }
    let read = |sector: Result<Vec<u8>, DiskError>| match sector {
        Ok(sector) => Ok((sector, None)),
        Err(DiskError { cause: Cause::Io(code), .. }) if is_damage && code == Errno::IO.raw_os_error() => {
            Ok((Vec::new(), Some(Damage("the disk cannot read it"))))
        }
        Err(error) => Err(error),
    };
    let (owner, owner_lost) = read(sector(disk, place.owner).await)?;
    let (beat, beat_lost) = read(sector(disk, place.beat).await)?;
    Ok(Some(Seen {
        is_blank: owner_lost.or(beat_lost).is_none() && owner.iter().chain(&beat).all(|byte| *byte == 0),
        owner: owner_lost.map_or_else(|| Owner::decode(&owner), Err),
        beat: beat_lost.map_or_else(|| Beat::decode(&beat), Err),
        raw: [owner, beat].concat(),
    }))
}

/// The unit of the disk that a sector of 512 bytes lies in: where it begins, how long it is, and the sector's place.
fn unit(disk: &dyn Disk, at: ByteOff) -> (DiskOff, usize, usize) {
    let unit = u64::from(disk.info().sector).max(SECTOR as u64);
    let begin = at.0 - at.0 % unit;
    // OK to cast: a sector is a few thousand bytes.
    (DiskOff(begin), unit as usize, (at.0 - begin) as usize)
}

async fn whole(disk: &dyn Disk, begin: DiskOff, len: usize) -> Result<Vec<u8>, DiskError> {
    let parts = disk.read(begin, vec![ReadPart { block: Block::zeroed(len), tag: tag() }]).await?;
    debug_assert_eq!(read_len(&parts), len as u64);
    Ok(parts.iter().flat_map(|part| part.block.iter().copied()).collect())
}

async fn sector(disk: &dyn Disk, at: ByteOff) -> Result<Vec<u8>, DiskError> {
    let (begin, len, within) = unit(disk, at);
    let bytes = whole(disk, begin, len).await?;
    Ok(bytes.into_iter().skip(within).take(SECTOR).collect())
}

/// Writes one of the two sectors; what else is in the disk's unit stays.
pub(super) async fn put(disk: &dyn Disk, at: ByteOff, sector: &[u8], durable: bool) -> Result<(), DiskError> {
    let (begin, len, within) = unit(disk, at);
    let mut bytes = if len == SECTOR { vec![0; len] } else { whole(disk, begin, len).await? };
    bytes.iter_mut().skip(within).zip(sector).for_each(|(to, from)| *to = *from);
    let part = WritePart { image: Block::copy_of(&bytes).image(), tag: tag() };
    disk.write(begin, vec![part], durable).await
}

/// The two sectors lie in different units of the disk: only then does writing one leave the other alone.
pub(super) fn are_apart(disk: &dyn Disk, place: Place) -> bool {
    unit(disk, place.owner).0 != unit(disk, place.beat).0
}

fn tag() -> Tag {
    Tag::of(Kind::Other)
}
