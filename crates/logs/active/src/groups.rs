//! Which place of a group journal has which piece of the journal's line (logs-active-4).
//!
//! At first the pieces are in a row of places ([`Base`]), from where the line of the journal before has ended, and a
//! quarter of all places has no owner: behind the last piece, or, on a disk with a head, the last quarter of each
//! group, so that from the beginning one is near wherever the head is. When the journal enters pieces, the first one
//! moves to a place without an owner near the head, if that is worth the header that must be written, and the others
//! follow it. The header of a group names the owner of each place with the number of the move: of two claims the later
//! one counts.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use crate::area::{Area, Group};
use crate::bytes;
use crate::page::PAGE;
use ordo_disk::{Block, DiskOff};
use std::collections::BTreeSet;
use std::ops::Range;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

const MAGIC: [u8; 4] = *b"oAGj";
/// A piece moves only to a place behind which others without an owner follow, so many in all, or an eighth of them if
/// there are few: so the line stays in long runs, and a long commit is few writes.
const RUN: usize = 8;
/// Places without an owner among which such a one is sought.
const LOOK: usize = 256;
/// Upper bounds for the numbers of a header and of a move. Larger ones were not written by this program.
const NUMBER_MOST: u64 = 1 << 62;
const TURN_MOST: u32 = 1 << 31;
const ENTRIES: usize = crate::area::PLACES as usize;

/// A header on the disk.
#[derive(FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Raw {
    sum: U32,
    magic: [u8; 4],
    /// The journal whose line is meant: no other mount's moves count.
    journal: U64,
    /// Grows with each header of the group; its lowest bit is the slot.
    number: U64,
    group: U32,
    count: U32,
    owners: [Owner; ENTRIES],
    zero: [u8; PAGE as usize - 32 - ENTRIES * 8],
}
const _: () = assert!(size_of::<Raw>() == PAGE as usize);

/// The owner of a place.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Owner {
    /// The piece, counted from 1; 0 if there is none.
    piece: U32,
    /// The number of the move.
    turn: U32,
}

/// Where the pieces of a new journal are at first: of a row of places, which is a circle, from one of them on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Base {
    /// The last quarter of each group is not in the row, and stays without owners. Else all places are, and those
    /// behind the last piece have none.
    pub(crate) spread: bool,
    /// The number in the row of the first piece's place.
    pub(crate) start: u32,
}

impl Base {
    /// The same for the journal after one whose line enters this piece next: what that one has copied last is
    /// overwritten last.
    pub(crate) fn after(self, line: u32, spread: bool) -> Base {
        Base { spread, start: self.start.wrapping_add(line) }
    }
}

/// The owners of all places.
#[derive(Debug)]
pub(crate) struct Groups {
    journal: u64,
    /// The place of each piece.
    place: Vec<Option<u32>>,
    /// The piece of each place, with the number of the move.
    owner: Vec<Option<(u32, u32)>>,
    /// Places without an owner, by address.
    free: BTreeSet<(u64, u32)>,
    headers: Vec<Header>,
    turn: u32,
}

/// The state of a group's header.
#[derive(Debug, Clone, Copy, Default)]
struct Header {
    /// The number of the newest one.
    number: u64,
    /// The slot of the newest one that is durable. The next one goes to the other slot, however many it takes until one
    /// of them is durable: if both slots were in flight, a power cut could tear both.
    durable: u64,
    /// The number of one that was written since, to the other slot.
    written: Option<u64>,
}

impl Header {
    /// The slot that does not have the newest durable one.
    fn other_slot(&self) -> u64 {
        u64::from(self.durable == 0)
    }
}

impl Groups {
    /// Each piece in its first place, for the line of this journal.
    pub(crate) fn first(area: &Area, journal: u64, base: Base) -> Groups {
        let is_left = |place: u32| match area.group_of(place) {
            Some((_, group)) => {
                base.spread && place >= group.first.saturating_add(group.count.saturating_sub(group.count / 4))
            }
            None => false,
        };
        // There are enough: what the groups leave, each rounded down, is not more than a quarter of all.
        let row: Vec<u32> = (0..area.places).filter(|place| !is_left(*place)).collect();
        let skip = (base.start as usize).checked_rem(row.len()).unwrap_or(0);
        let place: Vec<Option<u32>> =
            row.iter().cycle().skip(skip).take(area.pieces() as usize).copied().map(Some).collect();
        let mut owner = vec![None; area.places as usize];
        for (piece, place) in (0..).zip(place.iter().flatten()) {
            owner[*place as usize] = Some((piece, 0));
        }
        let headers = vec![Header::default(); area.groups.len()];
        let mut groups = Groups { journal, place, owner, free: BTreeSet::new(), headers, turn: 0 };
        groups.gather(area);
        groups
    }

    fn gather(&mut self, area: &Area) {
        let without = self.owner.iter().enumerate().filter(|(_, owner)| owner.is_none());
        self.free = without.map(|(place, _)| (area.place(place as u32).0, place as u32)).collect();
    }

    /// The same from the headers on the disk: both slots of each group.
    pub(crate) fn read(area: &Area, journal: u64, base: Base, headers: &[[Block; 2]]) -> Groups {
        let mut groups = Groups::first(area, journal, base);
        for (index, (group, slots)) in area.groups.iter().zip(headers).enumerate() {
            let found = slots.iter().zip(0..).filter_map(|(slot, at)| Some((valid(slot, journal, index, group)?, at)));
            let Some((header, at)) = found.max_by_key(|(header, _)| header.number.get()) else { continue };
            groups.headers[index] = Header { number: header.number.get(), durable: at, written: None };
            for (place, owner) in (group.first..).zip(header.owners.iter().take(group.count as usize)) {
                let piece = owner.piece.get().checked_sub(1).filter(|piece| *piece < area.pieces());
                groups.owner[place as usize] = piece.map(|piece| (piece, owner.turn.get()));
            }
        }
        groups.place.fill(None);
        for place in 0..area.places {
            let Some((piece, turn)) = groups.owner[place as usize] else { continue };
            groups.turn = groups.turn.max(turn);
            let rival = groups.place[piece as usize];
            let lost = rival.filter(|rival| groups.owner[*rival as usize].is_some_and(|(_, other)| other > turn));
            match (lost, rival) {
                (Some(_), _) => groups.owner[place as usize] = None,
                (None, rival) => {
                    rival.into_iter().for_each(|rival| groups.owner[rival as usize] = None);
                    groups.place[piece as usize] = Some(place);
                }
            }
        }
        groups.gather(area);
        groups
    }

    /// Where a piece is.
    pub(crate) fn place_of(&self, piece: u32) -> Option<u32> {
        self.place.get(piece as usize).copied().flatten()
    }

    /// Places without an owner.
    pub(crate) fn free(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter().map(|(_, place)| *place)
    }

    /// The piece that has a place.
    pub(crate) fn piece_of(&self, place: u32) -> Option<u32> {
        self.owner.get(place as usize).copied().flatten().map(|(piece, _)| piece)
    }

    /// The journal enters these pieces, which follow each other in its line. Returns of each its place, and the group
    /// whose header must be written with the first bytes, if it has moved.
    ///
    /// The first one moves if that is better, to where all of them have room, and to places that are kept last; the
    /// others follow it.
    pub(crate) fn enter(
        &mut self,
        area: &Area,
        pieces: Range<u32>,
        head: Option<DiskOff>,
        is_better: &dyn Fn(u32, u32) -> bool,
        is_kept: &dyn Fn(u32) -> bool,
    ) -> Vec<(u32, Option<usize>)> {
        let mut entered = Vec::with_capacity(pieces.len());
        let mut before = pieces.start.checked_sub(1).and_then(|piece| self.place_of(piece));
        for piece in pieces.clone() {
            let (own, first) = (self.place_of(piece), piece == pieces.start);
            let after = before.and_then(|before| self.follows(area, before));
            let to = match (own, head) {
                (None, _) => after.or_else(|| self.free.first().map(|(_, place)| *place)),
                (Some(_), None) => None,
                (Some(_), Some(_)) if !first => after,
                (Some(own), Some(head)) => {
                    let room = self.room(area, head, pieces.len() as u32, is_kept);
                    after.into_iter().chain(room).find(|place| is_better(*place, own))
                }
            };
            let place = match to {
                None => (own, None),
                Some(place) => (Some(place), self.move_to(area, piece, place)),
            };
            let (Some(place), group) = place else { continue };
            before = Some(place);
            entered.push((place, group));
        }
        entered
    }

    /// The place behind this one, if it has no owner.
    fn follows(&self, area: &Area, place: u32) -> Option<u32> {
        let (at, next) = (area.place(place) + area.place_len(), place.checked_add(1)?);
        self.free.contains(&(at.0, next)).then_some(next)
    }

    /// The nearest place without an owner behind which there are so many; if there is one, such that none of them is
    /// kept.
    fn room(&self, area: &Area, head: DiskOff, count: u32, is_kept: &dyn Fn(u32) -> bool) -> Option<u32> {
        let wanted = count.max(1);
        let count = count.max(RUN.min(self.free.len() / 8) as u32).max(1);
        let is_room = |first: u32| {
            (first..first.saturating_add(count.saturating_sub(1))).all(|place| self.follows(area, place).is_some())
        };
        let rooms = || self.without_owner(head).take(LOOK).map(|(_, place)| place).filter(|place| is_room(*place));
        rooms().find(|first| !(*first..first.saturating_add(wanted)).any(is_kept)).or_else(|| rooms().next())
    }

    fn move_to(&mut self, area: &Area, piece: u32, place: u32) -> Option<usize> {
        self.free.remove(&(area.place(place).0, place));
        if let Some(own) = self.place_of(piece) {
            self.owner[own as usize] = None;
            self.free.insert((area.place(own).0, own));
        }
        self.turn = self.turn.saturating_add(1);
        self.owner[place as usize] = Some((piece, self.turn));
        self.place[piece as usize] = Some(place);
        area.group_of(place).map(|(group, _)| group)
    }

    /// Places without an owner, by address, the nearest first.
    pub(crate) fn without_owner(&self, head: DiskOff) -> impl Iterator<Item = (u64, u32)> + '_ {
        let mut before = self.free.range(..(head.0, 0)).rev().copied().peekable();
        let mut after = self.free.range((head.0, 0)..).copied().peekable();
        std::iter::from_fn(move || {
            let away = |place: Option<&(u64, u32)>| place.map_or(u64::MAX, |(at, _)| at.abs_diff(head.0));
            if away(before.peek()) <= away(after.peek()) { before.next() } else { after.next() }
        })
    }

    /// No piece moves to this place, which has no owner, until it is given back (logs-active-10).
    pub(crate) fn lend(&mut self, area: &Area, place: u32) {
        self.free.remove(&(area.place(place).0, place));
    }

    /// A piece may move to this place again.
    pub(crate) fn give_back(&mut self, area: &Area, place: u32) {
        self.free.insert((area.place(place).0, place));
    }

    /// The header of a group as it must be written now, and where. One at a time.
    pub(crate) fn header(&mut self, area: &Area, index: usize) -> Option<(DiskOff, Block)> {
        let (group, header) = (area.groups.get(index)?, self.headers.get_mut(index)?);
        let slot = header.other_slot();
        header.number = header.number.saturating_add(1);
        let mut raw = Raw::new_zeroed();
        raw.magic = MAGIC;
        raw.journal = self.journal.into();
        raw.number = header.number.into();
        (raw.group, raw.count) = ((index as u32).into(), group.count.into());
        let places = self.owner.iter().skip(group.first as usize).take(group.count as usize);
        for (to, owner) in raw.owners.iter_mut().zip(places) {
            let Some((piece, turn)) = owner else { continue };
            (to.piece, to.turn) = (piece.saturating_add(1).into(), (*turn).into());
        }
        raw.sum = bytes::sum(raw.as_bytes()).into();
        Some((group.header + if slot == 0 { 0 } else { PAGE }, Block::copy_of(raw.as_bytes())))
    }

    /// The header of a group that was asked for last is on the disk, durably or not.
    pub(crate) fn wrote(&mut self, index: usize, durable: bool) {
        let Some(header) = self.headers.get_mut(index) else { return };
        let slot = header.other_slot();
        let written = Some(header.number);
        (header.durable, header.written) = if durable { (slot, None) } else { (header.durable, written) };
    }

    /// Headers that were written and may not be durable, each with its number: for [`Groups::became_durable`]. Not one
    /// in whose slot the next one is in flight: a flush says nothing of that.
    pub(crate) fn not_durable(&self) -> Vec<(usize, u64)> {
        let is_newest = |header: &Header| header.written == Some(header.number);
        let written = self.headers.iter().enumerate().filter(|(_, header)| is_newest(header));
        written.map(|(index, header)| (index, header.number)).collect()
    }

    /// A flush that began after these were written has ended.
    pub(crate) fn became_durable(&mut self, those: &[(usize, u64)]) {
        for (index, number) in those {
            let Some(header) = self.headers.get_mut(*index).filter(|header| header.number == *number) else { continue };
            if header.written.take().is_some() {
                header.durable = header.other_slot();
            }
        }
    }
}

/// The header in a slot, if it is one of this group and this journal.
fn valid<'a>(slot: &'a Block, journal: u64, index: usize, group: &Group) -> Option<&'a Raw> {
    let raw = Raw::ref_from_bytes(slot.get(..PAGE as usize)?).ok()?;
    let is_possible = raw.number.get() <= NUMBER_MOST && raw.owners.iter().all(|owner| owner.turn.get() <= TURN_MOST);
    let is_it = raw.magic == MAGIC
        && is_possible
        && raw.sum.get() == bytes::sum(raw.as_bytes())
        && (raw.journal.get(), raw.group.get(), raw.count.get()) == (journal, index as u32, group.count);
    is_it.then_some(raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> Area {
        let extents: Vec<_> = (0..6).map(|i| (DiskOff((1 + i) << 20), 128 << 10)).collect();
        Area::new(&extents, 1024).unwrap()
    }

    /// The place nearer to the head is the better one.
    fn nearer(area: &Area, head: DiskOff) -> impl Fn(u32, u32) -> bool + '_ {
        let away = move |place| area.place(place).0.abs_diff(head.0);
        move |place, own| away(place) < away(own)
    }

    fn enter(groups: &mut Groups, area: &Area, piece: u32, head: Option<DiskOff>) -> (u32, Option<usize>) {
        let is_better = nearer(area, head.unwrap_or(DiskOff(0)));
        groups.enter(area, piece..piece + 1, head, &is_better, &|_| false)[0]
    }

    fn empty(area: &Area) -> Vec<[Block; 2]> {
        area.groups.iter().map(|_| [Block::zeroed(4096), Block::zeroed(4096)]).collect()
    }

    fn keep(area: &Area, disk: &mut [[Block; 2]], at: DiskOff, header: Block) {
        let index =
            area.groups.iter().position(|group| at.0 - group.header.0 < 2 * PAGE && at >= group.header).unwrap();
        disk[index][((at.0 - area.groups[index].header.0) / PAGE) as usize] = header;
    }

    #[test]
    fn every_group_of_a_spread_line_has_a_place_without_an_owner_and_no_piece_is_without_one() {
        let area = area();
        let base = Base { spread: true, start: area.pieces() + 5 };
        let groups = Groups::first(&area, 5, base);
        assert_ne!(groups.place_of(0), Groups::first(&area, 5, Base { start: 0, ..base }).place_of(0));
        let places: BTreeSet<u32> = (0..area.pieces()).map(|piece| groups.place_of(piece).unwrap()).collect();
        assert_eq!(places.len(), area.pieces() as usize);
        assert!((0..area.pieces()).all(|piece| groups.piece_of(groups.place_of(piece).unwrap()) == Some(piece)));
        for (index, group) in area.groups.iter().enumerate().filter(|(_, group)| group.count >= 4) {
            assert!(groups.free().any(|place| area.group_of(place).unwrap().0 == index), "{group:?}");
        }
        let again = Groups::read(&area, 5, base, &empty(&area));
        assert_eq!((again.place, again.free), (groups.place, groups.free));
    }

    #[test]
    fn a_piece_moves_to_the_nearest_place_without_an_owner_and_is_found_there_again() {
        let area = area();
        let (mut groups, mut disk) = (Groups::first(&area, 5, Base::default()), empty(&area));
        let last = area.places - 1;
        let head = area.place(last);
        let (place, group) = enter(&mut groups, &area, 0, Some(head));
        assert_eq!((place, group), (last, Some(area.groups.len() - 1)));
        assert_eq!(enter(&mut groups, &area, 0, Some(head)), (last, None), "it is there");
        let (at, header) = groups.header(&area, group.unwrap()).unwrap();
        keep(&area, &mut disk, at, header);
        let again = Groups::read(&area, 5, Base::default(), &disk);
        assert_eq!(again.place_of(0), Some(last));
        assert!(again.free.contains(&(area.place(0).0, 0)), "its first place has no owner");
        assert_eq!(again.turn, groups.turn);
        assert_eq!(
            Groups::read(&area, 6, Base::default(), &disk).place_of(0),
            Some(0),
            "the moves of another journal do not count"
        );
    }

    #[test]
    fn pieces_that_are_entered_at_once_move_to_where_all_have_room_and_lie_together() {
        let extents: Vec<_> = (0..4).map(|i| (DiskOff((1 + i) << 24), 4 << 20)).collect();
        let area = Area::new(&extents, 4096).unwrap();
        let mut groups = Groups::first(&area, 5, Base::default());
        let far = area.places - 40;
        // A place of no use: those behind it have owners.
        groups.lend(&area, far + 1);
        let head = area.place(far);
        let entered = groups.enter(&area, 3..13, Some(head), &nearer(&area, head), &|_| false);
        let places: Vec<u32> = entered.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, (far + 2..far + 12).collect::<Vec<u32>>());
        // The line goes on behind them if the head is there, and does not if it is elsewhere.
        let head = area.place(far + 12);
        assert_eq!(groups.enter(&area, 13..14, Some(head), &nearer(&area, head), &|_| false)[0].0, far + 12);
        let head = area.place(14);
        assert_eq!(groups.enter(&area, 14..16, Some(head), &nearer(&area, head), &|_| false), [(14, None), (15, None)]);
    }

    #[test]
    fn a_flush_that_began_while_a_header_was_in_flight_does_not_make_it_durable() {
        let area = area();
        let mut groups = Groups::first(&area, 5, Base::default());
        let at = |groups: &mut Groups| groups.header(&area, 0).unwrap().0;
        let first = at(&mut groups);
        groups.wrote(0, false);
        assert_eq!(at(&mut groups), first, "the other slot has the only durable one");
        // A checkpoint flushes, in the middle of a long commit.
        let those = groups.not_durable();
        groups.wrote(0, false);
        groups.became_durable(&those);
        assert_eq!(at(&mut groups), first);
        groups.wrote(0, false);
        let those = groups.not_durable();
        groups.became_durable(&those);
        assert_ne!(at(&mut groups), first, "it is durable");
    }

    #[test]
    fn without_a_head_nothing_moves() {
        let area = area();
        let mut groups = Groups::first(&area, 5, Base::default());
        assert!((0..area.pieces()).all(|piece| enter(&mut groups, &area, piece, None) == (piece, None)));
    }

    #[test]
    fn of_two_claims_the_later_one_counts_and_a_damaged_header_leaves_its_twin() {
        let area = area();
        let (mut groups, mut disk) = (Groups::first(&area, 5, Base::default()), empty(&area));
        let heads = [area.place(area.places - 1), area.place(area.pieces()), area.place(area.places - 1)];
        for head in heads {
            let (_, group) = enter(&mut groups, &area, 3, Some(head));
            let (at, header) = groups.header(&area, group.unwrap()).unwrap();
            groups.wrote(group.unwrap(), true);
            keep(&area, &mut disk, at, header);
        }
        assert_eq!(Groups::read(&area, 5, Base::default(), &disk).place_of(3), Some(area.places - 1));
        let last = disk.last_mut().unwrap();
        let newest = groups.headers.last().unwrap().durable as usize;
        last[newest][100] ^= 1;
        let second = Groups::read(&area, 5, Base::default(), &disk).place_of(3);
        assert_eq!(second, Some(area.pieces()), "the move before the last");
    }

    #[test]
    fn a_header_does_not_take_the_slot_of_one_that_is_durable_before_another_is() {
        let area = area();
        let mut groups = Groups::first(&area, 5, Base::default());
        let slot = |groups: &mut Groups| (groups.header(&area, 0).unwrap().0.0 - area.groups[0].header.0) / PAGE;
        let first = slot(&mut groups);
        groups.wrote(0, true);
        let second = slot(&mut groups);
        groups.wrote(0, false);
        assert_ne!(first, second);
        let flushed = groups.not_durable();
        assert_eq!(slot(&mut groups), second, "neither is that of the durable one");
        groups.wrote(0, false);
        groups.became_durable(&flushed);
        assert_eq!(slot(&mut groups), second, "the flush began before this one was written");
        groups.wrote(0, false);
        let flushed = groups.not_durable();
        groups.became_durable(&flushed);
        assert_eq!(slot(&mut groups), first);
    }

    #[test]
    fn no_place_has_two_owners_after_many_moves() {
        let area = area();
        let mut groups = Groups::first(&area, 5, Base::default());
        let mut rng = ordo_rt::Rng::new(1);
        for _ in 0..5000 {
            let piece = rng.below(u64::from(area.pieces())) as u32;
            let head = area.place(rng.below(u64::from(area.places)) as u32);
            let some = piece..(piece + 1 + rng.below(5) as u32).min(area.pieces());
            groups.enter(&area, some, Some(head), &nearer(&area, head), &|_| false);
        }
        let mut seen = BTreeSet::new();
        assert!((0..area.pieces()).all(|piece| seen.insert(groups.place_of(piece).unwrap())));
        assert_eq!(groups.free.len() as u32, area.places - area.pieces());
    }
}
