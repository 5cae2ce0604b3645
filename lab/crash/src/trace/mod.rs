//! Traces one call: what is written, when, and why, with the engine and a scheme on one of the explorer's disks.
//!
//! T1. The same plan gives the same trace: time is virtual, and random choices follow from the seed.
//! T2. Lines are in the order of the events, also where their times are equal.
//! T3. Tracing changes nothing: the scheme runs as it always does, and reports what it holds back in a buf.

mod run;
mod scribe;
mod segment;
#[cfg(test)]
mod tests;

pub use run::{Asked, size_of, trace};

use ordo_buf::How;
use ordo_probe::{Dependency, Piece};
use serde::Serialize;

/// A call under a scheme, from its beginning until everything is durable.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trace {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the disk.
    pub disk: String,
    /// The calls before, which were made durable.
    pub setup: Vec<String>,
    /// The traced call.
    pub call: String,
    /// Why the call was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The bufs that are involved: groups, inodes, pointers, names, data.
    pub lanes: Vec<String>,
    /// The events.
    pub events: Vec<Event>,
    /// When the call returned, in microseconds from its beginning.
    pub returned_us: u64,
    /// When everything was durable.
    pub durable_us: u64,
    /// Nothing was flushed without a sync: a sync was needed to make everything durable.
    pub needed_sync: bool,
    /// Images that were sent to the disk.
    pub writes: u64,
    /// Of these, images in which something was rolled back.
    pub rollbacks: u64,
    /// Times that a call waited for the scheme, without the final sync of the trace.
    pub waits: u64,
    /// Flushes.
    pub flushes: u64,
}

/// A line of the trace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// Time, in microseconds from the beginning of the call.
    pub us: u64,
    /// The event.
    #[serde(flatten)]
    pub what: What,
}

/// An event.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// A call of the engine began, or ended: the user's, or maintenance by the volume itself.
    Call {
        /// A description.
        says: String,
        /// What the scheme requires.
        #[serde(skip_serializing_if = "String::is_empty")]
        answer: String,
    },
    /// The scheme was notified of a step.
    Step {
        /// Its number, from 1.
        number: usize,
        /// A description.
        says: String,
        /// The bufs that the step changed.
        bufs: Vec<String>,
        /// The changes that are held back from now on.
        made: Vec<Held>,
        /// What the scheme requires before the engine goes on; empty if nothing.
        answer: String,
        /// The bufs that it waits for.
        waits_for: Vec<String>,
    },
    /// The user's call returned.
    Returns,
    /// An image of a buf was sent to the disk.
    Leaves {
        /// The buf.
        buf: String,
        /// Number of the image among the buf's images since the call began, from 1.
        image: u32,
        /// Something was rolled back in it.
        rolled_back: bool,
        /// The changes that were rolled back.
        undone: Vec<Held>,
    },
    /// A buf should be written, but others must be written first.
    Waits {
        /// The buf.
        buf: String,
        /// The others; empty if it waits for something else.
        until: Vec<String>,
    },
    /// An image is durable.
    Landed {
        /// The buf.
        buf: String,
        /// Number of the image.
        image: u32,
    },
    /// A flush was sent to the disk.
    Flush,
    /// The flush has completed.
    Flushed,
    /// On a log-structured volume: a partial segment was sent to the disk in one write, or a superblock.
    Log {
        /// A description.
        says: String,
        /// What is in it, in its order.
        holds: Vec<String>,
    },
    /// A ticket was settled: what it names is free.
    Freed {
        /// A description of what is free.
        what: String,
    },
    /// Nothing more is written by itself, and the disk was never flushed: the tracer calls `sync`.
    Sync,
    /// Everything is durable. A log may still have a checkpoint to write: what follows is not needed to recover.
    Durable,
}

/// A change that is held back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// In which buf.
    pub buf: String,
    /// The change.
    pub what: String,
    /// In which way it is held back.
    pub how: Kind,
    /// Until these are durable.
    pub until: Vec<Until>,
}

/// The ways in which a change is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It is rolled back in images of the buf.
    RolledBack,
    /// The buf is not written.
    Waits,
    /// A resource stays allocated.
    Kept,
}

/// What a change waits for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Until {
    /// The buf that must be durable.
    pub buf: String,
    /// The rule that requires it.
    pub rule: &'static str,
}

impl From<Dependency> for Held {
    fn from(from: Dependency) -> Held {
        let mut until: Vec<Until> = Vec::new();
        for (Piece { name, .. }, rule) in from.until {
            let one = Until { buf: name, rule };
            if !until.contains(&one) {
                until.push(one);
            }
        }
        let how = match from.how {
            How::RolledBack => Kind::RolledBack,
            How::Waits => Kind::Waits,
            How::Kept => Kind::Kept,
        };
        Held { buf: from.of.name, what: from.what, how, until }
    }
}
