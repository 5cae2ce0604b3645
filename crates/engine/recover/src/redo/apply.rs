//! Applying the transactions.

use crate::dirty::Order;
use crate::outcome::NotReplayed;
use crate::suj::{InodeKind, Replay};
use ordo_disk::{Block, DiskOff};
use ordo_ondisk::redo::{Changed, Transaction, Waiting};
use ordo_ondisk::{ByteOff, Cgx, FragNo, Geometry};
use std::collections::BTreeMap;

/// Runs of fragments that were freed, and the transaction since which they have no contents (ondisk-redo-3).
#[derive(Default)]
struct Void(BTreeMap<u64, (u64, usize)>);

impl Void {
    fn of(transactions: &[Transaction], geo: &Geometry) -> Void {
        let mut void = Void::default();
        for (n, transaction) in transactions.iter().enumerate() {
            for waiting in &transaction.waiting {
                let Waiting::Blocks(runs) = waiting else { continue };
                let pieces = runs.iter().flat_map(|(at, frags)| by_block(geo, *at, *frags));
                void.0.extend(pieces.map(|(at, frags)| (at.0, (at.0 + u64::from(frags), n))));
            }
            let fsize = u64::from(geo.fsize);
            for (at, len) in &transaction.void {
                let frags = u32::try_from(len.div_ceil(fsize)).unwrap_or(u32::MAX);
                let pieces = by_block(geo, FragNo(at / fsize), frags);
                void.0.extend(pieces.map(|(at, frags)| (at.0, (at.0 + u64::from(frags), n))));
            }
        }
        void
    }

    /// Whether the fragments that transaction `n` wrote here were freed by it or by a later one.
    fn has(&self, from: u64, to: u64, n: usize) -> bool {
        // No piece is longer than a block, which has eight fragments at most.
        let near = self.0.range(from.saturating_sub(8)..to);
        near.into_iter().any(|(_, (end, last))| *end > from && *last >= n)
    }
}

/// A run, split at block boundaries.
fn by_block(geo: &Geometry, at: FragNo, frags: u32) -> impl Iterator<Item = (FragNo, u32)> + use<> {
    let (frag, end, mut next) = (u64::from(geo.frag), at.0.saturating_add(frags.into()).min(geo.size), at.0);
    std::iter::from_fn(move || {
        let from = next;
        next = ((from / frag + 1) * frag).min(end);
        (from < end).then(|| (FragNo(from), (next - from) as u32))
    })
}

impl Replay {
    /// Applies all bytes that the log has.
    pub(super) async fn redo(
        &mut self,
        transactions: &[Transaction],
        blocks: Vec<(DiskOff, Block)>,
    ) -> Result<(), NotReplayed> {
        let void = Void::of(transactions, &self.geo);
        let mut groups = Vec::new();
        for (n, transaction) in transactions.iter().enumerate() {
            for changed in &transaction.blocks {
                self.done.records += 1;
                let (from, to) = self.frags_of(changed)?;
                if void.has(from, to, n) {
                    continue;
                }
                self.write_changed(changed).await?;
                let c = self.geo.dtog(FragNo(from));
                if c.0 < self.geo.ncg && self.geo.byte(self.geo.cgtod(c)).0 == changed.at {
                    groups.push(c);
                }
            }
        }
        for (at, block) in blocks {
            self.done.records += 1;
            let len = block.len() as u32;
            if at.0.checked_add(len.into()).is_none_or(|end| end > self.sb.volume_bytes()) {
                return Err(NotReplayed::Outside { at: at.0, len });
            }
            self.image.write(ByteOff(at.0), &block, Order::Contents).await?;
            let c = self.geo.dtog(FragNo(at.0 / u64::from(self.geo.fsize)));
            let header = (c.0 < self.geo.ncg).then(|| self.geo.byte(self.geo.cgtod(c)).0);
            let inside = |header: u64| (header..header + u64::from(self.geo.cgsize)).contains(&at.0);
            groups.extend(header.filter(|header| inside(*header)).map(|_| c));
        }
        groups.sort_unstable();
        groups.dedup();
        // The groups were read as the crash left them, to find the log's file.
        self.forget_groups();
        for c in groups {
            // Its hash may be out of date: it is computed anew with those of the other written groups.
            self.group(c).await?;
        }
        Ok(())
    }

    /// The fragments of a changed block in the log, which must be on the volume.
    fn frags_of(&self, changed: &Changed) -> Result<(u64, u64), NotReplayed> {
        let fsize = u64::from(self.geo.fsize);
        let end = changed.at.checked_add(changed.len.into()).filter(|end| *end <= self.sb.volume_bytes());
        match end {
            Some(end) if changed.len > 0 && changed.len <= self.geo.bsize => {
                Ok((changed.at / fsize, end.div_ceil(fsize)))
            }
            _ => Err(NotReplayed::Outside { at: changed.at, len: changed.len }),
        }
    }

    async fn write_changed(&mut self, changed: &Changed) -> Result<(), NotReplayed> {
        if changed.fresh {
            let mut block = vec![0; changed.len as usize];
            for piece in &changed.pieces {
                let to = block.get_mut(piece.at as usize..).and_then(|rest| rest.get_mut(..piece.bytes.len()));
                to.ok_or(NotReplayed::Outside { at: changed.at, len: changed.len })?.copy_from_slice(&piece.bytes);
            }
            return Ok(self.image.write(ByteOff(changed.at), &block, Order::Contents).await?);
        }
        for piece in &changed.pieces {
            self.image.write(ByteOff(changed.at + u64::from(piece.at)), &piece.bytes, Order::Contents).await?;
        }
        Ok(())
    }

    /// Frees what the last transaction lists (ondisk-redo-2).
    pub(super) async fn free_what_waits(&mut self, transactions: &[Transaction]) -> Result<(), NotReplayed> {
        let Some(last) = transactions.last() else { return Ok(()) };
        for waiting in &last.waiting {
            match waiting {
                Waiting::Blocks(runs) => {
                    for (at, frags) in runs {
                        self.free_run(*at, *frags).await?;
                    }
                }
                Waiting::Inode(ino, directory) => {
                    let kind = if *directory { InodeKind::Directory } else { InodeKind::Other };
                    if !self.geo.is_valid_ino(*ino) {
                        return Err(NotReplayed::Inode { ino: ino.0, what: "it waits to be freed, and there is none" });
                    }
                    self.done.freed_inodes += u64::from(self.mark_inode(ino.0, false, kind).await?);
                }
            }
        }
        Ok(())
    }

    /// Marks a run of fragments free.
    pub(crate) async fn free_run(&mut self, at: FragNo, frags: u32) -> Result<(), NotReplayed> {
        if at.0.saturating_add(frags.into()) > self.geo.size {
            return Err(NotReplayed::Pointer { ino: 0, frag: at.0 });
        }
        for (at, frags) in by_block(&self.geo, at, frags) {
            if !self.geo.is_data_range(at, frags) {
                return Err(NotReplayed::Pointer { ino: 0, frag: at.0 });
            }
            let base = at.0 / u64::from(self.geo.frag) * u64::from(self.geo.frag);
            let bits = ((1_u16 << frags) - 1) << (at.0 - base);
            self.done.freed_frags += u64::from(self.mark(FragNo(base), bits as u8, 0).await?);
        }
        Ok(())
    }

    /// The counts of a group as they will be written.
    pub(super) async fn stored_sum(&mut self, c: Cgx) -> Result<ordo_ondisk::Csum, NotReplayed> {
        let bytes = self.image.bytes(self.geo.byte(self.geo.cgtod(c)), self.geo.cgsize as usize).await?;
        let mut lax = self.geo.clone();
        lax.cg_hash = false;
        let layout = match self.has_group(c) {
            // Its counts are rebuilt when it is written.
            true => ordo_ondisk::cg::check_maps(&bytes, &lax, c)?,
            false => ordo_ondisk::cg::check(&bytes, &lax, c)?,
        };
        Ok(ordo_ondisk::cg::Cg::new(&bytes, layout, self.geo.endian).map(|cg| cg.cs()).unwrap_or_default())
    }
}
