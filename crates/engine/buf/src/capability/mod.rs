//! Capabilities: what only some schemes can do, in small traits beside the core ([`Scheme`](crate::Scheme)).
//!
//! capability-1. A scheme is asked for its capabilities once, when it is attached. They do not change afterwards.
//! capability-2. No method of a capability has a default: a scheme, or a wrapper, that has a capability decides all of
//!     it. A wrapper that forgot one would silence the scheme behind it. What is true of a scheme without the
//!     capability is said here, and nowhere else.
//! capability-3. A wrapper replaces whole capabilities, and hands on the others as they are: calls of these do not pass
//!     it.

mod changes;
mod defers;
mod explains;
mod log;
mod order;
mod tracks;

pub use changes::SeesChanges;
pub use defers::{Defers, Ready};
pub use explains::Explains;
pub use log::{InStream, KeepsLog, LogFile, LogKind};
pub use order::{OrdersQueue, Sequence};
pub use tracks::{Ahead, TracksBufs, TracksInodes};

use crate::{BufRef, Cache, Held};
use ordo_disk::Written;
use ordo_ondisk::Ino;
use std::rc::Rc;

/// Whether a buf may be changed while its image is in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WhileLeaving {
    /// Changes wait until the write is complete: the baseline of 1994.
    Lock,
    /// The image is written from a copy, and the buf stays usable (`-CB`).
    #[default]
    Copy,
}

/// The capabilities of a scheme. The default is a scheme that has none.
#[derive(Clone, Default)]
pub struct Capabilities {
    /// It keeps a log.
    pub log: Option<Rc<dyn KeepsLog>>,
    /// It sees changes before they are made.
    pub changes: Option<Rc<dyn SeesChanges>>,
    /// It orders the disk's queue.
    pub order: Option<Rc<dyn OrdersQueue>>,
    /// It defers bufs.
    pub defers: Option<Rc<dyn Defers>>,
    /// It keeps records of bufs.
    pub bufs: Option<Rc<dyn TracksBufs>>,
    /// It keeps records of inodes.
    pub inodes: Option<Rc<dyn TracksInodes>>,
    /// It explains itself.
    pub explains: Option<Rc<dyn Explains>>,
    /// Whether changes wait while an image is in flight: `Lock` for `sync`, `conventional`, and those `flag-*` and
    /// `chains-*` whose names do not end in `-cb`.
    pub while_leaving: WhileLeaving,
}

/// Each method answers for a scheme without the capability, too (capability-2).
impl Capabilities {
    /// The log that it needs, if any.
    pub fn log_kind(&self) -> Option<LogKind> {
        self.log.as_ref().map(|log| log.kind())
    }

    /// See [`KeepsLog::wants_sync`].
    pub fn wants_sync(&self) -> bool {
        self.log.as_ref().is_some_and(|log| log.wants_sync())
    }

    /// See [`KeepsLog::changes`].
    pub fn logged_changes(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.changes())
    }

    /// See [`OrdersQueue::sequence`]; without it no order.
    pub fn sequence(&self, buf: &BufRef) -> Sequence {
        self.order.as_ref().map_or_else(Sequence::default, |order| order.sequence(buf))
    }

    /// See [`OrdersQueue::sent`]; without it any image serves.
    pub fn sent(&self, buf: &BufRef, written: &Written, fresh: bool) -> bool {
        self.order.as_ref().is_none_or(|order| order.sent(buf, written, fresh))
    }

    /// See [`Defers::ready`]; without it every buf is.
    pub fn ready(&self, cache: &Rc<Cache>, buf: &BufRef) -> Ready {
        self.defers.as_ref().map_or(Ready::Yes, |defers| defers.ready(cache, buf))
    }

    /// See [`TracksBufs::wants_flush`].
    pub fn wants_flush(&self) -> bool {
        self.bufs.as_ref().is_some_and(|bufs| bufs.wants_flush())
    }

    /// See [`TracksBufs::discarded`].
    pub fn discarded(&self, buf: &BufRef) {
        if let Some(bufs) = &self.bufs {
            bufs.discarded(buf);
        }
    }

    /// See [`TracksInodes::is_moving`].
    pub fn is_moving(&self, dir: Ino) -> bool {
        self.inodes.as_ref().is_some_and(|inodes| inodes.is_moving(dir))
    }

    /// See [`TracksInodes::look_ahead`].
    pub fn look_ahead(&self, ino: Ino, ahead: Ahead) {
        if let Some(inodes) = &self.inodes {
            inodes.look_ahead(ino, ahead);
        }
    }

    /// See [`Explains::explain`].
    pub fn explain(&self, buf: &BufRef) -> Vec<Held> {
        self.explains.as_ref().map_or_else(Vec::new, |explains| explains.explain(buf))
    }

    /// See [`Explains::counters`].
    pub fn counters(&self) -> Vec<(&'static str, u64)> {
        self.explains.as_ref().map_or_else(Vec::new, |explains| explains.counters())
    }

    /// The names of those that it has, in the order of the table in `ordo_schemes`.
    pub fn names(&self) -> Vec<&'static str> {
        let Capabilities { log, changes, order, defers, bufs, inodes, explains, while_leaving } = self;
        let has = [
            ("KeepsLog", log.is_some()),
            ("SeesChanges", changes.is_some()),
            ("OrdersQueue", order.is_some()),
            ("Defers", defers.is_some()),
            ("TracksBufs", bufs.is_some()),
            ("TracksInodes", inodes.is_some()),
            ("Explains", explains.is_some()),
            ("Lock", *while_leaving == WhileLeaving::Lock),
        ];
        has.into_iter().filter_map(|(name, has)| has.then_some(name)).collect()
    }
}

#[cfg(test)]
mod tests {
    /// capability-2, read from the traits' own text.
    #[test]
    fn no_method_of_a_capability_has_a_default() {
        let texts = [
            include_str!("changes.rs"),
            include_str!("defers.rs"),
            include_str!("explains.rs"),
            include_str!("log.rs"),
            include_str!("order.rs"),
            include_str!("tracks.rs"),
        ];
        let traits = texts.iter().flat_map(|text| text.split("\npub trait ").skip(1));
        let bodies: Vec<&str> = traits.map(|text| text.split_once("\n}\n").expect("it ends").0).collect();
        assert_eq!(bodies.len(), 7, "as many as `Capabilities` can hold");
        for body in bodies {
            let (name, methods) = body.split_once(" {\n").expect("it begins");
            assert!(methods.contains("    fn ") && !methods.contains('{'), "{name}");
        }
    }
}
