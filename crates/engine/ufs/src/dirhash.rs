//! An index of one directory in memory: names to offsets, and where there is room.
//!
//! The disk keeps directories as plain lists; FreeBSD indexes them in memory on first use, and so do we. The table
//! holds hashes and offsets, never names: a name is compared in the directory's own block.
//!
//! D1. Every live entry has exactly one slot, and a slot's offset is an entry's offset. A change of a directory and of
//!     its index happen together, without an await in between.
//! D2. An entry never moves while its directory exists. `readdir` returns offsets as cookies: a reader would miss an
//!     entry that moved below its cookie, and see one twice that moved above it. Free room is therefore one gap behind
//!     one entry; gaps are not merged by moving the entries between them.
//! D3. The table grows only in [`DirHash::reserve`], before a call has changed anything: without memory the call is
//!     refused.
//! D4. `room[c]` is the largest gap in chunk `c`, in units of four bytes; `first[n]` is at or below the first chunk
//!     with a gap of `n` units.

use ordo_vfs::Refusal;
use rustc_hash::FxHasher;
use std::hash::Hasher;

/// Names are aligned to units of four bytes, and gaps are counted in them.
const UNIT: usize = 4;
/// The largest gap: a whole chunk of 1024 bytes (Apple's), in units.
const GAPS: usize = 1024 / UNIT + 1;

const EMPTY: u32 = 0;
const GONE: u32 = u32::MAX;

/// The index of one directory.
pub struct DirHash {
    slots: Vec<Slot>,
    live: usize,
    gone: usize,
    room: Vec<u16>,
    first: Box<[u32; GAPS]>,
    damage: Option<ordo_vfs::Error>,
}

#[derive(Clone, Copy)]
struct Slot {
    hash: u32,
    /// Offset in units of four bytes plus one; 0 is a slot never used, `u32::MAX` one whose entry was removed.
    at: u32,
}

/// The hash of a name.
pub fn hash(name: &[u8]) -> u32 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    let wide = hasher.finish();
    (wide ^ (wide >> 32)) as u32
}

impl DirHash {
    /// The index of a directory without chunks.
    pub fn new() -> DirHash {
        DirHash {
            slots: vec![Slot { hash: 0, at: EMPTY }; 16],
            live: 0,
            gone: 0,
            room: Vec::new(),
            first: Box::new([0; GAPS]),
            damage: None,
        }
    }

    /// The number of entries.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Records that a part of the directory cannot be read: a name that is not in the index may exist.
    pub fn set_damage(&mut self, what: ordo_vfs::Error) {
        self.damage.get_or_insert(what);
    }

    /// The damage of the directory, if any.
    pub fn damage(&self) -> Option<ordo_vfs::Error> {
        self.damage.clone()
    }

    /// Bytes of memory used.
    pub fn bytes(&self) -> usize {
        self.slots.capacity() * size_of::<Slot>()
            + self.room.capacity() * 2
            + size_of_val(&*self.first)
            + size_of::<DirHash>()
    }

    /// The number of chunks.
    pub fn chunks(&self) -> usize {
        self.room.len()
    }

    /// Offsets at which an entry with this hash may lie.
    pub fn candidates(&self, hash: u32) -> impl Iterator<Item = u64> + '_ {
        let mask = self.slots.len() - 1;
        (0..self.slots.len())
            .map(move |step| self.slots[(spread(hash) + step) & mask])
            .take_while(|slot| slot.at != EMPTY)
            .filter(move |slot| slot.at != GONE && slot.hash == hash)
            .map(|slot| u64::from(slot.at - 1) * UNIT as u64)
    }

    /// Makes sure that there is memory for one more entry and chunk.
    ///
    /// # Errors
    /// `NoMemory`; nothing has changed.
    pub fn reserve(&mut self) -> ordo_vfs::Result<()> {
        self.room.try_reserve(1).map_err(|_| Refusal::NoMemory)?;
        if (self.live + self.gone + 1) * 4 > self.slots.len() * 3 {
            self.rebuild()?;
        }
        Ok(())
    }

    /// An entry was made at `offset`; its memory was reserved (D3).
    pub fn insert(&mut self, hash: u32, offset: u64) {
        let mask = self.slots.len() - 1;
        let mut at = spread(hash) & mask;
        while !matches!(self.slots[at].at, EMPTY | GONE) {
            at = (at + 1) & mask;
        }
        if self.slots[at].at == GONE {
            self.gone -= 1;
        }
        self.slots[at] = Slot { hash, at: (offset / UNIT as u64) as u32 + 1 };
        self.live += 1;
    }

    /// The entry at `offset` was removed.
    pub fn remove(&mut self, hash: u32, offset: u64) {
        let mask = self.slots.len() - 1;
        let wanted = (offset / UNIT as u64) as u32 + 1;
        let mut at = spread(hash) & mask;
        while self.slots[at].at != wanted {
            if self.slots[at].at == EMPTY {
                return;
            }
            at = (at + 1) & mask;
        }
        // A slot before an empty one ends every search that passes it, so it can be empty itself.
        let last = self.slots[(at + 1) & mask].at == EMPTY;
        self.slots[at].at = if last { EMPTY } else { GONE };
        self.gone += usize::from(!last);
        self.live -= 1;
    }

    /// Sets the largest gap in chunk `chunk` to `bytes`; the chunk may be new.
    pub fn set_room(&mut self, chunk: usize, bytes: usize) {
        let units = (bytes / UNIT) as u16;
        if chunk >= self.room.len() {
            self.room.resize(chunk + 1, 0);
        }
        self.room[chunk] = units;
        for first in &mut self.first[1..=usize::from(units)] {
            *first = (*first).min(chunk as u32);
        }
    }

    /// Drops the chunks from `chunks` on: the directory was truncated.
    pub fn cut(&mut self, chunks: usize) {
        self.room.truncate(chunks);
    }

    /// The first chunk with a gap of `bytes`.
    pub fn find_room(&mut self, bytes: usize) -> Option<usize> {
        let units = bytes.div_ceil(UNIT);
        let from = self.first[units] as usize;
        let found = (from..self.room.len()).find(|&chunk| usize::from(self.room[chunk]) >= units);
        self.first[units] = found.unwrap_or(self.room.len()) as u32;
        found
    }

    fn rebuild(&mut self) -> ordo_vfs::Result<()> {
        let size = (self.live * 2).next_power_of_two().max(16);
        let mut slots = Vec::new();
        slots.try_reserve_exact(size).map_err(|_| Refusal::NoMemory)?;
        slots.resize(size, Slot { hash: 0, at: EMPTY });
        let old = std::mem::replace(&mut self.slots, slots);
        self.gone = 0;
        let mask = size - 1;
        for slot in old.into_iter().filter(|slot| !matches!(slot.at, EMPTY | GONE)) {
            let mut at = spread(slot.hash) & mask;
            while self.slots[at].at != EMPTY {
                at = (at + 1) & mask;
            }
            self.slots[at] = slot;
        }
        Ok(())
    }
}

impl Default for DirHash {
    fn default() -> Self {
        DirHash::new()
    }
}

/// Low bits of a hash that similar names share less.
fn spread(hash: u32) -> usize {
    (hash.wrapping_mul(0x9e37_79b1) >> 4) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_found_until_it_is_removed() {
        let mut index = DirHash::new();
        let names: Vec<Vec<u8>> = (0..5000).map(|i| format!("name-{i}").into_bytes()).collect();
        for (i, name) in names.iter().enumerate() {
            index.reserve().unwrap();
            index.insert(hash(name), i as u64 * 16);
        }
        for i in (0..5000).step_by(2) {
            index.remove(hash(&names[i]), i as u64 * 16);
        }
        for (i, name) in names.iter().enumerate() {
            let found = index.candidates(hash(name)).any(|at| at == i as u64 * 16);
            assert_eq!(found, i % 2 == 1, "{i}");
        }
        assert_eq!(index.live(), 2500);
    }

    #[test]
    fn making_and_removing_one_name_for_ever_keeps_the_table_small() {
        let mut index = DirHash::new();
        for i in 0..100_000u32 {
            let h = hash(&i.to_le_bytes());
            index.reserve().unwrap();
            index.insert(h, 24);
            index.remove(h, 24);
        }
        assert!(index.slots.len() <= 64);
    }

    #[test]
    fn room_is_found_in_the_first_chunk_that_has_it() {
        let mut index = DirHash::new();
        for chunk in 0..100 {
            index.set_room(chunk, 0);
        }
        assert_eq!(index.find_room(16), None);
        index.set_room(70, 20);
        index.set_room(30, 12);
        assert_eq!(index.find_room(16), Some(70));
        assert_eq!(index.find_room(12), Some(30));
        index.set_room(10, 512);
        assert_eq!(index.find_room(16), Some(10));
        index.set_room(10, 0);
        assert_eq!(index.find_room(16), Some(70));
    }
}
