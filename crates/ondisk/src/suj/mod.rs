//! The journal of soft updates (SU+J): what links and blocks were about to change, in a file of fixed size.
//!
//! The journal holds no metadata. A record says what an operation that may not have ended has touched; recovery looks
//! there, and nowhere else, for what the ordering of soft updates may have left: links and blocks that are counted and
//! belong to nobody (McKusick and Roberson, "Journaled Soft-Updates", BSDCan 2010).
//!
//! J1. Writer and reader share one layout: [`lay_out`] puts records into a segment, [`segments`] finds segments,
//!     [`Found::records`] takes the records out.
//! J2. Each sector of a segment says which segment it is of. A segment of which the power took a sector is none.
//! J3. A segment carries `fs_mtime` of its session, so that what an earlier mount left is not taken for this one's.

mod raw;
mod record;
mod segment;

pub use raw::{RawBlock, RawMove, RawReference, RawSegment, RawTruncation};
pub use record::{BlockRecord, MoveRecord, Record, RefRecord, TruncRecord};
pub use segment::{Found, Segment, lay_out, may_hold_segments, records_per_sector, sectors_for, segments};

use crate::dinode::{flags, mode};

/// Name of the journal, in the root directory.
pub const NAME: &str = ".sujournal";
/// Fewest bytes of a journal.
pub const SUJ_MIN: u64 = 4 << 20;
/// Most bytes that are of use.
pub const SUJ_MAX: u64 = 32 << 20;
/// Mode of the journal: a file that its owner may read.
pub const MODE: u16 = mode::REG | 0o400;
/// Flags without which a file is not taken for the journal.
pub const FLAGS: u32 = flags::SF_IMMUTABLE | flags::SF_NOUNLINK;
/// Flags of a new journal.
pub const NEW_FLAGS: u32 = FLAGS | flags::UF_NODUMP;
/// Bytes of a record, and of a segment's header.
pub const RECORD: usize = 32;
