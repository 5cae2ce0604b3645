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
    /// It goes well, and so many writes later one fails.
    ThenWriteBadly(u32),
}

/// Counts the segments that are read, and the bytes that are written, one after the other.
struct Rounds {
    ram: RamDisk,
    /// Segments read since a write, and the most there ever were.
    read: Cell<(u32, u32)>,
}

impl Disk for Rounds {
    fn info(&self) -> DiskInfo {
        self.ram.info()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        if read_len(&parts) == u64::from(SEGMENT) {
            let (now, most) = self.read.get();
            self.read.set((now + 1, most.max(now + 1)));
        }
        self.ram.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        self.read.set((0, self.read.get().1));
        self.ram.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.ram.flush()
    }
}

/// The most segments that are read before what is alive in them is written, with so much memory.
fn read_at_once(memory: usize) -> u32 {
    let rt = Rt::virtual_time(1);
    let disk = Rc::new(Rounds { ram: made(OF), read: Cell::default() });
    rt.block_on(async {
        let mounted = mount_on(&rt, disk.clone(), memory).await;
        let node = mostly_alive(&mounted).await;
        disk.read.set((0, 0));
        mounted.fs.layout().clean().await.unwrap();
        let most = disk.read.get().1;
        for i in (0..800).filter(|i| i % 4 > 0) {
            assert!(mounted.fs.read(node, i * 4096, 4096).await.unwrap().concat() == text(i, 0), "block {i}");
        }
        mounted.fs.unmount().await.unwrap();
        assert_eq!(wrong(&rt, &disk.ram).await, [""; 0]);
        most
    })
}

/// A file of 800 blocks, of which every fourth was written again: of the twelve blocks of a segment nine are alive.
async fn mostly_alive(mounted: &Mount) -> NodeId {
    let who = Caller { privileged: true, ..Caller::default() };
    let node = file(mounted, "f").await;
    for turn in 0..2 {
        for i in (0..800).filter(|i| turn == 0 || i % 4 == 0) {
            mounted.fs.write(&who, node, i * 4096, &text(i, turn)).await.unwrap();
        }
        mounted.fs.syncfs().await.unwrap();
    }
    node
}

#[test]
fn what_the_cleaner_brings_in_takes_half_of_a_small_cache_and_one_segment_more() {
    // Half of the memory holds the live bytes of two segments and a bit; with the one that goes beyond they are four.
    let small = read_at_once(256 << 10);
    assert!((2..=4).contains(&small), "{small}");
    // Where memory is no limit, as many as one round has.
    assert_eq!(read_at_once(8 << 20), 8);
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
        let well = matches!(self.reads.get(), Reads::Well | Reads::ThenWriteBadly(_));
        if len != u64::from(SEGMENT) || well {
            self.seen.set(self.seen.get() + u32::from(len == u64::from(SEGMENT) && self.reads.get() != Reads::Well));
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
        match self.reads.get() {
            Reads::ThenWriteBadly(0) if self.seen.get() > 0 => {
                self.reads.set(Reads::Well);
                return DiskFuture::now(Err(DiskError::new(DiskOp::Write, at, end - at.0, Cause::Io(5))));
            }
            Reads::ThenWriteBadly(more) if self.seen.get() > 0 => self.reads.set(Reads::ThenWriteBadly(more - 1)),
            _ => {}
        }
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

fn watched(rt: &Rt) -> Rc<Watched> {
    Rc::new(Watched {
        rt: rt.clone(),
        ram: made(OF),
        reads: Cell::new(Reads::Well),
        watched: Rc::default(),
        seen: Cell::default(),
        met: Cell::default(),
    })
}

/// A file of 400 blocks, of which every other one was written again: its segments are half dead.
async fn half_dead(mounted: &Mount) -> NodeId {
    let who = Caller { privileged: true, ..Caller::default() };
    let node = file(mounted, "f").await;
    for i in 0..400 {
        mounted.fs.write(&who, node, i * 4096, &text(i, 0)).await.unwrap();
    }
    mounted.fs.syncfs().await.unwrap();
    for i in (0..400).step_by(2) {
        mounted.fs.write(&who, node, i * 4096, &text(i, 1)).await.unwrap();
    }
    mounted.fs.syncfs().await.unwrap();
    node
}

async fn is_whole(mounted: &Mount, node: NodeId) {
    for i in 0..400 {
        let read = mounted.fs.read(node, i * 4096, 4096).await.unwrap().concat();
        assert!(read == text(i, (i + 1) % 2), "block {i}");
    }
}

/// Cleans a volume of half dead segments on a disk that reads them like this; what was alive in them is removed while
/// they are read, and the log goes around. Returns the disk.
fn emptied_while_cleaned(reads: Reads) -> Rc<Watched> {
    let rt = Rt::virtual_time(1);
    let who = Caller { privileged: true, ..Caller::default() };
    let watched = watched(&rt);
    rt.block_on(async {
        let mounted = Rc::new(mount_on(&rt, watched.clone(), 8 << 20).await);
        let node = half_dead(&mounted).await;
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

#[test]
fn a_write_that_fails_while_cleaning_loses_nothing_and_is_told_of() {
    let mut stopped = 0;
    for at in 0..8 {
        let rt = Rt::virtual_time(at.into());
        let disk = watched(&rt);
        let told = Rc::new(RefCell::new(Vec::new()));
        rt.block_on(async {
            let mounted = mount_on(&rt, disk.clone(), 8 << 20).await;
            half_dead(&mounted).await;
            let to = told.clone();
            mounted.cache.health().watch(move |trouble| to.borrow_mut().push(format!("{trouble:?}")));
            disk.reads.set(Reads::ThenWriteBadly(at));
            let cleaned = mounted.fs.layout().clean().await;
            let read_only = mounted.cache.health().is_read_only();
            assert_eq!(cleaned.is_err(), read_only, "{cleaned:?}");
            let read = mounted.counters().segments_read;
            rt.sleep(Duration::from_secs(100)).await;
            assert!(!read_only || mounted.counters().segments_read == read, "the cleaner goes on after a failure");
            stopped += u32::from(read_only);
            let said = told.borrow().iter().filter(|told| told.starts_with("ReadOnly")).count();
            assert_eq!(said, usize::from(read_only), "{told:?}");
        });
        rt.drop_tasks();
        let rt = Rt::virtual_time(1);
        rt.block_on(async {
            let again = mount_on(&rt, Rc::new(disk.ram.snapshot()), 8 << 20).await;
            let found = again.fs.lookup(again.fs.root(), Name::new(b"f").unwrap()).await.unwrap();
            is_whole(&again, found.node).await;
            again.fs.unmount().await.unwrap();
        });
        rt.drop_tasks();
    }
    assert!(stopped > 4, "{stopped} of 8 failures were met");
}

#[test]
fn a_volume_at_rest_is_cleaned() {
    let rt = Rt::virtual_time(5);
    rt.block_on(async {
        let disk = watched(&rt);
        let mounted = mount_on(&rt, disk.clone(), 8 << 20).await;
        let node = half_dead(&mounted).await;
        let clean = mounted.fs.layout().clean_segments();
        for _ in 0..20 {
            // Not while calls come.
            rt.sleep(Duration::from_secs(1)).await;
            mounted.fs.write(&Caller { privileged: true, ..Caller::default() }, node, 0, &text(0, 1)).await.unwrap();
        }
        assert_eq!(mounted.counters().segments_read, 0);
        // The rest of the volume is clean: that is nine tenths already where little was written.
        let before = mounted.counters();
        fill(&mounted).await;
        rt.sleep(Duration::from_secs(300)).await;
        let after = mounted.counters();
        assert!(after.segments_read > before.segments_read + 10, "{after:?}; {clean} were clean");
        let settled = mounted.counters().segments_read;
        rt.sleep(Duration::from_secs(3000)).await;
        assert_eq!(mounted.counters().segments_read, settled, "it cleans for ever");
        is_whole(&mounted, node).await;
        mounted.fs.unmount().await.unwrap();
        assert_eq!(wrong(&rt, &disk.ram).await, [""; 0]);
    });
    rt.drop_tasks();
}

/// Makes many files, and removes most of them: the segments have a third alive.
async fn fill(mounted: &Mount) {
    let who = Caller { privileged: true, ..Caller::default() };
    for n in 0..200 {
        let node = file(mounted, &format!("n{n}")).await;
        mounted.fs.write(&who, node, 0, &[7; 40_000]).await.unwrap();
        mounted.fs.forget(node, 1);
    }
    mounted.fs.syncfs().await.unwrap();
    for n in (0..200).filter(|n| n % 3 > 0) {
        mounted.fs.unlink(mounted.fs.root(), Name::new(format!("n{n}").as_bytes()).unwrap()).await.unwrap();
    }
    mounted.fs.syncfs().await.unwrap();
}

#[test]
fn files_that_are_far_apart_are_written_in_one_piece() {
    let rt = Rt::virtual_time(6);
    let who = Caller { privileged: true, ..Caller::default() };
    rt.block_on(async {
        let disk = watched(&rt);
        let mounted = mount_on(&rt, disk.clone(), 8 << 20).await;
        let (far, near, other) =
            (file(&mounted, "far").await, file(&mounted, "near").await, file(&mounted, "other").await);
        for i in 0..40 {
            mounted.fs.write(&who, near, i * 4096, &text(i, 3)).await.unwrap();
        }
        mounted.fs.fsync(near, false).await.unwrap();
        for i in 0..40 {
            mounted.fs.write(&who, far, i * 4096, &text(i, 2)).await.unwrap();
            mounted.fs.fsync(far, false).await.unwrap();
            mounted.fs.write(&who, other, (i % 2) * 100_000, &[1; 100_000]).await.unwrap();
            mounted.fs.fsync(other, false).await.unwrap();
        }
        let done = mounted.fs.layout().coalesce().await.unwrap();
        assert_eq!((done.rewritten, done.bytes), (1, 40 * 4096), "{done:?}");
        assert!(done.files >= 2, "{done:?}");
        // A crash here has it all.
        let crashed = disk.ram.snapshot();
        for on in [&mounted, &mount_on(&rt, Rc::new(crashed.clone()), 8 << 20).await] {
            let node = on.fs.lookup(on.fs.root(), Name::new(b"far").unwrap()).await.unwrap().node;
            for i in 0..40 {
                assert!(on.fs.read(node, i * 4096, 4096).await.unwrap().concat() == text(i, 2), "block {i}");
            }
            assert_eq!(on.fs.layout().coalesce().await.unwrap().rewritten, 0, "it is in one piece");
            on.fs.unmount().await.unwrap();
        }
        assert_eq!(wrong(&rt, &disk.ram).await, [""; 0]);
        assert_eq!(wrong(&rt, &crashed).await, [""; 0]);
    });
    rt.drop_tasks();
}
