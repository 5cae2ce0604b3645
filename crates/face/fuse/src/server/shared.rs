//! What the requests in progress share.

use super::callers::Turn;
use super::init::Agreed;
use super::lookups::Lookups;
use super::options::ServeOptions;
use super::record::Tape;
use crate::proto::reply::Show;
use crate::transport::{Gone, Transport};
use ordo_rt::Rt;
use ordo_rt::sync::Notify;
use ordo_vfs::{FileSystem, NodeId};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// See the head.
pub(super) struct Server<F, T> {
    pub(super) fs: Rc<F>,
    pub(super) transport: T,
    pub(super) show: Show,
    pub(super) opts: ServeOptions,
    pub(super) stage: Cell<Stage>,
    pub(super) lookups: RefCell<Lookups>,
    /// What is recorded of the calls.
    pub(super) tape: Tape,
    /// SETATTR requests so far.
    pub(super) setattrs: Cell<u64>,
    /// The file of which a caller, by thread, has just removed the capability (attributes-1).
    pub(super) uncapable: Cell<Option<(NodeId, u32)>>,
    /// What was read since the server slept last.
    pub(super) turn: Cell<Turn>,
    /// Requests that became tasks and are not finished.
    pub(super) under_way: Cell<usize>,
    /// Notified when `under_way` becomes zero.
    pub(super) finished: Notify,
    /// Nothing is read or written for programs any more (end-2).
    pub(super) ends: Cell<bool>,
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    pub(super) fn new(rt: &Rt, fs: Rc<F>, transport: T, opts: ServeOptions) -> Server<F, T> {
        Server {
            show: Show::new(fs.root()).with(opts.uid, opts.gid, opts.umask),
            fs,
            transport,
            opts,
            stage: Cell::new(Stage::Starting),
            lookups: RefCell::default(),
            tape: Tape::new(rt),
            setattrs: Cell::new(0),
            uncapable: Cell::new(None),
            turn: Cell::new(Turn::default()),
            under_way: Cell::new(0),
            finished: Notify::new(),
            ends: Cell::new(false),
        }
    }

    /// Calls `ready`, once, when INIT was answered and the rest of the transport is set up.
    ///
    /// # Errors
    /// INIT was refused, or the transport cannot deliver requests.
    pub(super) fn begin_serving(&self, ready: &mut Option<Box<dyn FnOnce()>>) -> Result<(), Gone> {
        match (self.stage.get(), ready.take()) {
            (Stage::Refused(errno), _) => return Err(Gone::Failed(errno)),
            (Stage::Serving(_), Some(ready)) => {
                self.transport.begin()?;
                ready();
            }
            (_, waiting) => *ready = waiting,
        }
        Ok(())
    }
}

/// How far the negotiation with the kernel is.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stage {
    /// INIT has not come.
    Starting,
    /// INIT was answered.
    Serving(Agreed),
    /// INIT was refused; nothing more will come.
    Refused(Errno),
}
