//! What a replay ends with.

use std::collections::BTreeSet;

/// Sectors that the replay writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// First byte of the volume.
    pub at: u64,
    /// What is there then.
    pub bytes: Vec<u8>,
}

/// What the replay does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The volume has no journal that waits for a replay.
    NotDue,
    /// The power went while a block of several sectors was written, and its hash or counts tell that: which one. The
    /// replay looks at neither, and no order of writes could help it.
    Torn(String),
    /// The replay ends, and the volume is marked clean.
    Replayed {
        /// What it writes, in this order.
        writes: Vec<Write>,
        /// Groups of which it freed an inode that was never written in its last life, and whose number was a
        /// directory's and another file's in the journal. No record tells which of these the group counted.
        unsure: BTreeSet<u32>,
        /// Groups in which it may leave fragments in use that no file has: of a removed file whose last block was cut,
        /// and then moved, and whose inode on the disk still has all of it.
        leaks: BTreeSet<u32>,
    },
    /// It writes nothing, and the whole volume is checked.
    GivesUp(Why),
}

/// Why a replay writes nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The journal lacks the segment that it names as the oldest: whoever wrote it gave it up.
    #[error("the journal is void: it lacks segment {0}")]
    Void(u64),
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

pub(crate) type Done<T> = Result<T, Why>;

pub(crate) fn give_up<T>(why: impl Into<String>) -> Done<T> {
    Err(Why::Other(why.into()))
}

impl From<&str> for Why {
    fn from(why: &str) -> Why {
        Why::Other(why.into())
    }
}
