//! The journal files, created and removed like other files.

use super::error::TuneError;
use crate::path::Held;
use crate::schemes::{AT_ONCE, Settings};
use crate::{AllocInit, Fs, MountOptions, Mounted, locate_on};
use ordo_disk::Disk;
use ordo_ondisk::superblock::Keeper;
use ordo_ondisk::{Cgx, Superblock, redo, suj};
use ordo_rt::Rt;
use ordo_vfs::{Caller, Error, FileSystem, Kind, Mode, Name, Refusal, SetAttr};
use std::rc::Rc;

/// Bytes of one write: whole blocks on any volume.
const PIECE: u64 = 1 << 20;
/// Bytes of a transaction log: minimum, maximum, and the default for a large volume.
const LOG_MIN: u64 = 256 << 10;
const LOG_MAX: u64 = 4 << 30;
const LOG_USUAL: u64 = 128 << 20;
/// Blocks of an active journal in a group, below which it stays together: a commit that goes on in the next group is
/// two writes, and with few blocks many would.
const SECTION_LEAST: u32 = 64;
/// The default of an active journal on a small volume: not all of it is the journal's.
const LOG_USUAL_LEAST: u64 = 1 << 20;

/// Bytes of the journal: what was requested, or as computed by FreeBSD's tunefs, which multiplies the fragments of the
/// volume by the bytes of a block; at most a group, and within the limits.
pub(super) fn size(sb: &Superblock, asked: Option<u64>) -> Result<u64, TuneError> {
    let g = sb.geometry();
    let data = g.fpg.saturating_sub(g.cgdmin(Cgx(0)).0 as u32) / g.frag;
    let in_group = u64::from(data) * u64::from(g.bsize);
    let (least, most) = (g.blkroundup(suj::SUJ_MIN), suj::SUJ_MAX);
    let usual = (g.size.saturating_mul(g.bsize.into()) / 1024).min(in_group).clamp(least, most);
    let size = g.blkroundup(asked.unwrap_or(usual));
    if !(least..=most).contains(&size) {
        return Err(TuneError::JournalSize { found: asked.unwrap_or(usual), least, most });
    }
    // Also a block of pointers, and a directory that may have to grow.
    let needed = size + 3 * u64::from(g.bsize);
    let free = u64::try_from(sb.totals().nbfree).unwrap_or(0) * u64::from(g.bsize);
    if needed > free { Err(TuneError::NoRoom { needed: size, free }) } else { Ok(size) }
}

/// Bytes of the transaction log: what was requested, or about one hundredth of the volume.
pub(super) fn log_size(sb: &Superblock, asked: Option<u64>) -> Result<u64, TuneError> {
    let g = sb.geometry();
    let (least, most) = (g.blkroundup(LOG_MIN), LOG_MAX);
    // A journal of whole blocks needs room for several of them.
    let few = (2 * LOG_MIN).max(16 * u64::from(g.bsize));
    let size = g.blkroundup(asked.unwrap_or_else(|| (sb.volume_bytes() / 100).clamp(few, LOG_USUAL)));
    if !(least..=most).contains(&size) {
        return Err(TuneError::JournalSize { found: asked.unwrap_or(size), least, most });
    }
    // Also blocks of pointers, and a directory that may have to grow.
    let needed = size + size / 512 + 5 * u64::from(g.bsize);
    let free = u64::try_from(sb.totals().nbfree).unwrap_or(0) * u64::from(g.bsize);
    if needed > free { Err(TuneError::NoRoom { needed: size, free }) } else { Ok(size) }
}

/// A file of the volume that is a log; users must not write to it.
pub(super) struct LogFile {
    name: &'static str,
    mode: u16,
    /// The flags to set, and the flags by which the file is recognized.
    flags: (u32, u32),
}

/// FreeBSD's journal of soft updates.
pub(super) const INTENTS: LogFile = LogFile { name: suj::NAME, mode: suj::MODE, flags: (suj::NEW_FLAGS, suj::FLAGS) };

/// The transaction log.
pub(super) const REDO: LogFile = LogFile { name: redo::FILE, mode: redo::MODE, flags: (suj::NEW_FLAGS, redo::FLAGS) };

/// The file of an active journal.
pub(super) const ACTIVE: LogFile =
    LogFile { name: redo::ACTIVE, mode: redo::MODE, flags: (suj::NEW_FLAGS, redo::FLAGS) };

/// Bytes of an active journal, and the blocks of it that lie in one group: it has a group journal in each. What was
/// requested, or one part in 48 of the volume.
pub(super) fn active_size(sb: &Superblock, asked: Option<u64>) -> Result<(u64, u32), TuneError> {
    let g = sb.geometry();
    let (least, most) = (g.blkroundup(ordo_active::least(g.fsize.into()) + 16 * u64::from(g.bsize)), LOG_MAX);
    let usual = (sb.volume_bytes() / 48).clamp((least * 3 / 2).max(LOG_USUAL_LEAST), LOG_MAX / 4);
    let size = g.blkroundup(asked.unwrap_or(usual));
    if !(least..=most).contains(&size) {
        return Err(TuneError::JournalSize { found: asked.unwrap_or(usual), least, most });
    }
    let needed = size + size / 512 + 5 * u64::from(g.bsize);
    let free = u64::try_from(sb.totals().nbfree).unwrap_or(0) * u64::from(g.bsize);
    if needed > free {
        return Err(TuneError::NoRoom { needed: size, free });
    }
    let in_group = (size / u64::from(g.bsize)).div_ceil(g.ncg.into()).max(32);
    Ok((size, u32::try_from(in_group).unwrap_or(u32::MAX)))
}

/// Removes the existing file, and makes one of `size` bytes.
pub(super) fn change(rt: &Rt, disk: &Rc<dyn Disk>, what: &LogFile, size: Option<u64>) -> Result<(), TuneError> {
    change_spread(rt, disk, what, size, None)
}

/// The same, with so many blocks of the file in each group.
pub(super) fn change_spread(
    rt: &Rt,
    disk: &Rc<dyn Disk>,
    what: &LogFile,
    size: Option<u64>,
    section: Option<u32>,
) -> Result<(), TuneError> {
    let located = locate_on(rt, disk.clone())?;
    // The old contents of its blocks do not matter, and need not be overwritten.
    let settings = Settings { alloc_init: Some(AllocInit::Directories), ..Settings::default() };
    // A map that counts is kept, unless its own file changes.
    let keeps_map = located.found.ufs().is_ok_and(|found| found.superblock.has_live_map()) && what.name != redo::ACTIVE;
    let scheme = if keeps_map { Keeper::ACTIVE } else { AT_ONCE };
    let mut options = MountOptions { scheme: Some(scheme.into()), settings, ..MountOptions::default() };
    options.policy.section = section;
    // Else what fits behind one indirect block would stay in one group.
    options.policy.far_behind_direct = section.is_some_and(|blocks| blocks >= SECTION_LEAST);
    let mounted = rt.block_on(Mounted::mount(rt, located, &options))?;
    let done = rt.block_on(async {
        what.remove(mounted.fs()).await?;
        match size {
            Some(size) => what.make(mounted.fs(), size).await,
            None => Ok(()),
        }
    });
    // Clean in any case: a failure leaves a consistent volume.
    let unmounted = rt.block_on(mounted.unmount());
    done?;
    Ok(unmounted?)
}

/// Whether the volume has an active journal.
pub(crate) fn is_active(rt: &Rt, disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<bool, TuneError> {
    let options = ordo_active::Options { read_only: true, ..ordo_active::Options::default() };
    let found = rt.block_on(ordo_recover::active_disk(rt, disk.clone(), sb, options));
    found.map(|found| found.is_some()).map_err(|why| crate::OpenError::active(why).into())
}

/// Whether the volume has this file.
pub(super) fn is_there(rt: &Rt, disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<bool, TuneError> {
    let found = rt.block_on(ordo_recover::place_of_log(rt, disk.clone(), sb));
    found.map(|place| place.is_some()).map_err(|why| crate::OpenError::log(why).into())
}

fn root() -> Caller {
    Caller { privileged: true, ..Caller::default() }
}

impl LogFile {
    /// Removes the file, if it exists.
    async fn remove(&self, fs: &Rc<Fs>) -> Result<(), TuneError> {
        let name = self.name.as_bytes();
        let file = match Held::root(fs).await?.lookup(name).await {
            Ok(file) => file,
            Err(Error::Refused(Refusal::NotFound)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        let known_by = self.flags.1;
        if file.attr().kind != Kind::Regular || file.attr().flags & known_by != known_by {
            return Err(TuneError::NameTaken(self.name));
        }
        fs.setattr(file.node(), &SetAttr { flags: Some(0), ..SetAttr::default() }).await?;
        fs.unlink(fs.root(), Name::new(name)?).await?;
        Ok(())
    }

    /// Makes a file of zeroes, so that no remains of an older log are found.
    async fn make(&self, fs: &Rc<Fs>, size: u64) -> Result<(), TuneError> {
        let (who, name) = (root(), Name::new(self.name.as_bytes())?);
        let mode = Mode::new((self.mode & 0o7777).into());
        let file = Held::new(fs, fs.mknod(&who, fs.root(), name, Kind::Regular, mode, 0).await?);
        let written = fill(fs, &file, size).await;
        let flags = SetAttr { flags: Some(self.flags.0), ..SetAttr::default() };
        let done = match written {
            Ok(()) => fs.setattr(file.node(), &flags).await.map(|_| ()),
            Err(error) => Err(error),
        };
        if done.is_err() {
            fs.unlink(fs.root(), name).await?;
        }
        Ok(done?)
    }
}

async fn fill(fs: &Rc<Fs>, file: &Held<Fs>, size: u64) -> ordo_vfs::Result<()> {
    let (zeroes, mut at) = (vec![0; PIECE as usize], 0);
    while at < size {
        let piece = (size - at).min(PIECE) as usize;
        let written = fs.write(&root(), file.node(), at, zeroes.get(..piece).unwrap_or_default()).await?;
        at += u64::from(written);
    }
    fs.fsync(file.node(), false).await
}
