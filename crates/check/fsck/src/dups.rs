//! Phase 1b: fragments that two pointers claim, and those that lie across the border of two blocks.
//!
//! It is unknown which claim is right, and both files could be read until now, so the second gets a copy of the
//! contents, as far as there is room and within a bound; without room its pointer is cleared and reads as a hole. At
//! this point every first claimant is known, so the pointers in a copied indirect block are claimed like any other.
//!
//! What lies across a border is moved in the same way. A tail can be read where it is, so without room it stays there,
//! and nothing of the volume is repaired. A whole block there is damage: no system leaves it.

use crate::volume::{Dup, InodeState, Place, Volume};
use crate::{Error, Finding, Mode};
use ordo_ondisk::{ByteOff, Dinode, FragNo};
use ordo_recover::{Order, Pointer, Slot};

/// Maximum number of bytes that one check copies; the copies wait in memory until the end.
const COPY_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of bytes that one round moves; the next round moves more.
const MOVE_BYTES_MAX: u64 = 32 << 20;

impl Volume {
    /// Gives every pointer in `dups` fragments of its own, or clears it.
    pub(crate) async fn settle_dups(&mut self) -> Result<(), Error> {
        let (mut left, mut left_to_move) = (COPY_BYTES_MAX, MOVE_BYTES_MAX);
        let mut owners: Vec<u32> = self.dups.iter().map(|dup| dup.ino).collect();
        while let Some(dup) = self.dups.pop() {
            let mut dinode = self.dinode(dup.ino).await?;
            let bytes = u64::from(dup.pointer.count) * u64::from(self.geo.fsize);
            if dup.place == Place::Own {
                if let Some(rest) = left_to_move.checked_sub(bytes) {
                    left_to_move = rest;
                    self.move_whole(&mut dinode, dup).await?;
                    self.put_dinode(dup.ino, &dinode).await?;
                }
                continue;
            }
            let copy = if bytes <= left { self.take_frags(dup.pointer.count) } else { None };
            left -= if copy.is_some() { bytes } else { 0 };
            self.settle_dup(&mut dinode, dup, copy).await?;
            self.put_dinode(dup.ino, &dinode).await?;
        }
        owners.sort_unstable();
        owners.dedup();
        for ino in owners {
            self.recount(ino).await?;
        }
        Ok(())
    }

    /// Moves contents from across a border to a place within one block.
    async fn move_whole(&mut self, dinode: &mut Dinode, dup: Dup) -> Result<(), Error> {
        let Pointer { slot, frag, count, .. } = dup.pointer;
        let Some(to) = self.take_frags(count) else {
            if count == self.geo.frag {
                self.free_frags(frag, count);
                return self.set_pointer(dinode, slot, FragNo::HOLE).await;
            }
            if self.mode != Mode::Check && self.report.refused.is_none() {
                let needed = u64::from(count) * u64::from(self.geo.fsize);
                let why = "which lie across the border of two blocks: the volume has no room for them";
                self.report.refused = Some(format!("inode {}: {needed} bytes cannot be moved, {why}", dup.ino));
            }
            return Ok(());
        };
        self.copy_frags(frag, to, count).await?;
        self.free_frags(frag, count);
        self.set_pointer(dinode, slot, to).await
    }

    async fn copy_frags(&mut self, from: FragNo, to: FragNo, count: u32) -> Result<(), Error> {
        let mut contents = vec![0; count as usize * self.geo.fsize as usize];
        self.image.read(self.byte(from), &mut contents).await?;
        self.image.write(self.byte(to), &contents, Order::Fresh).await
    }

    async fn settle_dup(&mut self, dinode: &mut Dinode, dup: Dup, copy: Option<FragNo>) -> Result<(), Error> {
        let Pointer { slot, frag, count, level, lbn } = dup.pointer;
        let Some(copy) = copy else { return self.set_pointer(dinode, slot, FragNo::HOLE).await };
        self.copy_frags(frag, copy, count).await?;
        self.set_pointer(dinode, slot, copy).await?;
        if level > 0 {
            self.claim_children(dup.ino, dinode, Pointer { frag: copy, lbn, level, count, slot }).await?;
        }
        Ok(())
    }

    /// Claims the pointers in a copied indirect block, one level of it; deeper levels wait in `dups` or are walked.
    async fn claim_children(&mut self, ino: u32, dinode: &mut Dinode, parent: Pointer) -> Result<(), Error> {
        let geo = self.geo.clone();
        let mut block = vec![0; geo.bsize as usize];
        self.image.read(self.byte(parent.frag), &mut block).await?;
        for index in 0..geo.nindir {
            let Some(frag) = geo.pointer(&block, index).filter(|frag| !frag.is_hole()) else { continue };
            let at = ByteOff(self.byte(parent.frag).0 + u64::from(index) * geo.pointer_size() as u64);
            let level = parent.level - 1;
            let lbn = parent.lbn.saturating_add(geo.span(level).saturating_mul(index.into()));
            let child = Pointer { slot: Slot::Block(at), lbn, level, frag, count: geo.frag };
            let beyond = lbn >= dinode.size.div_ceil(geo.bsize.into());
            let whole = geo.is_data_range(frag, geo.frag);
            if beyond || !(whole || level == 0 && geo.is_readable_range(frag, geo.frag)) {
                self.find(Finding::BadPointer { ino, lbn, frag: frag.0, count: geo.frag });
                self.set_pointer(dinode, child.slot, FragNo::HOLE).await?;
            } else if self.used.any(frag.0, geo.frag.into()) || level > 0 {
                // An indirect block that no file owns is copied too: its pointers must be checked before they are
                // followed, and that happens here.
                self.push_dup(ino, dinode, child).await?;
            } else {
                self.used.set(frag.0, geo.frag.into());
                if !whole {
                    self.find(Finding::AcrossBlocks { ino, lbn, frag: frag.0, count: geo.frag });
                    self.dups.push(Dup { ino, pointer: child, place: Place::Own });
                }
            }
        }
        Ok(())
    }

    async fn push_dup(&mut self, ino: u32, dinode: &mut Dinode, pointer: Pointer) -> Result<(), Error> {
        if self.dups.len() < crate::inodes::DUPS_MAX {
            self.dups.push(Dup { ino, pointer, place: Place::Shared });
            return Ok(());
        }
        self.set_pointer(dinode, pointer.slot, FragNo::HOLE).await
    }

    /// Recomputes size and block count of an inode whose pointers were settled.
    async fn recount(&mut self, ino: u32) -> Result<(), Error> {
        let mut dinode = self.dinode(ino).await?;
        let tally = self.tally(&dinode).await?;
        self.settle(ino, &mut dinode, tally).await?;
        if dinode.is_dir() && dinode.size == 0 {
            self.forget_dir(ino);
            if let Some(known) = self.known_mut(ino) {
                known.state = InodeState::EmptyDir;
            }
        }
        self.put_dinode(ino, &dinode).await
    }
}
