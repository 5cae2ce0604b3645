//! Batches that a layout with a defect shapes: nothing is lost in silence.

use super::*;
use crate::Batch;
use ordo_disk::{Block, Kind as Role};
use ordo_vfs::{Error, Result};

/// Gives places late, and its batches hold these numbers of the wanted bufs at these bytes.
struct Late(Vec<(usize, usize)>);

impl Home for Late {
    fn place(&self, _: &Buf) -> Option<DiskOff> {
        None
    }

    fn seal(&self, _: &Buf, _: &mut [u8]) {}

    fn shape(&self, wanted: &[BufRef], _: &dyn Fn(&BufRef) -> bool) -> Result<Vec<Batch>> {
        let bufs = self.0.iter().map(|&(number, at)| (wanted[number].clone(), at)).collect();
        Ok(vec![Batch { at: DiskOff(65536), len: 8192, kind: Role::Data, bufs }])
    }
}

/// Two dirty bufs are written in such a batch: the outcome, whether both are dirty still, and the cache.
fn written(shape: &[(usize, usize)]) -> (Result<()>, [bool; 2], Rc<Cache>) {
    let rt = Rt::virtual_time(1);
    let queue = Queue::new(&rt, Rc::new(RamDisk::new(1 << 20)), QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), 1 << 20, calm());
    cache.attach(Rc::new(Plain::default()), Rc::new(Late(shape.to_vec())));
    rt.block_on(async {
        let one = cache.fresh(Key::File(Ino(5), Lbn(0)), Role::Data, None, 4096).await.expect("there is room");
        let two = cache.fresh(Key::File(Ino(5), Lbn(1)), Role::Data, None, 4096).await.expect("there is room");
        for buf in [&one, &two] {
            cache.modify(buf, |bytes| bytes.fill(7));
        }
        let outcome = cache.write_all(vec![one.clone(), two.clone()]).await;
        (outcome, [one.is_dirty(), two.is_dirty()], cache.clone())
    })
}

#[test]
fn a_batch_with_all_that_is_wanted_is_one_write_and_leaves_nothing_dirty() {
    let (outcome, dirty, cache) = written(&[(0, 0), (1, 4096)]);
    assert!(outcome.is_ok() && dirty == [false, false], "{outcome:?}");
    assert!(cache.is_settled() && cache.health().sound().is_ok());
}

#[test]
fn a_batch_with_a_defect_takes_no_buf_and_the_volume_is_read_only() {
    // A buf twice; bufs that overlap; a buf that ends behind the batch; a buf left out.
    for shape in [&[(0, 0), (0, 4096)][..], &[(0, 0), (1, 2048)], &[(0, 0), (1, 6144)], &[(0, 0)]] {
        let (outcome, dirty, cache) = written(shape);
        assert!(matches!(outcome, Err(Error::Bug(_))), "{shape:?}: {outcome:?}");
        assert!(dirty[1] && (dirty[0] || shape.len() == 1), "{shape:?}: a buf without a write counts as clean");
        assert!(cache.health().sound().is_err(), "{shape:?}: pointers lead to what was not written");
    }
}

/// Gives each buf a batch of its own, 64 KiB apart, so that none are merged.
#[derive(Default)]
struct Apart {
    cache: RefCell<std::rc::Weak<Cache>>,
    sent: Cell<u64>,
    /// The buf that leads to all others: it is changed with them, and leaves in a batch before theirs.
    leader: RefCell<Option<BufRef>>,
    /// Before a buf of this block is shaped, this is read.
    reads: Cell<Option<(i64, Want)>>,
}

impl Apart {
    fn batch(&self, cache: &Cache, buf: &BufRef) -> Batch {
        self.sent.set(self.sent.get() + 1);
        let at = DiskOff(self.sent.get() * 65536);
        cache.place(buf, at);
        Batch { at, len: buf.len(), kind: Role::Data, bufs: vec![(buf.clone(), 0)] }
    }
}

impl Home for Apart {
    fn place(&self, _: &Buf) -> Option<DiskOff> {
        None
    }

    fn seal(&self, _: &Buf, _: &mut [u8]) {}

    fn prepare(&self, wanted: &[BufRef]) -> crate::Boxed<'static, Result<()>> {
        let cache = self.cache.borrow().upgrade().expect("the cache writes");
        let read =
            self.reads.get().filter(|(lbn, _)| wanted.iter().any(|buf| buf.key() == Key::File(Ino(5), Lbn(*lbn))));
        Box::pin(async move {
            match read {
                Some((_, want)) => cache.read(want).await.map(drop),
                None => Ok(()),
            }
        })
    }

    fn shape(&self, wanted: &[BufRef], _: &dyn Fn(&BufRef) -> bool) -> Result<Vec<Batch>> {
        let cache = self.cache.borrow().upgrade().expect("the cache writes");
        let leader = self.leader.borrow().clone();
        let leader = leader.inspect(|leader| cache.modify(leader, |bytes| bytes.fill(9)));
        Ok(leader.iter().chain(wanted).map(|buf| self.batch(&cache, buf)).collect())
    }
}

fn apart(rt: &Rt, disk: Rc<dyn Disk>, bytes: usize) -> (Rc<Cache>, Rc<Apart>) {
    let queue = Queue::new(rt, disk, QueueOptions::default());
    let cache = Cache::new(rt.clone(), queue, Health::default(), bytes, calm());
    let home = Rc::new(Apart::default());
    *home.cache.borrow_mut() = Rc::downgrade(&cache);
    cache.attach(Rc::new(Plain::default()), home.clone());
    (cache, home)
}

async fn dirty(cache: &Rc<Cache>, lbn: i64) -> BufRef {
    let buf = cache.fresh(Key::File(Ino(5), Lbn(lbn)), Role::Data, None, 4096).await.expect("there is room");
    cache.modify(&buf, |bytes| bytes.fill(7));
    buf
}

/// batch-6: what leads to a buf is in another batch, which the disk completes later.
#[test]
fn a_buf_is_durable_when_the_batch_with_what_leads_to_it_is() {
    for all in [false, true] {
        let rt = Rt::virtual_time(1);
        let ram = RamDisk::new(1 << 20).volatile(true);
        let disk = Laggard { ram: ram.clone(), rt: rt.clone(), first: Cell::new(true) };
        let (cache, home) = apart(&rt, Rc::new(disk), 1 << 20);
        rt.block_on(async {
            let leader = cache.fresh(Key::File(Ino(5), Lbn(-12)), Role::Indirect, None, 4096).await;
            *home.leader.borrow_mut() = Some(leader.expect("there is room"));
            let buf = dirty(&cache, 0).await;
            let outcome = if all { cache.write_all(vec![buf]).await } else { cache.write(&buf).await };
            outcome.expect("the disk is well");
        });
        ram.power_cut();
        assert_eq!((on_disk(&ram, 65536), on_disk(&ram, 2 * 65536)), (9, 7), "the leader, and the buf");
    }
}

/// batch-6: a batch of other bufs, sent before, is not on the disk; a recovery would stop in front of it.
#[test]
fn a_buf_is_durable_when_the_batches_before_its_own_are() {
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20).volatile(true);
    let disk = Laggard { ram: ram.clone(), rt: rt.clone(), first: Cell::new(true) };
    let (cache, _home) = apart(&rt, Rc::new(disk), 1 << 20);
    rt.block_on(async {
        let other = dirty(&cache, 0).await;
        cache.write_soon(std::slice::from_ref(&other));
        rt.sleep(Duration::from_millis(1)).await;
        let buf = dirty(&cache, 1).await;
        cache.write(&buf).await.expect("the disk is well");
    });
    ram.power_cut();
    assert_eq!((on_disk(&ram, 65536), on_disk(&ram, 2 * 65536)), (7, 7));
}

/// batch-6, batch-7: a batch without bufs is no exception.
#[test]
fn a_buf_is_durable_when_the_layouts_own_batches_before_it_are_and_not_if_one_fails() {
    let own = Batch { at: DiskOff(9 * 65536), len: 4096, kind: Role::Data, bufs: Vec::new() };
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20).volatile(true);
    let disk = Laggard { ram: ram.clone(), rt: rt.clone(), first: Cell::new(true) };
    let (cache, _home) = apart(&rt, Rc::new(disk), 1 << 20);
    rt.block_on(async {
        cache.send_own(&own, Block::copy_of(&[5; 4096]));
        rt.sleep(Duration::from_millis(1)).await;
        let buf = dirty(&cache, 0).await;
        cache.write(&buf).await.expect("the disk is well");
    });
    ram.power_cut();
    assert_eq!((on_disk(&ram, 9 * 65536), on_disk(&ram, 65536)), (5, 7));

    let disk = Failing::new(RamDisk::new(1 << 20), Some((DiskOp::Write, 1)));
    let (cache, _home) = apart(&rt, disk, 1 << 20);
    rt.block_on(async {
        cache.send_own(&own, Block::copy_of(&[5; 4096]));
        rt.sleep(Duration::from_millis(1)).await;
        assert!(cache.health().sound().is_err(), "the log has a gap");
        let later = dirty(&cache, 1).await;
        assert!(cache.write(&later).await.is_err(), "it is behind the gap");
    });
}

/// batch-7: all of it is contents, for which a failed write does not make the volume read-only.
#[test]
fn a_batch_that_fails_makes_the_volume_read_only_and_no_later_buf_durable() {
    let rt = Rt::virtual_time(1);
    let disk = Failing::new(RamDisk::new(1 << 20), Some((DiskOp::Write, 1)));
    let (cache, _home) = apart(&rt, disk, 1 << 20);
    rt.block_on(async {
        let lost = dirty(&cache, 0).await;
        cache.write_soon(std::slice::from_ref(&lost));
        rt.sleep(Duration::from_millis(1)).await;
        assert!(lost.is_dirty() && cache.health().sound().is_err(), "the log has a gap");
        let later = dirty(&cache, 1).await;
        assert!(cache.write(&later).await.is_err(), "it is behind the gap");
    });
}

/// The caller that makes room holds what the batch waits for, or is the batch itself.
#[test]
fn a_batch_that_reads_into_a_full_cache_ends() {
    let rt = Rt::virtual_time(1);
    let (cache, home) = apart(&rt, Rc::new(RamDisk::new(1 << 20)), 8 * 4096);
    home.reads.set(Some((0, Want { key: Key::Device(FragNo(9)), role: Role::Indirect, addr: DiskOff(0), len: 4096 })));
    rt.block_on(async {
        let mut bufs = Vec::new();
        for lbn in 0..8 {
            bufs.push(dirty(&cache, lbn).await);
        }
        cache.write_all(bufs).await.expect("the disk is well");
    });
}

/// What one buf needs cannot be read; the others are written all the same.
#[test]
fn a_buf_that_cannot_be_prepared_keeps_no_other_from_the_disk() {
    let rt = Rt::virtual_time(1);
    let disk = Failing::new(RamDisk::new(1 << 20), Some((DiskOp::Read, u64::MAX)));
    let (cache, home) = apart(&rt, disk, 1 << 20);
    home.reads.set(Some((0, Want { key: Key::Device(FragNo(9)), role: Role::Indirect, addr: DiskOff(0), len: 4096 })));
    rt.block_on(async {
        let (bad, good) = (dirty(&cache, 0).await, dirty(&cache, 1).await);
        assert!(cache.write_all(vec![bad.clone(), good.clone()]).await.is_err());
        assert!(bad.is_dirty() && good.is_durable() && cache.health().sound().is_ok());
        cache.discard(&bad);
        cache.write_everything().await.expect("what is left can be written");
    });
}

/// A reader waits for room and knows an address. Meanwhile another task reads the buf, changes it, writes it to another
/// place, and the cache evicts it.
#[test]
fn a_reader_that_waits_for_room_does_not_read_a_place_that_the_buf_has_left() {
    let rt = Rt::virtual_time(1);
    let ram = RamDisk::new(1 << 20);
    let disk = Laggard { ram, rt: rt.clone(), first: Cell::new(true) };
    let (cache, _home) = apart(&rt, Rc::new(disk), 2 * 4096);
    let want = |lbn| Want { addr: DiskOff(lbn as u64 * 4096), ..data(lbn) };
    rt.block_on(async {
        dirty(&cache, 1).await;
        let pinned = cache.read(want(2)).await.expect("the disk is well");
        let (reader, early) = (cache.clone(), Rc::new(RefCell::new(None)));
        let found = early.clone();
        rt.spawn(async move { *found.borrow_mut() = Some(reader.read(want(3)).await) });
        rt.sleep(Duration::from_millis(1)).await;
        assert!(early.borrow().is_none(), "it waits until block 1 is written");
        drop(pinned);
        let buf = cache.read(want(3)).await.expect("the disk is well");
        cache.modify(&buf, |bytes| bytes[0] = 7);
        cache.write(&buf).await.expect("the disk is well");
        drop(buf);
        cache.read(want(4)).await.expect("the disk is well");
        rt.sleep(Duration::from_secs(2)).await;
        let buf = early.borrow_mut().take().expect("there is room").expect("the disk is well");
        assert_eq!(buf.bytes()[0], 7, "an old state");
    });
}
