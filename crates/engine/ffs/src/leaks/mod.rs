//! What a crash has leaked: the maps behind the reclaim, which is a crate of its own (`ordo_reclaim`).
//!
//! A fragment has leaked if it was marked in use at the mount and nothing has pointed to it since. The list of suspects
//! begins with all bits set at that moment. What an inode points to is removed from it, and so is what a ticket names,
//! when the ticket is issued.
//!
//! K1. A live change makes nothing look leaked. What is allocated after the mount was not on the list, or was removed
//!     from it when it was freed. What is freed is removed when its ticket is issued, in the same turn in which the
//!     pointer is cleared.
//! K2. Any snapshot of the inode taken since the mount will do: a block that it points to both at the mount and at the
//!     end was never freed in between. So an image older than the buf does no harm.
//! K3. The list takes a bit per fragment, for groups that have anything on it, and is dropped when the reclaim ends.
//! K4. A group's block of such a volume may be torn: some of its sectors old, some new. Each bit of its two maps is
//!     then old or new, and soft updates makes both safe: a bit says "free" only after everything that pointed there
//!     was durably gone. So counts, run lengths and cluster map are rebuilt from the maps, and the block is accepted
//!     with any hash if everything that is constant in a volume's life is right. An inode beyond `cg_initediblk` of a
//!     torn block was never written, and is free.

mod groups;
mod recover;

use crate::Ffs;
use ordo_ondisk::cg::{self, Cg, map};
use ordo_ondisk::{Cgx, Dinode, FragNo, Geometry, Ino};
use std::cell::{Cell, RefCell};

/// The inodes of one group that were in use at the mount.
#[derive(Debug, Clone, Default)]
pub struct UsedInodes {
    /// One bit per inode of the group, up to the last one in use.
    pub map: Vec<u8>,
    /// The group's count of directories.
    pub directories: i32,
}

/// A bounded piece of a group's inodes.
#[derive(Debug, Default)]
pub struct Piece {
    /// Inodes that were in use at the mount, with their present contents.
    pub inodes: Vec<(Ino, Dinode)>,
    /// Index within the group at which the next piece begins; `None` for the last one.
    pub next: Option<u32>,
}

/// What an inode points to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// Its sectors of 512 bytes, including indirect blocks and attributes.
    pub sectors: u64,
    /// The block after its last stored one.
    pub end: u64,
}

/// The list of suspects, while there is one.
#[derive(Default)]
pub(crate) struct Suspects {
    /// A crash of soft updates has left the volume, and the scan is running.
    at_work: Cell<bool>,
    /// One bit per fragment, for groups with any.
    frags: RefCell<Vec<Option<Vec<u8>>>>,
    inodes: RefCell<Option<Vec<Option<UsedInodes>>>>,
}

impl Suspects {
    /// A list for a volume that a crash of soft updates has left, if `at_work`.
    pub(crate) fn new(at_work: bool) -> Suspects {
        Suspects { at_work: Cell::new(at_work), ..Suspects::default() }
    }

    /// Torn groups are accepted (K4).
    pub(crate) fn at_work(&self) -> bool {
        self.at_work.get()
    }

    /// Everything in use in a group is suspect.
    fn add_group(&self, g: &Geometry, c: Cgx, cg: &Cg<'_>) {
        let mut used: Vec<u8> = cg.free().iter().map(|free| !free).collect();
        let ndblk = cg.layout().ndblk;
        map::fill(&mut used, ndblk, (cg.layout().free_len() * 8).saturating_sub(ndblk), false);
        for range in cg::reserved(g, c) {
            map::fill(&mut used, range.start, range.end.saturating_sub(range.start), false);
        }
        if used.iter().any(|&bits| bits != 0)
            && let Some(group) = self.frags.borrow_mut().get_mut(c.0 as usize)
        {
            *group = Some(used);
        }
        let mut inodes = cg.iused().to_vec();
        if c.0 == 0 {
            map::fill(&mut inodes, 0, 2, false);
        }
        let len = inodes.iter().rposition(|&bits| bits != 0).map_or(0, |last| last + 1);
        inodes.truncate(len);
        if let Some(groups) = self.inodes.borrow_mut().as_mut()
            && let Some(group) = groups.get_mut(c.0 as usize)
        {
            *group = Some(UsedInodes { map: inodes, directories: cg.ndir() });
        }
    }

    /// Removes a run from the list.
    fn strike(&self, g: &Geometry, at: FragNo, frags: u32) {
        let mut groups = self.frags.borrow_mut();
        if let Some(Some(group)) = groups.get_mut(g.dtog(at).0 as usize) {
            map::fill(group, g.dtogd(at).0, frags, false);
        }
    }

    /// Takes up to `most` runs of a group off the list, none longer than a block.
    fn take(&self, c: Cgx, frag: u32, most: usize) -> Vec<(u32, u32)> {
        let mut groups = self.frags.borrow_mut();
        let Some(group) = groups.get_mut(c.0 as usize) else { return Vec::new() };
        let Some(bits) = group.as_mut() else { return Vec::new() };
        let (end, mut runs) = (bits.len() as u32 * 8, Vec::new());
        let mut from = 0;
        while runs.len() < most
            && let Some(first) = map::first_set(bits, from, end)
        {
            let n = (first..(first - first % frag + frag)).take_while(|&i| map::get(bits, i)).count() as u32;
            map::fill(bits, first, n, false);
            runs.push((first, n));
            from = first + n;
        }
        if runs.is_empty() {
            *group = None;
        }
        runs
    }

    fn end(&self) {
        self.at_work.set(false);
        *self.frags.borrow_mut() = Vec::new();
        *self.inodes.borrow_mut() = None;
    }
}

impl Ffs {
    /// Repairs a torn group's block (K4). The caller has checked everything that is constant.
    fn mend_torn(&self, group: &mut cg::CgMut<'_>) {
        let (ready, ipg) = (group.view().initediblk(), self.g.ipg);
        if self.g.format == ordo_ondisk::Format::Ufs2 {
            map::fill(group.iused_mut(), ready, ipg.saturating_sub(ready), false);
        }
        let ndir = group.view().ndir();
        group.rebuild_counts(ndir);
    }
}
