//! `ordo serve nbd` on the built program: our own client, QEMU's, and clients that lie, vanish, or kill the server.

use crate::common::{Scratch, fails, ok, ordo};
use crate::serving::serving;
use ordofs::disk::nbd_proto::*;
use ordofs::rt::Rng;
use ordofs::{OpenOptions, Volume};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A server of the built program, at a socket; killed when dropped.
pub(crate) struct Server {
    child: Child,
    socket: String,
    url: String,
}

impl Server {
    pub(crate) fn start(scratch: &Scratch, arguments: &[&str]) -> Server {
        let socket = scratch.path("nbd.socket");
        let (child, url) = serving(["serve", "nbd", "--socket", &socket].iter().chain(arguments));
        Server { url, socket, child }
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Ends it as an administrator does; its messages. It must have ended well.
    pub(crate) fn stop(mut self) -> String {
        kill_process(self.pid(), Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert!(status.success(), "{status}: {said}");
        assert!(!fs::exists(&self.socket).unwrap(), "the socket is left");
        said
    }

    fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) fn client(&self) -> Client {
        let mut client = Client::greeted(&self.socket);
        client.option(OPT_STRUCTURED_REPLY, &[]);
        assert_eq!(client.option_reply().0, REP_ACK);
        client.option(OPT_SET_META_CONTEXT, &[&[0; 4][..], &[0, 0, 0, 1], &named(BASE_ALLOCATION.as_bytes())].concat());
        assert_eq!((client.option_reply().0, client.option_reply().0), (REP_META_CONTEXT, REP_ACK));
        client.option(OPT_GO, &[0; 6]);
        loop {
            match client.option_reply() {
                (REP_ACK, _) => return client,
                (REP_INFO, info) if info[..2] == INFO_EXPORT.to_be_bytes() => {
                    client.size = u64::from_be_bytes(info[2..10].try_into().unwrap());
                    client.flags = u16::from_be_bytes(info[10..12].try_into().unwrap());
                }
                (kind, _) => assert_eq!(kind, REP_INFO),
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn named(name: &[u8]) -> Vec<u8> {
    [&(name.len() as u32).to_be_bytes()[..], name].concat()
}

/// A client that sends what it likes.
pub(crate) struct Client {
    stream: UnixStream,
    size: u64,
    flags: u16,
    cookie: u64,
}

impl Client {
    fn connected(socket: &str) -> Client {
        let stream = UnixStream::connect(socket).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Client { stream, size: 0, flags: 0, cookie: 0 }
    }

    /// Past the greeting.
    fn greeted(socket: &str) -> Client {
        let mut client = Client::connected(socket);
        let greeting = client.take(18).unwrap();
        assert_eq!(greeting[..8], MAGIC.to_be_bytes());
        client.send(&3u32.to_be_bytes());
        client
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// So many bytes; `None` if the server has closed the connection.
    fn take(&mut self, len: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; len];
        self.stream.read_exact(&mut bytes).ok().map(|()| bytes)
    }

    fn option(&mut self, option: u32, data: &[u8]) {
        self.send(&[&OPTION_MAGIC.to_be_bytes()[..], &option.to_be_bytes(), &named(data)].concat());
    }

    fn option_reply(&mut self) -> (u32, Vec<u8>) {
        let head = self.take(20).expect("a reply to an option");
        assert_eq!(head[..8], OPTION_REPLY_MAGIC.to_be_bytes());
        let word = |at: usize| u32::from_be_bytes(head[at..at + 4].try_into().unwrap());
        (word(12), self.take(word(16) as usize).unwrap())
    }

    fn ask(&mut self, command: u16, flags: u16, at: u64, len: u32, data: &[u8]) {
        self.cookie += 1;
        let mut request = REQUEST_MAGIC.to_be_bytes().to_vec();
        request.extend(flags.to_be_bytes());
        request.extend(command.to_be_bytes());
        request.extend(self.cookie.to_be_bytes());
        request.extend(at.to_be_bytes());
        request.extend(len.to_be_bytes());
        request.extend(data);
        self.send(&request);
    }

    /// The reply to the only request under way: its data without place or context, or the number of the error.
    fn reply(&mut self) -> Result<Vec<u8>, u32> {
        let head = self.take(20).expect("a reply");
        assert_eq!(head[..4], STRUCTURED_REPLY_MAGIC.to_be_bytes());
        assert_eq!(head[4..6], REPLY_FLAG_DONE.to_be_bytes());
        assert_eq!(head[8..16], self.cookie.to_be_bytes());
        let (kind, len) =
            (u16::from_be_bytes([head[6], head[7]]), u32::from_be_bytes(head[16..20].try_into().unwrap()));
        let body = self.take(len as usize).unwrap();
        match kind {
            REPLY_TYPE_NONE => Ok(body),
            REPLY_TYPE_OFFSET_DATA => Ok(body[8..].to_vec()),
            REPLY_TYPE_BLOCK_STATUS => Ok(body[4..].to_vec()),
            _ => Err(u32::from_be_bytes(body[..4].try_into().unwrap())),
        }
    }

    fn call(&mut self, command: u16, flags: u16, at: u64, len: u32) -> Result<Vec<u8>, u32> {
        self.ask(command, flags, at, len, &[]);
        self.reply()
    }

    pub(crate) fn read(&mut self, at: u64, len: u32) -> Result<Vec<u8>, u32> {
        self.call(CMD_READ, 0, at, len)
    }

    fn write(&mut self, flags: u16, at: u64, data: &[u8]) -> Result<Vec<u8>, u32> {
        self.ask(CMD_WRITE, flags, at, data.len() as u32, data);
        self.reply()
    }

    /// Lengths, and whether they are holes.
    fn status(&mut self, at: u64, len: u32) -> Vec<(u32, bool)> {
        let words = self.call(CMD_BLOCK_STATUS, 0, at, len).unwrap();
        let word = |four: &[u8]| u32::from_be_bytes(four.try_into().unwrap());
        words.chunks(8).map(|pair| (word(&pair[..4]), word(&pair[4..]) == (STATE_HOLE | STATE_ZERO))).collect()
    }
}

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok();
    if !found {
        eprintln!("skipped: no {program}");
    }
    found
}

fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said} {}", String::from_utf8_lossy(&output.stderr));
    said
}

/// A volume of 16 MiB with a file of zeroes of `size` in it, and its place for `ordo serve`.
fn volume_with_file(scratch: &Scratch, size: &str) -> (String, String) {
    let image = scratch.volume();
    let place = format!("{image}:/vm.raw");
    ok(ordo(["truncate", "-s", size, &place]));
    (image, place)
}

/// The same for a mount under `scheme`, with 64 MiB.
fn volume_under(scratch: &Scratch, scheme: &str, size: &str) -> (String, String) {
    let image = scratch.path("v.img");
    let kind = if scheme == "lfs" { "lfs" } else { "ufs2" };
    ok(ordo(["mkfs", "-q", "--type", kind, "--size", "64M", &image]));
    if scheme == "wafs" {
        ok(ordo(["tune", "-o", "log=on", &image]));
    }
    let place = format!("{image}:/vm.raw");
    ok(ordo(["truncate", "-s", size, &place]));
    (image, place)
}

#[test]
fn a_disk_is_served_as_it_is_and_locked() {
    let scratch = Scratch::new();
    let image = scratch.volume();
    let server = Server::start(&scratch, &["--name", "vol", &image]);
    assert!(server.url.starts_with("nbd+unix:///vol?socket="), "{}", server.url);
    let (url, inside) = (&server.url, format!("{}:/motd", server.url));
    fs::write(scratch.path("motd"), "hello").unwrap();
    ok(ordo(["cp", &scratch.path("motd"), &inside]));
    assert_eq!(ok(ordo(["cat", &inside])), "hello");
    ok(ordo(["fsck", "-n", url]));
    assert!(fails(3, ordo(["touch", &format!("{image}:/x")])).contains("in use"));
    let other = url.replace("/vol?", "/other?");
    assert!(fails(3, ordo(["ls", &other])).contains("no export has this name"));
    assert_eq!(server.stop(), "");
    assert_eq!(ok(ordo(["cat", &format!("{image}:/motd")])), "hello");
    // Whoever may not write changes nothing.
    let server = Server::start(&scratch, &["--read-only", &image]);
    assert_eq!(ok(ordo(["cat", &format!("{}:/motd", server.url)])), "hello");
    assert!(!ordo(["touch", &format!("{}:/x", server.url)]).status.success());
    let mut client = server.client();
    assert!(client.flags & FLAG_READ_ONLY != 0 && client.flags & FLAG_SEND_TRIM == 0);
    // Who gets simple replies cannot ask that they come in one piece.
    let mut plain = Client::greeted(&server.socket);
    plain.option(OPT_EXPORT_NAME, b"");
    let described = plain.take(10).unwrap();
    let flags = u16::from_be_bytes([described[8], described[9]]);
    assert_eq!((flags ^ client.flags, flags & FLAG_SEND_DF), (FLAG_SEND_DF, 0));
    assert_eq!(client.write(0, 0, &[1; 512]), Err(EPERM));
    assert_eq!(client.call(CMD_WRITE_ZEROES, 0, 0, 512), Err(EPERM));
    server.stop();
}

#[test]
fn tcp_takes_a_free_port_and_wrong_usage_is_refused() {
    let scratch = Scratch::new();
    let (image, place) = volume_with_file(&scratch, "1M");
    let (mut child, url) = serving(["serve", "nbd", "--listen", "127.0.0.1:0", &image]);
    assert!(ok(ordo(["ls", &format!("{url}:/")])).contains("vm.raw"));
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    assert!(child.wait().unwrap().success());
    assert!(fails(2, ordo(["serve", "nbd", "-o", "scheme=sync", &image])).contains("-o is for a file inside"));
    assert!(fails(2, ordo(["serve", "nbd", "--recovered", &place])).contains("whole volume"));
    let directory = fails(3, ordo(["serve", "nbd", &format!("{image}:/")]));
    assert!(directory.contains("not a regular file"), "{directory}");
    assert!(fails(3, ordo(["serve", "nbd", &format!("{image}:/none")])).contains("no such file"));
    let taken = fails(3, ordo(["serve", "nbd", "--socket", &scratch.path("v.img"), &place]));
    assert!(taken.contains("cannot listen at"), "{taken}");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn a_file_inside_a_volume_is_a_disk_under_any_scheme() {
    for scheme in ["softupdates", "sync", "wafs", "lfs"] {
        let scratch = Scratch::new();
        let (image, place) = volume_under(&scratch, scheme, "20M");
        let server = Server::start(&scratch, &["-o", &format!("scheme={scheme}"), &place]);
        let url = server.url.clone();
        // A volume in a file of a volume.
        ok(ordo(["mkfs", "-q", &url]));
        let text = "so much depends upon ".repeat(20_000);
        fs::write(scratch.path("text"), &text).unwrap();
        ok(ordo(["cp", &scratch.path("text"), &format!("{url}:/text")]));
        ok(ordo(["fsck", "-n", &url]));
        assert_eq!(server.stop(), "", "{scheme}");
        ok(ordo(["fsck", "-n", &image]));
        fs::write(scratch.path("out"), ordo(["cat", &place]).stdout).unwrap();
        assert_eq!(ok(ordo(["cat", &format!("{}:/text", scratch.path("out"))])), text, "{scheme}");
    }
}

#[test]
fn holes_are_told_and_made() {
    const M: u64 = 1 << 20;
    for inside in [true, false] {
        let scratch = Scratch::new();
        let (_, place) = volume_with_file(&scratch, "4M");
        let file = scratch.path("plain.raw");
        File::create(&file).unwrap().set_len(4 * M).unwrap();
        let server = Server::start(&scratch, &[if inside { &place } else { &file }]);
        let mut client = server.client();
        assert_eq!(client.size, 4 * M);
        // The last block of a file of UFS is there, whatever the rest is.
        assert_eq!(client.status(0, 3 << 20), [(3 << 20, true)]);
        client.write(0, M, &vec![7; M as usize]).unwrap();
        assert_eq!(client.status(0, 3 << 20), [(1 << 20, true), (1 << 20, false), (1 << 20, true)]);
        assert_eq!(client.call(CMD_BLOCK_STATUS, CMD_FLAG_REQ_ONE, M + 5, 1 << 21).unwrap().len(), 8);
        assert_eq!(client.status(M + 5, 9), [(9, false)]);
        // Zeroes that may be holes, those that may not, and a part of a sector.
        client.call(CMD_WRITE_ZEROES, CMD_FLAG_FAST_ZERO, M, 256 << 10).unwrap();
        client.call(CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE | CMD_FLAG_FUA, M + (256 << 10), 256 << 10).unwrap();
        assert_eq!(client.call(CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE | CMD_FLAG_FAST_ZERO, M, 512), Err(ENOTSUP));
        client.call(CMD_WRITE_ZEROES, CMD_FLAG_NO_HOLE, M + (512 << 10) + 3, 5).unwrap();
        assert_eq!(client.status(M, 1 << 20), [(256 << 10, true), (768 << 10, false)], "{inside}");
        let read = client.call(CMD_READ, CMD_FLAG_DF, M, 1 << 20).unwrap();
        let mut wanted = [vec![0; 512 << 10], vec![7; 512 << 10]].concat();
        wanted[(512 << 10) + 3..(512 << 10) + 8].fill(0);
        assert!(read == wanted, "{inside}");
        client.call(CMD_TRIM, CMD_FLAG_FUA, M, 1 << 20).unwrap();
        assert_eq!(client.status(0, 3 << 20), [(3 << 20, true)], "{inside}");
        // Bytes that are no sectors are written, too, and spare their neighbours.
        client.write(0, 1000, &[1; 100]).unwrap();
        client.write(CMD_FLAG_FUA, 1050, &[2; 2000]).unwrap();
        let read = client.call(CMD_READ, 0, 999, 2053).unwrap();
        assert!(read == [&[0][..], &[1; 50], &[2; 2000], &[0; 2]].concat(), "{inside}");
        client.call(CMD_FLUSH, 0, 0, 0).unwrap();
        drop(client);
        assert_eq!(server.stop(), "");
    }
}

#[test]
fn what_cannot_be_done_is_an_error_and_the_connection_goes_on() {
    let scratch = Scratch::new();
    // More than the volume has room for.
    let (image, place) = volume_with_file(&scratch, "64M");
    let server = Server::start(&scratch, &[&place]);
    let mut client = server.client();
    assert_eq!(client.call(CMD_READ, 0, 64 << 20, 1), Err(EINVAL));
    assert_eq!(client.call(CMD_READ, 0, u64::MAX, 2), Err(EINVAL));
    assert_eq!(client.call(CMD_READ, 0, 0, u32::MAX), Err(EOVERFLOW));
    assert_eq!(client.write(0, (64 << 20) - 1, &[0; 2]), Err(ENOSPC));
    assert_eq!(client.write(1 << 9, 0, &[0; 2]), Err(EINVAL));
    assert_eq!(client.call(CMD_CACHE, 0, 0, 1), Err(EINVAL));
    assert_eq!(client.call(99, 0, 0, 1), Err(EINVAL));
    let (mut at, piece) = (0, vec![5; 1 << 20]);
    let full = loop {
        match client.write(0, at, &piece) {
            Ok(_) => at += 1 << 20,
            Err(code) => break code,
        }
    };
    assert_eq!(full, ENOSPC);
    assert!(at > 8 << 20, "{at}");
    assert_eq!(client.write(CMD_FLAG_FUA, 60 << 20, &piece), Err(ENOSPC));
    client.call(CMD_FLUSH, 0, 0, 0).unwrap();
    assert_eq!(client.call(CMD_READ, 0, at - 4, 4).unwrap(), [5; 4]);
    // Room again.
    client.call(CMD_TRIM, 0, 0, 4 << 20).unwrap();
    client.call(CMD_FLUSH, 0, 0, 0).unwrap();
    client.write(CMD_FLAG_FUA, 60 << 20, &piece).unwrap();
    drop(client);
    assert_eq!(server.stop(), "");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn a_hostile_client_costs_only_its_connection() {
    let scratch = Scratch::new();
    let (image, place) = volume_with_file(&scratch, "4M");
    let server = Server::start(&scratch, &[&place]);
    let mut good = server.client();
    good.write(0, 0, &[9; 4096]).unwrap();
    let mut rng = Rng::new(33);
    for _ in 0..50 {
        let bytes: Vec<u8> = (0..rng.below(3000)).map(|_| rng.below(256) as u8).collect();
        let mut client = Client::connected(&server.socket);
        // The server may have closed the connection before all is sent.
        let _ = client.stream.write_all(&bytes);
        let mut client = server.client();
        let _ = client.stream.write_all(&bytes);
    }
    // Options for ever, one that is too long, one that is cut short, and names longer than their option.
    let mut client = Client::greeted(&server.socket);
    let mut list = OPTION_MAGIC.to_be_bytes().to_vec();
    list.extend([&OPT_LIST.to_be_bytes()[..], &[0; 4]].concat());
    while client.stream.write_all(&list).is_ok() {}
    let mut client = Client::greeted(&server.socket);
    client.send(&[&OPTION_MAGIC.to_be_bytes()[..], &[0, 0, 0, 7], &[255; 4]].concat());
    assert!(client.take(1).is_none());
    let mut cut = Client::greeted(&server.socket);
    cut.send(&list[..13]);
    let mut client = Client::greeted(&server.socket);
    for (option, data) in [(OPT_GO, &[255; 6][..]), (OPT_LIST_META_CONTEXT, &[0, 0, 0, 0, 255, 255, 255, 255])] {
        client.option(option, data);
        assert_eq!(client.option_reply().0, REP_ERR_INVALID);
    }
    client.option(OPT_STARTTLS, &[]);
    assert_eq!(client.option_reply().0, REP_ERR_UNSUP);
    client.option(OPT_SET_META_CONTEXT, &[0; 8]);
    assert_eq!(client.option_reply().0, REP_ERR_INVALID);
    // A write longer than any may be; half a header; a write whose data never comes, and then the client is gone.
    let mut client = server.client();
    client.ask(CMD_WRITE, 0, 0, u32::MAX, &[]);
    assert!(client.take(1).is_none());
    let mut half = server.client();
    half.send(&REQUEST_MAGIC.to_be_bytes());
    for _ in 0..10 {
        server.client().ask(CMD_WRITE, 0, 0, 32 << 20, &[1; 5000]);
    }
    // Reads whose replies nobody takes.
    let mut deaf = server.client();
    for _ in 0..30 {
        deaf.ask(CMD_READ, 0, 0, 4 << 20, &[]);
    }
    let mut many: Vec<Client> = (0..40).map(|_| Client::connected(&server.socket)).collect();
    let refused = many.iter_mut().filter_map(|client| client.take(18)).count();
    assert!(refused < 40, "there is no bound");
    drop(many);
    assert_eq!(good.call(CMD_READ, 0, 0, 4096).unwrap(), [9; 4096]);
    good.call(CMD_FLUSH, 0, 0, 0).unwrap();
    drop(half);
    let said = server.stop();
    assert!(said.lines().count() > 5 && !said.contains("panic"), "{said}");
    ok(ordo(["fsck", "-n", &image]));
}

#[test]
fn the_end_of_a_file_that_is_no_sector_is_told() {
    let scratch = Scratch::new();
    let disk = scratch.path("odd.img");
    fs::write(&disk, [7; 1000]).unwrap();
    let server = Server::start(&scratch, &[&disk]);
    assert_eq!(server.client().size, 512);
    let said = server.stop();
    assert!(said.contains("its last 488 bytes are not a whole sector"), "{said}");
}

#[test]
fn what_was_flushed_survives_a_kill_of_the_server() {
    for scheme in ["softupdates", "wafs", "lfs"] {
        let scratch = Scratch::new();
        let (image, place) = volume_under(&scratch, scheme, "16M");
        let mut rng = Rng::new(7);
        // By block: what it may hold, the last one flushed first.
        let mut blocks: Vec<Vec<u8>> = vec![vec![0]; 4096];
        for round in 0..3 {
            let server = Server::start(&scratch, &["-o", &format!("scheme={scheme}"), &place]);
            let mut client = server.client();
            for step in 0..200u32 {
                let (block, fill) = (rng.below(4096) as usize, (step % 255) as u8 + 1);
                match rng.below(4) {
                    0 => drop(client.write(CMD_FLAG_FUA, block as u64 * 4096, &[fill; 4096]).unwrap()),
                    _ => drop(client.write(0, block as u64 * 4096, &[fill; 4096]).unwrap()),
                }
                blocks[block].push(fill);
                if rng.below(10) == 0 {
                    client.call(CMD_FLUSH, 0, 0, 0).unwrap();
                    blocks.iter_mut().for_each(|holds| drop(holds.drain(..holds.len() - 1)));
                }
            }
            // Under way, and never answered.
            for _ in 0..20 {
                client.ask(CMD_WRITE, 0, 0, 4096, &[1; 4096]);
                blocks[0].push(1);
            }
            server.kill();
            let repaired = crate::killed::repair(&image);
            assert!(matches!(repaired.status.code(), Some(0 | 1)), "{scheme}: {repaired:?}");
            ok(ordo(["fsck", "-n", &image]));
            let found = ordo(["cat", &place]).stdout;
            assert_eq!(found.len(), 16 << 20);
            for (number, (bytes, holds)) in found.chunks(4096).zip(&mut blocks).enumerate() {
                let one = bytes[0];
                assert!(bytes.iter().all(|byte| *byte == one), "{scheme} {round}: block {number} is torn");
                assert!(holds.contains(&one), "{scheme} {round}: block {number} is {one}, not one of {holds:?}");
                *holds = vec![one];
            }
        }
    }
}

#[test]
fn a_recovered_view_is_clean_and_the_volume_as_it_was() {
    for scheme in ["softupdates", "wafs", "suj", "lfs"] {
        let scratch = Scratch::new();
        let image = scratch.path("v.img");
        ok(ordo(["mkfs", "-q", "--type", if scheme == "lfs" { "lfs" } else { "ufs2" }, "--size", "64M", &image]));
        match scheme {
            "wafs" => drop(ok(ordo(["tune", "-o", "log=on", &image]))),
            "suj" => drop(ok(ordo(["tune", "-o", "journal=on", &image]))),
            _ => {}
        }
        let volume = Volume::open(&image).unwrap().scheme(scheme).mount().unwrap();
        for i in 0..50 {
            volume.write(format!("/{i}"), format!("{i} ").repeat(1000)).unwrap();
        }
        volume.sync().unwrap();
        volume.remove_file("/7").unwrap();
        let file = OpenOptions::new().write(true).create(true).open(&volume, "/last").unwrap();
        file.write_at(0, b"fsynced").unwrap();
        file.sync_all().unwrap();
        drop(file);
        volume.abandon();
        let before = fs::read(&image).unwrap();
        let server = Server::start(&scratch, &["--recovered", &image]);
        ok(ordo(["fsck", "-n", &server.url]));
        assert!(ok(ordo(["info", &server.url])).contains("clean       yes"), "{scheme}");
        assert_eq!(ok(ordo(["cat", &format!("{}:/last", server.url)])), "fsynced", "{scheme}");
        assert_eq!(ok(ordo(["cat", &format!("{}:/8", server.url)])), "8 ".repeat(1000), "{scheme}");
        let mut client = server.client();
        assert_eq!(client.write(0, 0, &[1; 512]), Err(EPERM));
        drop(client);
        server.stop();
        assert!(fs::read(&image).unwrap() == before, "{scheme}: the volume was changed");
    }
}

#[test]
fn a_socket_of_a_killed_server_is_taken_over_and_a_signal_ends_a_server_with_clients() {
    let scratch = Scratch::new();
    let (image, place) = volume_with_file(&scratch, "4M");
    let socket = scratch.path("nbd.socket");
    Server::start(&scratch, &[&place]).kill();
    assert!(fs::exists(&socket).unwrap());
    crate::killed::repair(&image);
    let server = Server::start(&scratch, &[&place]);
    let busy = fails(3, ordo(["serve", "nbd", "--socket", &socket, &scratch.path("none.img")]));
    assert!(busy.contains("none.img"), "{busy}");
    let mut idle = server.client();
    let mut half = server.client();
    half.send(&[1, 2, 3]);
    let mut deaf = server.client();
    for _ in 0..8 {
        deaf.ask(CMD_READ, 0, 0, 4 << 20, &[]);
    }
    idle.write(0, 0, &[3; 512]).unwrap();
    server.stop();
    assert!(idle.take(1).is_none());
    ok(ordo(["fsck", "-n", &image]));
    assert_eq!(ordo(["cat", &place]).stdout[..512], [3; 512]);
}

#[test]
fn qemu_reads_writes_zeroes_discards_and_maps() {
    if !has("qemu-img") || !has("qemu-io") {
        return;
    }
    let scratch = Scratch::new();
    let (image, place) = volume_with_file(&scratch, "8M");
    let copy = scratch.path("copy.raw");
    let server = Server::start(&scratch, &["--name", "vm", &place]);
    let url = server.url.clone();
    let io = |commands: &[&str]| {
        let each = commands.iter().flat_map(|command| ["-c", command]);
        let said = run("qemu-io", &["-f", "raw", &url].into_iter().chain(each).collect::<Vec<_>>());
        assert!(!said.contains("verification failed") && !said.contains("failed:"), "{commands:?}: {said}");
    };
    io(&["write -P 17 0 1M", "write -f -P 18 1536k 512k", "flush", "read -P 17 0 1M", "read -P 0 1M 512k"]);
    io(&["write -z -u 0 64k", "write -z 64k 64k", "discard 1536k 256k", "read -P 0 0 128k", "read -P 17 128k 896k"]);
    io(&["aio_write -P 3 4M 1M", "aio_write -P 4 5M 1M", "aio_flush", "read -P 3 4M 1M", "read -P 4 5M 1M"]);
    io(&["write -P 9 4097 511", "read -P 9 4097 511", "read -P 0 4096 1", "read -P 0 4608 10"]);
    let map = run("qemu-img", &["map", "--output=json", "-f", "raw", &url]);
    assert!(map.contains("\"data\": false"), "{map}");
    run("qemu-img", &["convert", "-f", "raw", "-O", "raw", &url, &copy]);
    assert!(run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &copy, &url]).contains("identical"));
    // And back: a whole image onto the export.
    let other = scratch.path("other.raw");
    ok(ordo(["mkfs", "-q", "--size", "8M", &other]));
    run("qemu-img", &["convert", "-n", "-f", "raw", "-O", "raw", &other, &url]);
    assert!(run("qemu-img", &["compare", "-f", "raw", "-F", "raw", &other, &url]).contains("identical"));
    assert_eq!(server.stop(), "");
    fs::write(&copy, ordo(["cat", &place]).stdout).unwrap();
    assert!(fs::read(&copy).unwrap() == fs::read(&other).unwrap());
    ok(ordo(["fsck", "-n", &image]));
    // A volume as it is, and one whose changed byte QEMU finds.
    let server = Server::start(&scratch, &["--read-only", &image]);
    assert!(run("qemu-img", &["compare", "-U", "-f", "raw", "-F", "raw", &image, &server.url]).contains("identical"));
    server.stop();
    fs::copy(&image, &copy).unwrap();
    File::options().write(true).open(&copy).unwrap().write_at(&[99], 5_000_000).unwrap();
    let server = Server::start(&scratch, &["--read-only", &copy]);
    let differs = Command::new("qemu-img").args(["compare", "-f", "raw", "-F", "raw", &image, &server.url]).output();
    assert_eq!(differs.unwrap().status.code(), Some(1));
    server.stop();
}
