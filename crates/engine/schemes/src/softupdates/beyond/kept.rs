//! Removals that are held back in an image, with the bytes around them (leave-4).

use super::super::deps::{Deps, PageKind, PageNo, page_in};
use super::super::state::{Event, State};
use super::super::unmet::Change;
use ordo_buf::ImageNo;

/// Bytes of a directory's block that are written with their old values.
pub(in crate::softupdates) struct Frozen {
    from: u32,
    len: u32,
    pub(in crate::softupdates) seq: u64,
    /// The removal that keeps them.
    pub(in crate::softupdates) rem: usize,
}

impl Frozen {
    pub(in crate::softupdates) fn has(&self, offset: u32) -> bool {
        (self.from..self.from + self.len).contains(&offset)
    }
}

impl Deps {
    /// Removals that are not held are in this image; held ones freeze the bytes around them (leave-4).
    pub(in crate::softupdates) fn leave_removals(&mut self, page: PageNo, image: ImageNo) -> Vec<Frozen> {
        let (mut frozen, mut carried): (Vec<Frozen>, Vec<usize>) = (Vec::new(), Vec::new());
        let mut held = 0;
        for (at, rem) in self.removals_in(page).iter().enumerate().filter(|(_, rem)| rem.state == State::Held) {
            let behind = frozen.iter().any(|frozen| frozen.has(rem.offset));
            if !behind && self.is_safe(Change::Removal(page, rem)) {
                carried.push(at);
                continue;
            }
            held += 1;
            if let Some((from, bytes)) = rem.before.as_ref().filter(|_| !behind) {
                frozen.push(Frozen { from: *from, len: bytes.len() as u32, seq: rem.seq, rem: at });
            }
        }
        self.counters.removals_held += held;
        let PageKind::Directory(names) = &mut page_in(&mut self.pages, page).kind else { return frozen };
        for at in carried {
            let rem = &mut names.rems[at];
            rem.state = rem.state.next(Event::Leaves { image, safe: true }).0;
            // The entry was added and removed, and no image had it (renames-2). A change that waits for it can go
            // on when the file has its newer name, perhaps only in this image: so the name counts as carried with this
            // image.
            if let Some(add) = rem.add.and_then(|id| self.names.get_mut(id)).filter(|add| add.state == State::Held) {
                add.state = State::Carried(image);
                rem.tickets.extend(add.rare.iter_mut().flat_map(|rare| std::mem::take(&mut rare.tickets)));
            }
        }
        frozen
    }
}
