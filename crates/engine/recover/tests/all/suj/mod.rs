//! Replay of the soft updates journal: possible states after a crash, made by hand, with their records.

mod blocks;
mod build;
mod cut;
mod hostile;
mod journal;
mod renames;
mod scenes;

use crate::common;
use build::Journaled;
use ordo_fsck::{Journal, Mode};
use ordo_recover::{NotReplayed, Replayed};
use std::rc::Rc;

/// Replays the journal, as a mount would.
fn replay(volume: &Journaled) -> Result<Replayed, NotReplayed> {
    let rt = ordo_rt::Rt::virtual_time(1);
    let (inner, disk): (ordo_rt::Rt, Rc<dyn ordo_disk::Disk>) = (rt.clone(), Rc::new(volume.disk.clone()));
    rt.block_on(async move { ordo_recover::replay_suj(&inner, disk).await })
}

/// Replays the journal; afterwards a full check finds nothing at all.
fn replayed(volume: &Journaled, what: &str) -> Replayed {
    let done = replay(volume).unwrap_or_else(|why| panic!("{what}: {why}"));
    let check = common::run(&volume.disk, Mode::Check).expect(what);
    assert!(check.count() == 0 && check.clean, "{what}:\n{}", common::told(&check));
    done
}

/// What a preen reports of the journal. It leaves a consistent volume in any case.
fn preened(volume: &Journaled, what: &str) -> Option<Journal> {
    let report = common::run(&volume.disk, Mode::Preen).expect(what);
    assert!(report.clean, "{what}:\n{}", common::told(&report));
    let check = common::run(&volume.disk, Mode::Check).expect(what);
    assert_eq!(check.count(), 0, "{what}:\n{}", common::told(&check));
    report.journal
}
