//! Mounts a volume as every campaign does.

use crate::Error;
use crate::disks::Disks;
use crate::order::Order;
use ordo_disk::RamDisk;
use ordo_rt::Rt;
use ordo_schemes::Settings;
use ordofs::{Located, MountOptions, Mounted, Policy, Syncer};
use std::time::Duration;

/// As on a mount, but with a syncer that promises nothing, as the papers' systems had it: a recording must also hold
/// late writes and writes in no order.
pub(crate) fn policy() -> Policy {
    Policy { syncer: Syncer::Age(Duration::from_secs(30)), near_head: Some(true), ..Policy::default() }
}

/// Mounts the volume on `ram` in this order, through `disks`.
pub(crate) fn mount(
    rt: &Rt,
    ram: &RamDisk,
    disks: Disks,
    order: impl Into<Order>,
    read_only: bool,
) -> Result<Mounted, Error> {
    let (log, disk) = (disks.home(), disks.volume);
    let size = disk.info().size;
    let mut read = |at: ordo_ondisk::ByteOff, bytes: &mut [u8]| {
        ram.peek(at.0, bytes);
        Ok(())
    };
    let found = ordofs::find(&mut read, size);
    let found = found.map_err(|error| Error::Mount(error.to_string()))?;
    let options =
        MountOptions { cache: 64 << 20, noatime: true, read_only, policy: policy(), ..MountOptions::default() };
    let located = Located { found, disk, log, claim: None };
    let mounted = match order.into() {
        Order::Scheme(scheme) => rt.block_on(Mounted::mount_with(rt, located, scheme, &options)),
        Order::Log { without, around } => {
            let options = MountOptions { settings: Settings { without, ..Settings::default() }, ..options };
            rt.block_on(Mounted::mount_lfs(rt, located, &options, around))
        }
    };
    mounted.map_err(|error| Error::Mount(error.to_string()))
}

/// Segments of a log-structured volume that became usable again since the mount.
pub(crate) fn cleaned_by(mounted: &Mounted) -> u64 {
    mounted.lfs().map_or(0, |log| log.counters.segments_cleaned)
}
