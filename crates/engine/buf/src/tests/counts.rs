//! Caches that count bufs: what counts as dirty, when a call waits, and how many dinodes stay.

use super::*;
use crate::CallKind;

/// A dinode by itself, at a place of its own.
fn dinode(ino: u32) -> Want {
    Want { key: Key::Inode(Ino(ino)), role: Kind::Inodes, addr: DiskOff((1 << 19) + u64::from(ino) * 512), len: 512 }
}

/// An indirect block of a file.
fn pointers(lbn: i64) -> Want {
    Want { key: Key::File(Ino(6), Lbn(-lbn)), role: Kind::Indirect, ..data(100 + lbn) }
}

async fn dirty(cache: &Rc<Cache>, want: Want) -> BufRef {
    let buf = cache.read(want).await.expect("the disk is well");
    cache.modify(&buf, |bytes| bytes[0] = 7);
    buf
}

#[test]
fn more_may_be_dirty_than_start_the_writing_before_a_call_waits() {
    for (counts, most) in [(ALIKE, 11), (FIRST, 11), (SEGMENTS, 20)] {
        let b = bench(counting(BufCounts { most: 30, ..counts }), None);
        b.rt.block_on(async {
            let mut waits = Vec::new();
            for lbn in 0..25 {
                dirty(&b.cache, data(lbn)).await;
                waits.push(b.cache.is_over_dirty());
            }
            assert_eq!(waits.iter().position(|waits| *waits), Some(most), "{counts:?}");
        });
    }
}

#[test]
fn who_writes_segments_does_not_count_dirty_indirect_blocks_and_others_do() {
    for (counts, counted) in [(ALIKE, 8), (FIRST, 8), (SEGMENTS, 3)] {
        let b = bench(counting(counts), None);
        b.rt.block_on(async {
            let mut held = Vec::new();
            for lbn in 0..3 {
                held.push(dirty(&b.cache, data(lbn)).await);
            }
            for lbn in 1..=5 {
                held.push(dirty(&b.cache, pointers(lbn)).await);
            }
            // Nobody counts dinodes.
            held.push(dirty(&b.cache, dinode(1)).await);
            let bufs = || (b.cache.inner.borrow().dirty.bufs(), b.cache.inner.borrow().dirty.all_bufs());
            assert_eq!(bufs(), (counted, 9), "{counts:?}");
            b.cache.write_everything().await.expect("the disk is well");
            assert_eq!(bufs(), (0, 0), "{counts:?}: what was counted when it came is counted when it goes");
        });
    }
}

#[test]
fn who_writes_segments_writes_until_the_lower_mark_and_others_start_one_batch() {
    for (counts, left) in [(ALIKE, 9), (FIRST, 9), (SEGMENTS, 4)] {
        let b = bench(Policy { batch: 2, ..counting(counts) }, None);
        b.rt.block_on(async {
            for lbn in 0..11 {
                dirty(&b.cache, data(lbn)).await;
            }
            b.cache.write_back();
            b.rt.sleep(Duration::from_secs(1)).await;
            assert_eq!(b.cache.inner.borrow().dirty.bufs(), left, "{counts:?}");
        });
    }
}

/// How long a call waits that begins while a second's write is under way, of contents and of so many dinodes.
fn waits(counts: BufCounts, dinodes: u32, kind: CallKind) -> Duration {
    let rt = Rt::virtual_time(1);
    let slow = Laggard { ram: RamDisk::new(1 << 20), rt: rt.clone(), first: Cell::new(true) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), ROOM, counting(counts));
    cache.attach(Rc::new(Plain::default()), Rc::new(Early));
    rt.block_on(async {
        for ino in 0..dinodes {
            dirty(&cache, dinode(ino)).await;
        }
        for lbn in 0..10 {
            dirty(&cache, data(lbn)).await;
        }
        cache.write_back();
        rt.sleep(Duration::from_millis(1)).await;
        let before = rt.now();
        cache.call(kind, async |_| Ok(())).await.expect("the volume is well");
        rt.now() - before
    })
}

#[test]
fn a_call_on_names_waits_for_the_segments_of_small_files_and_no_other_call_does() {
    let none = Duration::ZERO;
    for kind in [CallKind::Create, CallKind::Unlink, CallKind::Rename, CallKind::Mkdir] {
        // As many dinodes as blocks: a file for each block.
        assert!(waits(SEGMENTS, 10, kind) > Duration::from_millis(900), "{kind:?}");
        // Few: the blocks are of large files.
        assert_eq!(waits(SEGMENTS, 1, kind), none, "{kind:?}");
        assert_eq!(waits(FIRST, 10, kind), none, "{kind:?}");
    }
    for kind in [CallKind::Write, CallKind::Truncate, CallKind::SetAttr, CallKind::Upkeep] {
        assert_eq!(waits(SEGMENTS, 10, kind), none, "{kind:?}");
    }
}

#[test]
fn no_more_dinodes_stay_than_the_policy_keeps_and_what_goes_for_them_is_a_dinode() {
    let of = |dinodes: usize| {
        let b = bench(counting(BufCounts { dinodes, ..FIRST }), None);
        b.rt.block_on(async {
            for lbn in 0..10 {
                b.cache.read(data(lbn)).await.expect("the disk is well");
            }
            // In use: these stay, whatever their number.
            let mut held = Vec::new();
            for ino in 0..3 {
                held.push(b.cache.read(dinode(ino)).await.expect("the disk is well"));
            }
            let mut most = 0;
            for ino in 100..200 {
                b.cache.read(dinode(ino)).await.expect("the disk is well");
                most = most.max(b.cache.inner.borrow().dinodes);
            }
            assert!(held.iter().all(|buf| b.cache.find(buf.key()).is_some()));
            let contents = (0..10).filter(|lbn| b.cache.find(data(*lbn).key).is_some()).count();
            (most, contents)
        })
    };
    // The last one comes before another one goes.
    assert_eq!(of(5), (6, 10), "contents need not go for dinodes");
    assert_eq!(of(usize::MAX), (103, 10));
}
