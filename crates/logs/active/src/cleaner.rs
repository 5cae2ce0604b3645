//! The cleaner: room ahead of the journal's line (logs-active-9).
//!
//! The line comes round and overwrites old copies. What only such a copy has must be at home, durably, before. A commit
//! that finds one waits for that ([`Layer::vacate`]), so there should be none. After the paper's five steps (section
//! on the cleaner): the journal has dropped transactions; of the part of the line that comes next, the cleaner takes
//! the copies whose homes lack their bytes, writes these in the order of the homes, and makes them durable; the map has
//! them at home from then on, and the journal overwrites the copies as it comes ([`Layer::clean`]).
//!
//! What costs is a copy that must be read again. So a home is left to its copy only if that is likely to be replaced by
//! a newer one before the line comes to it: if the block was committed twice in one round of the line, and the line is
//! not about to come ([`Layer::lasts`]). All other homes are written when the journal checkpoints, from memory.

use crate::away::AT_ONCE;
use crate::entry::{CopyNo, Entry, Frag};
use crate::layer::Layer;
use ordo_disk::DiskError;
use std::ops::Range;

/// Pieces of the journal's line behind the one that is entered whose copies go home with it: homes that lie together
/// are written together.
const PIECES: u32 = 16;

/// The part of the line, in eighths, that is cleaned when the journal has dropped transactions. It drops the older half
/// when a quarter of its room is left, so it writes three eighths until it does so again.
const NEXT: u32 = 3;

impl Layer {
    /// A write has brought the bytes of these entries home.
    pub(crate) fn was_carried(&self, entries: impl IntoIterator<Item = Entry>) {
        let mut carried = self.carried.borrow_mut();
        carried.count += 1;
        let count = carried.count;
        for copy in entries.into_iter().filter_map(|entry| entry.copy).filter(|_| self.volatile) {
            carried.places.insert(self.place_with(copy), count);
        }
    }

    /// What was carried home is durable there. In the map it is at home from its write on.
    pub(crate) async fn make_carried_durable(&self) -> Result<(), DiskError> {
        let count = self.carried.borrow().count;
        if !self.is_all_carried_durable() {
            self.disk.flush().await?;
            self.carried.borrow_mut().are_durable(count);
        }
        Ok(())
    }

    /// What homes were given is durable there.
    pub(crate) fn is_all_carried_durable(&self) -> bool {
        let carried = self.carried.borrow();
        !self.volatile || carried.durable == carried.count
    }

    /// The place in which a copy lies.
    pub(crate) fn place_with(&self, copy: CopyNo) -> u32 {
        (copy.get() - 1) / self.area.blocks
    }

    /// The blocks of the group journals in these bytes of the journal's range.
    fn copies_in(&self, bytes: &Range<u64>) -> Vec<CopyNo> {
        let head = self.area.head();
        let (from, end) = (bytes.start.max(head) - head, bytes.end.max(head) - head);
        let (groups, blocks) = (self.groups.borrow(), u64::from(self.area.blocks));
        let copies = (from / self.area.frag..end.div_ceil(self.area.frag)).filter_map(|block| {
            let place = groups.place_of(u32::try_from(block / blocks).ok()?)?;
            CopyNo::new(place * self.area.blocks + (block % blocks) as u32 + 1)
        });
        copies.collect()
    }

    /// Fragments that only places without an owner have: a piece may move there.
    fn only_in_free(&self) -> Vec<Frag> {
        let (groups, map) = (self.groups.borrow(), self.map.borrow());
        let blocks = groups.free().flat_map(|place| place * self.area.blocks..(place + 1) * self.area.blocks);
        blocks.filter_map(|block| map.only_in(CopyNo::new(block + 1)?)).collect()
    }

    /// Fragments that only these bytes of the journal's range have.
    fn only_in(&self, bytes: &Range<u64>) -> Vec<Frag> {
        let map = self.map.borrow();
        self.copies_in(bytes).into_iter().filter_map(|copy| map.only_in(copy)).collect()
    }

    /// Nothing has its only durable copy in these bytes of the journal's range: they may be overwritten.
    pub(crate) fn is_vacant(&self, bytes: &Range<u64>) -> bool {
        if !self.map.borrow().is_away() && self.is_all_carried_durable() {
            return true;
        }
        let (map, carried) = (self.map.borrow(), self.carried.borrow());
        let is_loose = |copy: CopyNo| carried.places.contains_key(&self.place_with(copy));
        self.copies_in(bytes).into_iter().all(|copy| map.only_in(copy).is_none() && !is_loose(copy))
    }

    /// What only these bytes of the journal's range have goes home, durably, and with it what is next in the line.
    pub(crate) async fn vacate(&self, bytes: &Range<u64>) -> Result<(), DiskError> {
        let more = bytes.start..bytes.end + u64::from(PIECES) * self.area.place_len();
        self.carry(self.only_in(&more), AT_ONCE).await?;
        // What was committed meanwhile is elsewhere.
        self.carry(self.only_in(bytes), AT_ONCE).await?;
        self.make_carried_durable().await
    }

    /// The journal has dropped transactions: what only that part of the line has to which it comes next goes home,
    /// durably.
    pub(crate) async fn clean(&self) -> Result<(), DiskError> {
        let (pieces, len) = (self.area.pieces(), self.area.place_len());
        let next = self.line.get();
        let end = next + pieces / 8 * NEXT;
        let bytes = |pieces: Range<u32>| {
            let at = |piece: u32| self.area.head() + u64::from(piece) * len;
            at(pieces.start)..at(pieces.end)
        };
        let mut frags = self.only_in(&bytes(next..end.min(pieces)));
        frags.extend(self.only_in(&bytes(0..end.saturating_sub(pieces).min(next))));
        frags.extend(self.only_in_free());
        self.carry(frags, AT_ONCE).await?;
        self.make_carried_durable().await
    }

    /// The line does not come to this copy soon.
    pub(crate) fn lasts(&self, copy: CopyNo) -> bool {
        let Some(piece) = self.groups.borrow().piece_of(self.place_with(copy)) else { return false };
        let pieces = self.area.pieces();
        (piece + pieces - self.line.get().min(pieces)) % pieces > pieces / 8 * NEXT
    }
}
