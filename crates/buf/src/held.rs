//! What a scheme holds back in a buf, and until when: for whoever explains a call. No scheme needs it to work.

use crate::BufRef;

/// How something is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// If the buf left now, its image would not have it.
    RolledBack,
    /// The buf itself does not leave before.
    Waits,
    /// It stays taken, though nothing in memory points to it any more.
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
