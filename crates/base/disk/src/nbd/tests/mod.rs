//! Against a small server of our own, which keeps its export in memory.

mod faults;
mod loss;
mod server;
#[cfg(feature = "tls")]
mod tls;

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;

use super::*;
use crate::{Block, Kind, Queue, QueueOptions};
use proto::{CMD_FLUSH, CMD_WRITE, CMD_WRITE_ZEROES, FLAG_HAS_FLAGS, FLAG_SEND_FLUSH, FLAG_SEND_WRITE_ZEROES};
use server::{Nature, SIZE, Server, nature};

fn connect(rt: &Rt, server: &Server, options: &NbdOptions) -> NbdDisk {
    NbdDisk::connect(rt, &server.url, options).unwrap()
}

fn part(byte: u8, len: usize) -> Vec<WritePart> {
    vec![WritePart { image: Block::copy_of(&vec![byte; len]).image(), tag: Kind::Data.into() }]
}

fn write(disk: &NbdDisk, rt: &Rt, at: u64, byte: u8, fua: bool) -> Result<(), DiskError> {
    rt.block_on(disk.write(DiskOff(at), part(byte, 1024), fua))
}

fn read(disk: &NbdDisk, rt: &Rt, at: u64, len: usize) -> Result<Block, DiskError> {
    let part = ReadPart { block: Block::zeroed(len), tag: Kind::Data.into() };
    rt.block_on(disk.read(DiskOff(at), vec![part])).map(|mut parts| parts.remove(0).block)
}

fn in_and_out(nature: Nature) {
    let (rt, server) = (Rt::real_time(), Server::start(nature));
    let disk = connect(&rt, &server, &NbdOptions::default());
    let info = disk.info();
    assert_eq!((info.size, info.sector, info.max_transfer, info.volatile_cache), (SIZE, 512, 128 << 10, true));
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
        assert_eq!(queue.read(DiskOff(4096), 1024, Kind::Data.into()).await.unwrap()[0], 0xee);
    });
    write(&disk, &rt, 0, 1, true).unwrap();
    let error = write(&disk, &rt, SIZE - 1024, 1, false).unwrap_err();
    assert_eq!(error.cause, Cause::Io(5));
    assert_eq!(read(&disk, &rt, SIZE - 1024, 512).unwrap_err().cause, Cause::Io(5));
    drop((queue, disk));
    rt.run_until_idle();
    let state = server.lock();
    assert_eq!((state.bytes[0], state.count[&CMD_FLUSH], state.forced), (1, 1, 1));
}

#[test]
fn an_export_is_read_written_flushed_and_trimmed() {
    in_and_out(nature());
    in_and_out(nature().structured());
    in_and_out(Nature { reorders: true, ..nature() });
    in_and_out(nature().with(proto::FLAG_CAN_MULTI_CONN));
    in_and_out(Nature { reorders: true, ..nature().structured().with(proto::FLAG_CAN_MULTI_CONN) });
}

#[test]
fn several_connections_are_made_where_the_server_can_share_and_accepts_them() {
    let share = proto::FLAG_CAN_MULTI_CONN;
    for (flags, most, asked, made) in [(0, 9, 4, 1), (share, 9, 4, 4), (share, 2, 4, 3), (share, 9, 1, 1)] {
        let (rt, server) = (Rt::real_time(), Server::start(Nature { most, ..nature().with(flags) }));
        let disk = connect(&rt, &server, &NbdOptions { connections: Some(asked), ..NbdOptions::default() });
        write(&disk, &rt, 0, 1, true).unwrap();
        assert_eq!(server.lock().connections, made);
    }
}

#[test]
fn an_old_server_without_fua_gets_a_flush_after_the_write() {
    let flags = FLAG_HAS_FLAGS | FLAG_SEND_FLUSH;
    let (rt, server) = (Rt::real_time(), Server::start(Nature { knows_go: false, flags, ..nature() }));
    let disk = connect(&rt, &server, &NbdOptions::default());
    assert_eq!(disk.info().sector, 512);
    write(&disk, &rt, 0, 1, true).unwrap();
    assert_eq!(rt.block_on(disk.discard(DiskOff(0), 512)).unwrap_err().cause, Cause::Unsupported);
    drop(disk);
    let state = server.lock();
    assert_eq!((state.count[&CMD_FLUSH], state.forced), (1, 0));
}

#[test]
fn zeros_that_nobody_touched_do_not_travel() {
    let (rt, server) = (Rt::real_time(), Server::start(nature().with(FLAG_SEND_WRITE_ZEROES)));
    let disk = connect(&rt, &server, &NbdOptions::default());
    write(&disk, &rt, 0, 7, false).unwrap();
    let zeros = vec![WritePart { image: Block::zeroed(1024).image(), tag: Kind::Data.into() }];
    rt.block_on(disk.write(DiskOff(512), zeros, false)).unwrap();
    let found = read(&disk, &rt, 0, 1536).unwrap();
    assert_eq!((found[511], found[512], found[1535]), (7, 0, 0));
    let state = server.lock();
    assert_eq!((state.count[&CMD_WRITE], state.count[&CMD_WRITE_ZEROES]), (1, 1));
}

#[test]
fn a_refusal_is_passed_on_in_the_servers_words() {
    let (rt, server) = (Rt::real_time(), Server::start(nature()));
    let url = server.url.replace("/disk?", "/none?");
    let error = NbdDisk::connect(&rt, &url, &NbdOptions::default()).err().unwrap();
    let why = |error: &OpenError| match error {
        OpenError::Unusable { source, .. } => source.downcast_ref::<NbdError>().map(std::mem::discriminant),
        _ => None,
    };
    let refused = NbdError::Refused { code: 0, text: String::new() };
    assert_eq!(why(&error), Some(std::mem::discriminant(&refused)), "{error}");
    assert!(error.to_string().contains("no such export"), "{error}");
    let error = NbdDisk::connect(&rt, "nbd://", &NbdOptions::default()).err().unwrap();
    assert_eq!(why(&error), Some(std::mem::discriminant(&NbdError::Url)), "{error}");
}

#[test]
fn noise_instead_of_a_greeting_is_refused_without_much_memory() {
    for noise in [
        &b"HTTP/1.1 400 Bad Request"[..],
        b"NBDMAGIC",
        b"NBDMAGICIHAVEOPT\0\x03\0\x03\xe8\x89\x04\x55\x65\xa9\
        \0\0\0\x08\0\0\0\x03\xff\xff\xff\xff",
    ] {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(noise).unwrap();
        theirs.shutdown(std::net::Shutdown::Write).unwrap();
        assert!(handshake::greet(&mut ours).and_then(|both| handshake::choose(&mut ours, both, "disk")).is_err());
    }
}

#[test]
fn a_message_that_a_socket_takes_in_part_is_sent_to_its_end() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    rustix::net::sockopt::set_socket_send_buffer_size(&ours, 4096).unwrap();
    let mut ours = stream::Stream::Plain(plain::Plain::Unix(ours));
    let parts = (0..100u8).flat_map(|byte| part(byte, 1024)).collect();
    let export = Export::of_disk(SIZE, 0, 512, 1 << 20);
    let mut message = wire::Message::of(7, &Work::Write { at: 512, parts, fua: false }, &export).unwrap();
    let whole = message.len();
    let reader = std::thread::spawn(move || {
        let mut bytes = vec![0; whole];
        theirs.read_exact(&mut bytes).unwrap();
        bytes
    });
    let mut rounds = 0;
    while message.len() > 0 {
        let mut slices = Vec::new();
        message.slices(&mut slices);
        // As the executor sends, and then as the lane's thread sends the rest.
        let sent = ours.write_now(&slices).unwrap();
        message.note_sent(sent);
        rounds += u32::from(sent > 0);
        if rounds == 3 {
            let mut slices = Vec::new();
            message.slices(&mut slices);
            stream::write_all(&mut ours, &mut slices).unwrap();
            break;
        }
    }
    assert_eq!(rounds, 3, "the socket took all at once");
    let bytes = reader.join().unwrap();
    assert_eq!((&bytes[..4], &bytes[8..16]), (&proto::REQUEST_MAGIC.to_be_bytes()[..], &7u64.to_be_bytes()[..]));
    for (number, block) in bytes[28..].chunks(1024).enumerate() {
        assert!(block.iter().all(|byte| usize::from(*byte) == number), "block {number}");
    }
}
