//! Answers of a scheme: what must happen before a call goes on, and what is written in place of a buf.

use crate::{Boxed, BufRef, Ticket};
use ordo_disk::Block;
use ordo_vfs::Result;

/// What must happen before the engine may go on: after a step, at the beginning or the end of a call, for an fsync or a
/// sync. [`Cache::obey`](crate::Cache::obey) waits for it; an error there ends the call.
#[must_use = "the engine must wait for what the scheme demands"]
pub enum Must {
    /// Nothing: the engine goes on without awaiting anything. Most answers.
    Nothing,
    /// This buf must be durable, with all that it holds when the engine begins to wait.
    Durable(BufRef),
    /// These bufs must be durable, in this order: each is written only after the one before it is durable.
    InOrder(Vec<BufRef>),
    /// This buf must be in flight, in the order that [`OrdersQueue::sequence`](crate::OrdersQueue::sequence) gives it.
    /// The call does not wait for the write.
    Sent(BufRef),
    /// This future must end. For what is no single buf: a log up to some record, or rounds of writing.
    Wait(Boxed<'static, Result<()>>),
}

/// A scheme's answer to a step. Until `must` has happened the call makes no further change, and its ticket frees
/// nothing: otherwise a crash could find the freed space in use twice.
pub struct Answer {
    /// What must happen first.
    pub must: Must,
    /// The step's ticket, ripe once `must` has happened. A scheme that keeps the ticket answers `None`, and returns it
    /// through [`Cache::ripen`](crate::Cache::ripen). If `must` fails, it is never redeemed: what it would free stays
    /// allocated.
    pub ripe: Option<Ticket>,
}

impl From<Must> for Answer {
    fn from(must: Must) -> Answer {
        Answer { must, ripe: None }
    }
}

/// What is written in place of a buf.
pub enum Leave {
    /// The bytes as they are.
    AsIs,
    /// Another image, in which unsafe changes are rolled back. The buf keeps its age, and stays due.
    Image(Block),
    /// An older state of the buf, all of it safe. The age of later changes counts from now.
    Older(Block),
    /// Nothing yet: these bufs must land first. They can, since a scheme never answers with a cycle.
    AfterBufs(Vec<BufRef>),
    /// Nothing yet: this future must end first (for example, a log must be durable up to some record).
    After(Boxed<'static, Result<()>>),
}
