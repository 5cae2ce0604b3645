//! What one call writes, when, and why: the engine and a scheme under observation, on one of the explorer's disks.
//!
//! T1. The same plan gives the same trace: time is virtual, and luck comes from the seed.
//! T2. Lines stand in the order in which things happened, also where their times are equal.
//! T3. Nothing is watched that is not there: the scheme runs as it always does, and says of a buf what it holds back in it.

mod run;
mod scribe;
#[cfg(test)]
mod tests;

pub use run::{Asked, size_of, trace};

use buf::How;
use schemes::{Dependency, Piece};
use serde::Serialize;

/// A call under a scheme, from its beginning until everything is durable.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Trace {
    /// Name of the scheme.
    pub scheme: String,
    /// Name of the disk.
    pub disk: String,
    /// The calls that were made durable before.
    pub setup: Vec<String>,
    /// The call.
    pub call: String,
    /// Why the call was refused, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The bufs that it is about: groups, inodes, pointers, names, data.
    pub lanes: Vec<String>,
    /// What happened.
    pub events: Vec<Event>,
    /// When the call returned, in microseconds from its beginning.
    pub returned_us: u64,
    /// When everything was durable.
    pub durable_us: u64,
    /// Nobody flushed by himself: a sync was needed for that.
    pub needed_sync: bool,
    /// Images that left.
    pub writes: u64,
    /// Of these, images in which something was rolled back.
    pub rollbacks: u64,
    /// Times that a call waited for the scheme; our own sync at the end not counted.
    pub waits: u64,
    /// Flushes.
    pub flushes: u64,
}

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Event {
    /// When, in microseconds from the beginning of the call.
    pub us: u64,
    /// What.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum What {
    /// A call of the engine began, or ended: the user's, or the volume's own upkeep.
    Call {
        /// In words.
        says: String,
        /// What the scheme demands.
        #[serde(skip_serializing_if = "String::is_empty")]
        answer: String,
    },
    /// A step was told to the scheme.
    Step {
        /// Counts up from 1.
        number: usize,
        /// In words.
        says: String,
        /// The bufs that it changed.
        bufs: Vec<String>,
        /// What is held back from now on.
        made: Vec<Held>,
        /// What the scheme demands before the engine goes on; empty for nothing.
        answer: String,
        /// The bufs that it waits for.
        waits_for: Vec<String>,
    },
    /// The user's call returned.
    Returns,
    /// An image of a buf left.
    Leaves {
        /// Which buf.
        buf: String,
        /// Counts the buf's images since the call began, from 1.
        image: u32,
        /// Something was rolled back in it.
        rolled_back: bool,
        /// What.
        undone: Vec<Held>,
    },
    /// A buf should leave, and others must first.
    Waits {
        /// Which buf.
        buf: String,
        /// Which others; empty for something else.
        until: Vec<String>,
    },
    /// An image is durable.
    Landed {
        /// Which buf.
        buf: String,
        /// Which image.
        image: u32,
    },
    /// The disk was told to flush.
    Flush,
    /// It has.
    Flushed,
    /// A ticket came back: what it names is free.
    Freed {
        /// What.
        what: String,
    },
    /// Nothing more leaves by itself, and the disk was never told to flush: somebody says `sync`.
    Sync,
    /// Everything is durable.
    Durable,
}

/// Something that is held back.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Held {
    /// In which buf.
    pub buf: String,
    /// What.
    pub what: String,
    /// What that means.
    pub how: Kind,
    /// Until these are durable.
    pub until: Vec<Until>,
}

/// How something is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It is rolled back in images of the buf.
    RolledBack,
    /// The buf does not leave.
    Waits,
    /// It stays taken.
    Kept,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Until {
    /// The buf that must be durable.
    pub buf: String,
    /// The rule that says so.
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
