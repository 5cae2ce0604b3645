//! The daemon and its clients, over a real socket.

use ordo_disk::FileOptions;
use ordo_wafs::service::{Client, ClientError, Code, Server, Stopper, Streams};
use ordo_wafs::{Log, Lsn, MakeOptions, Mode, MountOptions, Record, SharedLog};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::thread::JoinHandle;

struct Daemon {
    socket: PathBuf,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

impl Daemon {
    fn start(dir: &std::path::Path, mode: Mode) -> Daemon {
        let (log, socket) = (dir.join("log.wafs"), dir.join("log.socket"));
        if !log.exists() {
            Log::create(&log, 1 << 18, MakeOptions { unit: Some(512), zero: true }).unwrap();
        }
        let log = SharedLog::mount(&log, &FileOptions::default(), MountOptions { mode }).unwrap();
        let server = Server::bind(&socket, Streams::open(log).unwrap()).unwrap();
        let stopper = server.stopper();
        Daemon { socket, stopper, thread: Some(std::thread::spawn(move || server.run(&|_| ()).unwrap())) }
    }

    fn client(&self, name: &str) -> Client {
        Client::connect(&self.socket, name).unwrap()
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        self.stopper.stop();
        self.thread.take().unwrap().join().unwrap();
    }
}

fn all(client: &mut Client) -> Vec<Record> {
    let (mut from, mut records) = (Lsn::NONE, Vec::new());
    loop {
        let batch = client.scan(from, 1000).unwrap();
        records.extend(batch.records);
        let Some(next) = batch.next else { return records };
        from = next;
    }
}

fn code<T>(outcome: Result<T, ClientError>) -> Option<Code> {
    match outcome {
        Err(ClientError::Refused { code, .. }) => Some(code),
        _ => None,
    }
}

#[test]
fn each_client_has_its_own_records_and_finds_them_again() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    let (mut ann, mut bob) = (daemon.client("ann"), daemon.client("bob"));
    let mut numbers = Vec::new();
    for i in 0..50u8 {
        numbers.push(ann.commit(&[b'a', i]).unwrap());
        bob.append(&[b'b'; 200]).unwrap();
    }
    let last = bob.info().unwrap().last;
    bob.force(last).unwrap();
    assert_eq!(ann.read(numbers[7]).unwrap().data, [b'a', 7]);
    assert_eq!(code(bob.read(numbers[7])), Some(Code::NoRecord));
    assert_eq!(code(Client::connect(&daemon.socket, "ann")), Some(Code::InUse));
    assert_eq!(code(Client::connect(&daemon.socket, "")), Some(Code::Name));
    ann.reclaim(numbers[20]).unwrap();
    let records = all(&mut ann);
    assert_eq!(records.len(), 30);
    assert_eq!(records[0].lsn, numbers[20]);
    assert_eq!(code(ann.read(numbers[19])), Some(Code::NoRecord));
    assert_eq!(code(ann.reclaim(Lsn(u64::MAX))), Some(Code::NoRecord));
    drop((ann, bob, daemon));

    let daemon = Daemon::start(dir.path(), Mode::Sync);
    let mut ann = daemon.client("ann");
    assert!(ann.found().0 <= numbers[20] && ann.found().1 == numbers[49]);
    assert_eq!(all(&mut ann).last(), records.last());
    assert!(all(&mut daemon.client("bob")).iter().all(|record| record.data == [b'b'; 200]));
}

#[test]
fn a_slow_client_holds_the_log_and_an_empty_one_does_not() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(dir.path(), Mode::Async);
    let (mut slow, _idle, mut busy) = (daemon.client("slow"), daemon.client("idle"), daemon.client("busy"));
    let kept = slow.append(b"kept").unwrap();
    let full = loop {
        match busy.append(&[7; 3000]) {
            Ok(lsn) => busy.reclaim(Lsn(lsn.0 + 1)).unwrap(),
            Err(error) => break error,
        }
    };
    assert_eq!(code::<()>(Err(full)), Some(Code::Full));
    assert_eq!(slow.read(kept).unwrap().data, b"kept");
    slow.reclaim(Lsn(kept.0 + 1)).unwrap();
    // Ten laps; the table moves along with the log.
    for _ in 0..1000 {
        let lsn = busy.append(&[8; 3000]).unwrap();
        busy.reclaim(lsn).unwrap();
    }
    assert_eq!(all(&mut busy).len(), 1);
    busy.end().unwrap();
    drop((slow, daemon));
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    assert_eq!(daemon.client("busy").found().1, Lsn::NONE, "a new one of that name");
    assert!(all(&mut daemon.client("slow")).is_empty());
}

#[test]
fn many_clients_at_once_lose_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    let work = |i: usize| {
        let mut client = daemon.client(&format!("client {i}"));
        let mut last = Lsn::NONE;
        for n in 0..200u32 {
            let lsn = client.commit(&[n.to_le_bytes(), (i as u32).to_le_bytes()].concat()).unwrap();
            assert!(lsn > last);
            last = lsn;
            if n % 10 == 9 {
                client.reclaim(lsn).unwrap();
            }
        }
        assert_eq!(all(&mut client).len(), 1);
    };
    std::thread::scope(|scope| (0..8).for_each(|i| drop(scope.spawn(move || work(i)))));
    drop(daemon);
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    for i in 0..8u32 {
        let last = all(&mut daemon.client(&format!("client {i}"))).pop().unwrap();
        assert_eq!(last.data, [199u32.to_le_bytes(), i.to_le_bytes()].concat());
    }
}

#[test]
fn nonsense_on_the_socket_harms_nobody_else() {
    let dir = tempfile::tempdir().unwrap();
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    let mut good = daemon.client("good");
    let talk = |bytes: &[u8]| {
        let mut socket = UnixStream::connect(&daemon.socket).unwrap();
        let _ = socket.write_all(bytes);
        let _ = socket.shutdown(std::net::Shutdown::Write);
        let mut answer = Vec::new();
        let _ = socket.read_to_end(&mut answer);
        answer
    };
    assert_eq!(talk(&[1, 0, 0, 0, 2])[4], Code::Misuse as u8, "no stream yet");
    assert_eq!(talk(&[1, 0, 0, 0, 99])[4], Code::Misuse as u8);
    assert_eq!(talk(&[2, 0, 0, 0, 1, 0xff])[4], Code::Name as u8);
    assert!(talk(&[0xff; 100]).is_empty());
    let mut rng = ordo_rt::Rng::new(1);
    for _ in 0..200 {
        let mut bytes = vec![0; rng.below(60) as usize];
        rng.fill(&mut bytes);
        if bytes.len() > 8 {
            let len = (bytes.len() as u32 - 4).to_le_bytes();
            bytes[..4].copy_from_slice(&len);
            bytes[4] %= 12;
        }
        talk(&bytes);
    }
    let lsn = good.commit(b"still there").unwrap();
    assert_eq!(good.read(lsn).unwrap().data, b"still there");
    assert_eq!(code(good.commit(&vec![0; 200_000])), Some(Code::TooLong));
}

#[test]
fn a_file_that_has_the_name_of_the_socket_stays() {
    let dir = tempfile::tempdir().unwrap();
    let (log, precious) = (dir.path().join("log.wafs"), dir.path().join("precious.txt"));
    Log::create(&log, 1 << 18, MakeOptions { unit: Some(512), zero: true }).unwrap();
    let log = SharedLog::mount(&log, &FileOptions::default(), MountOptions { mode: Mode::Sync }).unwrap();
    let streams = Streams::open(log).unwrap();
    std::fs::write(&precious, "thesis").unwrap();
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&precious, &link).unwrap();
    for name in [&precious, &link] {
        let refused = Server::bind(name, streams.clone()).err().unwrap();
        assert_eq!(refused.kind(), std::io::ErrorKind::AddrInUse);
    }
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "thesis");
    assert!(link.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_log_without_streams_is_not_served_and_a_dead_socket_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("other.wafs");
    Log::create(&path, 1 << 16, MakeOptions::default()).unwrap();
    let log = SharedLog::mount(&path, &FileOptions::default(), MountOptions::default()).unwrap();
    log.commit(b"abc".to_vec()).unwrap();
    assert!(Streams::open(log).is_err_and(|error| error.to_string().contains("without the daemon")));
    drop(std::os::unix::net::UnixListener::bind(dir.path().join("log.socket")).unwrap());
    let daemon = Daemon::start(dir.path(), Mode::GROUP);
    assert!(daemon.client("x").commit(b"y").is_ok());
    let second = SharedLog::mount(dir.path().join("log.wafs"), &FileOptions::default(), MountOptions::default());
    assert!(second.is_err(), "the log is the daemon's");
}
