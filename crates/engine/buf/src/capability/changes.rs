//! Seeing changes before they are made.

use crate::BufRef;

/// Gets notice of every change in memory before it is made. `journal-file`, `wafs` and `block-journal`: the first
/// change of a buf in a transaction keeps the buf's older contents, which may still be written (decision 0016).
pub trait SeesChanges {
    /// The bytes, the length or the place of `buf` are about to change. It is called often, so a scheme must recognise
    /// quickly a buf that it knows.
    fn will_change(&self, buf: &BufRef);
}
