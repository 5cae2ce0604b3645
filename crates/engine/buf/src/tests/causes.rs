//! buf-7: every write names the call that changed its buf last.

use super::failing::{Failing, Fails};
use super::{Early, Plain, ROOM, calm, data};
use crate::{BufRef, Cache, CallKind, Fields, Health, Key, Step, Want};
use ordo_disk::{
    Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, Queue, QueueOptions, RamDisk, ReadPart, WritePart,
};
use ordo_ondisk::{FragNo, Ino};
use ordo_rt::Rt;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

struct Bench {
    rt: Rt,
    /// Place (in blocks of 4096) and cause of each write.
    noted: Rc<RefCell<Vec<(u64, u64)>>>,
    cache: Rc<Cache>,
}

fn bench(fails: Fails) -> Bench {
    let (rt, noted) = (Rt::virtual_time(1), Rc::default());
    let disk = Failing::new(RamDisk::new(1 << 20).volatile(true), fails);
    let slow = Slow { disk, rt: rt.clone(), noted: Rc::clone(&noted) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, calm());
    cache.attach(Rc::new(Plain::default()), Rc::new(Early));
    Bench { rt, noted, cache }
}

impl Bench {
    /// What was noted since the last call.
    fn causes(&self) -> Vec<(u64, u64)> {
        let mut causes = self.noted.take();
        causes.sort_unstable();
        causes
    }

    async fn buf(&self, n: i64) -> BufRef {
        self.cache.read(data(n)).await.expect("the disk is well")
    }

    async fn inode_block(&self, n: i64) -> BufRef {
        let want = Want { key: Key::Device(FragNo(n as u64)), role: Kind::Inodes, ..data(n) };
        self.cache.read(want).await.expect("the disk is well")
    }

    fn put(&self, buf: &BufRef, byte: u8) {
        self.cache.modify(buf, |bytes| bytes[0] = byte);
    }
}

#[test]
fn a_write_names_the_call_that_changed_the_buf_last() {
    let b = bench(None);
    b.rt.block_on(async {
        let (before, told, untold) = (b.buf(1).await, b.buf(2).await, b.buf(3).await);
        b.put(&before, 1);
        let first = b.cache.begin(CallKind::Write).await.unwrap();
        b.put(&told, 1);
        b.cache.step(first, written(&told)).await.unwrap();
        b.put(&untold, 1);
        b.cache.end(first).await.unwrap();
        let after = b.buf(4).await;
        b.put(&after, 1);
        b.cache.write_everything().await.unwrap();
        assert_eq!(b.causes(), [(1, 0), (2, first.id), (3, first.id), (4, 0)]);

        let second = b.cache.begin(CallKind::Write).await.unwrap();
        assert_ne!(first.id, second.id);
        b.put(&told, 2);
        b.cache.write_everything().await.unwrap();
        assert_eq!(b.causes(), [(2, second.id)], "the last one, and only what it changed");
    });
}

fn written(block: &BufRef) -> Step<'_> {
    Step::DataWritten { ino: Ino(5), lbn: ordo_ondisk::Lbn(0), block }
}

#[test]
fn calls_that_run_at_once_keep_their_own_changes_apart() {
    let b = bench(None);
    b.rt.block_on(async {
        let (map, block) = (b.buf(1).await, b.buf(2).await);
        let slow = b.cache.begin(CallKind::Create).await.unwrap();
        b.put(&map, 1);
        // It reads; another call begins and ends meanwhile, and the volume's upkeep changes something.
        let reads = async {
            let late = b.buf(3).await;
            b.put(&late, 1);
        };
        let other = async {
            b.put(&b.cache.find(data(1).key).unwrap(), 2);
            let quick = b.cache.begin(CallKind::Unlink).await.unwrap();
            b.put(&block, 1);
            quick
        };
        let ((), quick) = both(reads, other).await;
        b.cache.write_everything().await.unwrap();
        assert_eq!(b.causes(), [(1, 0), (2, quick.id), (3, slow.id)]);

        // The step names the call that made the change, whichever call ran last.
        let inode = b.inode_block(9).await;
        b.cache.end(quick).await.unwrap();
        b.put(&inode, 1);
        let step = Step::InodeChanged { ino: Ino(5), inode: &inode, fields: Fields::LinksUp };
        b.cache.step(slow, step).await.unwrap();
        b.cache.write_everything().await.unwrap();
        assert_eq!(b.causes(), [(9, slow.id)]);
    });
}

#[test]
fn a_write_that_failed_keeps_its_cause() {
    let b = bench(Some((DiskOp::Write, 1)));
    b.rt.block_on(async {
        let block = b.buf(1).await;
        let op = b.cache.begin(CallKind::Write).await.unwrap();
        b.put(&block, 1);
        b.cache.end(op).await.unwrap();
        b.cache.write(&block).await.expect_err("the write fails");
        b.rt.yield_now().await;
        let _next = b.cache.begin(CallKind::Write).await.unwrap();
        b.cache.write(&block).await.expect("the second try is well");
        assert_eq!(b.causes(), [(1, op.id), (1, op.id)]);
    });
}

/// Polls both in turn until both have ended.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (std::pin::pin!(a), std::pin::pin!(b));
    let (mut first, mut second) = (None, None);
    std::future::poll_fn(|cx| {
        if first.is_none()
            && let std::task::Poll::Ready(out) = a.as_mut().poll(cx)
        {
            first = Some(out);
        }
        if second.is_none()
            && let std::task::Poll::Ready(out) = b.as_mut().poll(cx)
        {
            second = Some(out);
        }
        match (first.take(), second.take()) {
            (Some(a), Some(b)) => std::task::Poll::Ready((a, b)),
            (a, b) => {
                (first, second) = (a, b);
                std::task::Poll::Pending
            }
        }
    })
    .await
}

/// A disk on which a read takes a millisecond, and which notes its writes.
struct Slow {
    disk: Rc<Failing>,
    rt: Rt,
    noted: Rc<RefCell<Vec<(u64, u64)>>>,
}

impl Disk for Slow {
    fn info(&self) -> DiskInfo {
        DiskInfo { immediate: false, depth: 8, ..self.disk.info() }
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let (disk, rt) = (self.disk.clone(), self.rt.clone());
        DiskFuture::later(async move {
            rt.sleep(Duration::from_millis(1)).await;
            disk.read(at, parts).await
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let mut place = at.0;
        for part in &parts {
            self.noted.borrow_mut().push((place / 4096, part.tag.cause));
            place += part.image.len() as u64;
        }
        self.disk.write(at, parts, fua)
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.disk.flush()
    }
}
