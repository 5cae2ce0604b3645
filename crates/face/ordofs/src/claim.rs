//! The one writer of a volume whose record is on (`ordo tune -o mmp=on`): every opening for writing claims it here.
//!
//! P1. Whoever opens a volume for writing claims it first, replays of a log included. A claim takes long, and another
//!     writer may have been at work until it was ours: so the volume is found anew afterwards.
//! P2. Who claimed gives back: a volume that was claimed by its caller (its disk is fenced) is not claimed again.
//! P3. A file or device of a protected volume is opened past the page cache of this machine: that would show old
//!     records, and would write, any time later, what was given to it before this machine was stopped. Where the host
//!     cannot do that (a file system in memory), nobody on another machine has the file.

use crate::found::{self, Found};
use crate::located::{Located, find};
use crate::{Notice, Notices, OpenError};
use ordo_disk::fence::{Claim, Waiting, look_at_damage, look_to_claim};
use ordo_disk::{Block, Disk, DiskOff, ReadPart, Tag};
use ordo_ondisk::mmp::{Beat, Owner, Place};
use ordo_ondisk::superblock::search::Copy;
use ordo_ondisk::{ByteOff, Format};
use ordo_rt::Rt;
use std::rc::Rc;

/// The record of a volume's writer, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Writer {
    /// The protection is off.
    Off,
    /// It is on: who has the volume, and the last beat.
    On(Owner, Option<Beat>),
    /// It cannot be read, for this reason.
    Damaged(String),
}

/// Where the record of this volume is, or would be.
pub(crate) fn place_of(found: &Found) -> Option<Place> {
    match found {
        Found::Ufs(found) => {
            let sb = &found.superblock;
            let home = match (found.copy, sb.format) {
                (Copy::Primary | Copy::Unproven, _) => sb.at.0,
                // A backup says where it is itself.
                (Copy::Backup(_), Format::Ufs1) => 8192,
                (Copy::Backup(_), Format::Ufs2) => sb.fields.sblockloc.unsigned_abs(),
            };
            Place::in_ufs(ByteOff(home))
        }
        Found::Lfs(_) => Some(Place::in_lfs()),
    }
}

/// The record of the volume's writer.
///
/// # Errors
/// The disk cannot be read.
pub fn writer(rt: &Rt, located: &Located) -> Result<Writer, OpenError> {
    rt.block_on(writer_of(located))
}

pub(crate) async fn writer_of(located: &Located) -> Result<Writer, OpenError> {
    let Some(place) = place_of(&located.found) else { return Ok(Writer::Off) };
    let Some(seen) = look_at_damage(&*located.disk, place).await? else { return Ok(Writer::Off) };
    Ok(match seen.owner() {
        Ok(None) => Writer::Off,
        Ok(Some(owner)) => Writer::On(owner.clone(), seen.beat.ok().flatten()),
        Err(damage) => Writer::Damaged(damage.to_string()),
    })
}

/// Tells a reader that somebody may be writing.
pub fn warn_reader(rt: &Rt, located: &Located, notices: &Notices) {
    rt.block_on(warned(located, notices));
}

/// The same.
pub(crate) async fn warned(located: &Located, notices: &Notices) {
    if notices.is_heard()
        && let Ok(Writer::On(Owner { holder: Ok(holder), .. }, _)) = writer_of(located).await
    {
        notices.tell(&Notice::WriterElsewhere(holder));
    }
}

/// Claims a volume that is on an open disk, if its record is on (P1, P2).
///
/// # Errors
/// Another one has it, or the record is damaged.
pub async fn claimed(rt: &Rt, located: Located, doing: &str, notices: &Notices) -> Result<Located, OpenError> {
    claimed_anew(rt, located, doing, notices, false).await
}

/// The same; with `anew` a damaged record is claimed, too.
pub(crate) async fn claimed_anew(
    rt: &Rt,
    located: Located,
    doing: &str,
    notices: &Notices,
    anew: bool,
) -> Result<Located, OpenError> {
    if located.claim.is_some() || located.disk.is_fenced() || located.disk.info().read_only {
        return Ok(located);
    }
    let Some(place) = place_of(&located.found) else { return Ok(located) };
    let Some(claim) = take(rt, &located.disk, place, doing, anew, notices).await? else { return Ok(located) };
    let found = match find_again(&located.disk).await {
        Ok(found) => found,
        // Only a repair goes on with a backup, and reads the rest itself.
        Err(_) if matches!(&located.found, Found::Ufs(found) if found.copy != Copy::Primary) => located.found,
        Err(error) => {
            given_back(Some(&claim)).await;
            return Err(error);
        }
    };
    let log = located.log.map(|log| log.fenced(&claim));
    Ok(Located { disk: Rc::new(claim.fence(located.disk)), found, log, claim: Some(claim) })
}

/// Claims whatever volume is on a disk, even one that is so damaged that its superblock is not found; `None` if no
/// record is on.
///
/// # Errors
/// As [`claimed`].
pub fn claim_disk(rt: &Rt, disk: &Rc<dyn Disk>, doing: &str, notices: &Notices) -> Result<Option<Claim>, OpenError> {
    if disk.is_fenced() || disk.info().read_only {
        return Ok(None);
    }
    let known = find(rt, disk.clone(), found::find).ok().and_then(|located| place_of(&located.found));
    let places = known.map_or(Place::ALL.to_vec(), |place| vec![place]);
    rt.block_on(async {
        for place in places {
            let seen = look_at_damage(&**disk, place).await?;
            // Without a volume only a whole record counts: anything may lie there.
            let is_one = seen.is_some_and(|seen| known.is_some() && seen.is_on() || matches!(seen.owner, Ok(Some(_))));
            if is_one {
                return take(rt, disk, place, doing, false, notices).await;
            }
        }
        Ok(None)
    })
}

/// Gives a claim back. A failure costs the next writer a wait, and no more.
pub async fn given_back(claim: Option<&Claim>) {
    if let Some(claim) = claim
        && claim.why_lost().is_none()
    {
        // OK to ignore: see above.
        let _ = claim.release().await;
    }
}

async fn take(
    rt: &Rt,
    disk: &Rc<dyn Disk>,
    place: Place,
    doing: &str,
    anew: bool,
    notices: &Notices,
) -> Result<Option<Claim>, OpenError> {
    let refused = |error| OpenError::Claim(Box::new(error));
    if !look_to_claim(&**disk, place, anew).await.map_err(refused)?.is_some_and(|seen| seen.is_on()) {
        return Ok(None);
    }
    let tell = |waiting: &Waiting| notices.tell(&Notice::WaitsForWriter(waiting.clone()));
    let taken = Claim::take(rt, disk.clone(), place, doing, anew, tell).await;
    taken.map(Some).map_err(refused)
}

/// Finds the volume by a search that cannot wait: what it lacks is read, and it begins again.
async fn find_again(disk: &Rc<dyn Disk>) -> Result<Found, OpenError> {
    let (size, sector) = (disk.info().size, u64::from(disk.info().sector));
    let mut known: Vec<(u64, Vec<u8>)> = Vec::new();
    loop {
        let mut missing = None;
        let mut read = |at: ByteOff, bytes: &mut [u8]| {
            let there = known.iter().find(|(from, all)| *from == at.0 && all.len() == bytes.len());
            match there {
                Some((_, all)) => bytes.copy_from_slice(all),
                None => {
                    missing.get_or_insert((at.0, bytes.len()));
                    return Err(std::io::Error::other("not read yet"));
                }
            }
            Ok(())
        };
        let found = found::find(&mut read, size);
        let Some((at, len)) = missing else { return Ok(found?) };
        let start = at - at % sector;
        let end = (at + len as u64).next_multiple_of(sector);
        let part = ReadPart { block: Block::zeroed((end - start) as usize), tag: Tag::default() };
        let parts = disk.read(DiskOff(start), vec![part]).await?;
        let bytes = parts.iter().flat_map(|part| part.block.iter().copied());
        known.push((at, bytes.skip((at - start) as usize).take(len).collect()));
    }
}
