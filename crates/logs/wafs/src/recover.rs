//! Recovery: finding the end of a log, from the last checkpoint on.
//!
//! The log ends with the last record that counts (`walk`). Whether that is its real end or a hole is decided by
//! ring-4:
//! after a hole, a record or a superblock names a durable record that was not found.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::error::{Damage, Witness};
use crate::geometry::window;
use crate::marks::Marks;
use crate::read::Reader;
use crate::record::{ALIGN, Header, header_at, places};
use crate::state::Recovery;
use crate::superblock::Superblock;
use crate::walk::Walk;
use crate::{Error, Lsn};
use ordo_ring::Circle;

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
pub(crate) async fn recover(circle: &Circle, superblock: &Superblock) -> Result<Found, Error> {
    let start = superblock.start;
    let epochs = superblock.start_epoch..=superblock.epoch;
    let mut walk = Walk::new(Reader::new(circle.clone()), circle.clone(), superblock.id, epochs, start);
    let (mut marks, mut gaps, mut records) = (Marks::new(circle.size), Vec::new(), 0);
    loop {
        let (before, at) = (walk.last, walk.at());
        let Some(header) = walk.next().await? else { break };
        if before.is_some_and(|before| before.epoch < header.epoch) && at < header.lsn.0 {
            gaps.push((at, header.lsn.0));
        }
        marks.note(header.lsn);
        records = u64::saturating_add(records, 1);
    }
    let end = walk.at();
    let damage = hole(circle, superblock, &mut walk).await?;
    let told = Recovery { records, bytes: end.saturating_sub(start), last: walk.last_lsn(), damage };
    Ok(Found { told, end, marks, gaps })
}

/// Searches after the end for evidence of later durable records.
async fn hole(circle: &Circle, superblock: &Superblock, walk: &mut Walk) -> Result<Option<Damage>, Error> {
    let (end, limit) = (walk.at(), superblock.start.saturating_add(circle.size));
    // If there is no record, everything that was durable lies before the start.
    let known = walk.last.map_or(superblock.start.saturating_sub(1), |last| last.lsn.0);
    let damage = |sure, witness| Ok(Some(Damage { first: Lsn(end), why: None, sure, witness }));
    if superblock.sure.0 > known || superblock.low.0 > circle.up(end) {
        return damage(superblock.sure, Witness::Superblock);
    }
    let to = limit.min(end.saturating_add(window(circle).saturating_mul(2)));
    let mut at = end;
    while let Some(header) = header_at(at).filter(|header| header.end <= to) {
        walk.reader.load(header, to).await?;
        // Candidates of this lap, or of a later one that belongs to a lost superblock.
        let window = walk.reader.get(at..to);
        let Some((from, lsn)) = Header::first(window) else {
            // At least the one that was asked for is none.
            let passed = (places(window).max(1) as u64).saturating_mul(ALIGN);
            at = at.saturating_add(passed);
            continue;
        };
        at = at.saturating_add(from as u64);
        if lsn.0.checked_sub(at).is_some_and(|later| later > 0 && later.is_multiple_of(circle.size)) {
            let mut later = Walk::new(Reader::new(circle.clone()), circle.clone(), superblock.id, 0..=u32::MAX, lsn.0);
            if later.record(lsn.0).await?.is_some() {
                return damage(lsn, Witness::Lost(lsn));
            }
        }
        if lsn.0 == at
            && let Some(header) = walk.record(at).await?
        {
            if header.epoch > superblock.epoch {
                return damage(header.sure, Witness::Lost(lsn));
            }
            if header.sure.0 > known {
                return damage(header.sure, Witness::Entry(lsn));
            }
        }
        at = at.saturating_add(ALIGN);
    }
    Ok(None)
}
