//! The cleaner beside calls: a segment that it reads is not written meanwhile, and one that it cannot read is not
//! written again.

use crate::{Made, Mount, SMALL, made, mount_on, wrong};
use ordo_disk::{
    Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, RamDisk, ReadPart, WritePart, read_len,
};
use ordo_rt::Rt;
use ordo_vfs::{Caller, FileSystem, Kind, Mode, Name, NodeId};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;
use std::time::Duration;

const SEGMENT: u32 = 64 << 10;
const OF: Made = Made { size: 16 << 20, segment: SEGMENT, ..SMALL };

/// What happens when a whole segment is read: that is the cleaner.
#[derive(Clone, Copy, PartialEq)]
enum Reads {
    Well,
    /// It takes so long.
    Slowly(Duration),
    /// It fails.
    Badly,
}

/// A disk that watches the segments that are read slowly or badly: none of them may be written, the slow ones until
/// they are read.
struct Watched {
    rt: Rt,
    ram: RamDisk,
    reads: Cell<Reads>,
    watched: Rc<RefCell<Vec<Range<u64>>>>,
    /// Segments that were ever watched, and writes into them.
    seen: Cell<u32>,
    met: Cell<u32>,
}

impl Disk for Watched {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let len = read_len(&parts);
        if len != u64::from(SEGMENT) || self.reads.get() == Reads::Well {
            return self.ram.read(at, parts);
        }
        self.seen.set(self.seen.get() + 1);
        let range = at.0..at.0 + len;
        self.watched.borrow_mut().push(range.clone());
        let Reads::Slowly(time) = self.reads.get() else {
            return DiskFuture::now(Err(DiskError::new(DiskOp::Read, at, len, Cause::Io(5))));
        };
        let (read, rt, watched) = (self.ram.read(at, parts), self.rt.clone(), self.watched.clone());
        DiskFuture::later(async move {
            let read = read.await;
            rt.sleep(time).await;
            watched.borrow_mut().retain(|of| *of != range);
            read
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let end = at.0 + ordo_disk::write_len(&parts);
        // Superblocks lie in segments, too.
        let superblock = parts.first().is_some_and(|part| part.image.starts_with(&0x0007_0162_u32.to_le_bytes()));
        let into = self.watched.borrow().iter().filter(|of| !superblock && of.start < end && at.0 < of.end).count();
        self.met.set(self.met.get() + into as u32);
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

fn text(i: u64, turn: u64) -> Vec<u8> {
    format!("{i:07} {turn:07} ").into_bytes().repeat(4096 / 16)
}

async fn file(mounted: &Mount, name: &str) -> NodeId {
    let (fs, name) = (&mounted.fs, Name::new(name.as_bytes()).unwrap());
    let who = Caller { privileged: true, ..Caller::default() };
    fs.mknod(&who, fs.root(), name, Kind::Regular, Mode::new(0o600), 0).await.unwrap().node
}

/// Goes once around the log, with nothing alive but what was before.
async fn once_around(mounted: &Mount) {
    let who = Caller { privileged: true, ..Caller::default() };
    for turn in 0..20 {
        let node = file(mounted, "short").await;
        for i in 0..256 {
            mounted.fs.write(&who, node, i * 4096, &text(i, turn)).await.unwrap();
        }
        mounted.fs.fsync(node, false).await.unwrap();
        mounted.fs.unlink(mounted.fs.root(), Name::new(b"short").unwrap()).await.unwrap();
        mounted.fs.forget(node, 1);
        for _ in 0..3 {
            mounted.fs.syncfs().await.unwrap();
        }
    }
}

/// Cleans a volume of half dead segments on a disk that reads them like this; what was alive in them is removed while
/// they are read, and the log goes around. Returns the disk.
fn emptied_while_cleaned(reads: Reads) -> Rc<Watched> {
    let rt = Rt::virtual_time(1);
    let who = Caller { privileged: true, ..Caller::default() };
    let watched = Rc::new(Watched {
        rt: rt.clone(),
        ram: made(OF),
        reads: Cell::new(Reads::Well),
        watched: Rc::default(),
        seen: Cell::default(),
        met: Cell::default(),
    });
    rt.block_on(async {
        let mounted = Rc::new(mount_on(&rt, watched.clone(), 8 << 20).await);
        let node = file(&mounted, "f").await;
        for i in 0..400 {
            mounted.fs.write(&who, node, i * 4096, &text(i, 0)).await.unwrap();
        }
        mounted.fs.syncfs().await.unwrap();
        for i in (0..400).step_by(2) {
            mounted.fs.write(&who, node, i * 4096, &text(i, 1)).await.unwrap();
        }
        mounted.fs.syncfs().await.unwrap();
        watched.reads.set(reads);
        let cleaning = mounted.clone();
        rt.spawn(async move { cleaning.fs.layout().clean().await.unwrap() });
        rt.sleep(Duration::from_millis(1)).await;
        let kept = file(&mounted, "kept").await;
        mounted.fs.write(&who, kept, 0, &text(7, 7)).await.unwrap();
        mounted.fs.unlink(mounted.fs.root(), Name::new(b"f").unwrap()).await.unwrap();
        mounted.fs.forget(node, 1);
        once_around(&mounted).await;
        rt.sleep(Duration::from_secs(600)).await;
        assert!(mounted.fs.read(kept, 0, 4096).await.unwrap().concat() == text(7, 7));
        mounted.fs.unmount().await.unwrap();
        assert_eq!(wrong(&rt, &watched.ram).await, [""; 0]);
    });
    rt.drop_tasks();
    watched
}

#[test]
fn a_segment_that_is_being_cleaned_is_not_written_meanwhile() {
    let disk = emptied_while_cleaned(Reads::Slowly(Duration::from_secs(20)));
    assert!(disk.seen.get() > 0, "the cleaner read nothing");
    assert_eq!(disk.met.get(), 0, "writes into segments that were being read");
}

#[test]
fn a_segment_that_cannot_be_read_is_not_written_again() {
    let disk = emptied_while_cleaned(Reads::Badly);
    assert!(disk.seen.get() > 0, "the cleaner read nothing");
    assert_eq!(disk.met.get(), 0, "writes into segments that could not be read");
}
