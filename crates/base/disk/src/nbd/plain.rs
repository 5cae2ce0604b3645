//! A socket to a server, TCP or Unix.

use std::io::{self, IoSlice, Read, Write};
use std::net::{Shutdown, TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{
    Timeout, set_socket_keepalive, set_socket_timeout, set_tcp_keepcnt, set_tcp_keepidle, set_tcp_keepintvl,
    set_tcp_user_timeout,
};
use rustix::net::{AddressFamily, SendAncillaryBuffer, SendFlags, SocketAddrUnix, SocketFlags, SocketType, sendmsg};

use super::url::Endpoint;

/// A peer that the network does not reach for so long counts as lost: a machine that is gone says nothing.
const SILENCE: Duration = Duration::from_secs(30);

/// The system's limit on buffers in one call.
pub(super) const MOST: usize = 1024;

/// A socket of either kind; clones by [`Plain::try_clone`] are handles of the same one.
pub(super) enum Plain {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Plain {
    /// Connects, and waits at most `patience` for that.
    pub(super) fn connect(place: &Endpoint, patience: Duration) -> io::Result<Plain> {
        let stream = match place {
            Endpoint::Unix(path) => Plain::Unix(connect_unix(path, patience)?),
            Endpoint::Tcp(host, port) => {
                let mut failed = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
                let connected = (host.as_str(), *port).to_socket_addrs()?.find_map(|address| {
                    TcpStream::connect_timeout(&address, patience).map_err(|error| failed = error).ok()
                });
                let stream = connected.ok_or(failed)?;
                // A request held back until more data comes would be held forever: we wait for its reply.
                stream.set_nodelay(true)?;
                set_socket_keepalive(&stream, true)?;
                set_tcp_keepidle(&stream, SILENCE / 2)?;
                set_tcp_keepintvl(&stream, SILENCE / 6)?;
                set_tcp_keepcnt(&stream, 3)?;
                set_tcp_user_timeout(&stream, SILENCE.as_millis() as u32)?;
                Plain::Tcp(stream)
            }
        };
        stream.set_timeout(Some(patience))?;
        Ok(stream)
    }

    pub(super) fn try_clone(&self) -> io::Result<Plain> {
        Ok(match self {
            Plain::Tcp(stream) => Plain::Tcp(stream.try_clone()?),
            Plain::Unix(stream) => Plain::Unix(stream.try_clone()?),
        })
    }

    pub(super) fn set_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Plain::Tcp(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
            Plain::Unix(stream) => stream.set_read_timeout(timeout).and_then(|()| stream.set_write_timeout(timeout)),
        }
    }

    pub(super) fn shutdown(&self, how: Shutdown) {
        // A connection that is already gone needs no shutdown.
        let _ = match self {
            Plain::Tcp(stream) => stream.shutdown(how),
            Plain::Unix(stream) => stream.shutdown(how),
        };
    }

    pub(super) fn write_now(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        match self.send(&slices[..slices.len().min(MOST)], SendFlags::DONTWAIT) {
            Err(Errno::AGAIN | Errno::INTR) => Ok(0),
            other => Ok(other?),
        }
    }

    fn send(&self, slices: &[IoSlice<'_>], flags: SendFlags) -> Result<usize, Errno> {
        // Without the signal that would end a program which uses this as a library.
        let flags = flags | SendFlags::NOSIGNAL;
        match self {
            Plain::Tcp(stream) => sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags),
            Plain::Unix(stream) => sendmsg(stream, slices, &mut SendAncillaryBuffer::default(), flags),
        }
    }
}

/// With a bound: a server that accepts nobody lets the next one wait.
fn connect_unix(path: &Path, patience: Duration) -> io::Result<UnixStream> {
    let socket = rustix::net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_timeout(&socket, Timeout::Send, Some(patience))?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

impl Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Plain::Tcp(stream) => stream.read(into),
            Plain::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(bytes)])
    }

    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(self.send(slices, SendFlags::empty())?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
