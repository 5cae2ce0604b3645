//! LFS: the whole disk is a log of segments of 1024 blocks (Table I). Data and metadata of one write-back go to its
//! end together, behind a summary. Where an inode lies is known in memory; its map is not written here.

use super::log::Log;
use super::seam::{Batch, Layout, write_all};
use crate::sched::{Tag, Taken};
use crate::setting::Setting;
use crate::volume::{NONE, Volume};

/// Blocks of a segment (Table I).
const SEGMENT: u32 = 1024;

pub(super) struct Lfs {
    places: Vec<u32>,
    log: Log,
}

impl Lfs {
    /// At the start everything lies as one walk wrote it, from the beginning on of each area of the disk with files.
    pub(super) fn new(volume: &Volume, setting: &Setting) -> Lfs {
        let mut log = Log::new(0, volume.blocks, setting.segment.unwrap_or(SEGMENT));
        let places = match &volume.places {
            Some(places) => places.clone(),
            None => walked(volume),
        };
        for (page, place) in places.iter().enumerate() {
            log.holds(*place, page as u32);
        }
        log.begin();
        Lfs { places, log }
    }
}

/// Blocks of groups without files between two areas of the disk: four of the paper's groups.
const APART: u32 = 131_072;

fn walked(volume: &Volume) -> Vec<u32> {
    let mut groups: Vec<u32> = volume.walk.iter().map(|run| run.group).collect();
    groups.sort_unstable();
    groups.dedup();
    // The first group of each area.
    let begins = |at: usize| at == 0 || (groups[at] - groups[at - 1]) * volume.group > APART;
    let areas: Vec<u32> = (0..groups.len()).filter(|at| begins(*at)).map(|at| groups[at]).collect();
    let area = |group: u32| areas[areas.partition_point(|first| *first <= group) - 1];
    let mut by_area: Vec<_> = volume.walk.iter().collect();
    // Stable: within an area the order is that of the walk.
    by_area.sort_by_key(|run| area(run.group));
    let mut places = vec![NONE; volume.pages()];
    let mut next = 0;
    for run in by_area {
        next = next.max(area(run.group) * volume.group);
        for more in 0..run.pages {
            places[(run.page + more) as usize] = next;
            next += 1;
        }
    }
    places
}

impl Layout for Lfs {
    fn place(&self, page: u32) -> u32 {
        self.places[page as usize]
    }

    fn step(&mut self, batch: &Batch, step: u32, _head: u32, writes: &mut Vec<Taken>) -> bool {
        if step > 0 {
            return false;
        }
        let pages: Vec<u32> = batch.data.iter().chain(&batch.metadata).copied().collect();
        let mut blocks = self.log.write(&pages, &mut self.places);
        write_all(&mut blocks, Tag::Home, writes);
        true
    }
}
