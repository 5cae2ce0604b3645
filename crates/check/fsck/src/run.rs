//! A check from its first read to its last write.
//!
//! The phases run until they find nothing more, because a repair can reveal or cause something that another phase must
//! settle (a cleared pointer makes the file shorter). Each round starts from nothing but the repaired image, so if it
//! finds nothing, the next check will find nothing either.
//!
//! A round in which phases 1 to 4 found and changed nothing is the last, whatever phases 5 and 6 found. From the
//! groups' blocks they read only the number of initialised inodes, and phase 5 writes that number as they read it,
//! under a right hash. They read nothing else that phase 5 writes: a superblock is accepted only if its groups' blocks,
//! inodes and summary array do not overlap, and no pointer of a file leads there. Phase 5 itself copies what it wrote.
//! Phase 6 changes contents of files that no other phase reads, and reads what the others have settled.

use crate::finding::Finding;
use crate::report::{Journal, Report};
use crate::volume::Volume;
use crate::{Error, Mode, Options, lfs, quota};
use ordo_disk::Disk;
use ordo_ondisk::superblock::LogAt;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::{Dialect, Geometry, Refused, Superblock};
use ordo_recover::{
    Crashed, Image, NotReplayed, NowhereRight, Opened, Order, Recover, SuperblockDamage, Verified, Waiting, due, later,
    log_is_due, log_may_be_due,
};
use ordo_rt::Rt;
use std::rc::Rc;

/// Why a log is neither replayed nor given up.
const DOUBTFUL: &str = "the superblock is damaged, and does not tell whether its log still counts";

/// Rounds before the check gives up; damage seen so far takes two to four.
const ROUNDS_MAX: u32 = 12;

/// Checks the volume on `disk`, and repairs it as far as the mode allows.
///
/// # Errors
/// The disk fails, or nothing on it can be used as a superblock.
pub async fn check(rt: &Rt, disk: Rc<dyn Disk>, options: Options) -> Result<Report, Error> {
    if lfs::is_log_structured(&disk).await? {
        return lfs::check(rt, disk, options).await;
    }
    let Options { mode, progress, log, through_log } = options;
    let mut of = match Crashed::open(rt, disk.clone(), log.clone()).await {
        Err(Error::NoSuperblock { .. }) if lfs::has_copy(&disk).await? => {
            let options = Options { mode, progress, log, through_log };
            return lfs::check(rt, disk, options).await;
        }
        of => of?,
    };
    let waiting = due(&of.opened.sb);
    let torn = |damage: &SuperblockDamage| matches!(damage, SuperblockDamage::SuperblockHash { .. });
    let doubtful = waiting.is_none() && log_may_be_due(&of.opened.sb) && of.opened.damage.iter().any(torn);
    let is_elsewhere = log_is_due(&of.opened.sb).is_some_and(|keeper| !matches!(keeper.log, LogAt::File(_)));
    let mut counts = false;
    let journal = match waiting {
        None if doubtful && mode != Mode::Repair => Some(Journal::NotReplayed(DOUBTFUL.into())),
        None => None,
        Some(log) => Some(settle(log, &mut of, (mode, through_log)).await?),
    };
    if let (Mode::Preen, Some(Journal::Replayed(done)), true) = (mode, &journal, of.opened.sb.is_clean()) {
        if !quota::may_have(&of.disk, &of.opened.sb).await {
            return Ok(Report::of_replay(*done));
        }
        // A crash leaves counts behind, and the replay does not know of them.
        of.opened = Opened::find(&of.disk).await?;
        counts = true;
    }
    let Crashed { disk, opened, .. } = of;
    let logged = waiting.is_some_and(|log| log.which().has_contents());
    let clean = opened.sb.is_clean() && journal != Some(Journal::SeenReplayed);
    let mut report = Report { clean, journal, ..Report::default() };
    if mode == Mode::Preen && !counts && opened.damage.is_empty() && may_skip(&opened.sb) {
        return Ok(report);
    }
    report.scanned = true;
    let refused = if mode == Mode::Check { None } else { read_only_variant(&opened.sb) };
    report.refused = refused.map(|refused| match (&refused, &report.journal) {
        (Refused::Wapbl, Some(Journal::NotReplayed(why))) => why.clone(),
        _ => refused.to_string(),
    });
    // What only the log has is missing.
    report.left |= mode == Mode::Check && logged && matches!(report.journal, Some(Journal::NotReplayed(_)));
    if let (Mode::Preen, true, Some(Journal::NotReplayed(why))) = (mode, logged || doubtful, &report.journal) {
        // A repair would lose what is only in the log, and that was not requested.
        let name = if is_elsewhere { "name the log's disk (--log), or " } else { "" };
        report.refused = Some(format!("{why}; {name}give the log up (-y)"));
        report.left = true;
    }
    let was_clean = opened.sb.is_clean();
    // A mount reads through the map: what it would heal is no damage, and what it could not read is.
    let verified = ordo_recover::verified(rt, disk.clone(), &opened.sb, NowhereRight::IsAsItIs).await?;
    // Who repairs gives the map up, and what it has healed in the answers must then be right at home.
    let homes = verified.is_some().then(|| (disk.clone(), opened.sb.clone()));
    let disk = verified.clone().map_or(disk, |verified| Rc::new(verified) as Rc<dyn Disk>);
    let image = Image::new(disk, opened.sb.volume_bytes(), opened.sb.geometry().bsize);
    let mut volume = Volume::new(image, opened.sb, mode, rt.wall().0, report, progress);
    for damage in opened.damage {
        volume.find(damage.into());
    }
    for at in opened.backups {
        let copy = volume.sb.encode_copy(at);
        volume.image.write(at, &copy, Order::Superblock).await?;
    }
    let settled = rounds(&mut volume).await?;
    if let Some(reads @ 1..) = verified.as_ref().map(Verified::unproven) {
        volume.find(Finding::MapOfCopies { reads });
    }
    if let Some((disk, sb)) = homes.filter(|_| will_write(&volume, settled, was_clean)) {
        ordo_recover::heal(rt, disk, &sb).await?;
    }
    finish(volume, settled, was_clean).await
}

/// The log that waits, before the phases: replayed on the disk or in memory, or passed over. `of` is then the volume
/// that is to be checked.
async fn settle(log: &dyn Recover, of: &mut Crashed, (mode, through_log): (Mode, bool)) -> Result<Journal, Error> {
    let which = log.which();
    match mode {
        Mode::Check if !through_log => return Ok(Journal::Waits),
        Mode::Check => {
            return match log.see(of.clone()).await {
                Ok(seen) => {
                    (of.opened, of.disk) = (Opened::find(&seen.disk).await?, seen.disk);
                    Ok(Journal::SeenReplayed)
                }
                Err(why) => Ok(Journal::NotReplayed(why.to_string())),
            };
        }
        Mode::Repair if !which.has_contents() => return Ok(Journal::PassedOver),
        Mode::Preen | Mode::Repair => {}
    }
    let why = match log.replay(of.clone()).await {
        Ok(done) => {
            if mode == Mode::Preen && which != Waiting::Wapbl {
                // The replay has marked it clean, and no phase will read it.
                of.opened.sb.fields.clean = 1;
                return Ok(Journal::Replayed(done));
            }
            // If a full check was requested or is needed, it is one of the volume as it is after the replay.
            of.opened = Opened::find(&of.disk).await?;
            return Ok(Journal::Replayed(done));
        }
        Err(why) => why,
    };
    if let Some(failure) = why.of_disk() {
        return Err(failure.clone().into());
    }
    let sb = &mut of.opened.sb;
    match which {
        // Without the journal file FreeBSD would refuse the volume.
        Waiting::Intents if matches!(why, NotReplayed::Missing) => sb.fields.flags &= !flag::SUJ,
        // The log is given up, unless it is only this program that must not replay it. In the moment before its flag
        // was cleared the volume may have been marked clean.
        Waiting::Wapbl if mode == Mode::Repair && !matches!(why, NotReplayed::Refused(_)) => {
            sb.fields.flags &= !flag::NETBSD_WAPBL;
            sb.fields.clean = 0;
        }
        _ => {}
    }
    Ok(Journal::NotReplayed(why.to_string()))
}

/// Checks rule 7.
fn may_skip(sb: &Superblock) -> bool {
    sb.is_clean() && sb.fields.flags & (flag::NEEDSFSCK | flag::UNCLEAN) == 0
}

/// Volumes that this program reads but never writes; their own system's fsck repairs them.
fn read_only_variant(sb: &Superblock) -> Option<Refused> {
    sb.write_gate().err().filter(|why| {
        matches!(
            why,
            Refused::OldFormat(_)
                | Refused::OldSuperblock
                | Refused::Dialect(_)
                | Refused::Solaris
                | Refused::Wapbl
                | Refused::UnknownFlags(_)
        )
    })
}

/// Runs the phases until a round finds nothing or settles everything; returns whether that happened. A check that
/// writes nothing needs only one round.
async fn rounds(volume: &mut Volume) -> Result<bool, Error> {
    for round in 0..ROUNDS_MAX {
        if round > 0 {
            volume.forget();
        }
        volume.report.rounds = round + 1;
        let only_groups = one_round(volume).await?;
        if volume.found == 0 {
            return Ok(true);
        }
        let stuck = volume.mode == Mode::Preen && volume.manual > 0;
        if volume.mode == Mode::Check || volume.report.refused.is_some() || stuck {
            return Ok(false);
        }
        if only_groups && phase_5_settles(&volume.geo) {
            #[cfg(debug_assertions)]
            {
                volume.forget();
                one_round(volume).await?;
                debug_assert_eq!(volume.found, 0, "findings after those of phase 5 were settled");
            }
            return Ok(true);
        }
    }
    Ok(false)
}

/// Runs all phases; returns whether those before phase 5 neither found nor changed anything.
async fn one_round(volume: &mut Volume) -> Result<bool, Error> {
    let changes = volume.image.changes();
    volume.check_inodes().await?;
    volume.check_names().await?;
    volume.check_connectivity().await?;
    volume.check_links().await?;
    let silent = volume.found == 0 && volume.image.changes() == changes;
    volume.check_groups().await?;
    volume.check_quotas().await?;
    Ok(silent)
}

/// Whether nothing that phase 5 writes can reach what the other phases read. False if the summary array extends into
/// the next group, and for 4.2BSD's groups, where bytes of a map decide whether a group without a magic is of that
/// layout.
fn phase_5_settles(geo: &Geometry) -> bool {
    !geo.old_cg && geo.csaddr.0 % u64::from(geo.fpg) + u64::from(geo.csfrags()) <= u64::from(geo.fpg)
}

/// Whether there are repairs, and the mode allows them.
fn will_write(volume: &Volume, settled: bool, was_clean: bool) -> bool {
    let writes = volume.mode != Mode::Check && settled && volume.report.refused.is_none();
    writes && !(was_clean && volume.report.count() == 0)
}

/// Writes the repairs, if the mode allows it, and marks the volume clean.
async fn finish(mut volume: Volume, settled: bool, was_clean: bool) -> Result<Report, Error> {
    if !will_write(&volume, settled, was_clean) {
        return Ok(volume.report);
    }
    mark_dirty(&mut volume).await?;
    let f = &mut volume.sb.fields;
    f.clean = 0;
    f.flags &= !flag::UNCLEAN;
    (f.pendingblocks, f.pendinginodes) = (0, 0);
    if volume.sb.dialect == Dialect::FreeBsd {
        let f = &mut volume.sb.fields;
        f.flags &= !flag::NEEDSFSCK;
        // The journal of soft updates is valid only with the time at which it was begun.
        (f.sujfree, f.mtime) = (0, later(f.mtime, volume.now));
        // An active journal's map has what was there before the repair. The time alone would not tell that within the
        // same second, and a read would take the repaired bytes for rot.
        volume.sb.forget_keeper();
    }
    write_superblock(&mut volume).await?;
    let before_names = volume.before_names().await?;
    volume.image.flush(&before_names).await?;
    // Last and separately: a torn write must not set the flag without the counts.
    volume.sb.fields.clean = 1;
    write_superblock(&mut volume).await?;
    volume.image.flush_superblock().await?;
    volume.report.repaired();
    volume.report.clean = true;
    Ok(volume.report)
}

/// Marks the volume dirty before the writes, in case the power fails. Only the flag changes: the rest of the superblock
/// must stay even if the write is torn, otherwise a volume with other counts would be taken for clean.
async fn mark_dirty(volume: &mut Volume) -> Result<(), Error> {
    let at = volume.sb.at;
    let mut bytes = vec![0; volume.sb.len_on_disk() as usize];
    volume.image.read(at, &mut bytes).await?;
    let Ok(mut sb) = Superblock::decode_whatever_the_hash(&bytes, at) else { return Ok(()) };
    if sb.is_clean() {
        sb.fields.clean = 0;
        volume.image.write(at, &sb.encode_copy(at), Order::Superblock).await?;
        volume.image.flush_superblock().await?;
    }
    Ok(())
}

async fn write_superblock(volume: &mut Volume) -> Result<(), Error> {
    let (at, bytes) = (volume.sb.at, volume.sb.encode(volume.now));
    volume.image.write(at, &bytes, Order::Superblock).await
}
