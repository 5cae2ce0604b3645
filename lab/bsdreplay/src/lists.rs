//! The records of an inode's names, merged into one list: at most one record of a place.
//!
//! L1. Records are taken in order. A removal goes into the list.
//! L2. An addition looks ahead: later additions at its place are dropped; the first removal there is consumed, and the
//!     addition goes into the list; moves take it along.
//! L3. In the list a place has one record: a removal that is there, or an addition that comes, leaves what is there,
//!     with the mode of the new one; a removal takes the place of an addition, with the addition's count.

use ordo_ondisk::suj::{MoveRecord, RefRecord};
use std::collections::VecDeque;

/// A record of a name.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Told {
    Added(RefRecord),
    Removed(RefRecord),
    Moved(MoveRecord),
}

impl Told {
    pub(crate) fn ino(&self) -> u32 {
        match self {
            Told::Added(of) | Told::Removed(of) => of.ino.0,
            Told::Moved(of) => of.ino.0,
        }
    }
}

/// An element of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) of: RefRecord,
    pub(crate) removed: bool,
}

/// The list of the records of one inode.
pub(crate) fn merged(told: Vec<Told>) -> Vec<Element> {
    let (mut new, mut moves, mut list) = (VecDeque::from(told), Vec::<MoveRecord>::new(), vec![]);
    while let Some(next) = new.pop_front() {
        let (mut of, removed) = match next {
            Told::Moved(of) => {
                moves.push(of);
                continue;
            }
            Told::Added(of) => (of, false),
            Told::Removed(of) => (of, true),
        };
        let mut place = of.diroff;
        for index in (0..moves.len()).rev() {
            let Some(known) = moves.get(index).filter(|m| m.parent == of.parent && m.newoff == place).copied() else {
                continue;
            };
            moves.remove(index);
            place = known.oldoff;
            insert(&mut list, Element { of: RefRecord { diroff: place, ..of }, removed: false });
        }
        if !removed {
            look_ahead(&mut new, &mut of, &mut list);
        }
        insert(&mut list, Element { of, removed });
    }
    list
}

/// L2.
fn look_ahead(new: &mut VecDeque<Told>, of: &mut RefRecord, list: &mut Vec<Element>) {
    let mut at = 0;
    while let Some(later) = new.get(at).copied() {
        let same = |other: &RefRecord| (other.parent, other.diroff) == (of.parent, of.diroff);
        match later {
            Told::Added(other) if same(&other) => drop(new.remove(at)),
            Told::Removed(other) if same(&other) => {
                new.remove(at);
                return;
            }
            Told::Moved(moved) if (moved.parent, moved.oldoff) == (of.parent, of.diroff) => {
                insert(list, Element { of: *of, removed: false });
                of.diroff = moved.newoff;
                new.remove(at);
            }
            _ => at += 1,
        }
    }
}

/// L3.
fn insert(list: &mut Vec<Element>, new: Element) {
    let same = |known: &&mut Element| (known.of.parent, known.of.diroff) == (new.of.parent, new.of.diroff);
    match list.iter_mut().rev().find(same) {
        None => list.push(new),
        Some(known) if known.removed || !new.removed => known.of.mode = new.of.mode,
        Some(known) => *known = Element { of: RefRecord { nlink: known.of.nlink, ..new.of }, ..new },
    }
}
