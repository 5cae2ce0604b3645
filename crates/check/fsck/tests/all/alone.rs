//! What the tests of fsck have alone of the small volume; those of replays take the rest, too.

use crate::common::build::Volume;
use crate::common::cut::Cut;
use ordo_disk::{Disk, RamDisk};
use ordo_fsck::{Mode, Options};
use ordo_ondisk::{CgLayout, Cgx, Endian, Format, cg};
use std::rc::Rc;

/// A free inode.
pub(crate) const FREE: u32 = 13;

impl Volume {
    /// A volume of 4 MiB.
    pub(crate) fn new(format: Format, endian: Endian, softdep: bool) -> Volume {
        Volume::sized(format, endian, softdep, 4 << 20)
    }

    /// The map of free fragments of a group.
    pub(crate) fn map_of(&self, c: u32) -> Vec<u8> {
        let mut bytes = vec![0; self.g.cgsize as usize];
        self.disk.peek(self.g.byte(self.g.cgtod(Cgx(c))).0, &mut bytes);
        cg::Cg::new(&bytes, CgLayout::computed(&self.g, Cgx(c)), self.g.endian).expect("a whole group").free().to_vec()
    }
}

/// A repair of `ram` that ends at its `nth` write; `false` if it made fewer.
pub(crate) fn cut(ram: &RamDisk, nth: u64, seed: u64) -> bool {
    let cut = Cut::new(ram, nth, seed);
    let rt = ordo_rt::Rt::virtual_time(seed);
    let (inner, disk): (ordo_rt::Rt, Rc<dyn Disk>) = (rt.clone(), Rc::new(cut.clone()));
    let result = rt.block_on(async move { ordo_fsck::check(&inner, disk, Options::new(Mode::Repair)).await });
    assert_eq!(result.is_err(), cut.is_off());
    cut.is_off()
}
