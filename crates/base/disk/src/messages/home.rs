//! Where a log lies: on a disk, or in a stream.

use std::fmt;
use std::rc::Rc;
use std::time::Duration;

use super::overlay::OverlayStream;
use super::stream::Messages;

/// What happens to a log in a stream, for the one who waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StreamEvent {
    /// It waits for this reason, and gives up after so long a time.
    Waits {
        /// Why.
        why: String,
        /// How long it has waited, and will wait at most.
        most: Duration,
    },
    /// It goes on, after a wait.
    GoesOn,
}

type Listener = dyn Fn(&StreamEvent);

/// A stream for a log, and how patient the log is.
#[derive(Clone)]
pub struct LogStream {
    /// The stream.
    pub messages: Rc<dyn Messages>,
    /// How long an answer is awaited before the log ends with an error.
    pub patience: Duration,
    /// Who is told of waits.
    pub tell: Rc<Listener>,
}

impl LogStream {
    /// How long an answer is awaited unless something else is asked for.
    pub const PATIENCE: Duration = Duration::from_secs(60);

    /// With the default patience, telling nobody.
    pub fn new(messages: Rc<dyn Messages>) -> LogStream {
        LogStream { messages, patience: LogStream::PATIENCE, tell: Rc::new(|_| {}) }
    }
}

impl fmt::Debug for LogStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogStream")
            .field("name", &self.messages.name())
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

/// Where a log lies that is not a file of its volume.
#[derive(Clone)]
pub enum LogHome {
    /// On a disk of its own.
    Disk(Rc<dyn crate::Disk>),
    /// In a stream.
    Stream(LogStream),
}

impl LogHome {
    /// The same contents, over which everything that is written stays in memory.
    #[must_use]
    pub fn overlaid(&self) -> LogHome {
        match self {
            LogHome::Disk(disk) => LogHome::Disk(Rc::new(crate::Overlay::new(disk.clone()))),
            LogHome::Stream(stream) => {
                let messages = Rc::new(OverlayStream::new(stream.messages.clone()));
                LogHome::Stream(LogStream { messages, ..stream.clone() })
            }
        }
    }

    /// The same place, written to only while `claim` stands. A stream refuses a second writer itself.
    #[must_use]
    pub fn fenced(self, claim: &crate::fence::Claim) -> LogHome {
        match self {
            LogHome::Disk(disk) => LogHome::Disk(Rc::new(claim.fence(disk))),
            stream @ LogHome::Stream(_) => stream,
        }
    }

    /// The disk, if it is one.
    pub fn disk(self) -> Option<Rc<dyn crate::Disk>> {
        match self {
            LogHome::Disk(disk) => Some(disk),
            LogHome::Stream(_) => None,
        }
    }
}

impl From<Rc<dyn crate::Disk>> for LogHome {
    fn from(disk: Rc<dyn crate::Disk>) -> LogHome {
        LogHome::Disk(disk)
    }
}
