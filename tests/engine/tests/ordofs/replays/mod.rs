//! The replays of other systems' logs: NetBSD's (WAPBL), in logs that these tests make byte by byte, because no volume
//! with one in use was at hand; and FreeBSD's journal of soft updates as a reader sees it.

use crate::common;
mod cut;
mod hostile;
mod log;
mod nameless;
mod replay;
mod suj;
mod volumes;

use ordo_recover::{NotReplayed, Replayed};
use ordofs::disk::{Disk, RamDisk};
use ordofs::rt::Rt;
use std::rc::Rc;

/// Replays the log on the disk, as a mount does.
fn replay(rt: &Rt, disk: &RamDisk) -> Result<Replayed, NotReplayed> {
    let disk: Rc<dyn Disk> = Rc::new(disk.clone());
    rt.block_on(ordo_recover::replay_waiting(rt, disk, None))
}

/// Replays it, and asserts that the volume is whole and clean then.
fn replayed(rt: &Rt, disk: &RamDisk, what: &str) -> Replayed {
    let done = replay(rt, disk).unwrap_or_else(|why| panic!("{what}: {why}"));
    common::assert_clean(rt, disk, what);
    done
}
