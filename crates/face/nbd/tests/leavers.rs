//! Clients that leave, and what they leave behind: nothing.
#![allow(clippy::disallowed_methods, reason = "clients of a real server, in real time")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use ordo_disk::{Block, nbd_proto as proto};
use ordo_nbd::{Address, Description, Export, Extent, Failure, Listener, Server, ServerOptions, Stopper};
use ordo_rt::Rt;

const SIZE: u64 = 1 << 30;
const MIB: u32 = 1 << 20;
/// Far more than any of this takes on a busy machine.
const AGES: Duration = Duration::from_secs(60);

/// Reads as zeros, in a moment, and counts.
struct Zeros {
    rt: Rt,
    takes: Duration,
    read: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
}

impl Export for Zeros {
    fn describe(&self) -> Description {
        Description {
            size: SIZE,
            read_only: false,
            least: 1,
            preferred: 4096,
            piece: MIB,
            fast_zeroes: false,
            rotates: false,
            text: String::new(),
        }
    }

    async fn read(&self, _: u64, len: u32) -> Result<Vec<Bytes>, Failure> {
        self.rt.sleep(self.takes).await;
        self.read.fetch_add(1, Ordering::Relaxed);
        Ok(vec![Bytes::from(vec![0; len as usize])])
    }

    async fn write(&self, _: u64, _: Vec<Block>, _: bool) -> Result<(), Failure> {
        self.rt.sleep(self.takes).await;
        self.written.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn trim(&self, _: u64, _: u64) -> Result<(), Failure> {
        Ok(())
    }

    async fn zero(&self, _: u64, _: u64, _: bool, _: bool) -> Result<(), Failure> {
        Ok(())
    }

    async fn extent(&self, _: u64) -> Result<Extent, Failure> {
        Ok(Extent { end: SIZE, hole: true })
    }
}

struct Served {
    address: Address,
    read: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
    stopper: Stopper,
    ended: mpsc::Receiver<()>,
    _dir: tempfile::TempDir,
}

trait Both: Read + Write + Send {
    fn end_sending(&self);
}

impl Both for TcpStream {
    fn end_sending(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

impl Both for UnixStream {
    fn end_sending(&self) {
        self.shutdown(Shutdown::Write).unwrap();
    }
}

impl Served {
    fn start(tcp: bool, takes: Duration) -> Served {
        let dir = tempfile::tempdir().unwrap();
        let address = match tcp {
            true => Address::Tcp("127.0.0.1:0".into()),
            false => Address::Unix(dir.path().join("socket")),
        };
        let listener = Listener::bind(&address).unwrap();
        let address = listener.address().clone();
        let options = ServerOptions { name: String::new(), complain: Arc::new(|_| ()) };
        let server = Server::new(listener, options).unwrap();
        let (read, written) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (stopper, counts, (tell, ended)) = (server.stopper(), (read.clone(), written.clone()), mpsc::channel());
        std::thread::spawn(move || {
            let rt = Rt::real_time();
            server.run(&rt, Zeros { rt: rt.clone(), takes, read: counts.0, written: counts.1 }).unwrap();
            tell.send(()).unwrap();
        });
        Served { address, read, written, stopper, ended, _dir: dir }
    }

    /// A client that has shaken hands; `None` if the server has no place.
    fn client(&self) -> Option<Box<dyn Both>> {
        let mut client: Box<dyn Both> = match &self.address {
            Address::Unix(path) => Box::new(UnixStream::connect(path).unwrap()),
            Address::Tcp(place) => Box::new(TcpStream::connect(place.as_str()).unwrap()),
        };
        client.read_exact(&mut [0; 18]).ok()?;
        client.write_all(&3_u32.to_be_bytes()).ok()?;
        client.write_all(&[&proto::OPTION_MAGIC.to_be_bytes()[..], &[0, 0, 0, 1], &[0; 4]].concat()).ok()?;
        client.read_exact(&mut [0; 10]).ok()?;
        Some(client)
    }

    /// Waits for a client that is served.
    fn is_served(&self) {
        let since = Instant::now();
        loop {
            if let Some(mut client) = self.client()
                && client.write_all(&request(proto::CMD_READ, 512)).is_ok()
                && client.read_exact(&mut [0; 16 + 512]).is_ok()
            {
                return;
            }
            assert!(since.elapsed() < AGES, "nobody is served any more");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn ends(self) {
        self.stopper.stop();
        self.ended.recv_timeout(AGES).expect("the server does not end");
    }
}

fn request(command: u16, len: u32) -> Vec<u8> {
    let head = [&proto::REQUEST_MAGIC.to_be_bytes()[..], &[0; 2], &command.to_be_bytes(), &[7; 8], &[0; 8]].concat();
    [head, len.to_be_bytes().to_vec()].concat()
}

#[test]
fn clients_that_leave_amid_large_replies_keep_neither_places_nor_the_server() {
    for tcp in [true, false] {
        for sizes in [[32, 32, 32], [17, 17, 17], [1, 32, 32], [16, 16, 1]] {
            let served = Served::start(tcp, Duration::ZERO);
            // One more than there are places.
            for _ in 0..33 {
                let since = Instant::now();
                let mut client = loop {
                    if let Some(client) = served.client() {
                        break client;
                    }
                    assert!(since.elapsed() < AGES, "its places are not free again");
                };
                sizes.iter().for_each(|size| client.write_all(&request(proto::CMD_READ, size * MIB)).unwrap());
                client.read_exact(&mut [0; 1000]).unwrap();
            }
            served.is_served();
            served.ends();
        }
    }
}

#[test]
fn what_a_client_that_is_gone_wanted_to_read_is_not_read() {
    for tcp in [true, false] {
        let served = Served::start(tcp, Duration::from_millis(20));
        let mut client = served.client().unwrap();
        // At once: the client of a Unix socket would wait for room, and the server for the client.
        client.write_all(&request(proto::CMD_READ, MIB).repeat(500)).unwrap();
        client.read_exact(&mut [0; 1000]).unwrap();
        drop(client);
        served.is_served();
        let read = &served.read;
        let seen = read.load(Ordering::Relaxed);
        std::thread::sleep(Duration::from_millis(500));
        assert_eq!(read.load(Ordering::Relaxed), seen, "it reads on");
        assert!(seen < 250, "{seen} were read for one who took 1000 bytes");
        served.ends();
    }
}

#[test]
fn what_a_client_wrote_before_it_left_is_carried_out() {
    let served = Served::start(false, Duration::from_millis(50));
    let mut client = served.client().unwrap();
    for _ in 0..20 {
        client.write_all(&[request(proto::CMD_WRITE, 8), vec![1; 8]].concat()).unwrap();
    }
    client.end_sending();
    let mut replies = Vec::new();
    client.read_to_end(&mut replies).unwrap();
    assert_eq!((replies.len(), served.written.load(Ordering::Relaxed)), (20 * 16, 20));
    served.ends();
}

#[test]
fn a_client_that_takes_nothing_does_not_keep_the_server() {
    let served = Served::start(false, Duration::ZERO);
    let mut client = served.client().unwrap();
    (0..3).for_each(|_| client.write_all(&request(proto::CMD_READ, 32 * MIB)).unwrap());
    client.read_exact(&mut [0; 1000]).unwrap();
    served.ends();
    drop(client);
}
