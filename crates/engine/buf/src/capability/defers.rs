//! Deferring a buf until others have landed.

use crate::{BufRef, Cache};
use std::rc::Rc;

/// Whether a buf can be written now without a rollback.
pub enum Ready {
    /// It can.
    Yes,
    /// If these bufs landed first, less would be rolled back.
    After(Vec<BufRef>),
}

/// Has bufs that are better written after others. `softupdates`, which would have to roll back changes in them, `suj`,
/// which lets them wait for its records, too, and the three journals, which would write an older image.
pub trait Defers {
    /// Called by the syncer and by the eviction code, which have a choice: should other bufs be written first?
    fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready;
}
