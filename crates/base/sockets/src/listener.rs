//! Where a server listens, and what comes of one try to accept a client.

use crate::name::{Name, bind_file};
use crate::stream::Stream;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_keepalive;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket of the file system.
    Unix(PathBuf),
    /// `HOST:PORT`; port 0 is one that is free.
    Tcp(String),
}

/// A socket that accepts connections. That of the file system is removed when this is dropped.
#[derive(Debug)]
pub struct Listener {
    socket: Accepts,
    address: Address,
}

#[derive(Debug)]
enum Accepts {
    Unix(UnixListener, #[expect(dead_code, reason = "it goes when this is dropped")] Name),
    Tcp(TcpListener),
}

/// What comes of one try to accept a client.
#[derive(Debug)]
pub enum Arrival {
    /// A client, whose calls block.
    Client(Stream),
    /// Nobody waits.
    Nobody,
    /// This one connection failed, or the system is short of something for a while: worth another try after
    /// [`crate::PAUSE`] (sockets-4).
    Short(io::Error),
}

impl Listener {
    /// Listens at `address` (sockets-1, sockets-2).
    ///
    /// # Errors
    /// The system's; `AddrInUse` with the reason if the name is another's.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Unix(path) => {
                let (socket, name) = bind_file(path)?;
                socket.set_nonblocking(true)?;
                Ok(Listener { socket: Accepts::Unix(socket, name), address: address.clone() })
            }
            Address::Tcp(place) => {
                let socket = TcpListener::bind(place)?;
                socket.set_nonblocking(true)?;
                let address = Address::Tcp(socket.local_addr()?.to_string());
                Ok(Listener { socket: Accepts::Tcp(socket), address })
            }
        }
    }

    /// Where it listens, with the port that was free.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// The address of TCP; `None` for a Unix socket.
    pub fn tcp_address(&self) -> Option<std::net::SocketAddr> {
        match &self.socket {
            Accepts::Tcp(socket) => socket.local_addr().ok(),
            Accepts::Unix(..) => None,
        }
    }

    /// Does not wait for a client.
    ///
    /// # Errors
    /// The system's, when the listener is of no use any more.
    pub fn accept(&self) -> io::Result<Arrival> {
        let accepted = match &self.socket {
            Accepts::Unix(socket, _) => socket.accept().map(|(stream, _)| Stream::Unix(stream)),
            Accepts::Tcp(socket) => socket.accept().map(|(stream, _)| {
                // Refused only if the client has left already. Replies are short, and wanted at once; and a client
                // whose machine has died would keep its connection for ever.
                let _ = stream.set_nodelay(true);
                let _ = set_socket_keepalive(&stream, true);
                Stream::Tcp(stream)
            }),
        };
        match accepted {
            Ok(stream) => Ok(Arrival::Client(stream)),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(Arrival::Nobody),
            Err(error) if is_of_the_listener(&error) => Err(error),
            Err(error) => Ok(Arrival::Short(error)),
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Accepts::Unix(socket, _) => socket.as_fd(),
            Accepts::Tcp(socket) => socket.as_fd(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Unix(path) => write!(f, "{}", path.display()),
            Address::Tcp(place) => f.write_str(place),
        }
    }
}

/// The listener is no use any more.
fn is_of_the_listener(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lack_of_descriptors_is_no_end_of_the_listener() {
        let ends = |errno: Errno| is_of_the_listener(&errno.into());
        let passing =
            [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NETDOWN, Errno::PERM, Errno::CONNABORTED, Errno::PROTO];
        assert!(!passing.into_iter().any(ends));
        assert!(ends(Errno::BADF) && ends(Errno::INVAL));
    }
}
