//! The logs of a volume at mount time: replayed after a crash, and started anew for a scheme that keeps one.

use crate::located::{Located, located_again};
use crate::{Notice, Notices, OpenError};
use ordo_active::Active;
use ordo_buf::{InStream, KeepsLog, LogFile, LogKind, Scheme};
use ordo_disk::{DiskOff, KeepsCopies, LogHome, LogStream, Queue};
use ordo_ffs::{MountError, Opening};
use ordo_ondisk::superblock::LogAt;
use ordo_ondisk::superblock::search::Copy;
use ordo_ondisk::{Dialect, Endian, Ino, Superblock};
use ordo_recover::{NotReplayed, Seen, due};
use ordo_rt::Rt;
use std::rc::Rc;

/// Replays the log of a volume that crashed with one. The second value is why it was not replayed; the volume is then
/// unchanged. If it is one that this program must not write to, the replay is done in memory. Nothing is replayed if
/// only a backup superblock, as written by newfs, describes the volume.
pub(crate) async fn replayed(
    rt: &Rt,
    located: Located,
    notices: &Notices,
) -> Result<(Located, Option<NotReplayed>), OpenError> {
    let found = located.found.ufs()?;
    if found.copy != Copy::Primary || due(&found.superblock).is_none() {
        return Ok((located, None));
    }
    match ordo_recover::replay_waiting(rt, located.disk.clone(), located.log.clone()).await {
        Ok(done) => {
            notices.tell(&Notice::Replayed(done));
            Ok((located_again(located).await?, None))
        }
        Err(why @ NotReplayed::Refused(_)) => Ok((as_if_replayed(rt, located, notices).await?.0, Some(why))),
        Err(why) => Ok((located, Some(why))),
    }
}

/// For a mount that may not write: the volume as it will be after its log was replayed. The replay stays in memory. If
/// there is none to do, or it cannot be done, the volume as it is; the second value is then why.
///
/// # Errors
/// A disk fails.
pub(crate) async fn as_if_replayed(
    rt: &Rt,
    located: Located,
    notices: &Notices,
) -> Result<(Located, Option<NotReplayed>), OpenError> {
    let found = located.found.ufs()?;
    if found.copy != Copy::Primary || due(&found.superblock).is_none() {
        return Ok((located, None));
    }
    match ordo_recover::see_replayed(rt, located.disk.clone(), located.log.clone()).await {
        Ok(Seen { disk, log }) => {
            notices.tell(&Notice::ReplayedInMemory);
            Ok((located_again(Located { disk, log, ..located }).await?, None))
        }
        Err(why) => Ok((located, Some(why))),
    }
}

/// Why the volume is mounted read-only, in words.
pub(crate) fn why(gate: &MountError, not_replayed: Option<NotReplayed>) -> String {
    match not_replayed {
        Some(why @ NotReplayed::LogElsewhere) => format!("{why}; name it with log=PATH, or mount the volume read-only"),
        Some(why @ NotReplayed::LogInStream) => format!("{why}, or log= of a mount; or mount the volume read-only"),
        Some(NotReplayed::Refused(why)) => why.to_string(),
        Some(why) => format!("the journal was not replayed: {why}; run fsck, or mount the volume read-only"),
        None => gate.to_string(),
    }
}

/// Where the log of this mount is to be, and the scheme that keeps it.
pub(crate) struct PlaceForLog {
    log: Rc<dyn KeepsLog>,
    at: LogAt,
    extents: Vec<(DiskOff, u64)>,
    block: u32,
    frag: u32,
    /// The `fs_mtime` that the mount must write.
    stamp: Option<i64>,
    endian: Endian,
    copies: Option<Rc<dyn KeepsCopies>>,
    stream: Option<InStream>,
}

/// The place for the log of a scheme that keeps one. `None` if the scheme keeps none, and if the mount of a dirty
/// volume was forced: no record describes what is wrong with it.
pub(crate) async fn place_for_log(
    rt: &Rt,
    located: &Located,
    scheme: &Rc<dyn Scheme>,
    active: Option<&(Ino, Active)>,
) -> Result<Option<PlaceForLog>, OpenError> {
    let sb = &located.found.ufs()?.superblock;
    let (block, frag, endian) = (sb.geometry().bsize, sb.geometry().fsize, sb.endian);
    let Some(log) = scheme.clone().capabilities().log else { return Ok(None) };
    let kind = log.kind();
    let copies = active.map(|(_, active)| Rc::new(active.clone()) as Rc<dyn KeepsCopies>);
    let takes_stream = log.takes_stream();
    let place =
        |at, extents, stamp| Some(PlaceForLog { log, at, extents, block, frag, stamp, endian, copies, stream: None });
    match kind {
        _ if sb.dialect != Dialect::FreeBsd => Err(OpenError::NoLogThere(scheme.name(), sb.dialect)),
        LogKind::Intents if !sb.features().suj => Err(OpenError::NoJournal(scheme.name())),
        _ if !sb.is_clean() => Ok(None),
        LogKind::Intents => {
            let session =
                ordo_recover::begin_session(rt, located.disk.clone(), sb).await.map_err(OpenError::journal)?;
            Ok(place(LogAt::Nowhere, session.extents, Some(session.stamp)))
        }
        LogKind::Active => {
            let (ino, active) = active.ok_or(OpenError::NoActive(scheme.name()))?;
            Ok(place(LogAt::File(*ino), vec![active.journal()], None))
        }
        LogKind::Redo => {
            match &located.log {
                Some(LogHome::Disk(disk)) => {
                    let info = disk.info();
                    let whole = info.size / u64::from(info.sector) * u64::from(info.sector);
                    return Ok(place(LogAt::Elsewhere, vec![(DiskOff(0), whole)], None));
                }
                Some(LogHome::Stream(_)) if !takes_stream => return Err(OpenError::NotInStream(scheme.name())),
                Some(LogHome::Stream(stream)) => {
                    let stream = Some(in_stream(stream, sb, located));
                    return Ok(place(LogAt::Stream, Vec::new(), None).map(|place| PlaceForLog { stream, ..place }));
                }
                None => {}
            }
            let found = ordo_recover::place_of_log(rt, located.disk.clone(), sb).await.map_err(OpenError::log)?;
            let found = found.ok_or(OpenError::NoLog(scheme.name()))?;
            Ok(place(LogAt::File(found.ino), found.extents, None))
        }
    }
}

/// The log in a stream, and what the volume, which is clean, knows of the one before.
fn in_stream(stream: &LogStream, sb: &Superblock, located: &Located) -> InStream {
    let keeper = sb.keeper().filter(|(keeper, _)| keeper.log == LogAt::Stream);
    let [high, low] = sb.fields.id;
    InStream {
        stream: stream.clone(),
        volume: u64::from(high) << 32 | u64::from(low),
        before: keeper.as_ref().map(|(keeper, _)| keeper.id),
        untouched: keeper.is_some_and(|(_, untouched)| untouched),
        // What a snapshot keeps is copied below every log.
        all_logged: !located.disk.keeps_snapshots(),
    }
}

/// Starts the log, and stores in `opening` what the superblock must record about it.
pub(crate) async fn begin_log(place: PlaceForLog, on: Queue, opening: &mut Opening) -> Result<(), OpenError> {
    let PlaceForLog { log, at, extents, block, frag, stamp, endian, copies, stream } = place;
    (opening.stamp, opening.keeper.log) = (stamp, at);
    let file = LogFile { on, extents, block, frag, stamp: stamp.unwrap_or(0), endian, copies, stream };
    opening.keeper.id = log.begin_log(file).await?;
    Ok(())
}
