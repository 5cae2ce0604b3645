//! Mounting and unmounting a volume.
//!
//! V1. Before the first change, the superblock on the disk says that the volume is in use; the next mount then sees a
//!     crash. It says "clean" again only after everything else is durable.
//! V2. A volume that was not clean when it was opened, or that failed while it was in use, is not marked clean: only
//!     fsck can find out what is wrong with it. One exception: what a crash of soft updates leaves is known, and a
//!     volume is clean again when all of that was found and freed ([`crate::leaks`]). If it is unmounted before, it
//!     stays as the crash left it, and the next mount begins anew.
//! V3. The superblock of FreeBSD promises that a crashed volume may be used at once (`FS_DOSOFTDEP`). The flag is on
//!     while the scheme keeps this promise, on a volume that was clean or had the flag, and off under other schemes. A
//!     clean unmount restores the old flag.
//! V4. FreeBSD's journal of soft updates is valid for one `fs_mtime` only. A mount sets another, so that no old record
//!     is ever replayed over what was written here.
//! V5. The superblock names the scheme and its log, durably before it says that the volume is in use. Otherwise a crash
//!     in between could leave a volume in use whose log cannot be found.

use crate::checked::Checked;
use crate::home::FfsHome;
use crate::leaks::Suspects;
use crate::optim::{Memory, Optim};
use crate::summary::Summary;
use crate::{AtRest, Copies, Ffs, corrupt};
use ordo_buf::{BufRef, Cache, Key, LogKind, Role, Scheme, Want};
use ordo_disk::DiskOff;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::superblock::search::{Copy, FoundUfs};
use ordo_ondisk::superblock::{Keeper, LogAt};
use ordo_ondisk::{Cgx, Dialect, FragNo, Geometry, Refused, Superblock};
use ordo_ufs::Shape;
use ordo_vfs::Result;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// How to open a volume.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// Nothing will be changed.
    pub read_only: bool,
    /// Write to a volume that was not clean, though it must be checked first.
    pub force: bool,
    /// The disk below copies for the snapshots what is written over, and tells how much it still can.
    pub snapshots: Option<Copies>,
    /// The mount point: recorded in the superblock.
    pub mount_point: String,
    /// The `fs_mtime` of this mount, which a journal of soft updates already has (V4). `None`: the clock's time.
    pub stamp: Option<i64>,
    /// The scheme that keeps it from now on, and where its log is.
    pub keeper: Keeper,
}

/// Why a volume cannot be mounted, or not for writing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MountError {
    /// It has a feature that this program does not maintain.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// It was not unmounted cleanly.
    #[error("the volume was not unmounted in order; run ordo fsck -p")]
    Dirty,
    /// Its superblock is a backup copy from the time it was made.
    #[error("the first superblock is damaged, and a copy of the first day is in its place; ordo fsck -y repairs it")]
    Backup,
    /// The check hash of its superblock is wrong.
    #[error("the first superblock has a wrong check hash; ordo fsck -p repairs it")]
    Unproven,
    /// Its fragments are smaller than what the disk can write.
    #[error("fragments of {fsize} bytes on a disk with sectors of {sector}")]
    Sector {
        /// Bytes of a fragment.
        fsize: u32,
        /// Bytes of a sector.
        sector: u32,
    },
    /// The disk ends before the volume does.
    #[error(
        "the volume has {volume} bytes and the disk {disk}: it was cut short, and what is there can be read; ordo recover \
         copies that"
    )]
    CutShort {
        /// Bytes of the volume.
        volume: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// It cannot be read, or is damaged.
    #[error(transparent)]
    Volume(#[from] ordo_vfs::Error),
}

/// Whether a volume may be written to. `Opening::read_only` plays no part.
///
/// # Errors
/// The reason if not; the text says what to do.
pub fn may_write(found: &FoundUfs, opening: &Opening) -> std::result::Result<(), MountError> {
    let sb = &found.superblock;
    match opening.snapshots.is_some() {
        true => sb.write_gate_keeping_snapshots()?,
        false => sb.write_gate()?,
    }
    // Not even by force: what only fsck can find out would be written over the first superblock.
    match found.copy {
        Copy::Primary => {}
        Copy::Unproven => return Err(MountError::Unproven),
        Copy::Backup(_) => return Err(MountError::Backup),
    }
    if opening.force {
        return Ok(());
    }
    if sb.is_clean() || left_by_softdep(sb) { Ok(()) } else { Err(MountError::Dirty) }
}

/// Whether a disk of so many bytes has all of the volume: only then may it be written to.
///
/// # Errors
/// `CutShort`.
pub fn is_whole(sb: &Superblock, disk: u64) -> std::result::Result<(), MountError> {
    let volume = sb.volume_bytes();
    if volume <= disk { Ok(()) } else { Err(MountError::CutShort { volume, disk }) }
}

/// A crash of soft updates has left the volume: it can be used at once, but leaked space is missing until it was
/// scanned.
fn left_by_softdep(sb: &Superblock) -> bool {
    let on = sb.features();
    !sb.is_clean() && on.softdep && !on.suj && !on.needs_fsck && on.dialect == Dialect::FreeBsd
}

/// It leaves a volume that every system may use at once, without reading a log of ours.
fn keeps_order(cache: &Cache) -> bool {
    cache.scheme().declares().mount_at_once
        && cache.capabilities().log_kind().is_none_or(|kind| kind == LogKind::Intents)
}

/// What the calls need to know of a volume.
fn shape(g: &Geometry) -> Shape {
    Shape {
        encoding: g.into(),
        dir_format: g.dir_format(),
        maxfilesize: g.maxfilesize,
        volume: g.size.saturating_mul(g.fsize.into()),
        inodes: g.inodes(),
        maxcontig: g.maxcontig,
        // FreeBSD 14: the depth decides where new directories are placed.
        keeps_depth: g.dialect == Dialect::FreeBsd && g.inode_hash,
    }
}

impl Ffs {
    /// Opens the volume behind `cache`, and attaches itself and the scheme to the cache. Unless the cache's health says
    /// that the volume is read-only, the superblock is durably marked as in use when this returns (V1).
    ///
    /// # Errors
    /// See [`MountError`]. The caller checks [`may_write`].
    pub async fn open(
        cache: &Rc<Cache>,
        scheme: Rc<dyn Scheme>,
        found: FoundUfs,
        opening: &Opening,
    ) -> std::result::Result<Ffs, MountError> {
        let sb = found.superblock;
        let mut g = sb.geometry();
        g.maxbpg = cache.policy().section.unwrap_or(g.maxbpg).max(1);
        let g = Rc::new(g);
        let (info, writable) = (cache.queue().info().clone(), !cache.health().is_read_only());
        if g.fsize < info.sector {
            return Err(MountError::Sector { fsize: g.fsize, sector: info.sector });
        }
        if writable {
            is_whole(&sb, info.size)?;
        }
        cache.attach(scheme, Rc::new(FfsHome { g: g.clone(), rt: cache.rt().clone() }));
        let superblock_buf = read_superblock(cache, &sb, info.sector).await?;
        let summary = read_summary(cache, &g).await?;
        let optim = if sb.fields.optim == 1 { Optim::Space } else { Optim::Time };
        let cgrotor = Cgx(u32::try_from(sb.fields.cgrotor).unwrap_or(0).min(g.ncg - 1));
        let extattr = sb.features().extattr;
        let keeps_order = keeps_order(cache);
        let suspects = Suspects::new(writable && keeps_order && left_by_softdep(&sb) && !opening.force);
        let ffs = Ffs {
            cache: cache.clone(),
            superblock: RefCell::new(sb),
            superblock_buf,
            summary,
            checked: Checked::default(),
            memory: Memory { optim: Cell::new(optim), cgrotor: Cell::new(cgrotor) },
            rng: RefCell::new(cache.rt().rng()),
            copies: opening.snapshots.clone(),
            running: Cell::new(0),
            preparing: ordo_rt::sync::Mutex::new(()),
            extattr,
            at_rest: Cell::new(AtRest { clean: false, softdep: false }),
            suspects,
            keeper: opening.keeper.clone(),
            shape: shape(&g),
            quotas: ordo_ufs::Quotas::default(),
            g,
        };
        if writable {
            ffs.take_into_use(opening).await?;
        }
        Ok(ffs)
    }

    /// Marks the volume as in use (V1).
    async fn take_into_use(&self, opening: &Opening) -> Result<()> {
        let (clean, agrees) = {
            let sb = self.superblock.borrow();
            (sb.is_clean(), sb.totals() == self.summary.total())
        };
        if !clean || !agrees {
            self.recount().await;
        }
        let keeps_order = keeps_order(&self.cache);
        let softdep = self.superblock.borrow().fields.flags & flag::DOSOFTDEP != 0;
        if clean && keeps_order {
            self.set_softdep(true).await?;
        }
        if opening.stamp.is_some() || self.keeper.log != LogAt::Nowhere {
            // While the volume is marked clean: if a torn write left that mark, the journal would belong to another
            // mount than the volume.
            let mtime = self.superblock.borrow().fields.mtime;
            self.superblock.borrow_mut().fields.mtime = opening.stamp.unwrap_or(mtime);
            self.put_superblock();
            self.cache.write(&self.superblock_buf).await?;
        }
        {
            let now = self.now();
            let mut sb = self.superblock.borrow_mut();
            let freebsd = sb.dialect == Dialect::FreeBsd;
            let f = &mut sb.fields;
            self.at_rest.set(AtRest { clean: clean && f.flags & flag::NEEDSFSCK == 0, softdep });
            f.flags &= !flag::UNCLEAN;
            if freebsd {
                // NetBSD does not mount a volume with this flag.
                f.flags |= if clean { 0 } else { flag::UNCLEAN };
                f.flags &= !flag::DOSOFTDEP;
                f.flags |= if (softdep || clean) && keeps_order { flag::DOSOFTDEP } else { 0 };
                // It never goes back. Mounts of less than a second each get ahead of the clock; if a later one had the
                // clock's time, one after it could have the time of a journal that is over, which would be replayed.
                f.mtime = opening.stamp.unwrap_or(now.max(f.mtime.saturating_add(1)));
            }
            (f.clean, f.pendingblocks, f.pendinginodes) = (0, 0, 0);
            f.fsmnt.fill(0);
            let room = f.fsmnt.len() - 1;
            for (to, from) in f.fsmnt.iter_mut().zip(opening.mount_point.bytes().take(room)) {
                *to = from;
            }
        }
        self.put_superblock();
        self.cache.write(&self.superblock_buf).await
    }

    /// Puts the superblock into its buf.
    fn put_superblock(&self) {
        let bytes = {
            let mut sb = self.superblock.borrow_mut();
            sb.set_totals(self.summary.total());
            sb.fields.optim = i32::from(self.memory.optim.get() == Optim::Space);
            sb.fields.cgrotor = self.memory.cgrotor.get().0 as i32;
            sb.encode_kept(self.now(), &self.keeper)
        };
        self.cache.modify(&self.superblock_buf, |block| block[..bytes.len()].copy_from_slice(&bytes));
    }

    /// Puts the changed parts of the summary array into bufs, and then the superblock if it changed.
    pub(crate) async fn gather(&self) -> Result<()> {
        if self.cache.health().is_read_only() {
            return Ok(());
        }
        let changed = self.summary.take_changed();
        for (i, &block) in changed.iter().enumerate() {
            let buf = match summary_block(&self.cache, &self.g, block).await {
                Ok(buf) => buf,
                Err(error) => {
                    // If they were dropped here, they would be missing on a volume marked clean.
                    self.summary.put_back(&changed[i..]);
                    return Err(error);
                }
            };
            self.cache.before_change(&buf).await;
            self.cache.modify(&buf, |bytes| self.summary.encode(&self.g, block, bytes));
        }
        let changed = {
            let mut sb = self.superblock.borrow_mut();
            let ledger = self.cache.ledger();
            let pending = (
                (ledger.frags() * u64::from(self.g.fsize / 512)) as i64,
                u32::try_from(ledger.inodes()).unwrap_or(u32::MAX),
            );
            let was = (sb.fields.pendingblocks, sb.fields.pendinginodes);
            (sb.fields.pendingblocks, sb.fields.pendinginodes) = pending;
            pending != was || sb.totals() != self.summary.total()
        };
        if changed {
            self.cache.before_change(&self.superblock_buf).await;
            self.put_superblock();
        }
        Ok(())
    }

    /// What a crash had leaked was found and freed (V2).
    pub(crate) fn deserves_clean(&self) {
        self.at_rest.set(AtRest { clean: true, ..self.at_rest.get() });
    }

    /// The last writes of a mount: everything else first, then the superblock, clean if that is true (V1, V2).
    pub(crate) async fn unmount(&self) -> Result<()> {
        if self.cache.health().is_read_only() {
            return self.cache.health().sound();
        }
        self.gather().await?;
        self.cache.write_everything().await?;
        if let Some(log) = &self.cache.capabilities().log {
            log.at_rest().await?;
        }
        {
            let rest = self.at_rest.get();
            let damaged = self.summary.is_damaged();
            let mut sb = self.superblock.borrow_mut();
            let freebsd = sb.dialect == Dialect::FreeBsd;
            let f = &mut sb.fields;
            f.clean = i8::from(rest.clean && !damaged && self.cache.ledger().outstanding() == 0);
            f.flags |= if damaged && freebsd { flag::NEEDSFSCK } else { 0 };
            if freebsd && f.clean == 1 {
                f.flags &= !flag::UNCLEAN;
                f.flags |= if rest.softdep { flag::DOSOFTDEP } else { 0 };
            }
        }
        self.cache.before_change(&self.superblock_buf).await;
        self.put_superblock();
        self.cache.write(&self.superblock_buf).await?;
        if self.superblock.borrow().is_clean() && !self.at_rest.get().softdep {
            self.set_softdep(false).await?;
        }
        Ok(())
    }

    /// Sets or clears the flag of V3, durably. Only while the volume is marked clean: a superblock of several sectors
    /// may be torn, and one that is neither clean nor flagged would have to be checked before any write (see
    /// [`ordo_ondisk::superblock::search::find_to_mount`]).
    async fn set_softdep(&self, on: bool) -> Result<()> {
        {
            let mut sb = self.superblock.borrow_mut();
            let is_on = sb.fields.flags & flag::DOSOFTDEP != 0;
            if sb.dialect != Dialect::FreeBsd || is_on == on {
                return Ok(());
            }
            sb.fields.flags ^= flag::DOSOFTDEP;
        }
        self.cache.before_change(&self.superblock_buf).await;
        self.put_superblock();
        self.cache.write(&self.superblock_buf).await
    }
}

/// The superblock's buf: whole sectors, with the bytes behind it unchanged.
async fn read_superblock(cache: &Rc<Cache>, sb: &Superblock, sector: u32) -> Result<BufRef> {
    let len = (sb.len_on_disk() as usize).next_multiple_of(sector as usize);
    let key = Key::Device(FragNo(sb.at.0 / u64::from(sb.geometry().fsize)));
    cache.read(Want { key, role: Role::Superblock, addr: DiskOff(sb.at.0), len }).await
}

/// Block `block` of the summary array.
async fn summary_block(cache: &Rc<Cache>, g: &Geometry, block: usize) -> Result<BufRef> {
    let from = block * g.bsize as usize;
    let at = g.csaddr.plus(block as u32 * g.frag);
    let len = (g.cssize as usize - from).min(g.bsize as usize);
    cache.read(Want { key: Key::Device(at), role: Role::Summary, addr: DiskOff(g.byte(at).0), len }).await
}

async fn read_summary(cache: &Rc<Cache>, g: &Geometry) -> Result<Summary> {
    let mut array = Vec::new();
    for block in 0..(g.cssize as usize).div_ceil(g.bsize as usize) {
        let buf = summary_block(cache, g, block).await?;
        array.extend_from_slice(&buf.bytes());
    }
    if array.len() < g.ncg as usize * ordo_ondisk::Csum::SIZE {
        let damage = ordo_ondisk::Rule::AtLeast(i128::from(g.ncg) * ordo_ondisk::Csum::SIZE as i128);
        return Err(corrupt(ordo_ondisk::Corrupt::new(
            ordo_ondisk::Structure::Superblock,
            "fs_cssize",
            g.cssize,
            damage,
        )));
    }
    Ok(Summary::from_array(g, &array))
}
