//! What is under and around every layout: queue, cache, the calls, and the tasks in the background.

use crate::{Engine, MountOptions, Notice};
use ordo_buf::{Cache, CacheOptions, Health, Trouble};
use ordo_disk::{Queue, QueueOptions};
use ordo_rt::Rt;
use ordo_ufs::{Atime, Layout, Ufs};
use std::rc::Rc;

/// The queue of a disk.
pub(super) fn queue(options: &MountOptions) -> QueueOptions {
    QueueOptions {
        volatile_cache: options.volatile_cache,
        scheduler: options.engine.scheduler,
        max_merge: (!options.engine.merge).then_some(0),
        within_call: options.engine.clusters_of_files,
        ..QueueOptions::default()
    }
}

/// The cache; what its health learns becomes a notice.
pub(super) fn cache(rt: &Rt, queue: Queue, health: Health, options: &MountOptions) -> Rc<Cache> {
    let (engine, to) = (&options.engine, options.notices.clone());
    health.watch(move |trouble| {
        to.tell(&match trouble {
            Trouble::ReadOnly(why) => Notice::TurnedReadOnly(why.into()),
            Trouble::Write(why) => Notice::WriteFailed(why.into()),
            Trouble::Uncleaned(why) => Notice::NotCleaned(why.into()),
        });
    });
    let mut cache =
        CacheOptions { syncer: options.syncer(), batch: engine.batch.max(1), ..CacheOptions::of_size(options.cache) };
    cache.dirty_bytes = engine.dirty.unwrap_or(cache.dirty_bytes);
    cache.counts = engine.counts;
    cache.spare = engine.spare;
    Cache::new(rt.clone(), queue, health, cache)
}

/// The calls over a layout, and what runs beside them.
pub(super) fn start<L: Layout>(cache: &Rc<Cache>, layout: L, options: &MountOptions) -> Rc<Ufs<L>> {
    let atime = if options.noatime { Atime::Never } else { Atime::Relative };
    let Engine { read_ahead, cluster, reallocates, clusters_of_files, .. } = options.engine;
    let how = ordo_ufs::Options { atime, read_ahead, cluster, reallocates, clusters_of_files };
    let fs = Rc::new(Ufs::new(layout, how));
    cache.rt().spawn(Cache::run_syncer(Rc::downgrade(cache)));
    cache.rt().spawn(Ufs::run_upkeep(Rc::downgrade(&fs)));
    fs
}
