//! ext2: everything in place, and what is dirty is written by a timer, in no order.

use super::place::{Placer, whole};
use super::seam::{Batch, Layout, write_all};
use crate::sched::{Tag, Taken};
use crate::setting::Setting;
use crate::volume::Volume;

pub(super) struct Ext2 {
    places: Vec<u32>,
}

impl Ext2 {
    pub(super) fn new(volume: &Volume, setting: &Setting) -> Ext2 {
        let mut placer = Placer::new(volume, &whole(volume), setting.full);
        placer.place_all(volume, |_| true);
        Ext2 { places: placer.places }
    }
}

impl Layout for Ext2 {
    fn place(&self, page: u32) -> u32 {
        self.places[page as usize]
    }

    fn step(&mut self, batch: &Batch, step: u32, _head: u32, writes: &mut Vec<Taken>) -> bool {
        let all = batch.data.iter().chain(&batch.metadata);
        let mut blocks: Vec<u32> = all.map(|page| self.place(*page)).collect();
        write_all(&mut blocks, Tag::Home, writes);
        step == 0
    }
}
