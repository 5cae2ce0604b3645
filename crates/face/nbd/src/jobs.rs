//! Requests on their way from the connections' threads to the executor's.

use std::sync::mpsc;

use ordo_disk::Block;
use ordo_rt::sync::Inbox;

use crate::reply::Reply;
use crate::request::Request;
use crate::room::Room;

/// A request, its data, and where its reply goes.
pub(crate) struct Job {
    pub(crate) request: Request,
    pub(crate) data: Vec<Block>,
    /// What was negotiated.
    pub(crate) session: Session,
    pub(crate) answer: mpsc::Sender<Reply>,
    pub(crate) room: Room,
}

/// What client and server agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Session {
    /// Replies are structured.
    pub(crate) structured: bool,
    /// The client may ask for holes.
    pub(crate) contexts: bool,
}

/// The jobs that the executor has not begun.
pub(crate) type Jobs = Inbox<Job>;
