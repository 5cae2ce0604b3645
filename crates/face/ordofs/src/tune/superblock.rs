//! A change of the superblock of a volume that is not mounted.

use super::error::TuneError;
use crate::located::locate_on;
use crate::sectors::put;
use ordo_disk::{Disk, Kind};
use ordo_ondisk::superblock::fields::SbFields;
use ordo_rt::Rt;
use std::rc::Rc;

/// Changes the superblock on the disk, durably.
pub(super) fn change_superblock(
    rt: &Rt,
    disk: &Rc<dyn Disk>,
    change: impl FnOnce(&mut SbFields),
) -> Result<(), TuneError> {
    let mut sb = locate_on(rt, disk.clone())?.found.into_ufs()?.superblock;
    let before = sb.fields.clone();
    change(&mut sb.fields);
    if sb.fields == before {
        return Ok(());
    }
    let (at, bytes) = (sb.at, sb.encode(rt.wall().0));
    let disk = disk.clone();
    rt.block_on(async move {
        put(&disk, at, &bytes, Kind::Superblock).await?;
        disk.flush().await
    })?;
    Ok(())
}
