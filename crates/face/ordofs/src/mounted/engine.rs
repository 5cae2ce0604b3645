//! What is under and around every layout: queue, cache, the calls, and the tasks in the background.

use crate::{MountOptions, Notice};
use ordo_buf::{Cache, Health, Policy, Trouble};
use ordo_disk::{Queue, QueueOptions};
use ordo_rt::Rt;
use ordo_ufs::{Atime, Layout, Ufs};
use std::rc::Rc;

/// The queue of a disk.
pub(super) fn queue(options: &MountOptions) -> QueueOptions {
    QueueOptions {
        volatile_cache: options.volatile_cache,
        scheduler: options.policy.scheduler,
        max_merge: (!options.policy.merge).then_some(0),
        within_call: options.policy.clusters_of_files,
        ..QueueOptions::default()
    }
}

/// The cache; what its health learns becomes a notice.
pub(super) fn cache(rt: &Rt, queue: Queue, health: Health, options: &MountOptions) -> Rc<Cache> {
    let to = options.notices.clone();
    health.watch(move |trouble| {
        to.tell(&match trouble {
            Trouble::ReadOnly(why) => Notice::TurnedReadOnly(why.into()),
            Trouble::Write(why) => Notice::WriteFailed(why.into()),
            Trouble::Uncleaned(why) => Notice::NotCleaned(why.into()),
        });
    });
    let policy = Policy { syncer: options.syncer(), batch: options.policy.batch.max(1), ..options.policy };
    Cache::new(rt.clone(), queue, health, options.cache, policy)
}

/// The calls over a layout, and what runs beside them.
pub(super) fn start<L: Layout>(cache: &Rc<Cache>, layout: L, options: &MountOptions) -> Rc<Ufs<L>> {
    let atime = if options.noatime { Atime::Never } else { Atime::Relative };
    let fs = Rc::new(Ufs::new(layout, atime));
    cache.rt().spawn(Cache::run_syncer(Rc::downgrade(cache)));
    cache.rt().spawn(Ufs::run_upkeep(Rc::downgrade(&fs)));
    fs
}
