//! Against a small server of our own, which keeps its export in memory, and counts flushes and forced writes.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use tempfile::TempDir;

use super::*;
use crate::{Block, Cause, Kind, Queue, QueueOptions};

const SIZE: u64 = 1 << 20;

#[derive(Default)]
struct Server {
    bytes: Vec<u8>,
    flushes: u32,
    forced: u32,
    /// Closes the connection at the request with this number.
    dies_at: Option<u32>,
    knows_go: bool,
    /// Transmission flags: has flags, flush, FUA, trim.
    flags: u16,
}

struct World {
    rt: Rt,
    url: String,
    server: Arc<Mutex<Server>>,
    thread: JoinHandle<()>,
    _dir: TempDir,
}

fn world(server: Server) -> World {
    let dir = tempfile::tempdir().unwrap();
    let socket: PathBuf = dir.path().join("socket");
    let listener = UnixListener::bind(&socket).unwrap();
    let server = Arc::new(Mutex::new(Server { bytes: vec![0; SIZE as usize], ..server }));
    let theirs = server.clone();
    let thread = std::thread::spawn(move || {
        let (stream, _) = listener.accept().unwrap();
        // The end of the connection ends the server.
        let _ = serve(stream, &theirs);
    });
    let url = format!("nbd+unix:///disk?socket={}", socket.display());
    World { rt: Rt::real_time(), url, server, thread, _dir: dir }
}

fn full() -> Server {
    Server { knows_go: true, flags: 0b10_1101, ..Default::default() }
}

fn take<const N: usize>(stream: &mut UnixStream) -> std::io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn greet(stream: &mut UnixStream, server: &Mutex<Server>) -> std::io::Result<()> {
    stream.write_all(b"NBDMAGICIHAVEOPT\0\x03")?;
    take::<4>(stream)?;
    let Server { knows_go, flags, .. } = *server.lock().unwrap();
    loop {
        let head = take::<16>(stream)?;
        let option = head[11];
        let mut data = vec![0; head[15] as usize];
        stream.read_exact(&mut data)?;
        let mut reply = |kind: u32, data: &[u8]| {
            let mut bytes = 0x0003_e889_0455_65a9u64.to_be_bytes().to_vec();
            bytes.extend([0, 0, 0, option]);
            bytes.extend(kind.to_be_bytes());
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(data);
            stream.write_all(&bytes)
        };
        let export = [&SIZE.to_be_bytes()[..], &flags.to_be_bytes()].concat();
        match option {
            7 if !knows_go => reply(0x8000_0001, b"")?,
            7 if !data[4..].starts_with(b"disk") => reply(0x8000_0006, b"no such export")?,
            7 => {
                reply(3, &[&[0, 0][..], &export].concat())?;
                reply(3, &[0, 3, 0, 0, 4, 0, 0, 0, 16, 0, 0, 2, 0, 0])?; // at least 1024, at most 128 KiB
                return reply(1, b"");
            }
            _ => return stream.write_all(&export),
        }
    }
}

fn serve(mut stream: UnixStream, server: &Mutex<Server>) -> std::io::Result<()> {
    greet(&mut stream, server)?;
    for request in 1.. {
        let head = take::<28>(&mut stream)?;
        let at = u64::from_be_bytes(head[16..24].try_into().unwrap()) as usize;
        let len = u32::from_be_bytes(head[24..28].try_into().unwrap()) as usize;
        let mut server = server.lock().unwrap();
        if server.dies_at == Some(request) {
            return Ok(());
        }
        let mut data = Vec::new();
        match head[7] {
            0 => data.extend(&server.bytes[at..at + len]),
            1 => {
                stream.read_exact(&mut server.bytes[at..at + len])?;
                server.forced += u32::from(head[5] == 1);
            }
            2 => return Ok(()),
            3 => server.flushes += 1,
            _ => server.bytes[at..at + len].fill(0),
        }
        // The last sectors are bad.
        let bad = at + len > SIZE as usize - 2048;
        let reply = [&[0x67, 0x44, 0x66, 0x98, 0, 0, 0, if bad { 5 } else { 0 }][..], &head[8..16]].concat();
        stream.write_all(&reply)?;
        stream.write_all(if bad { &[] } else { &data })?;
    }
    Ok(())
}

fn write(disk: &NbdDisk, rt: &Rt, at: u64, byte: u8, fua: bool) -> Result<(), DiskError> {
    let part = WritePart { image: Block::copy_of(&[byte; 1024]).image(), tag: Kind::Data.into() };
    rt.block_on(disk.write(DiskOff(at), vec![part], fua))
}

#[test]
fn an_export_is_read_written_flushed_and_trimmed() {
    let World { rt, url, server, thread, _dir } = world(full());
    let disk = NbdDisk::connect(&rt, &url, &NbdOptions::default()).unwrap();
    let info = disk.info();
    assert_eq!((info.size, info.sector, info.max_transfer, info.volatile_cache), (SIZE, 1024, 128 << 10, true));
    let queue = Queue::new(&rt, Rc::new(disk.clone()), QueueOptions::default());
    rt.block_on(async {
        for i in 0..50u64 {
            drop(queue.write(DiskOff(i * 2048), Block::copy_of(&[i as u8; 1024]).image(), Kind::Data.into()));
        }
        let last = queue.write(DiskOff(2048), Block::copy_of(&[99; 1024]).image(), Kind::Data.into());
        let reads: Vec<_> = (0..50u64).map(|i| queue.read(DiskOff(i * 2048), 1024, Kind::Data.into())).collect();
        for (i, read) in reads.into_iter().enumerate() {
            assert_eq!(read.await.unwrap()[1023], if i == 1 { 99 } else { i as u8 });
        }
        last.durable().await.unwrap();
        queue.discard(DiskOff(4096), 1024).await.unwrap();
        assert_eq!(queue.read(DiskOff(4096), 1024, Kind::Data.into()).await.unwrap()[0], 0);
    });
    write(&disk, &rt, 0, 1, true).unwrap();
    let error = write(&disk, &rt, SIZE - 1024, 1, false).unwrap_err();
    assert_eq!(error.cause, Cause::Io(5));
    drop((queue, disk));
    rt.run_until_idle();
    thread.join().unwrap();
    let server = server.lock().unwrap();
    assert_eq!((server.bytes[0], server.flushes, server.forced), (1, 1, 1));
}

#[test]
fn an_old_server_without_fua_gets_a_flush_after_the_write() {
    let World { rt, url, server, thread, _dir } = world(Server { knows_go: false, flags: 0b101, ..Default::default() });
    let disk = NbdDisk::connect(&rt, &url, &NbdOptions::default()).unwrap();
    assert_eq!(disk.info().sector, 512);
    write(&disk, &rt, 0, 1, true).unwrap();
    assert_eq!(rt.block_on(disk.discard(DiskOff(0), 512)).unwrap_err().cause, Cause::Unsupported);
    drop(disk);
    thread.join().unwrap();
    let server = server.lock().unwrap();
    assert_eq!((server.flushes, server.forced), (1, 0));
}

#[test]
fn a_lost_connection_is_a_disk_that_is_gone() {
    let World { rt, url, thread, server: _, _dir } = world(Server { dies_at: Some(2), ..full() });
    let disk = NbdDisk::connect(&rt, &url, &NbdOptions::default()).unwrap();
    write(&disk, &rt, 0, 1, false).unwrap();
    for _ in 0..3 {
        assert_eq!(write(&disk, &rt, 0, 1, false).unwrap_err().cause, Cause::Gone { size: SIZE });
    }
    thread.join().unwrap();
}

#[test]
fn a_refusal_is_passed_on_in_the_servers_words() {
    let world = world(full());
    let url = world.url.replace("/disk?", "/none?");
    let error = NbdDisk::connect(&world.rt, &url, &NbdOptions::default()).err().unwrap();
    assert!(matches!(&error, OpenError::Nbd { source: NbdError::Refused { .. }, .. }), "{error}");
    assert!(error.to_string().contains("no such export"), "{error}");
    world.thread.join().unwrap();
    assert!(matches!(
        NbdDisk::connect(&world.rt, "nbd://", &NbdOptions::default()),
        Err(OpenError::Nbd { source: NbdError::Url, .. })
    ));
}

#[test]
fn noise_instead_of_a_greeting_is_refused_without_much_memory() {
    for noise in [
        &b"HTTP/1.1 400 Bad Request"[..],
        b"NBDMAGIC",
        b"NBDMAGICIHAVEOPT\0\x03\0\x03\xe8\x89\x04\x55\x65\xa9\
        \0\0\0\x07\0\0\0\x03\xff\xff\xff\xff",
    ] {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(noise).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(handshake::shake_hands(&mut ours, "disk").is_err());
    }
}
