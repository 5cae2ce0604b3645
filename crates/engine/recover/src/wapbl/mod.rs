//! Replay of NetBSD's write-ahead log (WAPBL): what the next mount there would do after a crash.
//!
//! Images of whole blocks are written to their places, and inodes that were in use without a name are freed.
//!
//! L1. The flag of the superblock alone says that the log counts: NetBSD sets it while a volume is mounted with its
//!     log. What the log has after the flag was cleared has no meaning, and the next mount there begins another one.
//! L2. The whole replay runs in memory before anything is written, so nothing is written if the log, or what it leads
//!     to, is damaged.
//! L3. A replay that is cut can be begun again. Images are written as often as needed. But an inode is freed by what
//!     it says itself, and an older image of a bitmap in the log would take its blocks again after it is gone. So
//!     before the first one is freed, all images are durable in their places, and the log is made one of its list of
//!     inodes only, as NetBSD does.
//! L4. The superblock is the last image, and keeps the flag until everything else is durable. The mark that the volume
//!     is clean is written before the flag is cleared: a volume without the flag and without the mark would have to be
//!     checked, and so a torn write must not leave one.
//! L5. The replay marks a volume clean only if it was clean before NetBSD mounted it with its log.
//! L6. A damaged inode of the list is left as it is, and the volume is then not marked clean. The images are written
//!     all the same.

mod free;
mod pieces;
mod scan;

use crate::damage::SuperblockDamage;
use crate::dirty::Order;
use crate::error::Error;
use crate::log::{Crashed, Recover, Recovering, Seen, Waiting};
use crate::outcome::{NotReplayed, Replayed};
use crate::suj::Replay;
use ordo_disk::{Block, Disk, DiskOff, Kind, ReadPart, Tag, WritePart};
use ordo_ondisk::Superblock;
use ordo_ondisk::superblock::fields::flag;
use ordo_ondisk::wapbl::Place;
use scan::Log;
use std::rc::Rc;

/// Bytes of images that are written between two flushes, which bounds what is cached.
const FLUSH_EVERY: u64 = 16 << 20;
/// `fs_clean`: it was clean, or was so before it was mounted.
const CLEAN_BITS: i8 = 3;

/// NetBSD's log.
pub(crate) struct Wapbl;

impl Recover for Wapbl {
    fn which(&self) -> Waiting {
        Waiting::Wapbl
    }

    /// Rule L1.
    fn is_due(&self, sb: &Superblock) -> bool {
        sb.features().wapbl
    }

    /// The volume is then clean, if it was before it was mounted (L5).
    fn replay(&self, of: Crashed) -> Recovering<Replayed> {
        Box::pin(async move {
            let mut usable = of.opened.sb.clone();
            usable.fields.flags &= !(flag::NETBSD_WAPBL | flag::NETBSD_NFS4ACLS);
            crate::suj::gate(&usable, false)?;
            replay(of.clone().overlaid()).await?;
            replay(of).await
        })
    }

    fn see(&self, of: Crashed) -> Recovering<Seen> {
        Box::pin(of.seen(replay))
    }
}

/// The replay without a rehearsal (L2).
async fn replay(of: Crashed) -> Result<Replayed, NotReplayed> {
    // Hints that are out of range, and a damaged backup, are for the check that may follow.
    let other = |damage: &&SuperblockDamage| {
        matches!(damage, SuperblockDamage::SuperblockRestored { .. } | SuperblockDamage::SuperblockDiffers { .. })
    };
    let (now, Crashed { disk, opened, .. }) = (of.now(), of);
    if let Some(damage) = opened.damage.iter().find(other) {
        return Err(NotReplayed::Superblock(damage.to_string()));
    }
    if !Wapbl.is_due(&opened.sb) {
        return Err(if opened.sb.is_clean() { NotReplayed::Clean } else { NotReplayed::NoLog });
    }
    let at = opened.sb.features().wapbl_at.ok_or(NotReplayed::NoLog)?;
    let place = Place::of(&at, opened.sb.volume_bytes(), disk.info().size)?;
    let log = Log::open(disk.clone(), place).await?;
    Replay::new(disk.clone(), opened.sb, now).replay_wapbl(disk, log).await
}

impl Replay {
    async fn replay_wapbl(mut self, disk: Rc<dyn Disk>, mut log: Log) -> Result<Replayed, NotReplayed> {
        (self.done.segments, self.done.records) = (log.transactions, log.pieces.count());
        self.write_images(&mut log).await?;
        let was_clean = self.sb.fields.clean & CLEAN_BITS != 0;
        self.sb.fields.flags |= flag::NETBSD_WAPBL;
        let left = match &log.list {
            Some(list) if !log.unlinked.is_empty() => {
                self.put_state().await?;
                for (at, header) in log.header.narrowed(list.start, list.end, self.now) {
                    write_through(&disk, log.place.log.start.saturating_add(at), &header).await?;
                }
                self.free_unlinked(&log.unlinked).await?
            }
            _ => 0,
        };
        let f = &mut self.sb.fields;
        (f.pendingblocks, f.pendinginodes) = (0, 0);
        f.clean = i8::from(was_clean && left == 0);
        self.put_state().await?;
        self.sb.fields.flags &= !flag::NETBSD_WAPBL;
        self.put_state().await?;
        Ok(self.done)
    }

    /// Writes all images that count, except that of the superblock, which becomes the one in memory (L4).
    async fn write_images(&mut self, log: &mut Log) -> Result<(), NotReplayed> {
        let (at, len) = (self.sb.at, self.sb.len_on_disk());
        let mut bytes = vec![0; len as usize];
        self.image.read(at, &mut bytes).await?;
        for (to, end, from) in log.pieces.take(at.0, at.0.saturating_add(len)) {
            let range = (to - at.0) as usize..(end - at.0) as usize;
            log.read(from, bytes.get_mut(range).unwrap_or_default()).await?;
        }
        let sb = Superblock::decode(&bytes, at)?;
        if !is_same(&sb, &self.sb) {
            return Err(NotReplayed::Superblock("the log has one of another volume".into()));
        }
        self.sb = sb;
        let mut waiting = 0;
        for (to, end, from) in log.pieces.take(0, u64::MAX) {
            let mut next = to;
            while next < end {
                let mut image = vec![0; (end - next).min(u64::from(self.geo.bsize)) as usize];
                log.read(log.header.circle.advance(from, next - to), &mut image).await?;
                self.image.write(ordo_ondisk::ByteOff(next), &image, Order::Contents).await?;
                next += image.len() as u64;
                // A line is cached whole, however little of it was written.
                waiting += u64::from(self.geo.bsize);
                if waiting >= FLUSH_EVERY {
                    self.image.flush_order(Order::Contents).await?;
                    waiting = 0;
                }
            }
        }
        Ok(self.image.flush_order(Order::Contents).await?)
    }

    /// Writes the superblock as it is in memory, durably.
    async fn put_state(&mut self) -> Result<(), NotReplayed> {
        let (at, bytes) = (self.sb.at, self.sb.encode(self.now));
        self.image.write(at, &bytes, Order::Superblock).await?;
        Ok(self.image.flush_superblock().await?)
    }
}

/// Whether two superblocks are of one volume. What `tunefs` changes may differ.
fn is_same(a: &Superblock, b: &Superblock) -> bool {
    let (mut ours, other) = (a.geometry(), b.geometry());
    (ours.maxcontig, ours.maxbpg, ours.minfree) = (other.maxcontig, other.maxbpg, other.minfree);
    (ours.avgfilesize, ours.avgfpdir, ours.rotdelay) = (other.avgfilesize, other.avgfpdir, other.rotdelay);
    ours == other && a.len_on_disk() == b.len_on_disk() && a.features().wapbl_at == b.features().wapbl_at
}

/// Writes bytes of the partition, whatever the disk's sectors are, and makes them durable.
async fn write_through(disk: &Rc<dyn Disk>, at: u64, bytes: &[u8]) -> Result<(), Error> {
    let sector = u64::from(disk.info().sector.max(512));
    let from = at - at % sector;
    let to = at.saturating_add(bytes.len() as u64).next_multiple_of(sector);
    let part = ReadPart { block: Block::zeroed((to - from) as usize), tag: Tag::of(Kind::Other) };
    let parts = disk.read(DiskOff(from), vec![part]).await?;
    let mut whole: Vec<u8> = parts.iter().flat_map(|part| part.block.iter().copied()).collect();
    let within = (at - from) as usize;
    if let Some(place) = whole.get_mut(within..within + bytes.len()) {
        place.copy_from_slice(bytes);
    }
    let part = WritePart { image: Block::copy_of(&whole).image(), tag: Tag::of(Kind::Other) };
    disk.write(DiskOff(from), vec![part], false).await?;
    Ok(disk.flush().await?)
}
