//! Encrypted connections (`nbds://`): TLS by rustls over a connection of either kind.
//!
//! E1. The server's certificate is verified against the authority that the address names, or those of the system, and
//!     against the name of the host; there is no way to switch that off.
//! E2. One thread reads and another one writes, and neither may wait for the other: the session is locked only while
//!     bytes are encrypted or decrypted, never while the socket waits. What the session itself has to say (a new key)
//!     goes with the next request.

use std::io::{self, IoSlice, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

use super::error::NbdError;
use super::plain::Plain;
use super::url::{Endpoint, Tls, Url};

/// Bytes that are read from the socket in one go.
const CHUNK: usize = 16 << 10;

/// Bytes that are encrypted in one go.
const MOST: usize = 256 << 10;

/// What it takes to encrypt a connection to a server.
pub(super) struct Keys {
    config: Arc<ClientConfig>,
    server: ServerName<'static>,
}

fn failed(what: impl std::fmt::Display) -> NbdError {
    NbdError::Tls(what.to_string())
}

/// The certificates of a file.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, NbdError> {
    let found = CertificateDer::pem_file_iter(path).and_then(Iterator::collect);
    found.map_err(|error| failed(format!("{}: {error}", path.display())))
}

fn roots(tls: &Tls) -> Result<RootCertStore, NbdError> {
    let mut roots = RootCertStore::empty();
    match &tls.certificates {
        Some(dir) => {
            let path = dir.join("ca-cert.pem");
            for certificate in certificates(&path)? {
                roots.add(certificate).map_err(|error| failed(format!("{}: {error}", path.display())))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    match roots.is_empty() {
        true => Err(failed("no authority is known that could vouch for the server: give ?tls-certificates=DIR")),
        false => Ok(roots),
    }
}

impl Keys {
    /// Reads the certificates that the address names.
    pub(super) fn read(url: &Url, tls: &Tls) -> Result<Keys, NbdError> {
        let name = match (&tls.hostname, &url.place) {
            (Some(name), _) | (None, Endpoint::Tcp(name, _)) => name.clone(),
            (None, Endpoint::Unix(_)) => {
                return Err(failed("a socket has no host's name to verify: give ?tls-hostname=NAME"));
            }
        };
        let server = ServerName::try_from(name.clone()).map_err(|error| failed(format!("{name}: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(failed)?.with_root_certificates(roots(tls)?);
        let own = tls.certificates.as_ref().map(|dir| (dir.join("client-cert.pem"), dir.join("client-key.pem")));
        let config = match own.filter(|(certificate, _)| certificate.exists()) {
            None => builder.with_no_client_auth(),
            Some((certificate, key)) => {
                let secret = PrivateKeyDer::from_pem_file(&key);
                let secret = secret.map_err(|error| failed(format!("{}: {error}", key.display())))?;
                builder.with_client_auth_cert(certificates(&certificate)?, secret).map_err(failed)?
            }
        };
        Ok(Keys { config: Arc::new(config), server })
    }
}

/// An encrypted connection; clones by [`Encrypted::try_clone`] are handles of the same one.
pub(super) struct Encrypted {
    pub(super) socket: Plain,
    session: Arc<Session>,
}

struct Session {
    tls: Mutex<ClientConnection>,
    /// Held by the thread that writes, so that records go in the order in which they were made.
    out: Mutex<()>,
    /// What was read from the socket and not yet decrypted.
    read: Mutex<Vec<u8>>,
}

/// No code that can panic runs under these locks, so a poisoned one still guards good data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Encrypted {
    /// Shakes hands over `through`, which is `socket` with a limit of time.
    pub(super) fn new(socket: Plain, through: &mut (impl Read + Write), keys: &Keys) -> Result<Encrypted, NbdError> {
        let mut tls = ClientConnection::new(keys.config.clone(), keys.server.clone()).map_err(failed)?;
        tls.set_buffer_limit(None);
        while tls.is_handshaking() {
            tls.complete_io(through).map_err(failed)?;
        }
        let session = Session { tls: Mutex::new(tls), out: Mutex::new(()), read: Mutex::default() };
        Ok(Encrypted { socket, session: Arc::new(session) })
    }

    pub(super) fn try_clone(&self) -> io::Result<Encrypted> {
        Ok(Encrypted { socket: self.socket.try_clone()?, session: self.session.clone() })
    }

    /// Encrypts as much of these as goes at once, and writes it all.
    pub(super) fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let _out = lock(&self.session.out);
        let (mut records, mut taken) = (Vec::new(), 0);
        let mut tls = lock(&self.session.tls);
        for slice in slices {
            let part = &slice[..slice.len().min(MOST - taken)];
            tls.writer().write_all(part)?;
            taken += part.len();
        }
        while tls.wants_write() {
            tls.write_tls(&mut records)?;
        }
        drop(tls);
        self.socket.write_all(&records)?;
        Ok(taken)
    }
}

impl Read for Encrypted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut rest = lock(&self.session.read);
        loop {
            let mut tls = lock(&self.session.tls);
            match tls.reader().read(into) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                other => return other,
            }
            if !rest.is_empty() {
                let taken = tls.read_tls(&mut &rest[..])?;
                rest.drain(..taken);
                tls.process_new_packets().map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
                continue;
            }
            drop(tls);
            rest.resize(CHUNK, 0);
            let read = self.socket.read(&mut rest);
            rest.truncate(*read.as_ref().unwrap_or(&0));
            if read? == 0 {
                // The peer ends without a goodbye: nothing more will come.
                return Ok(0);
            }
        }
    }
}
