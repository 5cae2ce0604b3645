//! Mount and unmount: which superblock, the ifile, the roll-forward.
//!
//! M1. A mount starts from the older superblock, and believes the newer one only when the log leads there: its partial
//!     segments might not have been durable (the originals write without barriers).
//! M2. Before anything else is written, both superblocks lose the mark of a clean unmount: with it, the next mount
//!     would not look behind the checkpoint.
//! M3. After a roll-forward both superblocks say the same before a call begins. The older one leads to a log that ends
//!     where the serial number jumps (rollforward-5), and the next mount would not get past it.
//! M4. A mount for writing is refused where the superblock would lead a write over something else: where the two
//!     describe different volumes, where the usage table does not keep the log away from one of them, and where the log
//!     would go on before its end (`head`). fsck finds out which is right.
//! M5. In version 1 the time of a superblock is what orders the two, and the serial number is ours alone
//!     (lfs-superblock-3). So each checkpoint has a later second than the one before, and each mount for writing
//!     raises the number above all that an earlier life of the volume can have left, by the clock: no partial segment
//!     of another system between tells how far the numbers got.

use crate::disk::Disk;
use crate::log::{Lfs, Log};
use crate::options::OpenOptions;
use crate::{head, home, order, rollforward};
use ordo_buf::{Cache, Scheme};
use ordo_ondisk::lfs::superblock::{self, Choice, Copy};
use ordo_ondisk::lfs::{Geometry, Serial, Version};
use ordo_ondisk::{Corrupt, Encoding, Ino, Rule, Structure};
use ordo_ufs::Shape;
use ordo_vfs::{Error, Result};
use std::rc::Rc;

/// A mounted volume.
pub struct Opened {
    /// The layout.
    pub layout: Lfs,
    /// Partial segments that were found behind the checkpoint, after a crash.
    pub rolled_forward: Option<u64>,
}

/// Mounts the volume behind the cache's queue. Attaches itself and its scheme to the cache.
///
/// # Errors
/// `Corrupt`: no superblock is whole, or what it leads to is not; `Io`.
pub async fn open(cache: &Rc<Cache>, options: OpenOptions) -> Result<Opened> {
    let disk = Disk { cache };
    let [first, second] = disk.superblocks().await?;
    let choice = superblock::choose(&first, &second);
    let pick = |copy: Copy| match copy {
        Copy::First => first.clone(),
        Copy::Second => second.clone(),
    };
    let Some(older) = choice.mount() else { return Err(Error::corrupt(first.err().unwrap_or_else(no_superblock))) };
    let mut sb = pick(older).map_err(Error::corrupt)?;
    let mut slot = usize::from(older == Copy::First);
    let mut found = rollforward::LogTail::default();
    // The log that another system left in version 1 cannot be followed: its checkpoint is the volume.
    if !sb.is_clean() && sb.has_serial() {
        // Which segments begin with a superblock, the table says.
        let ifile = disk.ifile(&sb).await?;
        found = rollforward::read_log(&disk, &sb, &ifile, &options).await?;
    }
    if let (Choice::Unlike(unlike), false) = (&choice, options.read_only) {
        let rule = Rule::Is(unlike.second.into());
        return Err(Error::corrupt(Corrupt::new(Structure::Superblock, unlike.field, unlike.first, rule)));
    }
    let newer = choice.newer().and_then(|copy| pick(copy).ok().map(|sb| (copy, sb)));
    if let Some((copy, newer)) = newer.filter(|(_, newer)| found.passes(newer)) {
        found.starts_at(&newer);
        (slot, sb) = (usize::from(copy == Copy::First), newer);
    }
    let ifile = disk.ifile(&sb).await?;
    if !options.read_only {
        head::check(&disk, &sb, &ifile).await?;
    }
    let around = options.around.clone();
    let log = Rc::new(Log::new(sb, ifile, options));
    log.slot.set(slot);
    log.attach(cache);
    let own: Rc<dyn Scheme> = Rc::new(order::Order(log.clone()));
    cache.attach(around.map_or(own.clone(), |around| around(own)), Rc::new(home::Writer(log.clone())));
    let layout = Lfs { cache: cache.clone(), shape: shape_of(&log.g), log };
    let rolled_forward = layout.recover(found).await?;
    Ok(Opened { layout, rolled_forward })
}

/// The name as the superblock has it, cut short so that a zero ends it.
fn name_of_mount<const N: usize>(path: &str) -> [u8; N] {
    let mut name = [0; N];
    for (to, from) in name.iter_mut().zip(path.bytes().take(N - 1)) {
        *to = from;
    }
    name
}

fn no_superblock() -> Corrupt {
    Corrupt::new(Structure::Superblock, "lfs_magic", 0, Rule::Words("which is no superblock"))
}

fn shape_of(g: &Geometry) -> Shape {
    Shape {
        encoding: Encoding::from(g),
        dir_format: g.dir_format(),
        maxfilesize: g.maxfilesize,
        volume: g.size.saturating_mul(g.unit.into()),
        inodes: u64::from(u32::MAX),
        maxcontig: (65536 / g.bsize).max(1),
        keeps_depth: false,
    }
}

impl Lfs {
    /// Rolls the log forward, frees what has no names, and makes the volume ready for writing.
    async fn recover(&self, found: rollforward::LogTail) -> Result<Option<u64>> {
        let log = &self.log;
        log.ifile.borrow_mut().inode_slot.0 = log.sb.borrow().fields.idaddr;
        let was_clean = log.sb.borrow().is_clean();
        let end = found.end();
        let rolled = self.roll_forward(found).await?;
        self.free_orphans().await?;
        if log.options.read_only {
            return Ok(rolled);
        }
        if let Some(end) = end {
            self.end_log(end).await?;
        }
        log.ifile.borrow_mut().relink();
        {
            let mut sb = log.sb.borrow_mut();
            sb.set_clean(false);
            sb.fields.fsmnt = name_of_mount(&log.options.mount_point);
        }
        if log.g.version == Version::V1 {
            log.raise_serial();
        }
        if was_clean && !log.keeps("mark-first") {
            return Ok(rolled);
        }
        if was_clean {
            // M2. Both say the same, so either may be torn.
            let superblock = log.sb.borrow().clone();
            log.write_superblock_to(&superblock, 0).await?;
            log.write_superblock_to(&superblock, 1).await?;
        } else {
            log.changed.set(true);
            log.checkpoint().await?;
            // M3. What is empty becomes clean at once by this; else mounts that end in crashes would use up the clean
            // segments.
            log.write_other_superblock().await?;
        }
        Ok(rolled)
    }

    /// Frees inodes whose last name is gone, and that were in use when the power failed.
    async fn free_orphans(&self) -> Result<()> {
        use ordo_ondisk::lfs::NextFree;
        let orphans: Vec<Ino> = {
            let ifile = self.log.ifile.borrow();
            let is_orphan = |ino: &Ino| {
                ifile.entry(*ino).is_ok_and(|entry| entry.nextfree == NextFree::Orphan && !entry.daddr.is_hole())
            };
            (Ino::ROOT.0 + 1..ifile.maxino()).map(Ino).filter(is_orphan).collect()
        };
        for ino in orphans {
            let inode = self.load(ino).await?;
            if inode.dinode().nlink == 0 {
                self.release(&inode).await?;
            } else {
                self.log.ifile.borrow_mut().change_entry(ino, |entry| entry.nextfree = NextFree::End);
            }
        }
        Ok(())
    }
}

/// The serial numbers of version 1 grow by this much each second (M5): more than a log has partial segments.
const NUMBERS_OF_A_SECOND: u64 = 1 << 28;

impl Log {
    /// M5.
    fn raise_serial(&self) {
        // 0 is no number (lfs-superblock-3).
        let least = self.now().saturating_mul(NUMBERS_OF_A_SECOND).clamp(1, u64::MAX >> 3);
        let mut sb = self.sb.borrow_mut();
        sb.fields.serial = sb.fields.serial.max(Serial(least));
    }

    /// Everything to the disk, and the mark of a clean unmount in both superblocks.
    pub(crate) async fn unmount(&self) -> Result<()> {
        // What is empty by it is clean in the next.
        self.checkpoint_both().await?;
        self.changed.set(true);
        self.checkpoint().await?;
        let superblock = {
            let mut sb = self.sb.borrow_mut();
            sb.set_clean(true);
            sb.clone()
        };
        self.write_superblock_to(&superblock, 0).await?;
        self.write_superblock_to(&superblock, 1).await
    }
}
