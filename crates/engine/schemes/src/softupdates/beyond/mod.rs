//! Beyond the papers: what soft updates need where the papers say nothing.
//!
//! For correctness:
//!
//! * `renames`: a removal is held back while it would leave a file without a name, or a directory where its `..` does
//!   not lead (renames-1 to renames-5). `kept` does so in an image.
//! * `same_name`: a name that is added again elsewhere in its directory (same_name-1, same_name-2). `gone`
//!   has the removed ones.
//! * `claims`: blocks of a directory that are new or have moved (beyond-claims-1, beyond-claims-2).
//!
//! For speed and memory:
//!
//! * `short`: what the long paths do, for the steps in which nothing else is pending (beyond-short-1).
//! * `limit`: calls wait when there are too many records (beyond-limit-1, beyond-limit-2).

mod claims;
mod gone;
mod kept;
mod limit;
mod renames;
mod same_name;
mod short;

pub(super) use kept::Frozen;
pub(super) use limit::Limit;
pub(super) use renames::First;

use super::deps::{DirAdd, Grown, RemId};
use crate::records::Id;
use gone::GoneNames;
use ordo_ondisk::Ino;
use rustc_hash::FxHashMap;

/// What these changes need besides their records.
#[derive(Default)]
pub(super) struct Beyond {
    /// Pending `..` entries, by their directory.
    pub(in crate::softupdates) dotdots: FxHashMap<Ino, Id<DirAdd>>,
    /// By directory: the names that removals in it waited for. The directory's own name must not be removed before
    /// these can be reached.
    pub(in crate::softupdates) moved_out: FxHashMap<Ino, Vec<Id<DirAdd>>>,
    /// By directory: the removals of its names in other directories, which it was renamed out of.
    pub(in crate::softupdates) moved_from: FxHashMap<Ino, Vec<RemId>>,
    /// Removed names, by directory and name.
    pub(in crate::softupdates) gone: GoneNames,
    /// By directory: its growth, until that is durable.
    pub(in crate::softupdates) grown: FxHashMap<Ino, Grown>,
    /// At least one of them grew beyond its direct blocks.
    pub(in crate::softupdates) grows_beyond_direct: bool,
}
