//! The list of suspects (ffs-leaks-1 to ffs-leaks-3).

use ordo_ondisk::cg::{self, Cg, map};
use ordo_ondisk::{Cgx, FragNo, Geometry};
use std::cell::{Cell, RefCell};

/// The inodes of one group that were in use at the mount.
#[derive(Debug, Clone, Default)]
pub struct UsedInodes {
    /// One bit per inode of the group, up to the last one in use.
    pub map: Vec<u8>,
    /// The group's count of directories.
    pub directories: i32,
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

    /// Torn groups are accepted (ffs-leaks-4).
    pub(crate) fn at_work(&self) -> bool {
        self.at_work.get()
    }

    pub(super) fn begin(&self, ncg: u32) {
        if self.at_work.get() {
            *self.frags.borrow_mut() = vec![None; ncg as usize];
            *self.inodes.borrow_mut() = Some(vec![None; ncg as usize]);
        }
    }

    /// Everything in use in a group is suspect.
    pub(super) fn add_group(&self, g: &Geometry, c: Cgx, cg: &Cg<'_>) {
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
    pub(super) fn strike(&self, g: &Geometry, at: FragNo, frags: u32) {
        let mut groups = self.frags.borrow_mut();
        if let Some(Some(group)) = groups.get_mut(g.dtog(at).0 as usize) {
            map::fill(group, g.dtogd(at).0, frags, false);
        }
    }

    /// Takes up to `most` runs of a group off the list, none longer than a block.
    pub(super) fn take(&self, c: Cgx, frag: u32, most: usize) -> Vec<(u32, u32)> {
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

    /// Takes the inodes that were in use at the mount, by group.
    pub(super) fn take_inodes(&self) -> Option<Vec<Option<UsedInodes>>> {
        self.inodes.borrow_mut().take()
    }

    pub(super) fn end(&self) {
        self.at_work.set(false);
        *self.frags.borrow_mut() = Vec::new();
        *self.inodes.borrow_mut() = None;
    }
}
