//! A server and an export, to which connections can be made.

use std::io::{self, Read, Write};
use std::time::{Duration, Instant};

use super::clock::clock;
use super::error::NbdError;
use super::handshake::{self, Export};
use super::stream::Stream;
#[cfg(feature = "tls")]
use super::tls::{Encrypted, Keys};
use super::url::Url;

/// How long a server may let a second connection wait: one that serves only one at a time accepts it never.
const PATIENCE_WITH_MORE: Duration = Duration::from_secs(2);

/// Where the export is, and how to get there.
pub(super) struct Target {
    url: Url,
    #[cfg(feature = "tls")]
    keys: Option<Keys>,
}

impl Target {
    pub(super) fn new(url: Url) -> Result<Target, NbdError> {
        #[cfg(feature = "tls")]
        {
            let keys = url.tls.as_ref().map(|tls| Keys::read(&url, tls)).transpose()?;
            Ok(Target { url, keys })
        }
        #[cfg(not(feature = "tls"))]
        match url.tls {
            Some(_) => Err(NbdError::NoTls),
            None => Ok(Target { url }),
        }
    }

    /// One connection, past its handshake.
    fn open(&self, patience: Duration) -> Result<(Stream, Export), NbdError> {
        let until = clock() + patience;
        let mut stream = Stream::connect(&self.url.place, patience)?;
        let both = handshake::greet(&mut Hurry { stream: &mut stream, until })?;
        #[cfg(feature = "tls")]
        if let Some(keys) = &self.keys {
            handshake::start_tls(&mut Hurry { stream: &mut stream, until }, both)?;
            let socket = stream.socket().try_clone()?;
            stream = Stream::Encrypted(Encrypted::new(socket, &mut Hurry { stream: &mut stream, until }, keys)?);
        }
        let export = handshake::choose(&mut Hurry { stream: &mut stream, until }, both, &self.url.export)?;
        Ok((stream, export))
    }

    /// At most so many connections; as many as the server likes, but one at least.
    pub(super) fn open_all(&self, most: usize, patience: Duration) -> Result<Vec<(Stream, Export)>, NbdError> {
        let first = self.open(patience)?;
        let most = if first.1.can_share() { most } else { 1 };
        let mut lanes = vec![first];
        while lanes.len() < most {
            match self.open(PATIENCE_WITH_MORE.min(patience)) {
                Ok(next) if lanes[0].1.difference(&next.1).is_none() => lanes.push(next),
                _ => break,
            }
        }
        Ok(lanes)
    }
}

/// A stream that has to be done until then: a server that sends a byte now and then is not waited for.
struct Hurry<'a> {
    stream: &'a mut Stream,
    until: Instant,
}

impl Hurry<'_> {
    fn hurry(&self) -> io::Result<()> {
        let left = self.until.saturating_duration_since(clock());
        if left.is_zero() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "the server is too slow to begin"));
        }
        self.stream.set_timeout(Some(left))
    }
}

impl Read for Hurry<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.hurry()?;
        self.stream.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "the server does not answer"),
            _ => error,
        })
    }
}

impl Write for Hurry<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.hurry()?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
