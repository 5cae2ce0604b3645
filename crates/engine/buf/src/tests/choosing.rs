//! Which bufs are written in place of one that should wait for others.

use super::{Bench, bench, calm, data};
use crate::{BufRef, Cache, Key, Policy};
use ordo_ondisk::Lbn;
use std::time::Duration;

/// Consecutive dirty bufs; the first should wait for all the others.
async fn row(b: &Bench, len: i64) -> Vec<BufRef> {
    let mut row = Vec::new();
    for lbn in 0..len {
        let buf = b.cache.read(data(lbn)).await.expect("the disk is well");
        b.cache.modify(&buf, |bytes| bytes[0] = 1);
        row.push(buf);
    }
    *b.scheme.waits.borrow_mut() = Some((row[0].key(), row[1..].to_vec()));
    row
}

fn lbns(bufs: &[BufRef]) -> Vec<i64> {
    let lbn = |buf: &BufRef| match buf.key() {
        Key::File(_, Lbn(lbn)) => lbn,
        Key::Device(_) | Key::Inode(_) => -1,
    };
    bufs.iter().map(lbn).collect()
}

#[test]
fn no_more_leave_in_the_place_of_one_than_were_asked_for() {
    let b = bench(calm(), None);
    b.rt.block_on(async {
        let row = row(&b, 20).await;
        let sent = b.cache.write_choosing(vec![row[0].clone(), row[19].clone()], 4);
        assert_eq!(lbns(&sent), [19, 1, 2, 3]);
        assert!(row[0].is_dirty() && row[4].is_dirty());
    });
}

#[test]
fn one_that_waits_is_met_again_after_the_others_by_who_needs_room_and_in_its_time_by_the_syncer() {
    let b = bench(calm(), None);
    b.rt.block_on(async {
        let row = row(&b, 3).await;
        let take = |age, most| lbns(&b.cache.inner.borrow_mut().dirty.take_older(b.rt.now(), age, most));
        assert_eq!(take(Duration::ZERO, 1), [0]);
        assert_eq!(lbns(&b.cache.write_choosing(vec![row[0].clone()], 0)), [] as [i64; 0]);
        assert_eq!(take(Duration::ZERO, 1), [1]);
        assert_eq!(take(Duration::ZERO, 9), [2, 0]);
        b.cache.write_choosing(vec![row[0].clone()], 0);
        assert_eq!(take(Duration::from_secs(60), 9), [] as [i64; 0]);
        b.rt.sleep(Duration::from_secs(1)).await;
        assert_eq!(take(Duration::from_secs(60), 9), [0]);
    });
}

#[test]
fn the_syncer_does_not_write_all_that_one_waits_for_at_once() {
    let b = bench(Policy { batch: 4, ..calm() }, None);
    b.rt.spawn(Cache::run_syncer(std::rc::Rc::downgrade(&b.cache)));
    b.rt.block_on(async {
        let one = b.cache.read(data(0)).await.expect("the disk is well");
        b.cache.modify(&one, |bytes| bytes[0] = 1);
        b.rt.sleep(Duration::from_secs(20)).await;
        let row = row(&b, 20).await;
        b.rt.sleep(Duration::from_millis(11_500)).await;
        let dirty = row[1..].iter().filter(|buf| buf.is_dirty()).count();
        assert!((9..19).contains(&dirty), "{dirty} of 19 are left, and the first has been met once or twice");
    });
}
