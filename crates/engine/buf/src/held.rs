//! What a scheme holds back in a buf, and until when. Only for explaining a call; no scheme needs it to work.

use crate::BufRef;

/// How something is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// If the buf were written now, its image would not contain it.
    RolledBack,
    /// The buf itself is not written before.
    Waits,
    /// It stays allocated, though nothing in memory points to it any more.
    Kept,
}

/// Something that is held back.
pub struct Held {
    /// What, in words.
    pub what: String,
    /// How.
    pub how: How,
    /// Bufs that must be durable first, each with the name of the rule that says so.
    pub until: Vec<(BufRef, &'static str)>,
}
