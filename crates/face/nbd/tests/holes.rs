//! A search of a whole export reads what the server has, and not its holes.

use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ordo_disk::Block;
use ordo_nbd::{Address, Description, Export, Extent, Failure, Listener, Server, ServerOptions, Stopper};
use ordo_rt::Rt;
use ordofs::DiskBytes;
use ordofs::rescued::{Source, Stretch, scan};

const SIZE: u64 = 256 << 20;

/// Zeros, with these bytes from a place on; it tells of its holes if it is asked to.
struct Sparse {
    begins: u64,
    bytes: Vec<u8>,
    tells: bool,
    read: Arc<AtomicU64>,
}

impl Sparse {
    fn ends(&self) -> u64 {
        self.begins + self.bytes.len() as u64
    }
}

impl Export for Sparse {
    fn describe(&self) -> Description {
        Description {
            size: SIZE,
            read_only: true,
            least: 512,
            preferred: 4096,
            piece: 1 << 20,
            fast_zeroes: false,
            rotates: false,
            text: String::new(),
        }
    }

    async fn read(&self, at: u64, len: u32) -> Result<Vec<Bytes>, Failure> {
        self.read.fetch_add(len.into(), Ordering::Relaxed);
        let byte = |at: u64| at.checked_sub(self.begins).and_then(|at| self.bytes.get(at as usize)).copied();
        Ok(vec![(at..at + u64::from(len)).map(|at| byte(at).unwrap_or(0)).collect()])
    }

    async fn write(&self, _: u64, _: Vec<Block>, _: bool) -> Result<(), Failure> {
        unreachable!("it is read-only")
    }

    async fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    async fn trim(&self, _: u64, _: u64) -> Result<(), Failure> {
        unreachable!("it is read-only")
    }

    async fn zero(&self, _: u64, _: u64, _: bool, _: bool) -> Result<(), Failure> {
        unreachable!("it is read-only")
    }

    async fn extent(&self, at: u64) -> Result<Extent, Failure> {
        Ok(match at {
            at if !self.tells => Extent { end: at + 4096, hole: false },
            at if at < self.begins => Extent { end: self.begins, hole: true },
            at if at < self.ends() => Extent { end: self.ends(), hole: false },
            _ => Extent { end: SIZE, hole: true },
        })
    }
}

/// Serves until it is dropped.
struct Served {
    url: String,
    read: Arc<AtomicU64>,
    stopper: Stopper,
    thread: Cell<Option<std::thread::JoinHandle<()>>>,
    _dir: tempfile::TempDir,
}

impl Served {
    fn start(begins: u64, bytes: Vec<u8>, tells: bool) -> Served {
        let (dir, read) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU64::new(0)));
        let listener = Listener::bind(&Address::Unix(dir.path().join("socket"))).unwrap();
        let url = ordo_nbd::url(listener.address(), "disk");
        let server = Server::new(listener, ServerOptions { name: "disk".into(), complain: Arc::new(|_| ()) }).unwrap();
        let (stopper, count) = (server.stopper(), read.clone());
        let serve = move || server.run(&Rt::real_time(), Sparse { begins, bytes, tells, read: count }).unwrap();
        Served { url, read, stopper, thread: Cell::new(Some(std::thread::spawn(serve))), _dir: dir }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}

/// A small volume, as bytes.
fn volume() -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.img");
    ordofs::NewVolume::new(2 << 20).create(&path).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn a_search_of_an_export_finds_the_volume_and_reads_no_hole() {
    let volume = volume();
    // Not at a border of anything: the server may have its holes anywhere.
    let begins = (100 << 20) + 512 * 7;
    let data = volume.len() as u64;
    for (tells, least, most) in [(true, data / 2, data * 3 / 2), (false, SIZE, SIZE * 3 / 2)] {
        let served = Served::start(begins, volume.clone(), tells);
        let rt = Rt::real_time();
        let source = DiskBytes::open(&rt, Path::new(&served.url)).unwrap();
        let hits = scan(&source, &mut |_| true);
        assert_eq!(hits.iter().map(|hit| (hit.offset, hit.primary)).collect::<Vec<_>>(), [(begins, true)], "{tells}");
        let read = served.read.load(Ordering::Relaxed);
        assert!((least..=most).contains(&read), "{read} bytes were read of {data}, tells: {tells}");
        // What is known to be zeros is not read, and reads as zeros.
        let mut bytes = [1; 4096];
        source.read(0, &mut bytes).unwrap();
        source.read(begins - 4096, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == 0));
        assert_eq!(served.read.load(Ordering::Relaxed) == read, tells);
        assert_eq!(source.stretch(SIZE - 512) == Stretch::Zeros(512), tells);
        // At a border it is read.
        source.read(begins - 512, &mut bytes).unwrap();
        assert_eq!(bytes[512..], volume[..4096 - 512]);
        assert!(source.read(SIZE - 100, &mut bytes).is_err());
    }
}
