//! Where everything lies: the extents of the active journal's file, in the file's order.
//!
//! ```text
//! the journal's superblocks | two roots of the map, their twins | pages of the map | their twins | group journals …
//! ```
//!
//! A group journal is what lies together: at most an extent of the file, and at most as many places as its header can
//! name. It begins with two slots for its header.

use crate::page::{FULL, PAGE};
use ordo_disk::DiskOff;
use std::ops::Range;

/// Slots for roots: of two roots, each with a twin.
const ROOTS: u64 = 4;
/// The fewest pages of the map.
const LEAST_PAGES: u64 = 8;
/// The fewest places of all group journals.
const LEAST_PLACES: u32 = 16;
/// The most places of a group journal.
pub(crate) const PLACES: u64 = 500;

/// The file has no place for an active journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    /// The file is too small.
    #[error("its file has {len} bytes, and needs {least}")]
    TooSmall {
        /// Bytes of the file.
        len: u64,
        /// Bytes that it needs.
        least: u64,
    },
    /// The file is large enough, but lies in short pieces.
    #[error(
        "its file lies in pieces of {longest} bytes at most, and a group of copies needs {together} bytes in one piece; \
        the volume has gaps between its blocks, or its free space is scattered: use another scheme on it"
    )]
    Scattered {
        /// Bytes of the longest piece.
        longest: u64,
        /// Bytes that must lie together.
        together: u64,
    },
}

/// A range of bytes of the file that lies together on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Extent {
    /// Its offset in the file.
    from: u64,
    at: DiskOff,
    len: u64,
}

/// The places of one group journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group {
    /// Its header's first slot.
    pub(crate) header: DiskOff,
    /// Its first place.
    pub(crate) at: DiskOff,
    /// The number of this place among all.
    pub(crate) first: u32,
    /// How many it has.
    pub(crate) count: u32,
}

/// Where everything lies.
#[derive(Debug)]
pub(crate) struct Area {
    extents: Vec<Extent>,
    /// Bytes of a fragment of the volume, and of a block of the journal.
    pub(crate) frag: u64,
    /// Blocks of the journal in a place.
    pub(crate) blocks: u32,
    /// Pages of the map; as many twins follow.
    pub(crate) pages: u32,
    pub(crate) groups: Vec<Group>,
    /// Places of all groups.
    pub(crate) places: u32,
}

/// The bytes before the roots: what the journal has before its blocks.
fn head(frag: u64) -> u64 {
    ordo_ring::FIRST.max(frag)
}

/// The most blocks of the journal in a place.
pub(crate) const MOST_BLOCKS: u32 = 8;

/// Blocks of the journal in a place, the unit in which the journal's line is spread: 32 KiB, and one to eight blocks.
fn blocks_of_place(frag: u64) -> u32 {
    ((32 << 10) / frag.max(1)).clamp(1, MOST_BLOCKS.into()) as u32
}

/// Bytes of pages and twins for each block of the group journals: the map has room for an entry of each, and for as
/// many older versions and entries without a copy.
const MAP_OF_BLOCK: u64 = 2 * 2 * 2 * PAGE / (FULL as u64 / 3);

/// The least bytes of a file for a volume with fragments of `frag` bytes.
pub fn least(frag: u64) -> u64 {
    let rest = head(frag) + ROOTS * PAGE + 2 * PAGE.max(frag) + 24 * u64::from(blocks_of_place(frag)) * frag;
    // The map takes its share of the file, and its fewest pages.
    (rest + rest.div_ceil(frag) * MAP_OF_BLOCK).max(rest + 2 * LEAST_PAGES * PAGE)
}

impl Area {
    /// The area in these extents of a file.
    pub(crate) fn new(extents: &[(DiskOff, u64)], frag: u64) -> Result<Area, NoPlace> {
        let mut joined: Vec<Extent> = Vec::new();
        let mut from = 0;
        for &(at, len) in extents.iter().filter(|(_, len)| *len > 0) {
            match joined.last_mut().filter(|last| last.at + last.len == at) {
                Some(last) => last.len += len,
                None => joined.push(Extent { from, at, len }),
            }
            from += len;
        }
        if from < least(frag) || frag == 0 {
            return Err(NoPlace::TooSmall { len: from, least: least(frag) });
        }
        let pages = (from / (frag + MAP_OF_BLOCK) * MAP_OF_BLOCK / (2 * PAGE)).max(LEAST_PAGES);
        let pages = pages.min(u64::from(u32::MAX / 4)) as u32;
        let blocks = blocks_of_place(frag);
        let mut area = Area { extents: joined, frag, blocks, pages, groups: Vec::new(), places: 0 };
        let rest = (area.pages_at() + 2 * u64::from(pages) * PAGE).next_multiple_of(frag);
        area.cut(rest);
        if area.places < LEAST_PLACES {
            let longest = area.extents.iter().map(|extent| extent.len).max().unwrap_or(0);
            return Err(NoPlace::Scattered { longest, together: area.headers() + area.place_len() });
        }
        Ok(area)
    }

    /// The parts of these fragments of the volume that are not the file's, in order.
    pub(crate) fn outside(&self, frags: Range<u64>) -> Vec<Range<u64>> {
        let own = |extent: &Extent| extent.at.0 / self.frag..(extent.at.0 + extent.len).div_ceil(self.frag);
        let mut own: Vec<_> = self.extents.iter().map(own).collect();
        own.sort_unstable_by_key(|range| range.start);
        let (mut parts, mut next) = (Vec::new(), frags.start);
        for range in own.into_iter().filter(|range| range.end > frags.start && range.start < frags.end) {
            if next < range.start {
                parts.push(next..range.start);
            }
            next = next.max(range.end);
        }
        if next < frags.end {
            parts.push(next..frags.end);
        }
        parts
    }

    /// Bytes of the two slots for a header.
    fn headers(&self) -> u64 {
        (2 * PAGE).next_multiple_of(self.frag)
    }

    /// Cuts what lies from byte `rest` of the file on into group journals.
    fn cut(&mut self, rest: u64) {
        let (place, headers) = (self.place_len(), self.headers());
        for extent in self.extents.clone() {
            let skip = rest.saturating_sub(extent.from).min(extent.len);
            let (mut at, end) = (extent.at.0 + skip, extent.at.0 + extent.len);
            while end.saturating_sub(at) >= headers + place {
                let count = ((end - at - headers) / place).min(PLACES) as u32;
                let group = Group { header: DiskOff(at), at: DiskOff(at + headers), first: self.places, count };
                self.groups.push(group);
                self.places += count;
                at += headers + u64::from(count) * place;
            }
        }
    }

    /// Bytes of a place.
    pub(crate) fn place_len(&self) -> u64 {
        u64::from(self.blocks) * self.frag
    }

    /// The bytes before the journal's first block.
    pub(crate) fn head(&self) -> u64 {
        head(self.frag)
    }

    /// Pieces of the journal's line. A quarter of the places has no owner, so that there is a choice.
    pub(crate) fn pieces(&self) -> u32 {
        self.places - self.places / 4
    }

    /// The address of byte `from` of the file, and how many bytes follow it there.
    pub(crate) fn run(&self, from: u64) -> (DiskOff, u64) {
        let after = self.extents.partition_point(|extent| extent.from <= from);
        match after.checked_sub(1).and_then(|index| self.extents.get(index)) {
            Some(extent) => {
                let skip = (from - extent.from).min(extent.len);
                (extent.at + skip, extent.len - skip)
            }
            None => (DiskOff(0), 0),
        }
    }

    fn pages_at(&self) -> u64 {
        self.head() + ROOTS * PAGE
    }

    /// Bytes of the file at which a root with this number and its twin begin.
    pub(crate) fn root(&self, number: u64) -> [u64; 2] {
        [number % 2, number % 2 + 2].map(|slot| self.head() + slot * PAGE)
    }

    /// Byte of the file at which a page, or its twin, begins.
    pub(crate) fn page(&self, page: u32, twin: bool) -> u64 {
        self.pages_at() + (u64::from(page) + if twin { u64::from(self.pages) } else { 0 }) * PAGE
    }

    /// The group journal of a place.
    pub(crate) fn group_of(&self, place: u32) -> Option<(usize, &Group)> {
        let index = self.groups.partition_point(|group| group.first <= place).checked_sub(1)?;
        let group = self.groups.get(index)?;
        (place - group.first < group.count).then_some((index, group))
    }

    /// The address of a place.
    pub(crate) fn place(&self, place: u32) -> DiskOff {
        let offset = |group: &Group| group.at + u64::from(place - group.first) * self.place_len();
        self.group_of(place).map_or(DiskOff(0), |(_, group)| offset(group))
    }

    /// The address of a block in the group journals, numbered through all places.
    pub(crate) fn block(&self, block: u32) -> DiskOff {
        let (place, within) = (block / self.blocks, block % self.blocks);
        self.place(place) + u64::from(within) * self.frag
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_in_their_extents_and_share_nothing() {
        let extents = [(DiskOff(1 << 20), 300 << 10), (DiskOff(4 << 20), 200 << 10), (DiskOff(9 << 20), 100 << 10)];
        let area = Area::new(&extents, 2048).unwrap();
        assert_eq!(area.groups.len(), 3);
        let mut last = 0;
        for place in 0..area.places {
            let at = area.place(place).0;
            let inside = extents.iter().any(|(from, len)| from.0 <= at && at + area.place_len() <= from.0 + len);
            assert!(inside && at >= last, "place {place} at {at}");
            assert!(area.groups.iter().all(|group| group.header.0 + 2 * PAGE <= at || group.header.0 > at));
            last = at + area.place_len();
        }
        assert_eq!(area.block(9), area.place(1) + 2048);
        let end_of_pages = area.page(area.pages - 1, true) + PAGE;
        assert_eq!(area.run(end_of_pages - 1).1, (300 << 10) - end_of_pages + 1);
        assert!(area.groups[0].header >= extents[0].0 + end_of_pages);
    }

    #[test]
    fn the_least_file_is_large_enough() {
        for frag in [512, 1024, 2048, 4096, 8192, 16384, 65536] {
            assert!(Area::new(&[(DiskOff(1 << 20), least(frag))], frag).is_ok(), "fragments of {frag} bytes");
        }
    }

    #[test]
    fn a_short_file_is_refused() {
        let short = Area::new(&[(DiskOff(0), 4096)], 2048).unwrap_err();
        assert_eq!(short, NoPlace::TooSmall { len: 4096, least: least(2048) });
    }

    /// What is wrong is the length of the pieces, and not that of the file: the error must say so.
    #[test]
    fn a_file_in_short_pieces_is_refused_for_its_pieces() {
        for count in [100, 3000] {
            let crumbs: Vec<_> = (0..count).map(|i| (DiskOff(i << 20), 8192)).collect();
            let scattered = Area::new(&crumbs, 2048).unwrap_err();
            assert!(matches!(scattered, NoPlace::Scattered { longest: 8192, together } if together > 8192), "{count}");
            assert!(scattered.to_string().contains("pieces of 8192 bytes at most"), "{scattered}");
        }
    }
}
