//! Recovery: finding the end of a log, from the last checkpoint on.
//!
//! The log ends with the last record that counts (`walk`). Whether that is its real end or a hole is decided by wafs-8:
//! after a hole, a record or a superblock names a durable record that was not found.

use crate::area::Area;
use crate::error::{Damage, Witness};
use crate::marks::Marks;
use crate::read::Reader;
use crate::record::{ALIGN, HEADER, Header};
use crate::superblock::Superblock;
use crate::walk::Walk;
use crate::{Error, Lsn};

/// What recovery found when a log was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recovery {
    /// Records from the last checkpoint to the end.
    pub records: u64,
    /// Bytes of the log that were read for it, not counting the search for a hole.
    pub bytes: u64,
    /// The last record, [`Lsn::NONE`] if there is none.
    pub last: Lsn,
    /// A hole at the end: more records were durable. Such a log can be read up to the hole, and is not opened for
    /// writing.
    pub damage: Option<Damage>,
}

/// What the log needs in addition.
pub(crate) struct Found {
    pub(crate) told: Recovery,
    /// The first byte of the line after the last record.
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

/// Searches after the end for evidence of later durable records.
async fn hole(area: &Area, superblock: &Superblock, walk: &mut Walk) -> Result<Option<Damage>, Error> {
    let (end, limit) = (walk.at(), superblock.start + area.size);
    // If there is no record, everything that was durable lies before the start.
    let known = walk.last.map_or(superblock.start.saturating_sub(1), |last| last.lsn.0);
    let damage = |sure, witness| Ok(Some(Damage { at: Lsn(end), sure, witness }));
    if superblock.sure.0 > known || superblock.low.0 > area.up(end) {
        return damage(superblock.sure, Witness::Superblock);
    }
    let to = limit.min(end.saturating_add(2 * area.window()));
    let mut at = end;
    while at + HEADER as u64 <= to {
        walk.reader.load(at..at + HEADER as u64, to).await?;
        // Candidates of this lap, or of a later one that belongs to a lost superblock.
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
