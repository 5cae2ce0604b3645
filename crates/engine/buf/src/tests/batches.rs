//! Batches that a layout with a defect shapes: nothing is lost in silence.

use super::*;
use crate::Batch;
use ordo_disk::Kind as Role;
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
    let cache = Cache::new(rt.clone(), queue, Health::default(), CacheOptions::of_size(1 << 20));
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
