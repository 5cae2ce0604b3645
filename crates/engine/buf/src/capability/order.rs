//! Leaving the order to the disk's queue.

use crate::BufRef;
use ordo_disk::{Flag, Written};

/// The order of an image with others on its way to the disk.
#[derive(Default)]
pub struct Sequence {
    /// As a barrier.
    pub flag: Option<Flag>,
    /// After these, once they are durable.
    pub after: Vec<Written>,
}

/// Orders writes in the disk's queue, and lets no call wait for them. `flag-*`, by barriers, and `chains-*`, by the
/// writes that a write must follow. Only these demand [`Must::Sent`](crate::Must::Sent) of a write that has an order.
pub trait OrdersQueue {
    /// An image of `buf` is about to be sent. The disk's queue keeps the returned order.
    fn sequence(&self, buf: &BufRef) -> Sequence;

    /// The image of `buf` that [`Must::Sent`](crate::Must::Sent) demanded is in flight. Called before anything else
    /// happens. If it is not `fresh`, another call or the syncer sent it before; if its order does not serve, the
    /// answer is `false`, and the call waits until it is durable.
    fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool;
}
