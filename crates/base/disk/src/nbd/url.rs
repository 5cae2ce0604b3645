//! The address of an export, after the NBD project's document of URIs (doc/uri.md).
//!
//! An unknown parameter is refused: whoever wrote it may depend on it.

use std::path::PathBuf;
use std::time::Duration;

use super::error::NbdError;
use super::proto::PORT;

/// The most connections to one export.
pub(super) const CONNECTIONS_MAX: usize = 16;

/// An address, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Url {
    pub(super) place: Endpoint,
    pub(super) export: String,
    pub(super) tls: Option<Tls>,
    /// How long requests may go without an answer; `Some(None)`: for ever.
    pub(super) timeout: Option<Option<Duration>>,
    pub(super) connections: Option<usize>,
}

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// What to know for an encrypted connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tls {
    /// A directory with `ca-cert.pem`, and for a server that wants them `client-cert.pem` and `client-key.pem`.
    pub(super) certificates: Option<PathBuf>,
    /// The name in the server's certificate, if it is not the host's.
    pub(super) hostname: Option<String>,
}

impl Url {
    pub(super) fn parse(text: &str) -> Result<Url, NbdError> {
        let (scheme, rest) = text.split_once("://").ok_or(NbdError::Url)?;
        let (unix, tls) = match scheme {
            "nbd" => (false, false),
            "nbds" => (false, true),
            "nbd+unix" => (true, false),
            "nbds+unix" => (true, true),
            _ => return Err(NbdError::Url),
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (place, export) = place.split_once('/').unwrap_or((place, ""));
        let mut url = Url {
            place: Endpoint::Unix(PathBuf::new()),
            export: decode(export).ok_or(NbdError::Url)?,
            tls: tls.then(Tls::default),
            timeout: None,
            connections: None,
        };
        if !unix {
            url.place = tcp(place).ok_or(NbdError::Url)?;
        }
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            url.set(name, &decode(value).ok_or(NbdError::Url)?)?;
        }
        match &url.place {
            Endpoint::Unix(path) if path.as_os_str().is_empty() => Err(NbdError::Url),
            _ => Ok(url),
        }
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), NbdError> {
        let bad = |why: &'static str| NbdError::Parameter { parameter: format!("{name}={value}"), why };
        match (name, &mut self.tls, &mut self.place) {
            ("socket", _, Endpoint::Unix(path)) => *path = value.into(),
            ("socket", ..) => return Err(bad("a socket belongs to nbd+unix:// or nbds+unix://")),
            ("timeout", ..) => {
                let seconds: u64 = value.parse().map_err(|_| bad("it is a number of seconds; 0 waits for ever"))?;
                self.timeout = Some((seconds > 0).then(|| Duration::from_secs(seconds)));
            }
            ("connections", ..) => {
                let count = value.parse().ok().filter(|count| (1..=CONNECTIONS_MAX).contains(count));
                self.connections = Some(count.ok_or_else(|| bad("it is a number from 1 to 16"))?);
            }
            ("tls-certificates", Some(tls), _) => tls.certificates = Some(value.into()),
            ("tls-hostname", Some(tls), _) => tls.hostname = Some(value.into()),
            ("tls-certificates" | "tls-hostname", ..) => {
                return Err(bad("the connection is encrypted only with nbds:// or nbds+unix://"));
            }
            _ => {
                return Err(bad("known are timeout, connections, tls-certificates, tls-hostname, and socket"));
            }
        }
        Ok(())
    }
}

fn tcp(place: &str) -> Option<Endpoint> {
    // An IPv6 address stands in brackets, since it contains colons.
    let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, port)) => (host, Some(port.strip_prefix(':')?)),
        None => place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port))),
    };
    let port = port.map_or(Some(PORT), |port| port.parse().ok())?;
    (!host.is_empty()).then(|| Endpoint::Tcp(host.into(), port))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(place: Endpoint, export: &str) -> Url {
        Url { place, export: export.into(), tls: None, timeout: None, connections: None }
    }

    #[test]
    fn addresses_are_taken_apart() {
        let tcp = |host: &str, port, export: &str| plain(Endpoint::Tcp(host.into(), port), export);
        let parse = |text: &str| Url::parse(text).unwrap();
        assert_eq!(parse("nbd://host/disk"), tcp("host", PORT, "disk"));
        assert_eq!(parse("nbd://host:99"), tcp("host", 99, ""));
        assert_eq!(parse("nbd://[::1]:99/a%20b/c"), tcp("::1", 99, "a b/c"));
        let unix = plain(Endpoint::Unix("/run/nbd sock".into()), "x");
        assert_eq!(parse("nbd+unix:///x?socket=/run/nbd%20sock"), unix);
        assert_eq!(parse("nbd+unix://?socket=/run/nbd%20sock").export, "");
        for bad in ["nbd://", "nbd://:99/x", "nbd://h:port/", "nbd+unix:///x", "nbd://h/%zz", "http://h/"] {
            assert!(matches!(Url::parse(bad), Err(NbdError::Url)), "{bad}");
        }
    }

    #[test]
    fn parameters_are_read_or_refused() {
        let url =
            Url::parse("nbds://h/e?timeout=30&connections=4&tls-certificates=/etc/pki&tls-hostname=disk").unwrap();
        let tls = Tls { certificates: Some("/etc/pki".into()), hostname: Some("disk".into()) };
        assert_eq!(url.tls, Some(tls));
        assert_eq!((url.timeout, url.connections), (Some(Some(Duration::from_secs(30))), Some(4)));
        assert_eq!(Url::parse("nbd://h/e?timeout=0").unwrap().timeout, Some(None));
        assert_eq!(Url::parse("nbds+unix:///?socket=/s").unwrap().tls, Some(Tls::default()));
        for bad in [
            "nbd://h/?timeout=soon",
            "nbd://h/?connections=0",
            "nbd://h/?connections=17",
            "nbd://h/?socket=/s",
            "nbd://h/?tls-certificates=/etc",
            "nbd://h/?retry=1",
        ] {
            assert!(matches!(Url::parse(bad), Err(NbdError::Parameter { .. })), "{bad}");
        }
    }
}
