//! Why a disk cannot be claimed, and who has one that was claimed.

use std::fmt;

use ordo_ondisk::mmp::{Beat, Damage, Holder, utc};

use crate::error::DiskError;

/// Why a disk could not be claimed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClaimError {
    /// Another one has it: its beats go on.
    #[error(
        "another writer has it: {holder}{}. Only one may write: unmount it there, or end that program; reading is \
         possible meanwhile", beaten(*.beat)
    )]
    Held {
        /// Who.
        holder: Holder,
        /// Its last beat, if that can be read.
        beat: Option<Beat>,
    },
    /// Another one claimed it at the same time, and was the last.
    #[error("another writer has claimed it at the same time: {0}. Only one may write; try again when that one is done")]
    Raced(Taken),
    /// The record cannot be read.
    #[error(
        "the record of its writer at byte {at} is damaged: {damage}. If no other machine uses the volume, \
         ordo tune -o mmp=on makes the record anew (it waits first), and mmp=off removes it"
    )]
    Damaged {
        /// The sector of the owner.
        at: u64,
        /// What is wrong.
        damage: Damage,
    },
    /// There is nothing to claim: it was removed meanwhile.
    #[error("the record of its writer is gone: the protection was switched off meanwhile; try again")]
    Gone,
    /// The record's sectors would be written together.
    #[error(
        "the disk has sectors of {0} bytes, and the volume's boot area of 8 KiB is too small for a record of its writer \
         there; make the volume as UFS2"
    )]
    Sector(u32),
    /// The disk cannot read the record, so nobody knows whether there is one. A power cut may leave such a sector.
    #[error(
        "the record of its writer cannot be read: {0}. If that goes on, and no other machine uses the volume, \
         ordo tune -o mmp=on makes the record anew (it waits first), and mmp=off removes it"
    )]
    Unread(#[source] DiskError),
    /// The record cannot be read or written.
    #[error("the record of its writer: {0}")]
    Disk(#[from] DiskError),
}

/// Who has a disk that was this writer's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Taken {
    /// This one.
    By(Box<Holder>),
    /// Somebody who has released it since.
    Released,
    /// The record says nothing: it is damaged, or was removed.
    Unreadable,
    /// This writer gave it back itself.
    ByNobody,
}

impl fmt::Display for Taken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Taken::By(holder) => holder.fmt(f),
            Taken::Released => f.write_str("one that has released it since"),
            Taken::Unreadable => f.write_str("nobody that the record names: it is damaged or was removed"),
            Taken::ByNobody => f.write_str("nobody: this writer has released it"),
        }
    }
}

fn beaten(beat: Option<Beat>) -> String {
    beat.map_or_else(String::new, |beat| format!(", beat {} at {} UTC", beat.seq, utc(beat.at)))
}

/// Another writer has taken the disk over while this one was stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this writer was stopped or could not reach the disk, and the disk was taken over, by {0}; nothing more is written \
     here. Unmount it, and mount it again: what was not durable is lost"
)]
pub struct TakenOver(pub Taken);
