//! DualFS: data in place, metadata in a log of segments of 512 blocks, in a partition of a tenth of the disk behind the
//! data (Table I).

use super::log::Log;
use super::place::Placer;
use super::seam::{Batch, Layout, is_metadata, write_all};
use crate::sched::{Tag, Taken};
use crate::setting::Setting;
use crate::volume::{NONE, Run, Volume};

/// Blocks of a segment (Table I).
const SEGMENT: u32 = 512;

/// Two partitions: data in place, and a log.
pub(super) struct Split {
    pub(super) places: Vec<u32>,
    pub(super) log: Log,
}

impl Split {
    /// The log takes the tenth of the disk that begins at `from`; what `logs` says lies in it from the start.
    pub(super) fn new(volume: &Volume, setting: &Setting, from: u32, logs: impl Fn(&Run) -> bool) -> Split {
        let size = volume.blocks / 10;
        let areas = [(0, from), (from + size, volume.blocks)];
        let mut placer = Placer::new(volume, &areas, setting.full);
        placer.place_all(volume, |run| !logs(run));
        let (mut places, mut log) = (placer.places, Log::new(from, size, setting.segment.unwrap_or(SEGMENT)));
        let logged = volume.walk.iter().filter(|run| logs(run)).flat_map(|run| run.page..run.page + run.pages);
        for (block, page) in (from..).zip(logged) {
            places[page as usize] = block;
            log.holds(block, page);
        }
        debug_assert!(places.iter().all(|place| *place != NONE), "a page is in one of the two");
        log.begin();
        Split { places, log }
    }

    /// Writes data home, and then what `logs` to the end of the log.
    pub(super) fn step(&mut self, home: &[u32], logged: &[u32], step: u32, writes: &mut Vec<Taken>) -> bool {
        let mut blocks = match step {
            0 => home.iter().map(|page| self.places[*page as usize]).collect(),
            1 => self.log.write(logged, &mut self.places),
            _ => return false,
        };
        write_all(&mut blocks, Tag::Home, writes);
        true
    }
}

pub(super) struct DualFs(Split);

impl DualFs {
    pub(super) fn new(volume: &Volume, setting: &Setting) -> DualFs {
        let from = volume.blocks - volume.blocks / 10;
        DualFs(Split::new(volume, setting, from, |run| is_metadata(volume, run.page)))
    }
}

impl Layout for DualFs {
    fn place(&self, page: u32) -> u32 {
        self.0.places[page as usize]
    }

    fn step(&mut self, batch: &Batch, step: u32, _head: u32, writes: &mut Vec<Taken>) -> bool {
        self.0.step(&batch.data, &batch.metadata, step, writes)
    }
}
