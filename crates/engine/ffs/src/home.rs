//! What the cache needs from the layout when it writes a buf.

use ordo_buf::{Buf, Home, Key, Role, Undo};
use ordo_disk::DiskOff;
use ordo_ondisk::{FragNo, Geometry};
use ordo_rt::Rt;
use std::rc::Rc;

/// Where bufs of a volume live, and what is put into their images last.
pub(crate) struct FfsHome {
    pub(crate) g: Rc<Geometry>,
    pub(crate) rt: Rt,
}

impl Home for FfsHome {
    fn place(&self, buf: &Buf) -> Option<DiskOff> {
        // The layout places early: a buf knows its address as soon as it has one.
        buf.addr()
    }

    fn seal(&self, buf: &Buf, image: &mut [u8]) {
        let is_group = matches!((buf.key(), buf.kind()), (Key::Device(FragNo(_)), Role::Maps));
        // One that was logged must leave as it was logged: with the time of that moment.
        if is_group && !ordo_ondisk::cg::is_sealed(image, &self.g) {
            // OK to ignore: the buf of a group is as long as a group's block.
            let _ = ordo_ondisk::cg::seal(image, &self.g, self.rt.wall().0);
        }
    }

    fn undo(&self, image: &mut [u8], undo: &Undo<'_>) -> u32 {
        crate::undo::undo(&self.g, image, undo)
    }
}
