//! Distinguishing a hole from the end of the journal (ring-4): after a hole, some block names a later durable
//! transaction.
//!
//! One commit is in flight at a time. Therefore no block after a torn tail calls the torn transaction durable, and the
//! search can cover the whole rest of the circle.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::area::Area;
use crate::blocks::Header;
use crate::reader::Reader;
use crate::recover::Walk;
use crate::superblock::Superblock;
use crate::{Damage, Error, Seq, Witness};
#[cfg(feature = "planted")]
use ordo_ring::planted::{Broken, has};

/// Bytes that are searched after the tail of a journal that was closed.
const AFTER_CLOSE: u64 = 1 << 20;

/// The damage, if `walk` has ended before a transaction that was durable.
pub(crate) async fn hole(area: &Area, superblock: &Superblock, walk: &mut Walk) -> Result<Option<Damage>, Error> {
    #[cfg(feature = "planted")]
    if has(Broken::Witness) {
        return Ok(None);
    }
    let known = walk.seq.before();
    let (line, what) = walk.stopped;
    let damage = |sure, witness| {
        let (at, _) = area.run(line);
        Ok(Some(Damage { first: walk.seq, why: Some((what, at)), sure, witness }))
    };
    if superblock.sure > known {
        return damage(superblock.sure, Witness::Superblock);
    }
    for line in walk.line..walk.limit() {
        let limit = walk.limit();
        let block = walk.reader.block(line, limit).await?;
        let Some(header) = Header::read(area.shape, block, line, area.size) else { continue };
        match testimony(superblock, known, &header) {
            Some(witness) => return damage(header.sure, witness),
            None => continue,
        }
    }
    Ok(None)
}

/// A closed journal is empty. But if the superblock that closed it is the older of the two, and the newer one is lost,
/// later transactions exist. The first of them begins at the tail.
pub(crate) async fn lost_superblock(area: &Area, superblock: &Superblock) -> Result<Option<Damage>, Error> {
    let block = area.shape.block as u64;
    let (from, count) = (superblock.tail, AFTER_CLOSE.checked_div(block).unwrap_or(1).clamp(1, area.size));
    let to = from.saturating_add(count);
    let mut reader = Reader::new(area.clone()).at_most(count);
    for line in from..to {
        let block = reader.block(line, to).await?;
        let Some(header) = Header::read(area.shape, block, line, area.size) else { continue };
        if let Some(witness) = testimony(superblock, superblock.sure, &header) {
            let (what, (at, _)) = ("nothing is known", area.run(from));
            return Ok(Some(Damage { first: superblock.tail_seq, why: Some((what, at)), sure: header.sure, witness }));
        }
    }
    Ok(None)
}

/// What a block outside the transactions that count proves.
fn testimony(superblock: &Superblock, known: Seq, header: &Header) -> Option<Witness> {
    // A block of a later lap is evidence too: its room was reused only after a newer superblock was durable (ring-2).
    if header.epoch > superblock.sequence {
        return Some(Witness::Lost(header.seq));
    }
    (header.sure > known).then_some(Witness::Entry(header.seq))
}
