//! Asking the server of a mount for a record of its calls.
//!
//! The mount is named by its path each time: an open file of it would keep it from being unmounted.

use super::error::MountError;
use super::table::{self, Mounted, our_mount};
use crate::questions::TRACE;
use rustix::io::Errno;
use std::path::Path;

/// The most that is taken at once, in bytes: the largest value of an attribute.
const ROOM: usize = 64 << 10;

/// A mount that is being recorded.
#[derive(Debug)]
pub struct Recording(Mounted);

/// What was taken of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// Whole lines of a file trace; none if nothing was done since.
    Lines(Vec<u8>),
    /// All was taken before, and the recording was stopped.
    Stopped,
    /// All up to where the server's memory for it was full, because too little was taken; it has ended there.
    Full,
    /// The mount is gone. What was done since the last time is not recorded.
    Unmounted,
}

/// Begins to record what is done to the mount at `dir`.
///
/// # Errors
/// [`MountError`] if there is none of ours, or if its server does not let this user record it, or not now.
pub fn record(dir: &Path) -> Result<Recording, MountError> {
    let recording = Recording(our_mount(dir)?);
    let at = || recording.0.dir.clone();
    match recording.ask("start") {
        Ok(_) => Ok(recording),
        Err(Errno::BUSY) => Err(MountError::Recorded(at())),
        Err(Errno::PERM | Errno::ACCESS) => Err(MountError::Permission(at())),
        Err(Errno::OPNOTSUPP) => Err(MountError::NoAttributes(at())),
        Err(Errno::NODATA) => Err(MountError::NoRecorder(at())),
        Err(Errno::NOTCONN) => Err(MountError::Dead(at())),
        Err(errno) => Err(MountError::System { doing: "recording", path: at(), errno }),
    }
}

impl Recording {
    /// Where the mount is.
    pub fn dir(&self) -> &Path {
        &self.0.dir
    }

    /// What was recorded since the last time, as far as it can be taken at once.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn take(&self) -> Result<Taken, MountError> {
        let errno = match self.ask("take") {
            Ok(lines) => return Ok(Taken::Lines(lines)),
            Err(errno) => errno,
        };
        let here = table::mounted_at(&self.0.dir).map_err(MountError::Table)?;
        match errno {
            _ if here.is_none_or(|here| here.id() != self.0.id()) => Ok(Taken::Unmounted),
            Errno::NODATA => Ok(Taken::Stopped),
            Errno::OVERFLOW => Ok(Taken::Full),
            Errno::NOTCONN | Errno::CONNABORTED => Err(MountError::Dead(self.0.dir.clone())),
            errno => Err(MountError::System { doing: "recording", path: self.0.dir.clone(), errno }),
        }
    }

    /// Ends the recording. What was recorded until now can still be taken.
    pub fn stop(&self) {
        // If the mount is gone, there is nothing to stop, and `take` says so.
        let _ = self.ask("stop");
    }

    /// Ends it, and forgets what was not taken.
    pub fn discard(&self) {
        self.stop();
        while matches!(self.take(), Ok(Taken::Lines(lines)) if !lines.is_empty()) {}
    }

    fn ask(&self, word: &str) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; ROOM];
        let len = rustix::fs::getxattr(&self.0.dir, format!("{TRACE}{word}"), bytes.as_mut_slice())?;
        bytes.truncate(len);
        Ok(bytes)
    }
}
