//! A connection to a server: TCP or a Unix socket, plain or encrypted.

use std::io::{self, IoSlice, Read, Write};
use std::net::Shutdown;
use std::time::Duration;

use super::plain::{MOST, Plain};
#[cfg(feature = "tls")]
use super::tls::Encrypted;
use super::url::Endpoint;

/// A connection; clones by [`Stream::try_clone`] are handles of the same one.
pub(super) enum Stream {
    Plain(Plain),
    #[cfg(feature = "tls")]
    Encrypted(Encrypted),
}

impl Stream {
    /// Connects, and waits at most `patience` for that.
    pub(super) fn connect(place: &Endpoint, patience: Duration) -> io::Result<Stream> {
        Ok(Stream::Plain(Plain::connect(place, patience)?))
    }

    pub(super) fn socket(&self) -> &Plain {
        match self {
            Stream::Plain(socket) => socket,
            #[cfg(feature = "tls")]
            Stream::Encrypted(Encrypted { socket, .. }) => socket,
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Plain(socket) => Stream::Plain(socket.try_clone()?),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => Stream::Encrypted(encrypted.try_clone()?),
        })
    }

    /// The most that a read or a write may wait.
    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        self.socket().set_timeout(timeout)
    }

    pub(super) fn shutdown(&self, how: Shutdown) {
        self.socket().shutdown(how);
    }

    /// Reads until the peer has ended the connection. Only the socket says when that is: an encrypted connection whose
    /// bytes are wrong gives nothing more.
    pub(super) fn read_away(&self) {
        let Ok(mut socket) = self.socket().try_clone() else { return };
        let mut rest = [0; 4096];
        while matches!(socket.read(&mut rest), Ok(1..)) {}
    }

    /// Writes what the peer takes at once of these; zero bytes if it takes none, or if they must be encrypted before.
    pub(super) fn write_now(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write_now(slices),
            #[cfg(feature = "tls")]
            Stream::Encrypted(_) => Ok(0),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.read(into),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Plain(socket) => socket.write_vectored(slices),
            #[cfg(feature = "tls")]
            Stream::Encrypted(encrypted) => encrypted.write_vectored(slices),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes all of these, in as few system calls as it takes.
pub(super) fn write_all(stream: &mut Stream, mut slices: &mut [IoSlice<'_>]) -> io::Result<()> {
    IoSlice::advance_slices(&mut slices, 0); // skips empty ones
    while !slices.is_empty() {
        let most = slices.len().min(MOST);
        match stream.write_vectored(&slices[..most]) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(done) => IoSlice::advance_slices(&mut slices, done),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
