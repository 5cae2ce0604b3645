//! `async`: no order. Every write is delayed, nothing is awaited, and whatever was freed can be reused at once.
//!
//! The upper bound for every other scheme, and the only one that a power cut may ruin: a block may belong to two files,
//! a name to none. A file made and removed before the syncer runs costs no write at all.

use ordo_buf::{Answer, Cache, CrashLeaves, Durable, Must, Op, Promises, Scheme, Step};
use std::rc::Rc;

/// The scheme `async`.
pub struct NoOrder;

impl Scheme for NoOrder {
    fn name(&self) -> &'static str {
        "async"
    }

    fn declares(&self) -> Promises {
        Promises {
            name_added: Durable::AfterSync,
            name_removed: Durable::AfterSync,
            data: Durable::AfterFsync,
            attributes: Durable::AfterFsync,
            fsync_covers_name: false,
            rename_never_loses: false,
            names_of_a_moment: false,
            durable_stays: false,
            crash_leaves: CrashLeaves::Anything,
            no_stale_data: false,
            mount_at_once: false,
            rules: Vec::new(),
        }
    }

    fn step(&self, _cache: &Rc<Cache>, _op: Op, step: Step<'_>) -> Answer {
        Answer { must: Must::Nothing, ripe: step.into_ticket() }
    }
}
