//! What FreeBSD's replay of a soft updates journal would do to a volume: a model of its rules, for the power-cut
//! explorer. A volume that `suj` left must be right after this replay, too, and not only after that of `ordo-fsck`.
//!
//! V1. The model was written from a description of FreeBSD's rules, and shares no code with `ordo-fsck`: only `ondisk`
//!     and `disk`. Where the two replays differ, one of them is a second opinion.
//! V2. The model believes what FreeBSD believes, however unwise. It checks no hash; it reads inodes that were never
//!     written; a record of a block counts only at the address that it names. It is never made milder because a volume
//!     fails: the writer of the records changes.
//! V3. Nothing is written before everything is decided. The result is the list of writes, in FreeBSD's order.
//!
//! `volume` reads and changes inodes, pointers and maps; `journal` finds the segments that count (S); `lists` merges
//! the records of an inode's names (L); `names` looks a name up (I); `links` decides what lives (N); `blocks` frees
//! what records name (B); `sizes` counts and truncates (T); `finish` writes (W).
//!
//! Not modelled, because no program of this tree makes them: snapshots, and truncations of attribute areas.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod blocks;
mod finish;
mod inodes;
mod journal;
mod links;
mod lists;
mod names;
mod outcome;
mod replay;
mod sizes;
#[cfg(test)]
mod tests;
mod uses;
mod volume;

pub use outcome::{Outcome, Why, Write};
pub use replay::Quirks;

use inodes::Inodes;
use ordo_disk::RamDisk;
use replay::Replay;
use std::collections::{BTreeMap, BTreeSet};
use uses::Blocks;
use volume::Volume;

/// What FreeBSD's replay would do to the volume at the start of `disk`, whose sectors have `sector` bytes, at `now`
/// (seconds since 1970). The disk is not changed.
pub fn replay(disk: &RamDisk, sector: usize, now: i64, quirks: Quirks) -> Outcome {
    let volume = match Volume::open(disk) {
        Ok(volume) => volume,
        Err(other) => return other,
    };
    let (inodes, blocks) = (Inodes::default(), Blocks::default());
    let (truncations, unsure, leaks) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let mut replay = Replay { volume, quirks, inodes, blocks, truncations, unsure, leaks };
    match replay.run(sector).and_then(|()| replay.finish(now)) {
        Ok(writes) => Outcome::Replayed { writes, unsure: replay.unsure, leaks: replay.leaks },
        Err(why) => Outcome::GivesUp(why),
    }
}
