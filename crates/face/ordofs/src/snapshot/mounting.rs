//! Which volumes get their snapshots kept while they are mounted for writing, or repaired.

use super::keep::{Keeping, What, over};
use super::kept::listed;
use crate::found::Found;
use crate::located::{Located, located_again, superblock_at};
use crate::{OpenError, SnapshotError};
use ordo_buf::{LogKind, Scheme};
use ordo_disk::Disk;
use ordo_ondisk::Dialect;
use ordo_ondisk::superblock::search::Copy;
use ordo_rt::Rt;
use std::rc::Rc;

/// Logs with which a volume with snapshots is not written to. The journal of soft updates may free blocks that FreeBSD
/// had given to a snapshot; the active journal is in each group, and writes beside the queue.
const NOT_WITH: [LogKind; 2] = [LogKind::Intents, LogKind::Active];

/// A volume whose snapshots are kept while it is mounted for writing. A volume of which that is not possible stays as
/// it is, and refuses to be written to.
pub(crate) async fn kept(
    located: Located,
    read_only: bool,
    scheme: &Rc<dyn Scheme>,
) -> Result<(Located, Option<Keeping>), OpenError> {
    let found = located.found.ufs()?;
    let sb = &found.superblock;
    let is_known = sb.dialect == Dialect::FreeBsd && found.copy == Copy::Primary;
    if read_only || listed(sb).is_empty() || !is_known || sb.write_gate_keeping_snapshots().is_err() {
        return Ok((located, None));
    }
    let failed = |error| OpenError::Snapshot(Box::new(error));
    if scheme.clone().capabilities().log_kind().is_some_and(|kind| NOT_WITH.contains(&kind)) {
        return Err(failed(SnapshotError::Scheme(scheme.name())));
    }
    // A crash may have torn the superblock, and a torn one may say that the volume is clean. It is used as it was
    // found; nothing is set aside then, and so it is not read again.
    let mut sb = sb.clone();
    if superblock_at(&located.disk, sb.at).await.is_err() {
        sb.fields.clean = 0;
    }
    let Some(keeping) = Keeping::new(located.disk.clone(), &sb, What::Fill).await.map_err(failed)? else {
        return Ok((located, None));
    };
    let was_clean = sb.is_clean();
    let located = Located { disk: Rc::new(keeping.clone()), ..located };
    let located = if was_clean { located_again(located).await? } else { located };
    Ok((located, Some(keeping)))
}

/// The disk of a volume that is to be repaired: what a repair writes over is copied for the snapshots that are whole.
///
/// # Errors
/// The disk fails.
pub fn kept_in_repair(rt: &Rt, located: &Located) -> Result<Rc<dyn Disk>, SnapshotError> {
    match &located.found {
        Found::Ufs(found) => rt.block_on(over(located.disk.clone(), &found.superblock, What::Whole)),
        Found::Lfs(_) => Ok(located.disk.clone()),
    }
}
