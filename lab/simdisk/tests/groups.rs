//! A log on a modelled drive: commits that share a write, and what they gain.

use ordo_disk::{Counted, DiskOff, Queue, QueueOptions};
use ordo_rt::Rt;
use ordo_wafs::{Log, MakeOptions, Mode, MountOptions, Place};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

/// Writes and flushes of `clients` tasks that commit `each` records.
fn requests(mode: Mode, clients: usize, each: usize) -> (u64, u64, Duration) {
    let rt = Rt::virtual_time(3);
    let slow = ordo_drive::Profile::named("nearline_sata_7200").unwrap();
    let (disk, requests) = Counted::count(Rc::new(ordo_simdisk::SimDisk::new(&rt, slow)));
    let queue = Queue::new(&rt, disk, QueueOptions::default());
    let place = Place::new(&queue, &[(DiskOff(0), 1 << 22)]).unwrap();
    rt.block_on(async {
        Log::make(&place, MakeOptions { unit: Some(512), zero: false }).await.unwrap();
        let log = Log::mount(place, MountOptions { mode }).await.unwrap();
        let (before, began) = (requests.get(), rt.now());
        let left = Rc::new(Cell::new(clients));
        let done = Rc::new(ordo_rt::sync::Notify::new());
        for _ in 0..clients {
            let (log, left, done) = (log.clone(), left.clone(), done.clone());
            rt.spawn(async move {
                for _ in 0..each {
                    let lsn = log.commit(&[9; 100]).await.unwrap();
                    assert!(log.mode() == Mode::Async || log.durable() > lsn);
                }
                left.set(left.get() - 1);
                done.notify_one();
            });
        }
        while left.get() > 0 {
            done.notified().await;
        }
        let after = requests.get();
        (after.writes - before.writes, after.flushes - before.flushes, rt.now().since(began))
    })
}

#[test]
fn a_group_shares_a_write_and_single_ones_do_not() {
    let (writes, _, alone) = requests(Mode::Sync, 8, 10);
    assert_eq!(writes, 80);
    let (writes, _, grouped) = requests(Mode::GROUP, 8, 10);
    assert!(writes <= 22, "{writes}");
    assert!(grouped * 3 < alone, "{grouped:?} {alone:?}");
    let (writes, ..) = requests(Mode::Group { linger: Duration::from_millis(1) }, 8, 10);
    assert_eq!(writes, 10);
    let (writes, flushes, _) = requests(Mode::Async, 8, 10);
    assert_eq!((writes, flushes), (0, 0));
}
