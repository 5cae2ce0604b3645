//! Where the log of a scheme lies that is not a file of its volume: on a disk, or in a stream of messages.

use crate::{ContentsKind, Notice, Notices, OpenError, contents};
use ordo_disk::{FileOptions, LogHome};
use ordo_rt::Rt;
use std::path::Path;

/// What the address of a stream begins with.
const STREAM: &str = "nats://";

/// True if this names a stream of messages, and no file.
pub fn is_stream(location: &Path) -> bool {
    location.to_str().is_some_and(|text| text.starts_with(STREAM))
}

/// Opens the place of a log: a path or the address of a network block device, or that of a stream, of whose waits
/// `notices` hears.
///
/// # Errors
/// When it cannot be opened; [`OpenError::NoStreams`], where the program was built without them.
pub fn open_log(rt: &Rt, location: &Path, file: &FileOptions, notices: &Notices) -> Result<LogHome, OpenError> {
    match location.to_str().filter(|_| is_stream(location)) {
        Some(address) => stream(address, notices.clone()),
        None => {
            let disk = ordo_disk::open(rt, location, file)?;
            // A scheme makes its log where none is: over a volume that somebody named by mistake, too.
            let found = contents(rt, &disk)?;
            match found.first().filter(|_| found.iter().all(|one| one.kind != ContentsKind::Log)) {
                Some(other) => Err(OpenError::NotALog { path: location.into(), what: other.name }),
                None => Ok(LogHome::Disk(disk)),
            }
        }
    }
}

#[cfg(feature = "nats")]
fn stream(address: &str, notices: Notices) -> Result<LogHome, OpenError> {
    use ordo_disk::{LogStream, StreamEvent};
    let stream = ordo_nats::NatsStream::open(address).map_err(|error| OpenError::Stream(error.to_string()))?.log();
    let tell = move |event: &StreamEvent| match event {
        StreamEvent::Waits { why, most } => {
            notices.tell(&Notice::LogWaits { why: why.clone(), seconds: most.as_secs() });
        }
        StreamEvent::GoesOn => notices.tell(&Notice::LogAnswers),
    };
    Ok(LogHome::Stream(LogStream { tell: std::rc::Rc::new(tell), ..stream }))
}

#[cfg(not(feature = "nats"))]
fn stream(_address: &str, _notices: Notices) -> Result<LogHome, OpenError> {
    // Without streams nobody is told of their waits.
    let _ = [Notice::LogAnswers];
    Err(OpenError::NoStreams)
}
