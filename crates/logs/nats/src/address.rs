//! Where a stream is: `nats://[user:password@]host[:port][,host[:port]…]/STREAM[?timeout=SECONDS]`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// What an address begins with.
pub const SCHEME: &str = "nats://";
/// The port of a server that is named without one.
const PORT: u16 = 4222;
/// Range of `?timeout=`, in seconds. A returning server is noticed within a tenth of it.
const SECONDS: std::ops::RangeInclusive<u64> = 1..=86_400;

/// The address of a stream. Shown without the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    /// User and password, or a token.
    pub(crate) credentials: Option<(String, Option<String>)>,
    /// Host and port of each server.
    pub(crate) servers: Vec<(String, u16)>,
    /// The name of the stream.
    pub stream: String,
    /// How long an answer is awaited.
    pub timeout: Option<Duration>,
}

/// Why an address is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}; an address is nats://[user:password@]host[:port][,host[:port]…]/STREAM[?timeout=SECONDS]")]
pub struct BadAddress(String);

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Address, BadAddress> {
        let wrong = |why: &str| BadAddress(why.into());
        let rest = text.strip_prefix(SCHEME).ok_or_else(|| wrong("it does not begin with nats://"))?;
        let (servers, path) = rest.split_once('/').ok_or_else(|| wrong("the name of the stream is missing"))?;
        let (stream, query) = path.split_once('?').map_or((path, None), |(stream, query)| (stream, Some(query)));
        let good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if stream.is_empty() || stream.len() > 64 || !stream.chars().all(good) {
            return Err(wrong("the name of a stream has letters, digits, - and _, 64 at most"));
        }
        // A password may have an @, and a host cannot.
        let (credentials, servers) = match servers.rsplit_once('@') {
            Some((before, servers)) => (Some(before), servers),
            None => (None, servers),
        };
        let credentials = credentials.map(|text| match text.split_once(':') {
            Some((user, password)) => (user.to_owned(), Some(password.to_owned())),
            None => (text.to_owned(), None),
        });
        let servers = servers.split(',').map(server).collect::<Result<Vec<_>, _>>()?;
        let timeout = query.map(seconds).transpose()?;
        Ok(Address { credentials, servers, stream: stream.into(), timeout })
    }
}

fn server(text: &str) -> Result<(String, u16), BadAddress> {
    let wrong = || BadAddress(format!("{text:?} is no server"));
    // An address of IPv6 has brackets.
    let (host, port) = match text.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
        Some((host, port)) => (host, port.parse().map_err(|_| wrong())?),
        None => (text, PORT),
    };
    let good = |c: char| c.is_ascii_alphanumeric() || "-._:[]".contains(c);
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    match bare.is_empty() || !host.chars().all(good) || (host.contains(':') && !host.starts_with('[')) {
        true => Err(wrong()),
        false => Ok((host.into(), port)),
    }
}

fn seconds(query: &str) -> Result<Duration, BadAddress> {
    let number = query.strip_prefix("timeout=").and_then(|seconds| seconds.parse().ok());
    let number = number.filter(|seconds| SECONDS.contains(seconds));
    number.map(Duration::from_secs).ok_or_else(|| BadAddress(format!("?{query} is not ?timeout=SECONDS, 1 to 86400")))
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(SCHEME)?;
        for (n, (host, port)) in self.servers.iter().enumerate() {
            write!(f, "{}{host}:{port}", if n == 0 { "" } else { "," })?;
        }
        write!(f, "/{}", self.stream)
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Address({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_credentials_and_the_stream_are_found() {
        let address: Address = "nats://me:se:c@ret@a,b.example:4000,[::1]:7/LOG-1?timeout=5".parse().unwrap();
        let hosts: Vec<_> = address.servers.iter().map(|(host, port)| (host.as_str(), *port)).collect();
        assert_eq!(hosts, [("a", 4222), ("b.example", 4000), ("[::1]", 7)]);
        assert_eq!(address.credentials, Some(("me".into(), Some("se:c@ret".into()))));
        assert_eq!((address.stream.as_str(), address.timeout), ("LOG-1", Some(Duration::from_secs(5))));
        assert_eq!(address.to_string(), "nats://a:4222,b.example:4000,[::1]:7/LOG-1");
        assert!(!format!("{address:?}").contains("ret"));
        let token: Address = "nats://t0ken@h/S".parse().unwrap();
        assert_eq!(token.credentials, Some(("t0ken".into(), None)));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for bad in [
            "http://h/S",
            "nats://h",
            "nats://h/",
            "nats:///S",
            "nats://h,/S",
            "nats://h/a.b",
            "nats://h/a b",
            "nats://h:port/S",
            "nats://h:99999/S",
            "nats://::1/S",
            "nats://h/S?timeout=0",
            "nats://h/S?timeout=x",
            "nats://h/S?wait=1",
        ] {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }
}
