//! Finding the end of a log: reading on from the last checkpoint.
//!
//! The log ends with the last record that counts (`walk`). Whether it simply ends there, or has a hole there, is told by
//! W8: a record or a superblock that calls something durable which is not found.

use crate::area::Area;
use crate::error::{Damage, Witness};
use crate::marks::Marks;
use crate::read::Reader;
use crate::record::{ALIGN, HEADER, Header};
use crate::superblock::Superblock;
use crate::walk::Walk;
use crate::{Error, Lsn};

/// What was found when a log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Records from the last checkpoint to the end.
    pub records: u64,
    /// Bytes of the log that were read for it, the search for a hole not counted.
    pub bytes: u64,
    /// The last record, [`Lsn::NONE`] if there is none.
    pub last: Lsn,
    /// A hole at the end: there were more records. A log with one can be read up to there, and is not opened for writing.
    pub damage: Option<Damage>,
}

/// What the log itself needs besides.
pub(crate) struct Found {
    pub(crate) told: Recovery,
    /// The first byte of the line behind the last record.
    pub(crate) end: u64,
    pub(crate) marks: Marks,
    /// Where mounts began: between these bytes of the line no record counts, whatever lies there.
    pub(crate) gaps: Vec<(u64, u64)>,
}

/// Reads the log from its superblock's start to its end.
pub(crate) async fn recover(area: &Area, superblock: &Superblock) -> Result<Found, Error> {
    let start = superblock.start;
    let epochs = superblock.start_epoch..=superblock.epoch;
    let mut walk = Walk::new(Reader::new(area.clone()), area.clone(), superblock.id, epochs, start);
    let (mut marks, mut gaps, mut records) = (Marks::new(area.size), Vec::new(), 0);
    loop {
        let (before, at) = (walk.last, walk.at());
        let Some(header) = walk.next().await? else { break };
        if before.is_some_and(|before| before.epoch < header.epoch) && at < header.lsn.0 {
            gaps.push((at, header.lsn.0));
        }
        marks.note(header.lsn);
        records += 1;
    }
    let end = walk.at();
    let damage = hole(area, superblock, &mut walk).await?;
    let told = Recovery { records, bytes: end - start, last: walk.last_lsn(), damage };
    Ok(Found { told, end, marks, gaps })
}

/// Looks behind the end for somebody who knows of more.
async fn hole(area: &Area, superblock: &Superblock, walk: &mut Walk) -> Result<Option<Damage>, Error> {
    let (end, limit) = (walk.at(), superblock.start + area.size);
    // Without a record at all, what was durable lies before the start.
    let known = walk.last.map_or(superblock.start.saturating_sub(1), |last| last.lsn.0);
    let damage = |sure, witness| Ok(Some(Damage { at: Lsn(end), sure, witness }));
    if superblock.sure.0 > known || superblock.low.0 > area.up(end) {
        return damage(superblock.sure, Witness::Superblock);
    }
    let to = limit.min(end.saturating_add(2 * area.window()));
    let mut at = end;
    while at + HEADER as u64 <= to {
        walk.reader.load(at..at + HEADER as u64, to).await?;
        // Of this lap, or of a later one that a lost superblock knew of.
        let window = walk.reader.get(at..to);
        let places = (0..window.len().saturating_sub(HEADER) + 1).step_by(ALIGN as usize);
        let passed = places.len() as u64 * ALIGN;
        let found = places.map(|from| (from, Header::number(&window[from..from + HEADER])));
        let Some((from, lsn)) = found.filter_map(|(from, lsn)| Some((from as u64, lsn?))).next() else {
            at += passed;
            continue;
        };
        at += from;
        if lsn.0 > at && (lsn.0 - at).is_multiple_of(area.size) {
            let mut later = Walk::new(Reader::new(area.clone()), area.clone(), superblock.id, 0..=u32::MAX, lsn.0);
            if later.record(lsn.0).await?.is_some() {
                return damage(lsn, Witness::NewerMount(lsn));
            }
        }
        if lsn.0 == at
            && let Some(header) = walk.record(at).await?
        {
            if header.epoch > superblock.epoch {
                return damage(header.sure, Witness::NewerMount(lsn));
            }
            if header.sure.0 > known {
                return damage(header.sure, Witness::Record(lsn));
            }
        }
        at += ALIGN;
    }
    Ok(None)
}
