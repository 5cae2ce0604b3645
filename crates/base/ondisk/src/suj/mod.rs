//! The journal of soft updates (SU+J): which links and blocks were about to change, in a file of fixed size.
//!
//! The journal holds no metadata. A record names what an unfinished operation may have touched; recovery checks only
//! there for what the ordering of soft updates may have left: links and blocks that are counted but unused (McKusick
//! and Roberson, "Journaled Soft-Updates", BSDCan 2010).
//!
//! J1. Writer and reader share one layout: [`lay_out`] puts records into a segment, [`segments`] finds segments,
//!     [`Found::records`] takes the records out.
//! J2. Each sector of a segment identifies its segment. A segment that lost a sector in a power cut is ignored.
//! J3. A segment contains `fs_mtime` of its session, so that segments of an earlier mount are not mistaken for current
//!     ones.

mod raw;
mod record;
mod segment;

pub use raw::{RawBlock, RawMove, RawReference, RawSegment, RawTruncation};
pub use record::{BlockRecord, MoveRecord, Record, RefRecord, TruncRecord};
pub use segment::{Found, Segment, lay_out, may_hold_segments, records_per_sector, sectors_for, segments};

use crate::dinode::{flags, mode};

/// Name of the journal, in the root directory.
pub const NAME: &str = ".sujournal";
/// Smallest size of a journal, in bytes.
pub const SUJ_MIN: u64 = 4 << 20;
/// Largest useful size, in bytes.
pub const SUJ_MAX: u64 = 32 << 20;
/// Mode of the journal: a file that its owner may read.
pub const MODE: u16 = mode::REG | 0o400;
/// Flags that a file must have to be taken for the journal.
pub const FLAGS: u32 = flags::SF_IMMUTABLE | flags::SF_NOUNLINK;
/// Flags of a new journal.
pub const NEW_FLAGS: u32 = FLAGS | flags::UF_NODUMP;
/// Bytes of a record, and of a segment's header.
pub const RECORD: usize = 32;
