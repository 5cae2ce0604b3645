//! What a user is told of a connection: events that no request can report while it waits.

use std::fmt;
use std::sync::Arc;

use rustix::io::Errno;

use crate::Lost;

/// Why the server of a disk was given up, for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NbdGone {
    /// Nothing was answered for too long.
    #[error(
        "its server has answered nothing for {seconds} s, and is given up: unmount, see to the server, and mount \
         again; ?timeout=SECONDS in the address waits longer"
    )]
    NoAnswer {
        /// The time-out.
        seconds: u64,
    },
    /// Changes waited for the server for so long that another writer may have the disk by now.
    #[error(
        "its server did not take changes for so long that another writer may have claimed the disk since (mmp=on): \
         they are not sent any more. Unmount, and mount again; a longer interval waits longer for a server: \
         ordo tune -o mmp=SECONDS, up to 30"
    )]
    Claim,
    /// The server came back with something else.
    #[error(
        "its server came back with another disk, and is given up: {what} was {before}, and is {now} now; what was \
         written last is not on it. Unmount, and find out which disk this is"
    )]
    Changed {
        /// In what it differs.
        what: &'static str,
        /// As it was when the disk was opened.
        before: u64,
        /// As it is.
        now: u64,
    },
}

impl From<NbdGone> for Lost {
    fn from(gone: NbdGone) -> Lost {
        let errno = match gone {
            NbdGone::NoAnswer { .. } | NbdGone::Claim => Errno::TIMEDOUT,
            NbdGone::Changed { .. } => Errno::NODEV,
        };
        Lost::new(errno, gone)
    }
}

/// An event of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NbdNotice {
    /// It is lost, and will be made again.
    Lost {
        /// What happened.
        why: String,
        /// Requests without an answer.
        waiting: usize,
    },
    /// It was made again.
    Back {
        /// After so many seconds.
        seconds: u64,
        /// Changes that the server may have lost, and that were sent again.
        again: usize,
    },
    /// The server answers nothing.
    Quiet {
        /// For so many seconds.
        seconds: u64,
        /// Requests without an answer.
        waiting: usize,
        /// They fail after so many.
        limit: Option<u64>,
    },
    /// The disk was given up.
    GivenUp(NbdGone),
}

impl fmt::Display for NbdNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NbdNotice::Lost { why, waiting } => write!(
                f,
                "the connection to the server of the disk is lost: {why}; it is made again, and {waiting} requests wait"
            ),
            NbdNotice::Back { seconds, again } => write!(
                f,
                "connected again to the server of the disk, after {seconds} s; {again} changes that it could have lost \
                 are written again"
            ),
            NbdNotice::Quiet { seconds, waiting, limit } => {
                write!(f, "the server of the disk has answered nothing for {seconds} s; {waiting} requests wait")?;
                match limit {
                    Some(limit) => write!(f, ", and fail after {limit} s"),
                    None => f.write_str(", for as long as it takes"),
                }
            }
            NbdNotice::GivenUp(gone) => write!(f, "the disk: {gone}"),
        }
    }
}

type Tell = dyn Fn(&NbdNotice) + Send + Sync;

/// Who is told. The default is nobody.
#[derive(Clone, Default)]
pub struct NbdListener(Option<Arc<Tell>>);

impl NbdListener {
    /// Calls `listener` for each event, on a thread of the connection; it must not use the disk.
    pub fn to(listener: impl Fn(&NbdNotice) + Send + Sync + 'static) -> NbdListener {
        NbdListener(Some(Arc::new(listener)))
    }

    pub(super) fn tell(&self, notice: &NbdNotice) {
        if let Some(listener) = &self.0 {
            listener(notice);
        }
    }
}

impl fmt::Debug for NbdListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "NbdListener(heard)" } else { "NbdListener(unheard)" })
    }
}
