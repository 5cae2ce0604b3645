//! Phase 1: every initialised inode, and the blocks that it claims.
//!
//! Claims are made in the order of inode numbers, except that an inode whose check hash is wrong comes last: if two
//! claim a fragment, the damaged one must be the second. The first claimant keeps a fragment; `dups` handles the
//! second.

use crate::volume::{Dir, Dup, InodeState, Known, Place, Volume};
use crate::{Error, Finding, Phase, Severity};
use ordo_ondisk::dinode::{flags, mode};
use ordo_ondisk::{ByteOff, Cgx, Dinode, FragNo, Ino};
use ordo_recover::{Order, Pointer, Slot, Walk, is_snapshot};

/// Duplicates that are remembered; further duplicate pointers are cleared at once.
pub(crate) const DUPS_MAX: usize = 1 << 16;
/// Groups that are read ahead together.
pub(crate) const GROUPS_AHEAD: u32 = 16;
/// Bytes of inodes that are read ahead at a time.
const AHEAD: u64 = 2 << 20;

/// Totals over the pointers of an inode.
#[derive(Default)]
pub(crate) struct Tally {
    /// Fragments.
    pub(crate) frags: u64,
    /// One more than the last block of the file.
    pub(crate) end: u64,
    /// Some pointers wait in `dups`.
    pub(crate) dups: bool,
}

impl Volume {
    /// Phase 1.
    pub(crate) async fn check_inodes(&mut self) -> Result<(), Error> {
        let mut suspects = vec![];
        for c in 0..self.geo.ncg {
            self.step(Phase::Inodes, c.into(), self.geo.ncg.into());
            if c % GROUPS_AHEAD == 0 {
                self.groups_ahead(c, 2).await?;
            }
            let inited = self.group_header(Cgx(c)).await?;
            if let Some(group) = self.groups.get_mut(c as usize) {
                group.inited = inited;
            }
            self.group_inodes(c, inited, &mut suspects).await?;
        }
        for ino in suspects {
            let dinode = self.dinode(ino).await?;
            let known = self.one_inode(ino, dinode, true).await?;
            if let Some(slot) = self.known_mut(ino) {
                *slot = known;
            }
        }
        for group in &mut self.groups {
            let used = group.inodes.iter().rposition(|known| known.state != InodeState::Free);
            group.inodes.truncate(used.map_or(0, |last| last + 1));
        }
        self.dirs.sort_unstable_by_key(|dir| dir.ino);
        self.settle_dups().await?;
        self.check_snapshot_list();
        Ok(())
    }

    /// Reads the blocks of the next groups together, with their first blocks of inodes.
    pub(crate) async fn groups_ahead(&mut self, from: u32, inode_blocks: u32) -> Result<(), Error> {
        let geo = self.geo.clone();
        let len = u64::from(inode_blocks) * u64::from(geo.bsize);
        let groups = (from..geo.ncg.min(from + GROUPS_AHEAD)).map(Cgx);
        let places = groups.flat_map(|c| {
            let inodes = (geo.byte(geo.cgimin(c)), len);
            [Some((geo.byte(geo.cgtod(c)), u64::from(geo.cgsize))), (len > 0).then_some(inodes)].into_iter().flatten()
        });
        self.image.ahead(places).await
    }

    async fn group_inodes(&mut self, c: u32, inited: u32, suspects: &mut Vec<u32>) -> Result<(), Error> {
        let (geo, size) = (self.geo.clone(), self.geo.dinode_size as usize);
        let first = geo.byte(geo.cgimin(Cgx(c)));
        let blocks_ahead = (AHEAD / u64::from(geo.bsize)).max(1) as u32;
        let mut inodes = Vec::with_capacity(inited as usize);
        for block in 0..inited / geo.inopb {
            let at = ByteOff(first.0 + u64::from(block) * u64::from(geo.bsize));
            if block % blocks_ahead == 0 {
                let blocks = (inited / geo.inopb - block).min(blocks_ahead);
                let len = u64::from(blocks) * u64::from(geo.bsize);
                self.image.ahead(std::iter::once((at, len))).await?;
            }
            let (line, within) = self.image.line(at).await?;
            let block_bytes = line.get(within..).unwrap_or_default();
            let block_bytes = block_bytes.get(..geo.inopb as usize * size).unwrap_or(block_bytes);
            let block_first = c * geo.ipg + block * geo.inopb;
            // Most blocks of most volumes are zero; but inodes 0 and 1 count as in use although they are empty.
            if block_first > 1 && is_zero(block_bytes) {
                inodes.resize(inodes.len() + block_bytes.len() / size, Known::default());
                continue;
            }
            for (bytes, ino) in block_bytes.chunks_exact(size).zip(block_first..) {
                let known = match ino {
                    0 | 1 => Known { state: InodeState::Hidden, ..Known::default() },
                    _ if is_empty(bytes) => Known::default(),
                    _ => match self.decode(ino, bytes) {
                        (dinode, true) => self.one_inode(ino, dinode, false).await?,
                        (_, false) => {
                            suspects.push(ino);
                            Known { state: InodeState::File, ..Known::default() }
                        }
                    },
                };
                inodes.push(known);
            }
        }
        if let Some(group) = self.groups.get_mut(c as usize) {
            group.inodes = inodes;
        }
        Ok(())
    }

    /// Decodes an inode; `false` if its check hash is wrong, which is reported.
    fn decode(&mut self, ino: u32, bytes: &[u8]) -> (Dinode, bool) {
        let dinode = Dinode::decode(bytes, &self.lax, Ino(ino)).unwrap_or_default();
        let hashed = self.geo.inode_hash && dinode.mode != 0;
        let right = if hashed { ordo_ondisk::check_hash_without(bytes, 244) } else { 0 };
        let found = if hashed { self.geo.endian.get_u32(bytes, 244).unwrap_or(0) } else { 0 };
        if found != right {
            self.find(Finding::InodeHash { ino, found, right });
        }
        (dinode, found == right)
    }

    /// Checks one inode that is not empty; returns what it is.
    async fn one_inode(&mut self, ino: u32, mut dinode: Dinode, rehash: bool) -> Result<Known, Error> {
        let on_disk = dinode.clone();
        if let crate::shape::Shape::Hopeless = self.shape(ino, &mut dinode).await? {
            self.put_dinode(ino, &Dinode { gen_: dinode.gen_, ..Dinode::default() }).await?;
            return Ok(Known::default());
        }
        if is_snapshot(&dinode) {
            self.check_snapshot(ino, &mut dinode).await?;
        }
        let tally = self.claim(ino, &mut dinode).await?;
        if !tally.dups {
            self.settle(ino, &mut dinode, tally).await?;
        }
        if dinode != on_disk || rehash {
            self.put_dinode(ino, &dinode).await?;
        }
        self.check_ext_records(ino, &dinode).await?;
        Ok(self.remember(ino, &dinode))
    }

    fn remember(&mut self, ino: u32, dinode: &Dinode) -> Known {
        let state = if dinode.is_dir() && dinode.size == 0 {
            InodeState::EmptyDir
        } else if dinode.is_dir() {
            let first = dinode.db.first().copied().unwrap_or_default();
            self.dirs.push(Dir { ino, first, parent: 0, dotdot: 0, named_at: 0, gone: false });
            InodeState::Dir
        } else if self.is_hidden(ino, dinode) {
            InodeState::Hidden
        } else {
            InodeState::File
        };
        if is_snapshot(dinode) {
            self.snapshots.push(ino);
        }
        Known { state, type_: (dinode.mode >> 12) as u8, nlink: dinode.nlink, links: 0 }
    }

    /// NetBSD keeps its log and its quotas in files without names.
    fn is_hidden(&self, ino: u32, dinode: &Dinode) -> bool {
        let features = self.sb.features();
        let log = features.wapbl_at.is_some_and(|log| log.within) && dinode.flags & flags::SF_LOG != 0;
        let quotas = self.sb.fields.sparecon64.get(3..5).unwrap_or_default();
        let quota = features.quota2 && quotas.contains(&i64::from(ino));
        dinode.kind() == mode::REG && (log || quota)
    }

    /// Claims the fragments of all pointers, and clears invalid pointers.
    pub(crate) async fn claim(&mut self, ino: u32, dinode: &mut Dinode) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            let keep = self.claim_one(ino, dinode, pointer, &mut tally);
            match keep {
                Claim::Owned => {
                    let blocks = walk.ahead(&self.geo, &pointer);
                    if self.claim_more(dinode, pointer, blocks, &mut tally) {
                        walk.pass(blocks);
                    }
                }
                Claim::Moving => {}
                Claim::Shared => walk.skip(),
                Claim::Wrong(finding) => {
                    walk.skip();
                    self.find(finding);
                    self.set_pointer(dinode, pointer.slot, FragNo::HOLE).await?;
                }
            }
        }
        Ok(tally)
    }

    fn claim_one(&mut self, ino: u32, dinode: &Dinode, pointer: Pointer, tally: &mut Tally) -> Claim {
        let Pointer { slot, lbn, level, frag, count } = pointer;
        let is_file = !matches!(slot, Slot::Ext(_));
        let (size, blocks) = (dinode.size, dinode.size.div_ceil(self.geo.bsize.into()));
        if is_file && lbn >= blocks {
            return Claim::Wrong(match slot {
                Slot::Block(_) => Finding::IndirectBeyondSize { ino, lbn, size },
                _ => Finding::PointerBeyondSize { ino, lbn, size },
            });
        }
        let across = !self.geo.is_data_range(frag, count);
        if across && !(level == 0 && self.geo.is_readable_range(frag, count)) {
            return Claim::Wrong(Finding::BadPointer { ino, lbn, frag: frag.0, count });
        }
        let taken = self.used.any(frag.0, count.into());
        if taken && self.dups.len() >= DUPS_MAX {
            return Claim::Wrong(Finding::DuplicatePointer { ino, lbn, frag: frag.0 });
        }
        tally.frags += u64::from(count);
        if is_file && level == 0 {
            tally.end = tally.end.max(lbn + 1);
        }
        if taken {
            self.find(Finding::DuplicatePointer { ino, lbn, frag: frag.0 });
            self.dups.push(Dup { ino, pointer, place: Place::Shared });
            tally.dups = true;
            return Claim::Shared;
        }
        self.used.set(frag.0, count.into());
        if across {
            self.find(Finding::AcrossBlocks { ino, lbn, frag: frag.0, count });
            // Those for which there is no room here are found again in the next round.
            if self.dups.len() < DUPS_MAX {
                self.dups.push(Dup { ino, pointer, place: Place::Own });
                tally.dups = true;
            }
            return Claim::Moving;
        }
        Claim::Owned
    }

    /// Claims the `blocks` after a pointer's block, if none of them is already claimed. Metadata, and everything beyond
    /// the end of the volume, is claimed from the start.
    fn claim_more(&mut self, dinode: &Dinode, last: Pointer, blocks: u32, tally: &mut Tally) -> bool {
        let (first, frags) = (last.frag.plus(self.geo.frag), blocks * self.geo.frag);
        let end = last.lbn.saturating_add(1 + u64::from(blocks));
        let beyond = end > dinode.size.div_ceil(self.geo.bsize.into());
        if blocks == 0 || beyond || self.used.any(first.0, frags.into()) {
            return false;
        }
        self.used.set(first.0, frags.into());
        tally.frags += u64::from(frags);
        tally.end = tally.end.max(end);
        true
    }

    /// The totals over pointers that are all owned.
    pub(crate) async fn tally(&mut self, dinode: &Dinode) -> Result<Tally, Error> {
        let mut tally = Tally::default();
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            tally.frags += u64::from(pointer.count);
            if pointer.level == 0 && !matches!(pointer.slot, Slot::Ext(_)) {
                tally.end = tally.end.max(pointer.lbn + 1);
            }
        }
        Ok(tally)
    }

    /// Makes size and block count match the pointers.
    pub(crate) async fn settle(&mut self, ino: u32, dinode: &mut Dinode, mut tally: Tally) -> Result<(), Error> {
        let bsize = u64::from(self.geo.bsize);
        let (size, right) = (dinode.size, tally.end * bsize);
        if dinode.has_blocks(&self.geo) && !is_snapshot(dinode) && right < size.div_ceil(bsize) * bsize {
            // Soft updates leaves this where a file reaches into indirect blocks.
            let severity = if size > 12 * bsize { Severity::Preen } else { Severity::Manual };
            self.find_as(Finding::SizeBeyondBlocks { ino, size, right }, severity);
            dinode.size = right;
            tally.frags -= self.drop_beyond(dinode, tally.end).await?;
        }
        let right = tally.frags * u64::from(self.geo.fsize / 512);
        if dinode.blocks != right {
            self.find(Finding::BlockCount { ino, found: dinode.blocks, right });
            dinode.blocks = right;
        }
        Ok(())
    }

    /// Frees the indirect blocks that lead to nothing before block `end`; returns their fragments.
    async fn drop_beyond(&mut self, dinode: &mut Dinode, end: u64) -> Result<u64, Error> {
        let mut dropped = 0;
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            if pointer.lbn >= end && !matches!(pointer.slot, Slot::Ext(_)) {
                self.free_frags(pointer.frag, pointer.count);
                dropped += u64::from(pointer.count);
                self.set_pointer(dinode, pointer.slot, FragNo::HOLE).await?;
            }
        }
        Ok(dropped)
    }

    /// Rule 49: the records of the attribute area.
    async fn check_ext_records(&mut self, ino: u32, dinode: &Dinode) -> Result<(), Error> {
        if dinode.extsize == 0 {
            return Ok(());
        }
        let mut area = vec![0; dinode.extsize as usize];
        let bsize = self.geo.bsize as usize;
        for (part, frag) in area.chunks_mut(bsize).zip(dinode.extb) {
            if !frag.is_hole() {
                self.image.read(self.byte(frag), part).await?;
            }
        }
        let Some((at, why)) = bad_record(&area, self.geo.endian) else { return Ok(()) };
        self.find(Finding::ExtRecord { ino, at: at as u32, why });
        // A record of length 0 ends the list; those before it stay.
        for (k, frag) in dinode.extb.into_iter().enumerate().filter(|(_, frag)| !frag.is_hole()) {
            let (from, to) = (at.max(k * bsize), area.len().min((k + 1) * bsize));
            if from < to {
                let at = ByteOff(self.byte(frag).0 + (from - k * bsize) as u64);
                self.image.write(at, &vec![0; to - from], Order::Contents).await?;
            }
        }
        Ok(())
    }

    /// Rule 18: every slot of the list names a snapshot, and the list has no gaps.
    fn check_snapshot_list(&mut self) {
        let slots = self.sb.fields.snapinum;
        let mut kept: Vec<u32> = vec![];
        for (slot, ino) in slots.into_iter().enumerate().filter(|&(_, ino)| ino != 0) {
            if self.snapshots.contains(&ino) && !kept.contains(&ino) && kept.len() == slot {
                kept.push(ino);
            } else {
                self.find(Finding::SnapshotSlot { slot, ino });
                let moved = self.snapshots.contains(&ino) && !kept.contains(&ino);
                kept.extend(moved.then_some(ino));
            }
        }
        kept.resize(slots.len(), 0);
        for (to, from) in self.sb.fields.snapinum.iter_mut().zip(kept) {
            *to = from;
        }
    }
}

enum Claim {
    Owned,
    /// The fragments are its own; their contents get another place.
    Moving,
    /// The pointer waits in `dups`.
    Shared,
    Wrong(Finding),
}

/// True if `bytes`, whole sectors, are all zero.
fn is_zero(bytes: &[u8]) -> bool {
    bytes.as_chunks().0.iter().all(|part| *part == [0; 64])
}

/// True for an empty free inode: mode, size, attribute area and pointers are 0.
fn is_empty(bytes: &[u8]) -> bool {
    const ZEROS: [u8; 256] = [0; 256];
    let zero = |from, to| bytes.get(from..to) == ZEROS.get(from..to);
    match bytes.len() {
        128 => zero(0, 2) && zero(8, 16) && zero(40, 100),
        _ => zero(0, 2) && zero(16, 24) && zero(92, 232),
    }
}

/// The first invalid record of an attribute area, and why it is invalid.
fn bad_record(area: &[u8], endian: ordo_ondisk::Endian) -> Option<(usize, &'static str)> {
    let mut at = 0;
    while let Some(len) = endian.get_u32(area, at).filter(|&len| len >= 8) {
        let len = len as usize;
        let byte = |offset: usize| usize::from(area.get(at + offset).copied().unwrap_or(0));
        let (padding, name) = (byte(5), byte(6));
        if !len.is_multiple_of(8) {
            return Some((at, "its length is not a multiple of 8"));
        }
        if len > area.len() - at {
            return Some((at, "it runs beyond the area"));
        }
        if name == 0 || (7 + name).next_multiple_of(8) + padding > len {
            return Some((at, "its name does not fit"));
        }
        at += len;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use ordo_ondisk::Endian;

    #[test]
    fn attribute_records_are_followed_to_the_first_bad_one() {
        let mut area = vec![0; 64];
        area[..12].copy_from_slice(&[32, 0, 0, 0, 1, 7, 4, b't', b'e', b's', b't', 0]);
        assert_eq!(bad_record(&area, Endian::Little), None);
        area[32] = 40;
        assert_eq!(bad_record(&area, Endian::Little), Some((32, "it runs beyond the area")));
        area[32] = 32;
        assert_eq!(bad_record(&area, Endian::Little), Some((32, "its name does not fit")));
        area[0] = 30;
        assert_eq!(bad_record(&area, Endian::Little), Some((0, "its length is not a multiple of 8")));
        assert_eq!(bad_record(&[], Endian::Big), None);
    }
}
