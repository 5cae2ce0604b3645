//! What a client sends to the NBD server: a handshake, or requests after one (the first byte is odd).
#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use ordo_disk::{Block, nbd_proto as proto};
use ordo_nbd::{Address, Description, Export, Extent, Failure, Listener, Server, ServerOptions};
use ordo_rt::Rt;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

const SIZE: u64 = 1 << 16;

/// A small disk of zeroes.
struct Zeroes;

impl Export for Zeroes {
    fn describe(&self) -> Description {
        let text = String::new();
        Description { size: SIZE, read_only: false, least: 1, preferred: 4096, piece: 4096, fast_zeroes: false, text }
    }

    async fn read(&self, at: u64, len: u32) -> Result<Vec<Bytes>, Failure> {
        assert!(at + u64::from(len) <= SIZE, "a range beyond the end came through");
        Ok(vec![Bytes::from(vec![0; len as usize])])
    }

    async fn write(&self, at: u64, data: Vec<Block>, _: bool) -> Result<(), Failure> {
        let len: usize = data.iter().map(|block| block.len()).sum();
        assert!(at + len as u64 <= SIZE, "a range beyond the end came through");
        Ok(())
    }

    async fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn trim(&self, at: u64, len: u64) -> Result<(), Failure> {
        assert!(at + len <= SIZE, "a range beyond the end came through");
        Ok(())
    }

    async fn zero(&self, at: u64, len: u64, _: bool, _: bool) -> Result<(), Failure> {
        assert!(at + len <= SIZE, "a range beyond the end came through");
        Ok(())
    }

    async fn extent(&self, _: u64) -> Result<Extent, Failure> {
        Ok(Extent { end: SIZE, hole: true })
    }
}

/// Where the server listens, which runs as long as the target.
static SOCKET: LazyLock<PathBuf> = LazyLock::new(|| {
    let path = std::env::temp_dir().join(format!("ordo-fuzz-nbd-{}", std::process::id()));
    let listener = Listener::bind(&Address::Unix(path.clone())).expect("a socket");
    let options = ServerOptions { name: "disk".into(), complain: Arc::new(|_| ()) };
    let server = Server::new(listener, options).expect("a server");
    std::thread::spawn(move || server.run(&Rt::real_time(), Zeroes).expect("it serves"));
    path
});

fuzz_target!(|bytes: &[u8]| {
    let Some((first, bytes)) = bytes.split_first() else { return };
    let Ok(mut client) = UnixStream::connect(&*SOCKET) else { return };
    let mut sent = Vec::new();
    if first & 1 == 1 {
        sent.extend(3_u32.to_be_bytes());
        sent.extend(proto::OPTION_MAGIC.to_be_bytes());
        sent.extend([0, 0, 0, 1, 0, 0, 0, 4]);
        sent.extend(b"disk");
    }
    // All of it has room in the socket: nobody waits for another here.
    sent.extend(&bytes[..bytes.len().min(16 << 10)]);
    if client.write_all(&sent).and_then(|()| client.shutdown(Shutdown::Write)).is_ok() {
        // The server may have left.
        let _ = client.read_to_end(&mut Vec::new());
    }
});
