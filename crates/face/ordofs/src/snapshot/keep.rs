//! Copy on write: a disk over the volume's, which keeps the old contents of a block for the snapshots before it lets a
//! write through that replaces them.
//!
//! It lies below the queue, so no write of any scheme, of a replay or of a repair passes beside it, and it asks none of
//! them for an order. Everything that it writes itself is a block that no other program of the volume writes: copies in
//! blocks that are in the snapshot's file already (the *reserve*, see `reserve`), and the snapshot's indirect blocks.
//! Maps, inodes and counts stay as they are, so nothing of it has to be in a scheme's order or log.
//!
//! C1. A block is written over only after its old contents are durable in a copy, and then the pointer to the copy
//!     is durable. A crash at any moment leaves a pointer to the whole copy, or the old block.
//! C2. A block of the reserve is a free block of the snapshot's moment, and belongs to the snapshot at its own place:
//!     its pointer leads to itself. When it becomes a copy, the pointer of its own place becomes NOCOPY again. The
//!     number of blocks of the file stays, and with it the inode.
//! C3. The new pointer is durable before the old one goes: if a crash separates the two writes, both pointers name
//!     the block; the one at its own address is stale. That is resolved when the snapshot is opened, and by fsck.
//! C4. Without a reserve the write fails, and the old contents stay. Calls that would come to that are refused
//!     before ([`Keeping::headroom`]).
//! C5. A block of the reserve is not pending for any snapshot, so a copy never needs another copy.
//! C6. A repair may change what a snapshot consists of: what it writes over an indirect block, or over the inode, is
//!     taken over here, and a block that it writes is no reserve any more.

use super::kept::{Kept, listed};
use super::map::Map;
use super::{image, reserve};
use crate::SnapshotError;
use ordo_disk::{
    Block, Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, Kind, Reach, ReadPart, Tag, WritePart,
    write_len,
};
use ordo_ondisk::cg::{self, Cg, map as bits};
use ordo_ondisk::dinode::flags;
use ordo_ondisk::snapshot::NOCOPY;
use ordo_ondisk::{ByteOff, Dinode, FragNo, Geometry, Superblock};
use ordo_rt::sync::Mutex;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// See the module's invariants.
#[derive(Clone)]
pub(crate) struct Keeping(Rc<Inner>);

struct Inner {
    below: Rc<dyn Disk>,
    g: Rc<Geometry>,
    info: DiskInfo,
    kept: RefCell<Vec<Kept>>,
    /// Blocks that a write waits to replace.
    wanted: RefCell<BTreeSet<u64>>,
    /// Blocks whose copy has a pointer that may not be durable.
    moving: RefCell<BTreeSet<u64>>,
    /// Held while copies are made.
    turn: Mutex<()>,
    /// A pointer may or may not be on the disk: no other block is copied.
    broken: Cell<bool>,
}

/// How snapshots are to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum What {
    /// All, and the reserves are made as large as they should be, if the volume is at rest.
    Fill,
    /// Those that are whole: for a repair.
    Whole,
}

/// The disk of a volume, with the snapshots kept if it has any.
///
/// # Errors
/// A snapshot is damaged, or the disk fails.
pub(crate) async fn over(disk: Rc<dyn Disk>, sb: &Superblock, what: What) -> Result<Rc<dyn Disk>, SnapshotError> {
    Ok(match Keeping::new(disk.clone(), sb, what).await? {
        Some(keeping) => Rc::new(keeping),
        None => disk,
    })
}

impl Keeping {
    /// `None` for a volume without snapshots.
    ///
    /// # Errors
    /// As [`over`].
    pub(crate) async fn new(
        below: Rc<dyn Disk>,
        sb: &Superblock,
        what: What,
    ) -> Result<Option<Keeping>, SnapshotError> {
        let g = Rc::new(sb.geometry());
        let mut kept = vec![];
        for ino in listed(sb) {
            let (map, stale) = match Map::load(&below, &g, ino, true).await {
                // The repair that is to come empties it.
                Err(SnapshotError::Damaged { .. }) if what == What::Whole => continue,
                loaded => loaded?,
            };
            for lbn in stale {
                write_pointer(&below, &map, lbn).await?;
            }
            let reserve = match found_reserve(&below, &map).await {
                // As above.
                Err(SnapshotError::Corrupt(_)) if what == What::Whole => continue,
                found => found?,
            };
            kept.push(Kept { map, reserve, pending: 0, gone: false });
        }
        if listed(sb).is_empty() {
            return Ok(None);
        }
        if what == What::Fill && sb.is_clean() && !sb.features().unclean {
            reserve::fill(&below, sb, &mut kept).await?;
        }
        for kept in &mut kept {
            kept.pending = kept.pending();
        }
        // Requests wait for each other.
        let info = DiskInfo { immediate: false, ..below.info() };
        let (kept, wanted, moving) = (RefCell::new(kept), RefCell::default(), RefCell::default());
        let inner = Inner { below, g, info, kept, wanted, moving, turn: Mutex::new(()), broken: Cell::new(false) };
        Ok(Some(Keeping(Rc::new(inner))))
    }

    /// How many blocks can still be copied for each snapshot; the largest number if that is enough for all.
    pub(crate) fn headroom(&self) -> u64 {
        self.0.kept.borrow().iter().map(Kept::headroom).min().unwrap_or(u64::MAX)
    }
}

/// The reserve that an earlier mount has left: blocks at their own places that were free at the snapshot's moment. What
/// was in use then was given to the snapshot by its file, and is contents.
async fn found_reserve(disk: &Rc<dyn Disk>, map: &Map) -> Result<BTreeSet<u64>, SnapshotError> {
    let g = map.geometry().clone();
    let mut reserve = BTreeSet::new();
    let mut group: Option<(u32, Vec<u8>)> = None;
    for (lbn, at) in map.own().filter(|&(lbn, at)| g.frag_of_block(lbn) == at) {
        let c = g.dtog(at);
        if group.as_ref().is_none_or(|(read, _)| *read != c.0) {
            let bytes = image::read_then(disk, map, g.byte(g.cgtod(c)), g.cgsize as usize).await?;
            group = Some((c.0, bytes));
        }
        let Some((_, bytes)) = &group else { continue };
        let layout = cg::check_maps(bytes, &g, c)?;
        let free = Cg::new(bytes, layout, g.endian).is_some_and(|cg| bits::all(cg.free(), g.dtogd(at).0, g.frag, true));
        reserve.extend(free.then_some(lbn));
    }
    Ok(reserve)
}

/// Writes the sectors of an indirect block that have this pointer, as the map has it.
pub(super) async fn write_pointer(disk: &Rc<dyn Disk>, map: &Map, lbn: u64) -> Result<(), DiskError> {
    let Some((leaf, i)) = map.place(lbn) else { return Ok(()) };
    let Some(leaf) = map.leaves.get(leaf) else { return Ok(()) };
    let g = map.geometry();
    write_sector(disk, g.byte(leaf.at), &leaf.bytes, i as usize * g.pointer_size()).await
}

/// Writes the sector of a block that has byte `at` of it: the unit that no crash tears.
async fn write_sector(disk: &Rc<dyn Disk>, home: ByteOff, block: &[u8], at: usize) -> Result<(), DiskError> {
    let sector = (disk.info().sector as usize).clamp(1, block.len().max(1));
    let from = at / sector * sector;
    let bytes = block.get(from..block.len().min(from + sector)).unwrap_or_default();
    let image = Block::copy_of(bytes).image();
    let part = WritePart { image, tag: Tag::of(Kind::Indirect) };
    disk.write(DiskOff(home.0 + from as u64), vec![part], false).await
}

/// A copy that is to be made.
struct Copy {
    /// Which snapshot.
    of: usize,
    /// The block that is kept.
    block: u64,
    /// The block of the reserve that gets its contents.
    to: u64,
}

impl Inner {
    fn blocks(&self, at: u64, len: u64) -> std::ops::Range<u64> {
        let bsize = u64::from(self.g.bsize);
        let end = (at + len).div_ceil(bsize).min(self.g.snapshot_blocks());
        (at / bsize).min(end)..end
    }

    /// Whether something must happen before or with a write of these bytes.
    fn concerns(&self, at: u64, len: u64) -> bool {
        let (kept, moving) = (self.kept.borrow(), self.moving.borrow());
        self.blocks(at, len).any(|block| {
            moving.contains(&block)
                || kept.iter().any(|kept| {
                    let map = &kept.map;
                    kept.is_pending(block)
                        || kept.reserve.contains(&block)
                        || self.g.block_of_frag(self.g.ino_to_fsba(map.ino)) == block
                        || map.is_leaf(block)
                })
        })
    }

    /// Keeps what these blocks have, together with what other writes wait for.
    async fn keep(&self, blocks: std::ops::Range<u64>) -> Result<(), DiskError> {
        let pending = |block: &u64| self.kept.borrow().iter().any(|kept| kept.is_pending(*block));
        if !blocks.clone().any(|block| pending(&block)) {
            return Ok(());
        }
        let failed = |block: u64| {
            let at = DiskOff(self.g.byte(self.g.frag_of_block(block)).0);
            DiskError::new(DiskOp::Write, at, self.g.bsize.into(), Cause::NoReserve)
        };
        if self.broken.get() {
            return Err(failed(blocks.start));
        }
        // First those of this write: another one may fail for want of reserve, and this one not.
        let others: Vec<u64> = self.wanted.borrow().iter().copied().filter(|block| !blocks.contains(block)).collect();
        let mut copies = vec![];
        for block in blocks.clone() {
            self.assign(block, &mut copies).ok_or_else(|| failed(block))?;
        }
        for block in others {
            if self.assign(block, &mut copies).is_none() {
                break;
            }
        }
        self.copy(&copies).await?;
        self.broken.set(true);
        self.moving.borrow_mut().extend(copies.iter().map(|copy| copy.block));
        self.point(&copies).await?;
        self.moving.borrow_mut().clear();
        self.broken.set(false);
        Ok(())
    }

    /// Takes from each reserve that needs it. `None`: one is empty, and none was used.
    fn assign(&self, block: u64, copies: &mut Vec<Copy>) -> Option<()> {
        let mut kept = self.kept.borrow_mut();
        if kept.iter().any(|kept| kept.is_pending(block) && kept.reserve.is_empty()) {
            return None;
        }
        for (of, kept) in kept.iter_mut().enumerate().filter(|(_, kept)| kept.is_pending(block)) {
            copies.push(Copy { of, block, to: kept.reserve.pop_last()? });
        }
        Some(())
    }

    /// The contents, durable.
    async fn copy(&self, copies: &[Copy]) -> Result<(), DiskError> {
        let (g, volume) = (&self.g, self.g.byte(FragNo(self.g.size)).0);
        let mut read: Option<(u64, ordo_disk::Image)> = None;
        for Copy { block, to, .. } in copies {
            let image = match &read {
                Some((of, image)) if of == block => image.clone(),
                _ => {
                    let at = g.byte(g.frag_of_block(*block)).0;
                    let len = (volume - at).min(g.bsize.into()) as usize;
                    let part = ReadPart { block: Block::zeroed(len), tag: Tag::default() };
                    let parts = self.below.read(DiskOff(at), vec![part]).await?;
                    let mut whole = Block::zeroed(g.bsize as usize);
                    for part in parts {
                        whole[..len].copy_from_slice(&part.block);
                    }
                    let image = whole.image();
                    read = Some((*block, image.clone()));
                    image
                }
            };
            let part = WritePart { image, tag: Tag::of(Kind::Data) };
            self.below.write(DiskOff(g.byte(g.frag_of_block(*to)).0), vec![part], false).await?;
        }
        self.below.flush().await
    }

    /// The pointers to them, durable, and then those of the reserve (C3).
    async fn point(&self, copies: &[Copy]) -> Result<(), DiskError> {
        let sectors = |lbns: &mut dyn Iterator<Item = (usize, u64)>| self.sectors(lbns);
        {
            let mut kept = self.kept.borrow_mut();
            for Copy { of, block, to } in copies {
                kept[*of].map.set(*block, self.g.frag_of_block(*to));
                kept[*of].pending -= 1;
            }
        }
        self.write_all(sectors(&mut copies.iter().map(|copy| (copy.of, copy.block)))).await?;
        self.below.flush().await?;
        {
            let mut kept = self.kept.borrow_mut();
            for Copy { of, to, .. } in copies {
                kept[*of].map.set(*to, NOCOPY);
            }
        }
        self.write_all(sectors(&mut copies.iter().map(|copy| (copy.of, copy.to)))).await
    }

    /// The sectors that have these pointers: place and bytes.
    fn sectors(&self, lbns: &mut dyn Iterator<Item = (usize, u64)>) -> BTreeMap<u64, Vec<u8>> {
        let (kept, sector) = (self.kept.borrow(), self.info.sector as usize);
        let mut all = BTreeMap::new();
        for (of, lbn) in lbns {
            let map = &kept[of].map;
            let Some((leaf, i)) = map.place(lbn).and_then(|(leaf, i)| Some((map.leaves.get(leaf)?, i))) else {
                continue;
            };
            let from = i as usize * self.g.pointer_size() / sector * sector;
            let bytes = leaf.bytes.get(from..leaf.bytes.len().min(from + sector)).unwrap_or_default();
            all.insert(self.g.byte(leaf.at).0 + from as u64, bytes.to_vec());
        }
        all
    }

    async fn write_all(&self, sectors: BTreeMap<u64, Vec<u8>>) -> Result<(), DiskError> {
        for (at, bytes) in sectors {
            let part = WritePart { image: Block::copy_of(&bytes).image(), tag: Tag::of(Kind::Indirect) };
            self.below.write(DiskOff(at), vec![part], false).await?;
        }
        Ok(())
    }

    /// Takes over what a write changes of the snapshots themselves (C6).
    fn adopt(&self, at: u64, parts: &[WritePart]) {
        let mut kept = self.kept.borrow_mut();
        let touched = self.blocks(at, write_len(parts));
        for kept in kept.iter_mut() {
            kept.reserve.retain(|block| !touched.contains(block));
            let mut from = at;
            for part in parts {
                kept.map.overwrite(from, &part.image);
                let inode = kept.map.inode_at().0;
                let within = inode.checked_sub(from).and_then(|within| part.image.get(within as usize..));
                let len = self.g.dinode_size as usize;
                if let Some(bytes) = within.and_then(|bytes| bytes.get(..len)) {
                    let mut lax = (*self.g).clone();
                    lax.inode_hash = false;
                    let dinode = Dinode::decode(bytes, &lax, kept.map.ino).unwrap_or_default();
                    kept.gone |= dinode.flags & flags::SF_SNAPSHOT == 0 || dinode.mode == 0;
                }
                from += part.image.len() as u64;
            }
            if kept.gone {
                kept.reserve.clear();
            }
        }
    }
}

impl Disk for Keeping {
    fn info(&self) -> DiskInfo {
        self.0.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        self.0.below.read(at, parts)
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let len = write_len(&parts);
        if self.0.info.check(DiskOp::Write, at, len).is_err() || !self.0.concerns(at.0, len) {
            return self.0.below.write(at, parts, fua);
        }
        let inner = self.0.clone();
        let blocks = inner.blocks(at.0, len);
        inner.wanted.borrow_mut().extend(blocks.clone());
        DiskFuture::later(async move {
            let turn = inner.turn.lock().await;
            inner.wanted.borrow_mut().retain(|block| !blocks.contains(block));
            inner.keep(blocks).await?;
            inner.adopt(at.0, &parts);
            let outcome = inner.below.write(at, parts, fua).await;
            drop(turn);
            outcome
        })
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        self.0.below.flush()
    }

    fn is_fenced(&self) -> bool {
        self.0.below.is_fenced()
    }

    fn keeps_snapshots(&self) -> bool {
        true
    }

    fn announce(&self, ranges: &[(DiskOff, u64)]) -> DiskFuture<Result<(), DiskError>> {
        self.0.below.announce(ranges)
    }

    fn reach(&self, at: DiskOff, len: u64) -> Option<Reach> {
        self.0.below.reach(at, len)
    }

    fn positioning(&self, at: DiskOff, is_write: bool) -> Option<u64> {
        self.0.below.positioning(at, is_write)
    }
}
