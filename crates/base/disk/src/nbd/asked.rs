//! What a reply is for, and a reply that is for nothing.

use crate::ReadPart;

/// The reply breaks the protocol, or is for an epoch that is over: the lane is of no use any more.
#[derive(Debug)]
pub(super) struct Breach(pub(super) &'static str);

/// What a reply is for.
pub(super) enum Asked {
    /// A read of what begins here; its buffers are lent until `Table::answer` or `Table::give_back`.
    Read(u64, Vec<ReadPart>),
    /// Where are holes in this range?
    Extents(u64, u64),
    /// No data comes with the reply.
    Plain,
}
