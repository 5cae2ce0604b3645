//! The journal of soft updates at a mount: replayed where a crash left it, and begun anew for a scheme that keeps it.

use crate::OpenError;
use crate::image::{Located, located_again};
use buf::{LogFile, Scheme};
use ffs::MountError;
use fsck::NotReplayed;
use rt::Rt;

/// A volume that a crash left with a journal, after its replay. The second is why there was none; the volume is as it was
/// then.
pub(crate) async fn replayed(rt: &Rt, located: Located) -> Result<(Located, Option<NotReplayed>), OpenError> {
    let sb = &located.found.superblock;
    let on = sb.features();
    if sb.is_clean() || !on.suj || on.needs_fsck {
        return Ok((located, None));
    }
    match fsck::replay(rt, located.disk.clone()).await {
        Ok(_) => Ok((located_again(located).await?, None)),
        Err(why) => Ok((located, Some(why))),
    }
}

/// Why the volume is mounted read-only, in words.
pub(crate) fn why(gate: &MountError, not_replayed: Option<NotReplayed>) -> String {
    match not_replayed {
        Some(why) => format!("the journal was not replayed: {why}; run fsck, or mount the volume read-only"),
        None => gate.to_string(),
    }
}

/// The file for the log of a scheme that keeps one, made ready for this mount. `None` where the scheme keeps none, and on
/// a volume that was forced: what is wrong with it no record tells.
pub(crate) async fn log_of(rt: &Rt, located: &Located, scheme: &dyn Scheme) -> Result<Option<LogFile>, OpenError> {
    if !scheme.wants_log() {
        return Ok(None);
    }
    let sb = &located.found.superblock;
    if !sb.features().suj {
        return Err(OpenError::NoJournal(scheme.name()));
    }
    if !sb.is_clean() {
        return Ok(None);
    }
    let session = fsck::begin_session(rt, located.disk.clone(), sb).await.map_err(OpenError::Journal)?;
    let fsck::Session { extents, block, stamp, endian } = session;
    Ok(Some(LogFile { extents, block, stamp, endian }))
}
