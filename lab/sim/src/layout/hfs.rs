//! hFS: data of files of more than a block in place; metadata and the data of smaller files in a log of segments of 512
//! blocks, in a partition of a tenth of the disk in its middle (Table I).

use super::dualfs::Split;
use super::seam::{Batch, Layout};
use crate::sched::Taken;
use crate::setting::Setting;
use crate::volume::{Kind, Volume};

pub(super) struct Hfs {
    split: Split,
    kinds: Vec<Kind>,
}

impl Hfs {
    pub(super) fn new(volume: &Volume, setting: &Setting) -> Hfs {
        let from = volume.blocks / 20 * 9;
        let logs = |page: u32| volume.kinds[page as usize] != Kind::Large;
        Hfs { split: Split::new(volume, setting, from, |run| logs(run.page)), kinds: volume.kinds.clone() }
    }
}

impl Layout for Hfs {
    fn place(&self, page: u32) -> u32 {
        self.split.places[page as usize]
    }

    fn step(&mut self, batch: &Batch, step: u32, _head: u32, writes: &mut Vec<Taken>) -> bool {
        let (home, small): (Vec<u32>, Vec<u32>) =
            batch.data.iter().partition(|page| self.kinds[**page as usize] == Kind::Large);
        let logged: Vec<u32> = small.iter().chain(&batch.metadata).copied().collect();
        self.split.step(&home, &logged, step, writes)
    }
}
