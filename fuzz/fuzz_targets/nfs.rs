//! What a client sends to the NFS server: records with calls. Where [`ROOT`] stands, the handle of the root is put.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ordo_model::{MemFs, Options as Limits};
use ordo_nfs::{Address, Identity, Key, Listener, Names, Options, Squash, serve};
use ordo_rt::Rt;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::sync::LazyLock;

/// Stands for the handle of the root, which a fuzzer could not make: it is sealed. The bytes are as many.
const ROOT: &[u8] = b"<the sealed handle of the volume's root>";

fn options() -> Options {
    Options {
        key: Key::new([7; Key::LEN]),
        volume: 9,
        read_only: false,
        squash: Squash::Nobody,
        squashed: Identity::NOBODY,
        names: Names::OnReturn,
        acls: false,
        max_file_size: 1 << 40,
        link_max: 100,
        complain: Box::new(|_| ()),
    }
}

/// Sends `bytes`, and returns the replies.
async fn client(rt: &Rt, to: SocketAddr, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut stream = TcpStream::connect(to)?;
    stream.write_all(bytes)?;
    stream.shutdown(Shutdown::Write)?;
    stream.set_nonblocking(true)?;
    let stream = Rc::new(stream);
    let (arrivals, mut replies) = (rt.watch(stream.clone()), Vec::new());
    loop {
        match (&*stream).read_to_end(&mut replies) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => arrivals.readable().await,
            Err(_) | Ok(_) => return Ok(replies),
        }
    }
}

/// What a new server with an empty, small volume answers.
fn answers(bytes: &[u8]) -> Vec<u8> {
    let rt = Rt::real_time();
    let limits = Limits { blocks: 512, inodes: 64, link_max: 100, max_file_size: 1 << 40, ..Limits::default() };
    let fs = Rc::new(MemFs::new(limits, Default::default));
    let listener = Listener::bind(&Address::Tcp("127.0.0.1:0".into())).expect("a port");
    let to = listener.tcp_address().expect("it is one of TCP");
    let mut replies = Vec::new();
    let one_client = async {
        // OK to ignore: the server may have closed the connection.
        replies = client(&rt, to, bytes).await.unwrap_or_default();
    };
    rt.block_on(serve(&rt, fs, listener, options(), one_client)).expect("it serves");
    rt.drop_tasks();
    replies
}

static HANDLE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    // MNT of `/` (RFC 1813, 5.2.1), without credentials.
    let call = [1, 0, 2, 100_005, 3, 1, 0, 0, 0, 0, 1, u32::from_be_bytes(*b"/\0\0\0")];
    let head = 0x8000_0000 | 4 * call.len() as u32;
    let sent: Vec<u8> = [&[head], &call[..]].concat().iter().flat_map(|word| word.to_be_bytes()).collect();
    let replies = answers(&sent);
    // Mark of the record, the reply's six words, the status; then the handle with its length.
    let len = replies.get(32..36).and_then(|len| len.try_into().ok()).map_or(0, u32::from_be_bytes) as usize;
    let handle = replies.get(36..36 + len).expect("a reply with a handle").to_vec();
    assert_eq!(handle.len(), ROOT.len(), "ROOT must have as many bytes");
    handle
});

fuzz_target!(|bytes: &[u8]| {
    let handle = &*HANDLE;
    let mut bytes = bytes[..bytes.len().min(16 << 10)].to_vec();
    while let Some(at) = bytes.windows(ROOT.len()).position(|window| window == ROOT) {
        bytes[at..at + ROOT.len()].copy_from_slice(handle);
    }
    answers(&bytes);
});
