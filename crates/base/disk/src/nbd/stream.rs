//! The address of an export, and a connection of either kind.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use super::proto::PORT;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) place: Endpoint,
    pub(super) export: String,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl Url {
    pub(super) fn parse(url: &str) -> Option<Url> {
        if let Some(rest) = url.strip_prefix("nbd+unix://") {
            let (export, socket) = rest.split_once("?socket=")?;
            let place = Endpoint::Unix(decode(socket)?.into());
            return Some(Url { place, export: decode(export.strip_prefix('/').unwrap_or(export))? });
        }
        let (place, export) = url.strip_prefix("nbd://")?.split_once('/').unwrap_or((url.strip_prefix("nbd://")?, ""));
        // An IPv6 address stands in brackets, since it contains colons.
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, "")) => (host, None),
            Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
            None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
        (!host.is_empty()).then_some(())?;
        Some(Url { place: Endpoint::Tcp(host.into(), port), export: decode(export)? })
    }
}

/// Undoes percent encoding.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = Vec::new();
    while let Some(byte) = bytes.next() {
        out.push(match byte {
            b'%' => {
                let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
                (digit(bytes.next())? * 16 + digit(bytes.next())?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

/// A connection.
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub(super) fn connect(place: &Endpoint) -> io::Result<Stream> {
        match place {
            Endpoint::Tcp(host, port) => {
                let stream = TcpStream::connect((host.as_str(), *port))?;
                // A request held back until more data comes would be held forever: we wait for its reply.
                stream.set_nodelay(true)?;
                Ok(Stream::Tcp(stream))
            }
            Endpoint::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path)?)),
        }
    }

    pub(super) fn try_clone(&self) -> io::Result<Stream> {
        Ok(match self {
            Stream::Tcp(stream) => Stream::Tcp(stream.try_clone()?),
            Stream::Unix(stream) => Stream::Unix(stream.try_clone()?),
        })
    }

    pub(super) fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(timeout),
            Stream::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    pub(super) fn shutdown(&self, how: Shutdown) {
        // A connection that is already gone needs no shutdown.
        let _ = match self {
            Stream::Tcp(stream) => stream.shutdown(how),
            Stream::Unix(stream) => stream.shutdown(how),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.read(into),
            Stream::Unix(stream) => stream.read(into),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => stream.write(bytes),
            Stream::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_apart() {
        let tcp = |host: &str, port, export: &str| {
            Some(Url { place: Endpoint::Tcp(host.into(), port), export: export.into() })
        };
        assert_eq!(Url::parse("nbd://host/disk"), tcp("host", PORT, "disk"));
        assert_eq!(Url::parse("nbd://host:99"), tcp("host", 99, ""));
        assert_eq!(Url::parse("nbd://[::1]:99/a%20b/c"), tcp("::1", 99, "a b/c"));
        let unix = Url { place: Endpoint::Unix("/run/nbd sock".into()), export: "x".into() };
        assert_eq!(Url::parse("nbd+unix:///x?socket=/run/nbd%20sock"), Some(unix));
        for bad in ["nbd://", "nbd://:99/x", "nbd://h:port/", "nbd+unix:///x", "nbd://h/%zz", "http://h/"] {
            assert_eq!(Url::parse(bad), None, "{bad}");
        }
    }
}
