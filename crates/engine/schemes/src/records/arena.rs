//! Arenas: records in slabs, named by typed ids (schemes-records-1 and schemes-records-2).

use prefetch_index::prefetch_index;
use std::marker::PhantomData;
use std::num::NonZeroU32;

/// The id of a record in an [`Arena`].
pub(crate) struct Id<T> {
    place: u32,
    turn: NonZeroU32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    #[inline]
    pub(crate) fn new(place: u32, turn: NonZeroU32) -> Id<T> {
        Id { place, turn, of: PhantomData }
    }

    /// The place of its record.
    #[inline]
    pub(crate) fn place(self) -> u32 {
        self.place
    }

    /// Which of the records that were in this place.
    #[inline]
    pub(crate) fn turn(self) -> NonZeroU32 {
        self.turn
    }
}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Id<T> {}

impl<T> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.place, self.turn) == (other.place, other.turn)
    }
}

impl<T> std::fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}", self.place, self.turn)
    }
}

/// Records of one kind. The place freed last is used first, since it is probably still in the processor's cache.
/// Records live in slabs, so that they are never moved and few slabs are searched: a busy volume has a hundred thousand
/// records.
pub(crate) struct Arena<T> {
    slabs: Vec<Vec<Chunk<T>>>,
    free: Vec<u32>,
    len: usize,
}

/// Places in a chunk: so few that a new chunk, which is first cleared, is still cached when records are put into it.
const CHUNK: usize = 8;

/// Chunks in a slab: 32 KiB of the smallest records.
const SLAB: usize = 64;

/// Cache lines are fetched in pairs; a record of 128 bytes fills such a pair.
#[repr(align(128))]
struct Chunk<T>([Cell<T>; CHUNK]);

/// A place for a record. A busy volume has more records than fit in the processor's cache, and a record across two
/// cache lines is fetched twice. The turn comes first, beside the first fields of the record.
#[repr(C, align(64))]
pub(crate) struct Cell<T> {
    pub(crate) turn: NonZeroU32,
    pub(crate) record: Option<T>,
}

impl<T> Cell<T> {
    pub(crate) fn empty() -> Cell<T> {
        Cell { turn: NonZeroU32::MIN, record: None }
    }
}

/// Bytes that a record takes in its place.
pub(crate) const fn place_size<T>() -> usize {
    size_of::<Cell<T>>()
}

/// The slab, the chunk in it, and the place in the chunk.
fn split(place: u32) -> (usize, usize, usize) {
    let (chunk, at) = (place as usize / CHUNK, place as usize % CHUNK);
    (chunk / SLAB, chunk % SLAB, at)
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { slabs: Vec::new(), free: Vec::new(), len: 0 }
    }
}

impl<T> Arena<T> {
    #[inline]
    fn place(&self, place: u32) -> Option<&Cell<T>> {
        let (slab, chunk, at) = split(place);
        Some(&self.slabs.get(slab)?.get(chunk)?.0[at])
    }

    #[inline]
    fn place_mut(&mut self, place: u32) -> Option<&mut Cell<T>> {
        let (slab, chunk, at) = split(place);
        Some(&mut self.slabs.get_mut(slab)?.get_mut(chunk)?.0[at])
    }

    /// A new record.
    #[inline(always)]
    pub(crate) fn insert(&mut self, record: T) -> Id<T> {
        let at = match self.free.pop() {
            Some(at) => at,
            None => self.grow(),
        };
        self.len += 1;
        let (slab, chunk, at_in_chunk) = split(at);
        let place = &mut self.slabs[slab][chunk].0[at_in_chunk];
        place.record = Some(record);
        Id::new(at, place.turn)
    }

    /// Adds a chunk of places to the free list, the first one on top, and takes that.
    #[cold]
    fn grow(&mut self) -> u32 {
        if self.slabs.last().is_none_or(|slab| slab.len() == SLAB) {
            self.slabs.push(Vec::with_capacity(SLAB));
        }
        let slabs = self.slabs.len() - 1;
        let slab = &mut self.slabs[slabs];
        let first = ((slabs * SLAB + slab.len()) * CHUNK) as u32;
        slab.push(Chunk(std::array::from_fn(|_| Cell::empty())));
        self.free.extend((first + 1..first + CHUNK as u32).rev());
        first
    }

    /// The record, if it still exists.
    #[inline]
    pub(crate) fn get(&self, id: Id<T>) -> Option<&T> {
        self.place(id.place).filter(|place| place.turn == id.turn)?.record.as_ref()
    }

    /// Prefetches a record that will soon be needed.
    #[inline]
    pub(crate) fn prefetch(&self, id: Id<T>) {
        let (slab, chunk, at) = split(id.place);
        if let Some(chunk) = self.slabs.get(slab).and_then(|slab| slab.get(chunk)) {
            prefetch_index(&chunk.0, at);
        }
    }

    /// The same, mutable.
    #[inline]
    pub(crate) fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        self.place_mut(id.place).filter(|place| place.turn == id.turn)?.record.as_mut()
    }

    /// Takes the record out; from then on `id` names nothing.
    #[inline]
    pub(crate) fn remove(&mut self, id: Id<T>) -> Option<T> {
        let place = self.place_mut(id.place).filter(|place| place.turn == id.turn)?;
        let record = place.record.take()?;
        place.turn = place.turn.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.free.push(id.place);
        self.len -= 1;
        Some(record)
    }

    /// Drops the record; from then on `id` names nothing.
    #[inline]
    pub(crate) fn discard(&mut self, id: Id<T>) {
        let Some(place) = self.place_mut(id.place).filter(|place| place.turn == id.turn && place.record.is_some())
        else {
            return;
        };
        place.record = None;
        place.turn = place.turn.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.free.push(id.place);
        self.len -= 1;
    }

    /// The ids of all records.
    pub(crate) fn ids(&self) -> impl Iterator<Item = Id<T>> {
        let places = (0..).zip(self.slabs.iter().flatten().flat_map(|chunk| &chunk.0));
        let taken = places.filter(|(_, place)| place.record.is_some());
        taken.map(|(at, place)| Id::new(at, place.turn))
    }

    /// All records.
    pub(crate) fn records_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.slabs.iter_mut().flatten().flat_map(|chunk| &mut chunk.0).filter_map(|place| place.record.as_mut())
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
}

/// A record that is in a list of its kind, newest first.
pub(crate) trait Linked: Sized {
    /// The next older record.
    fn next(&self) -> Option<Id<Self>>;

    /// Changes it. Called only for a record that has a next one.
    fn set_next(&mut self, next: Option<Id<Self>>);
}

impl<T: Linked> Arena<T> {
    /// A record and the older ones of its list, newest first.
    pub(crate) fn list(&self, newest: Option<Id<T>>) -> impl Iterator<Item = Id<T>> + '_ {
        std::iter::successors(newest, |id| self.get(*id)?.next())
    }

    /// Takes a record out of the list that begins at `newest`.
    #[inline]
    pub(crate) fn unlink(&mut self, newest: &mut Option<Id<T>>, id: Id<T>) {
        let Some(next) = self.get(id).map(Linked::next) else { return };
        if *newest == Some(id) {
            *newest = next;
            return;
        }
        let mut at = *newest;
        while let Some(other) = at.and_then(|at| self.get_mut(at)) {
            at = other.next();
            if at == Some(id) {
                other.set_next(next);
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_names_nothing_once_its_record_is_gone() {
        let mut arena = Arena::default();
        let a = arena.insert('a');
        assert_eq!((arena.get(a), arena.len()), (Some(&'a'), 1));
        assert_eq!(arena.remove(a), Some('a'));
        let b = arena.insert('b');
        assert_eq!(arena.remove(a), None);
        arena.discard(a);
        assert_eq!((arena.get(a), arena.get(b), arena.len()), (None, Some(&'b'), 1));
        assert_eq!(arena.ids().collect::<Vec<_>>(), [b]);
        *arena.get_mut(b).unwrap() = 'c';
        assert_eq!(arena.get_mut(a), None);
        assert_eq!(arena.get(b), Some(&'c'));
        arena.discard(b);
        assert_eq!((arena.get(b), arena.len()), (None, 0));
    }

    #[test]
    fn many_records_are_found_by_their_numbers_and_places_are_used_again() {
        let mut arena = Arena::default();
        let mut ids: Vec<_> = (0..3 * SLAB * CHUNK).map(|n| arena.insert(n)).collect();
        for n in (0..ids.len()).step_by(3) {
            assert_eq!(arena.remove(ids[n]), Some(n));
            ids[n] = arena.insert(n + 100_000);
        }
        assert_eq!((arena.len(), arena.slabs.len()), (3 * SLAB * CHUNK, 3));
        for (n, id) in ids.iter().enumerate() {
            assert_eq!(arena.get(*id), Some(&(if n % 3 == 0 { n + 100_000 } else { n })));
        }
    }
}
