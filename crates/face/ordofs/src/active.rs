//! The active disk of a volume: between the engine and the disk, for the scheme `active`.
//!
//! K1. While the map of a volume counts, who names no scheme opens it through the active disk, also to read: without it
//!     a rotten home would be returned as right ([`crate::default_scheme`]). A mount that writes under another scheme
//!     voids the map, and says so.

use crate::located::{Located, locate_on};
use crate::sectors::get;
use crate::{Found, Fs, MountOptions, Mounted, Notice, Notices, OpenError};
use ordo_active::{Active, Adopted, Apart, Pass, Scrubbed};
use ordo_buf::{LogKind, Scheme};
use ordo_disk::{Disk, DiskError, Kind};
use ordo_ondisk::cg::{self, Cg};
use ordo_ondisk::superblock::{Keeper, SBLOCKSIZE};
use ordo_ondisk::{Cgx, Dialect, Ino, Superblock};
use ordo_recover::NowhereRight;
use ordo_rt::Rt;
use std::rc::Rc;

/// The state of an active journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ActiveState {
    /// Whether everything is at home.
    pub rest: Rest,
    /// Group journals.
    pub groups: u32,
    /// Fragments whose checksum is known.
    pub mapped: u64,
    /// Of these, with a copy in a group journal.
    pub copies: u64,
    /// Fragments that were read, and written, from another copy since the mount.
    pub healed: u64,
    /// Pages of the map that could not be read: what they had is not verified any more.
    pub lost_pages: u32,
    /// Forced checkpoints since the mount: commits that waited until what they overwrite was at home.
    pub forced: u64,
    /// Fragments with a replica near the place from which they are often read.
    pub replicas: u64,
    /// Reads that were served from a replica since the mount.
    pub from_replica: u64,
    /// How far the pass over all that is known has come: of a mount with a schedule (`scrub=WEEKS`), and the last
    /// whole one by anybody.
    pub pass: Pass,
    /// Fragments that this pass has read.
    pub passed: u64,
}

/// Fragments of which the map may know one checksum together.
const TOGETHER: u64 = 8;

/// Where the newest bytes are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// At home, all of them, and the volume was unmounted: any system may use it.
    AllClean,
    /// At home, as long as the volume is not written to.
    Clean,
    /// Some are in a group journal only.
    Dirty,
}

impl ActiveState {
    /// The state of a mounted volume's active disk.
    pub(crate) fn mounted(active: &Active) -> ActiveState {
        let rest = if active.state().dirty { Rest::Dirty } else { Rest::Clean };
        ActiveState::with(active, rest)
    }

    fn with(active: &Active, rest: Rest) -> ActiveState {
        let ordo_active::State { groups, mapped, copies, healed, lost_pages, forced, replicas, from_replica, .. } =
            active.state();
        let (pass, passed) = (active.pass(), active.read_in_pass());
        ActiveState { rest, groups, mapped, copies, healed, lost_pages, forced, replicas, from_replica, pass, passed }
    }
}

/// The active disk that this scheme wants, over the disk of the volume, with the file of its journal.
///
/// # Errors
/// The volume has no active journal, or a damaged one.
pub(crate) async fn under(
    rt: &Rt,
    located: &Located,
    scheme: &Rc<dyn Scheme>,
    options: &MountOptions,
    read_only: bool,
) -> Result<Option<(Ino, Active)>, OpenError> {
    let sb = &located.found.ufs()?.superblock;
    if scheme.clone().capabilities().log_kind() != Some(LogKind::Active) {
        if sb.has_live_map() && !read_only {
            options.notices.tell(&Notice::MapGivenUp(scheme.name().into()));
        }
        return Ok(None);
    }
    if sb.dialect != Dialect::FreeBsd {
        return Err(OpenError::NoLogThere(scheme.name(), sb.dialect));
    }
    if !sb.is_clean() {
        // It could not be replayed: nothing is known of what the group journals have.
        return Ok(None);
    }
    let wanted = ordo_active::Options {
        near_head: options.policy.near_head,
        volatile_cache: options.volatile_cache,
        read_only,
        learning: options.settings.learning,
    };
    let found = ordo_recover::active_disk(rt, located.disk.clone(), sb, wanted).await.map_err(OpenError::active)?;
    let (ino, active) = found.ok_or(OpenError::NoActive(scheme.name()))?;
    let state = active.state();
    if state.is_void && !read_only && !sb.has_live_map() {
        options.notices.tell(&Notice::MapVoid);
    }
    // The superblock says that it counts: its root is damaged.
    let is_lost = state.is_void && sb.has_live_map();
    if state.lost_pages > 0 || is_lost {
        options.notices.tell(&Notice::MapDamaged(state.lost_pages.max(1)));
    }
    Ok(Some((ino, active)))
}

/// The active journal of a volume that is not mounted, for reading: its map, and what may be asked of it. `None` if it
/// has none.
///
/// # Errors
/// The disk fails, or the file of the journal is damaged.
pub fn active_at_rest(rt: &Rt, located: &Located) -> Result<Option<(ActiveState, Active)>, OpenError> {
    let Ok(found) = located.found.ufs() else { return Ok(None) };
    let sb: &Superblock = &found.superblock;
    let options = ordo_active::Options { read_only: true, ..ordo_active::Options::default() };
    let found = rt.block_on(ordo_recover::active_disk(rt, located.disk.clone(), sb, options));
    let Some((_, active)) = found.map_err(OpenError::active)? else { return Ok(None) };
    let rest = if sb.is_clean() { Rest::AllClean } else { Rest::Dirty };
    Ok(Some((ActiveState::with(&active, rest), active)))
}

/// The disk of a volume for a server of all its bytes: read through the map of the active journal, if that counts (K1),
/// until they are written. A map that counts and cannot be read is told.
///
/// # Errors
/// The disk fails.
pub fn verified(rt: &Rt, disk: Rc<dyn Disk>, notices: &Notices) -> Result<Rc<dyn Disk>, OpenError> {
    match locate_on(rt, disk.clone()).map(|located| located.found) {
        Ok(Found::Ufs(found)) => verified_by(rt, disk, &found.superblock, notices),
        _ => Ok(disk),
    }
}

/// The same, of a volume with this superblock.
pub(crate) fn verified_by(
    rt: &Rt,
    disk: Rc<dyn Disk>,
    sb: &Superblock,
    notices: &Notices,
) -> Result<Rc<dyn Disk>, OpenError> {
    let verified = rt.block_on(ordo_recover::verified(rt, disk.clone(), sb, NowhereRight::IsAnError))?;
    if verified.is_none() && sb.is_clean() && sb.has_live_map() {
        notices.tell(&Notice::MapDamaged(1));
    }
    Ok(verified.map_or(disk, |verified| Rc::new(verified)))
}

/// Bytes of a block of a file that lie together wherever they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockCopies {
    /// The block's number in the file.
    pub lbn: u64,
    /// Bytes.
    pub len: u64,
    /// Where they are on the volume's disk, in bytes: at home, and where a group journal has them.
    pub at: Vec<u64>,
}

/// Where the blocks of a file lie on a volume that is not mounted, in order. A block whose copies do not lie together
/// has a row for each part that does.
///
/// # Errors
/// The volume is not UFS, or has a log to be replayed; the file is damaged; or the disk fails.
pub fn copies_of(rt: &Rt, located: &Located, ino: Ino) -> Result<Vec<BlockCopies>, OpenError> {
    let sb = &located.found.ufs()?.superblock;
    if ordo_recover::log_is_due(sb).is_some() {
        // Where the blocks will lie, a replay decides.
        return Err(ordo_ffs::MountError::Dirty.into());
    }
    let active = active_at_rest(rt, located)?.map(|(_, active)| active);
    rt.block_on(async {
        let shape = ordo_recover::shape_of_file(rt, located.disk.clone(), sb, ino).await.map_err(OpenError::active)?;
        let mut rows = Vec::new();
        for block in shape.blocks {
            let Some(active) = &active else {
                rows.push(BlockCopies { lbn: block.lbn, len: block.len, at: vec![block.at.0] });
                continue;
            };
            for part in active.copies(block.at, block.len).await {
                let at = part.at.iter().map(|at| at.0).collect();
                rows.push(BlockCopies { lbn: block.lbn, len: part.len, at });
            }
        }
        Ok(rows)
    })
}

/// Reads everything that the active journal of a volume knows, at home and in the copies, and heals it. The volume must
/// not be mounted.
///
/// # Errors
/// The volume has no active journal, or was not unmounted in order; or the disk fails.
pub fn scrub(rt: &Rt, located: &Located) -> Result<Scrubbed, OpenError> {
    let sb = &located.found.ufs()?.superblock;
    if !sb.is_clean() {
        return Err(ordo_ffs::MountError::Dirty.into());
    }
    rt.block_on(async {
        let options = ordo_active::Options::default();
        let found =
            ordo_recover::active_disk(rt, located.disk.clone(), sb, options).await.map_err(OpenError::active)?;
        let (_, active) = found.ok_or(OpenError::NoActive(Keeper::ACTIVE))?;
        let done = active.scrub().await?;
        all_was_read(&active, rt.wall().0);
        made_durable(&active).await?;
        Ok(done)
    })
}

/// The same, and then takes the checksums of everything else that lies on the volume: from then on it is verified, too,
/// until it is overwritten past the journal.
///
/// # Errors
/// As [`scrub`]; or the volume cannot be mounted with its active journal.
pub fn scrub_and_adopt(rt: &Rt, located: Located, notices: &Notices) -> Result<(Scrubbed, Adopted), OpenError> {
    let sb = located.found.ufs()?.superblock.clone();
    if !sb.is_clean() {
        return Err(ordo_ffs::MountError::Dirty.into());
    }
    let scheme = Some(Keeper::ACTIVE.into());
    let options = MountOptions { scheme, noatime: true, notices: notices.clone(), ..MountOptions::default() };
    rt.block_on(async {
        let mounted = Mounted::mount(rt, located, &options).await?;
        let done = match mounted.active_disk() {
            Some(active) => adopted(rt, active, &sb, &mounted).await,
            None => Err(OpenError::NoActive(Keeper::ACTIVE)),
        };
        let unmounted = mounted.unmount().await;
        let done = done?;
        Ok(unmounted.map(|()| done)?)
    })
}

async fn adopted(
    rt: &Rt,
    active: &Active,
    sb: &Superblock,
    mounted: &Mounted,
) -> Result<(Scrubbed, Adopted), OpenError> {
    let scrubbed = active.scrub().await?;
    all_was_read(active, rt.wall().0);
    let mut apart = apart_in_all(sb);
    for c in (0..sb.geometry().ncg).map(Cgx) {
        tails_of_group(mounted.fs(), c, &mut apart).await?;
    }
    let (mut adopted, mut next) = (Adopted::default(), Some(0));
    while let Some(from) = next {
        let some;
        (some, next) = adopt_some(active, sb, &apart, from, u64::MAX).await?;
        adopted += some;
    }
    made_durable(active).await?;
    Ok((scrubbed, adopted))
}

/// Takes the checksums of what is in use in the cylinder group of fragment `from`, from there on, of at most `most`
/// fragments. Returns the fragment at which the next part begins, `None` at the end of the volume. Calls go on
/// meanwhile: what they take into use since their last transaction is not adopted.
pub(crate) async fn adopt_some(
    active: &Active,
    sb: &Superblock,
    apart: &Apart,
    from: u64,
    most: u64,
) -> Result<(Adopted, Option<u64>), OpenError> {
    let (disk, g): (Rc<dyn Disk>, _) = (Rc::new(active.clone()), sb.geometry());
    // The superblock is written past every journal, and so is the record of the one writer before it.
    let first = (sb.at.0 + SBLOCKSIZE as u64).div_ceil(g.fsize.into());
    let mut adopted = Adopted::default();
    let Some(c) = u32::try_from(from / u64::from(g.fpg)).ok().filter(|c| *c < g.ncg).map(Cgx) else {
        return Ok((adopted, None));
    };
    let block = get(&disk, g.byte(g.cgtod(c)), g.cgsize as usize, Kind::Maps).await?;
    let layout = cg::check(&block, &g, c).map_err(ordo_vfs::Error::corrupt)?;
    let free = Cg::new(&block, layout, g.endian).map(|group| group.free()).unwrap_or_default();
    let (base, count) = (g.cgbase(c).0, u32::try_from(g.size - g.cgbase(c).0).unwrap_or(u32::MAX).min(g.fpg));
    let (mut next, mut left) = ((from - base) as u32, most.max(TOGETHER));
    while next < count {
        let start = (next..count).find(|i| !cg::map::get(free, *i)).unwrap_or(count);
        next = cg::map::first_set(free, start, count).unwrap_or(count);
        let all = base + u64::from(start)..base + u64::from(next);
        // A part ends with whole spans: what it cuts through would be known by the fragment.
        let end = all.end.min(all.start.saturating_add(left) / TOGETHER * TOGETHER).max(all.start);
        let run = all.start.max(first)..end;
        if run.start < run.end {
            adopted += active.adopt(run, apart).await?;
        }
        if end < all.end {
            return Ok((adopted, Some(end)));
        }
        left -= end - all.start;
    }
    Ok((adopted, Some(base + u64::from(g.fpg))))
}

/// Somebody has read all that the map knows, and this is the time.
pub(crate) fn all_was_read(active: &Active, now: i64) {
    let now = now.max(0) as u64;
    active.set_pass(Pass { next: 0, began: now, ended: now });
}

/// What is read apart from what lies beside it: the maps of the groups, and the tails of files, none of which are
/// known yet.
pub(crate) fn apart_in_all(sb: &Superblock) -> Apart {
    let g = sb.geometry();
    let mut apart = Apart::new(g.frag);
    for group in (0..g.ncg).map(|c| g.cgtod(Cgx(c))) {
        apart.add(group.0..group.plus(g.frag).0);
    }
    apart
}

/// Adds the tails of the files whose inodes are in this group.
pub(crate) async fn tails_of_group(fs: &Fs, group: Cgx, apart: &mut Apart) -> Result<(), OpenError> {
    match fs {
        Fs::Ffs(fs) => Ok(fs.layout().each_tail(group, &mut |frags| apart.add(frags)).await?),
        Fs::Lfs(_) => Ok(()),
    }
}

/// Makes what a scrub has healed durable.
pub(crate) async fn made_durable(active: &Active) -> Result<(), DiskError> {
    active.settled().await?;
    active.flush().await
}
