//! Connections over TCP or a Unix socket, behind one type.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::set_socket_keepalive;

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// A socket of the file system.
    Unix(PathBuf),
    /// `HOST:PORT`; port 0 is one that is free.
    Tcp(String),
}

/// A socket that accepts connections. That of the file system is removed when this is dropped.
pub struct Listener {
    socket: Accepts,
    address: Address,
}

enum Accepts {
    Unix(UnixListener),
    Tcp(TcpListener),
}

/// A connection.
pub(crate) enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Listens at `address`. A Unix socket is for the user who runs the server alone; one that a killed server has
    /// left is replaced.
    ///
    /// # Errors
    /// The system's; `AddrInUse` if another process listens there, or the name belongs to something else.
    pub fn bind(address: &Address) -> io::Result<Listener> {
        match address {
            Address::Unix(path) => {
                let socket = match UnixListener::bind(path) {
                    Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
                        std::fs::remove_file(path)?;
                        UnixListener::bind(path)?
                    }
                    outcome => outcome?,
                };
                let listener = Listener { socket: Accepts::Unix(socket), address: address.clone() };
                std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
                Ok(listener)
            }
            Address::Tcp(place) => {
                let socket = TcpListener::bind(place)?;
                let address = Address::Tcp(socket.local_addr()?.to_string());
                Ok(Listener { socket: Accepts::Tcp(socket), address })
            }
        }
    }

    /// Where it listens, with the port that was free.
    pub fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn accept(&self) -> io::Result<Stream> {
        Ok(match &self.socket {
            Accepts::Unix(socket) => Stream::Unix(socket.accept()?.0),
            Accepts::Tcp(socket) => {
                let (stream, _) = socket.accept()?;
                // Refused only if the client has left already. Replies are short, and wanted at once; and a client
                // whose machine has died would keep its connection for ever.
                let _ = stream.set_nodelay(true);
                let _ = set_socket_keepalive(&stream, true);
                Stream::Tcp(stream)
            }
        })
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Address::Unix(path) = &self.address {
            // If another process removed it before, there is nothing left to do.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// True if the socket file exists and no process listens on it.
fn is_abandoned(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|file| file.file_type().is_socket())
        && UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

impl Address {
    /// Wakes a listener from waiting for a client; false if this process has no descriptor left for that. If it does
    /// not listen, it does not wait.
    pub(crate) fn knock(&self) -> bool {
        let knocked = match self {
            Address::Unix(path) => UnixStream::connect(path).map(drop),
            Address::Tcp(place) => TcpStream::connect(place).map(drop),
        };
        let errno = knocked.err().and_then(|error| error.raw_os_error()).map(Errno::from_raw_os_error);
        !matches!(errno, Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS))
    }
}

impl Address {
    /// The address of the export `name` for NBD clients.
    pub fn url(&self, name: &str) -> String {
        match self {
            Address::Unix(path) => format!("nbd+unix:///{name}?socket={}", path.display()),
            Address::Tcp(place) => format!("nbd://{place}/{name}"),
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

impl Stream {
    pub(crate) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
        })
    }

    /// If the connection is gone already, nothing is left to be shut.
    pub(crate) fn shutdown(&self, how: Shutdown) {
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(how),
            Stream::Tcp(stream) => stream.shutdown(how),
        };
    }

    /// How long one read, or one write, may wait.
    pub(crate) fn set_timeouts(&self, most: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Unix(stream) => stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most)),
            Stream::Tcp(stream) => stream.set_read_timeout(most).and_then(|()| stream.set_write_timeout(most)),
        }
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(into),
            Stream::Tcp(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(data),
            Stream::Tcp(stream) => stream.write(data),
        }
    }

    fn write_vectored(&mut self, data: &[io::IoSlice<'_>]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write_vectored(data),
            Stream::Tcp(stream) => stream.write_vectored(data),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
