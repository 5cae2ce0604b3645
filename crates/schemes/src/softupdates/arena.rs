//! Records in rows, named by typed numbers.
//!
//! A number stays with its record: once the record is gone, the number names nothing, even if its place is used again.
//! Whoever waits for a record so finds out, without being told, that there is nothing left to wait for.

use std::marker::PhantomData;
use std::num::NonZeroU32;

/// The name of a record in an [`Arena`].
pub(super) struct Id<T> {
    place: u32,
    turn: NonZeroU32,
    of: PhantomData<fn() -> T>,
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

/// Records of one kind.
pub(super) struct Arena<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

/// A place for a record. The records of a busy volume are more than a processor keeps near, and one that lies across two
/// pairs of cache lines is fetched twice.
#[repr(align(128))]
struct Place<T> {
    turn: NonZeroU32,
    record: Option<T>,
}

/// Bytes that a record takes.
pub(super) const fn place_size<T>() -> usize {
    size_of::<Place<T>>()
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Arena { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Arena<T> {
    /// A new record.
    #[inline]
    pub(super) fn insert(&mut self, record: T) -> Id<T> {
        let place = match self.free.pop() {
            Some(place) => {
                self.places[place as usize].record = Some(record);
                place
            }
            None => {
                self.places.push(Place { turn: NonZeroU32::MIN, record: Some(record) });
                (self.places.len() - 1) as u32
            }
        };
        Id { place, turn: self.places[place as usize].turn, of: PhantomData }
    }

    /// The record, if it is still there.
    #[inline]
    pub(super) fn get(&self, id: Id<T>) -> Option<&T> {
        match self.places.get(id.place as usize) {
            Some(place) if place.turn == id.turn => place.record.as_ref(),
            _ => None,
        }
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn get_mut(&mut self, id: Id<T>) -> Option<&mut T> {
        match self.places.get_mut(id.place as usize) {
            Some(place) if place.turn == id.turn => place.record.as_mut(),
            _ => None,
        }
    }

    /// Takes the record out; from then on `id` names nothing.
    #[inline]
    pub(super) fn remove(&mut self, id: Id<T>) -> Option<T> {
        let place = self.places.get_mut(id.place as usize)?;
        if place.turn != id.turn {
            return None;
        }
        let record = place.record.take()?;
        place.turn = place.turn.checked_add(1).unwrap_or(NonZeroU32::MIN);
        self.free.push(id.place);
        Some(record)
    }

    /// The numbers of all records that are there.
    pub(super) fn ids(&self) -> impl Iterator<Item = Id<T>> {
        let places = (0..).zip(&self.places);
        let taken = places.filter(|(_, place)| place.record.is_some());
        taken.map(|(at, place)| Id { place: at, turn: place.turn, of: PhantomData })
    }

    /// Records that are there.
    pub(super) fn len(&self) -> usize {
        self.places.len() - self.free.len()
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
        assert_eq!((arena.get(a), arena.get(b), arena.len()), (None, Some(&'b'), 1));
        assert_eq!(arena.ids().collect::<Vec<_>>(), [b]);
        *arena.get_mut(b).unwrap() = 'c';
        assert_eq!(arena.get_mut(a), None);
        assert_eq!(arena.get(b), Some(&'c'));
    }
}
