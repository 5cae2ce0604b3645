//! Over TLS, through a front of our own that decrypts for the small server. The keys in `pki` are for nothing else.

use super::super::*;
use super::loss::survives_at;
use super::server::{Fate, Server, nature};
use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;

fn pki() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/nbd/tests/pki")
}

fn config(wants_client: bool) -> Arc<ServerConfig> {
    let pem = |name: &str| CertificateDer::pem_file_iter(pki().join(name)).unwrap().map(Result::unwrap).collect();
    let certificates: Vec<CertificateDer<'static>> = pem("server-cert.pem");
    let key = PrivateKeyDer::from_pem_file(pki().join("server-key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(pem("ca-cert.pem"));
    let builder = match wants_client {
        true => builder.with_client_cert_verifier(
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap(),
        ),
        false => builder.with_no_client_auth(),
    };
    Arc::new(builder.with_single_cert(certificates, key).unwrap())
}

/// Takes encrypted connections for a server that does not encrypt.
struct Front {
    dir: tempfile::TempDir,
}

impl Front {
    fn of(server: &Server, wants_client: bool) -> Front {
        let dir = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(dir.path().join("socket")).unwrap();
        let behind = server.url.split_once("socket=").unwrap().1.to_owned();
        let config = config(wants_client);
        // Ends with the program.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Ok(behind) = UnixStream::connect(&behind) else { continue };
                let config = config.clone();
                std::thread::spawn(move || {
                    // The end of either connection is the end of both.
                    let _ = relay(&stream, &behind, config);
                    let _ = stream.shutdown(std::net::Shutdown::Both);
                    let _ = behind.shutdown(std::net::Shutdown::Both);
                });
            }
        });
        Front { dir }
    }

    fn url(&self, certificates: &str, hostname: &str) -> String {
        let (socket, dir) = (self.dir.path().join("socket"), pki().join(certificates));
        format!(
            "nbds+unix:///disk?socket={}&tls-certificates={}&tls-hostname={hostname}",
            socket.display(),
            dir.display()
        )
    }
}

fn relay(mut client: &UnixStream, mut server: &UnixStream, config: Arc<ServerConfig>) -> std::io::Result<()> {
    let (mut greeting, mut flags, mut option) = ([0; 18], [0; 4], [0; 16]);
    server.read_exact(&mut greeting)?;
    client.write_all(&greeting)?;
    client.read_exact(&mut flags)?;
    server.write_all(&flags)?;
    client.read_exact(&mut option)?;
    assert_eq!(option[8..], [0, 0, 0, 5, 0, 0, 0, 0], "the first option is STARTTLS");
    client
        .write_all(&[&proto::OPTION_REPLY_MAGIC.to_be_bytes()[..], &[0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0]].concat())?;
    let mut tls = ServerConnection::new(config).unwrap();
    while tls.is_handshaking() {
        tls.complete_io(&mut client)?;
    }
    let mut bytes = vec![0; 64 << 10];
    loop {
        while let Ok(read @ 1..) = tls.reader().read(&mut bytes) {
            server.write_all(&bytes[..read])?;
        }
        while tls.wants_write() {
            tls.write_tls(&mut client)?;
        }
        let mut fds = [PollFd::new(&client, PollFlags::IN), PollFd::new(&server, PollFlags::IN)];
        poll(&mut fds, None)?;
        let [from_client, from_server] = [fds[0].revents(), fds[1].revents()].map(|events| !events.is_empty());
        if from_client {
            if tls.read_tls(&mut client)? == 0 {
                return Ok(());
            }
            tls.process_new_packets().map_err(std::io::Error::other)?;
        }
        if from_server {
            match server.read(&mut bytes)? {
                0 => return Ok(()),
                read => tls.writer().write_all(&bytes[..read])?,
            }
        }
    }
}

fn refused(url: &str) -> String {
    let error = NbdDisk::connect(&Rt::real_time(), url, &NbdOptions::default()).err().unwrap();
    error.to_string()
}

#[test]
fn a_server_that_dies_loses_nothing_over_tls() {
    for (at, fate) in
        [(20, Fate::Dies), (33, Fate::DiesUnanswered), (47, Fate::DiesAnswering), (60, Fate::Cut), (71, Fate::Twice)]
    {
        for structured in [false, true] {
            let mut nature = nature().at(at, fate);
            nature.structured = structured;
            let mut fronts = Vec::new();
            survives_at(&nature, &NbdOptions::default(), &format!("{fate:?} at {at}"), |server| {
                fronts.push(Front::of(server, true));
                fronts[0].url("", "disk.test")
            });
        }
    }
}

#[test]
fn who_is_not_vouched_for_is_refused() {
    let server = Server::start(nature());
    let front = Front::of(&server, false);
    let error = refused(&front.url("other", "disk.test"));
    assert!(error.contains("UnknownIssuer"), "{error}");
    let error = refused(&front.url("", "other.test"));
    assert!(error.contains("not valid for name"), "{error}");
    let error = refused(&front.url("none", "disk.test"));
    assert!(error.contains("none/ca-cert.pem"), "{error}");
    let error = refused(&front.url("", "disk.test").replace("&tls-hostname=disk.test", ""));
    assert!(error.contains("tls-hostname"), "{error}");
    // The server wants to know who the client is; without a certificate the handshake or what follows fails.
    let front = Front::of(&server, true);
    let only_ca = tempfile::tempdir().unwrap();
    std::fs::copy(pki().join("ca-cert.pem"), only_ca.path().join("ca-cert.pem")).unwrap();
    let url =
        front.url("", "disk.test").replace(&pki().join("").display().to_string(), only_ca.path().to_str().unwrap());
    assert!(NbdDisk::connect(&Rt::real_time(), &url, &NbdOptions::default()).is_err());
}

#[test]
fn a_server_without_tls_is_told_apart() {
    let server = Server::start(nature());
    let url = server.url.replace("nbd+unix", "nbds+unix");
    let error = refused(&format!("{url}&tls-hostname=disk.test&tls-certificates={}", pki().display()));
    assert!(error.contains("does not encrypt"), "{error}");
}
