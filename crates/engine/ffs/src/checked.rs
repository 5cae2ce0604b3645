//! Which blocks of groups were checked since they came from the disk.

use ordo_buf::BufRef;
use ordo_ondisk::{CgLayout, Cgx};
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::rc::{Rc, Weak};

/// Number of remembered layouts at which those of evicted blocks are dropped.
const REMEMBERED: usize = 512;

/// Which bufs were checked, and where their maps are. A block that was evicted and read again is another buf, and is
/// checked again.
#[derive(Default)]
pub(crate) struct Checked(RefCell<FxHashMap<Cgx, (Weak<ordo_buf::Buf>, CgLayout)>>);

impl Checked {
    #[inline]
    pub(crate) fn layout(&self, c: Cgx, buf: &BufRef) -> Option<CgLayout> {
        let map = self.0.borrow();
        let (known, layout) = map.get(&c)?;
        std::ptr::eq(known.as_ptr(), Rc::as_ptr(buf)).then_some(*layout)
    }

    pub(crate) fn remember(&self, c: Cgx, buf: &BufRef, layout: CgLayout) {
        let mut map = self.0.borrow_mut();
        if map.len() >= REMEMBERED {
            map.retain(|_, (buf, _)| buf.strong_count() > 0);
        }
        map.insert(c, (Rc::downgrade(buf), layout));
    }
}
