//! Places for what is there at the start: in the group of the directory, one after the other.
//!
//! A group begins with its superblock, its bitmaps and its table of inodes; files take what follows, up to the share
//! that the setting allows. The rest of the group is free. Other files are not simulated, and take no room.

use crate::volume::{NONE, Run, SECTORS, Volume};

/// Blocks of a group before its table of inodes: superblock, descriptors, two bitmaps.
const HEADER: u32 = 4;
/// Blocks of a group for each block of its table: an inode for each 8 KB, as mke2fs makes it.
const PER_TABLE: u32 = 64;

/// Gives places to runs of pages.
#[derive(Debug)]
pub(super) struct Placer {
    /// The first block of each group.
    starts: Vec<u32>,
    /// The next free block of each, and where files must end.
    next: Vec<u32>,
    limits: Vec<u32>,
    /// The end of each group.
    ends: Vec<u32>,
    /// Blocks of each group's table of inodes.
    table: u32,
    pub(super) places: Vec<u32>,
}

impl Placer {
    /// Groups over the blocks that `area` names, in order: all of a disk, or its parts before and behind a partition.
    pub(super) fn new(volume: &Volume, areas: &[(u32, u32)], full: f64) -> Placer {
        let (group, table) = (volume.group, volume.group / PER_TABLE);
        let mut starts = Vec::new();
        for &(from, to) in areas {
            starts.extend((0..(to - from) / group).map(|at| from + at * group));
        }
        let next: Vec<u32> = starts.iter().map(|start| start + HEADER + table).collect();
        let room = f64::from(group - HEADER - table);
        let limits = next.iter().map(|next| next + (room * full) as u32).collect();
        let ends = starts.iter().map(|start| start + group).collect();
        Placer { starts, next, limits, ends, table, places: vec![NONE; volume.pages()] }
    }

    /// The group here for a group of the whole disk.
    fn group(&self, group: u32, of: u32) -> usize {
        ((u64::from(group) * self.starts.len() as u64 / u64::from(of)) as usize).min(self.starts.len() - 1)
    }

    /// Reserves blocks from the first group on, whatever the limits are, and returns them.
    pub(super) fn reserve(&mut self, blocks: u32) -> Vec<u32> {
        let mut reserved = Vec::new();
        for (next, end) in self.next.iter_mut().zip(&self.ends) {
            let some = (blocks - reserved.len() as u32).min(end - *next);
            reserved.extend(*next..*next + some);
            *next += some;
        }
        reserved
    }

    /// Gives a run its place.
    pub(super) fn place(&mut self, run: &Run, volume: &Volume) {
        let home = self.group(run.group, volume.groups());
        if let Some(number) = run.table {
            // Behind its table lie the inodes of a group that has more than the table holds: no trace has so many.
            self.places[run.page as usize] = self.starts[home] + HEADER + number.min(self.table - 1);
            return;
        }
        let (mut page, mut left, mut tries) = (run.page, run.pages, 0);
        let mut at = home;
        while left > 0 {
            // A disk that is full to the limit is filled up to the ends of its groups.
            let limit = if tries < self.starts.len() { self.limits[at] } else { self.ends[at] };
            let some = left.min(limit.saturating_sub(self.next[at]));
            for more in 0..some {
                self.places[(page + more) as usize] = self.next[at] + more;
            }
            self.next[at] += some;
            (page, left) = (page + some, left - some);
            if left > 0 {
                at = (at + 1) % self.starts.len();
                tries += 1;
                assert!(tries < 2 * self.starts.len(), "the files of a trace fit on its drive");
            }
        }
    }

    /// Places everything that `wanted` says.
    pub(super) fn place_all(&mut self, volume: &Volume, wanted: impl Fn(&Run) -> bool) {
        match &volume.places {
            Some(places) => self.places.clone_from(places),
            None => volume.walk.iter().filter(|run| wanted(run)).for_each(|run| self.place(run, volume)),
        }
    }

    /// The free blocks of each group, from its last block in use to its end, as far as nothing else is known to use
    /// them.
    pub(super) fn free(&self) -> Vec<(u32, u32)> {
        let mut free: Vec<(u32, u32)> = self.next.iter().copied().zip(self.ends.iter().copied()).collect();
        for &place in self.places.iter().filter(|place| **place != NONE) {
            let at = self.starts.partition_point(|start| *start <= place);
            if let Some((next, end)) = at.checked_sub(1).map(|at| &mut free[at]).filter(|(_, end)| place < *end) {
                *next = (*next).max(place + 1).min(*end);
            }
        }
        free
    }
}

/// The whole disk as one area.
pub(super) fn whole(volume: &Volume) -> [(u32, u32); 1] {
    [(0, volume.blocks)]
}

/// The places of all pages on a disk without a journal.
pub(crate) fn in_place(volume: &Volume) -> Vec<u32> {
    debug_assert!(SECTORS * u64::from(volume.blocks) < u64::MAX);
    let mut placer = Placer::new(volume, &whole(volume), 0.9);
    placer.place_all(volume, |_| true);
    placer.places
}
