//! The habits of systems that count bufs: what counts as dirty, when a call waits, and how many dinodes stay.

use super::*;
use crate::CallKind;

fn counting(counts: BufCounts) -> Bench {
    bench(CacheOptions { counts: Some(counts), ..CacheOptions::default() }, FaultPlan::new(1))
}

/// A dinode by itself, at a place of its own.
fn dinode(ino: u32) -> Want {
    Want {
        key: Key::Inode(Ino(ino)),
        role: Kind::Inodes,
        addr: DiskOff((1 << 19) + u64::from(ino) * 512),
        len: 512,
    }
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
fn a_log_may_have_twice_as_many_dirty_as_start_its_writing_and_others_a_tenth_more() {
    for (habits, most) in [(Habits::FreeBsd, 11), (Habits::Bsd44, 11), (Habits::Bsd44Log, 20)] {
        let b = counting(BufCounts { most: 30, ..counted_by(habits) });
        b.rt.block_on(async {
            let mut waits = Vec::new();
            for lbn in 0..25 {
                dirty(&b.cache, data(lbn)).await;
                waits.push(b.cache.is_over_dirty());
            }
            assert_eq!(waits.iter().position(|waits| *waits), Some(most), "{habits:?}");
        });
    }
}

#[test]
fn a_log_does_not_count_dirty_indirect_blocks_and_others_do() {
    for (habits, counted) in [(Habits::FreeBsd, 8), (Habits::Bsd44, 8), (Habits::Bsd44Log, 3)] {
        let b = counting(counted_by(habits));
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
            assert_eq!(bufs(), (counted, 9), "{habits:?}");
            b.cache.write_everything().await.expect("the disk is well");
            assert_eq!(bufs(), (0, 0), "{habits:?}: what was counted when it came is counted when it goes");
        });
    }
}

#[test]
fn a_log_writes_until_the_lower_mark_and_others_start_one_batch() {
    for (habits, left) in [(Habits::FreeBsd, 9), (Habits::Bsd44, 9), (Habits::Bsd44Log, 4)] {
        let options = CacheOptions { counts: Some(counted_by(habits)), batch: 2, ..CacheOptions::default() };
        let b = bench(options, FaultPlan::new(1));
        b.rt.block_on(async {
            for lbn in 0..11 {
                dirty(&b.cache, data(lbn)).await;
            }
            b.cache.write_back();
            b.rt.sleep(Duration::from_secs(1)).await;
            assert_eq!(b.cache.inner.borrow().dirty.bufs(), left, "{habits:?}");
        });
    }
}

/// How long a call waits that begins while a second's write is under way, of contents and of so many dinodes.
fn waits(habits: Habits, dinodes: u32, kind: CallKind) -> Duration {
    let rt = Rt::virtual_time(1);
    let slow = Laggard { ram: RamDisk::new(1 << 20), rt: rt.clone(), first: Cell::new(true) };
    let queue = Queue::new(&rt, Rc::new(slow), QueueOptions::default());
    let options = CacheOptions { counts: Some(counted_by(habits)), ..CacheOptions::default() };
    let cache = Cache::new(rt.clone(), queue, Health::default(), options);
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
        assert!(waits(Habits::Bsd44Log, 10, kind) > Duration::from_millis(900), "{kind:?}");
        // Few: the blocks are of large files.
        assert_eq!(waits(Habits::Bsd44Log, 1, kind), none, "{kind:?}");
        assert_eq!(waits(Habits::Bsd44, 10, kind), none, "{kind:?}");
    }
    for kind in [CallKind::Write, CallKind::Truncate, CallKind::SetAttr, CallKind::Upkeep] {
        assert_eq!(waits(Habits::Bsd44Log, 10, kind), none, "{kind:?}");
    }
}

#[test]
fn no_more_dinodes_stay_than_the_system_keeps_and_what_goes_for_them_is_a_dinode() {
    let of = |dinodes: usize| {
        let b = counting(BufCounts { dinodes, ..counted_by(Habits::Bsd44) });
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
