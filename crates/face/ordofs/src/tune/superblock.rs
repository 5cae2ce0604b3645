//! A change of the superblock of a volume that is not mounted. It is written through the active disk while that has a
//! map that counts, which stays then: nothing that the map knows has changed behind it.

use super::error::TuneError;
use crate::OpenError;
use crate::active::made_durable;
use crate::located::locate_on;
use crate::sectors::put;
use ordo_disk::{Disk, DiskError, Kind};
use ordo_ondisk::{ByteOff, Superblock};
use ordo_rt::Rt;
use std::rc::Rc;

/// What becomes of the map of an active journal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Map {
    /// Nothing that it knows changes but the superblock.
    Stays,
    /// More of the volume changes, without the active disk.
    IsVoid,
}

/// Changes the superblock on the disk, durably.
pub(super) fn change_superblock(
    rt: &Rt,
    disk: &Rc<dyn Disk>,
    map: Map,
    change: impl FnOnce(&mut Superblock),
) -> Result<(), TuneError> {
    let mut sb = locate_on(rt, disk.clone())?.found.into_ufs()?.superblock;
    let before = sb.fields.clone();
    let keeper = sb.keeper().filter(|_| map == Map::Stays && sb.has_live_map());
    let options = ordo_active::Options::default();
    let active = match keeper {
        Some(_) => rt.block_on(ordo_recover::active_disk(rt, disk.clone(), &sb, options)).map_err(OpenError::active)?,
        None => None,
    };
    change(&mut sb);
    if sb.fields == before {
        return Ok(());
    }
    let (at, now) = (sb.at, rt.wall().0);
    let (Some((keeper, _)), Some((_, active))) = (keeper, active) else {
        let bytes = sb.encode(now);
        return Ok(rt.block_on(durably(disk.clone(), at, &bytes))?);
    };
    let bytes = sb.encode_kept(now, &keeper);
    rt.block_on(async {
        durably(Rc::new(active.clone()), at, &bytes).await?;
        Ok(made_durable(&active).await?)
    })
}

async fn durably(disk: Rc<dyn Disk>, at: ByteOff, bytes: &[u8]) -> Result<(), DiskError> {
    put(&disk, at, bytes, Kind::Superblock).await?;
    disk.flush().await
}
