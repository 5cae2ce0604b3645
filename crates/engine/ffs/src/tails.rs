//! The fragments in which files end: several files have parts of such a block, and read them apart.

use crate::Ffs;
use ordo_ondisk::{Cgx, Dinode, Geometry, NDADDR};
use ordo_vfs::Result;
use std::ops::Range;

impl Ffs {
    /// Shows the fragments of each tail: of files, directories, links and attribute areas whose inodes are in this
    /// group. What an inode on a damaged volume points to is shown as it stands. Files whose inodes cannot be read have
    /// none: nobody reads them.
    ///
    /// # Errors
    /// None so far.
    pub async fn each_tail(&self, group: Cgx, show: &mut dyn FnMut(Range<u64>)) -> Result<()> {
        let go_on = &mut |_| Ok(());
        self.each_dinode_of(group, go_on, &mut |_, dinode| tails(dinode, &self.g).for_each(&mut *show)).await
    }
}

fn tails(dinode: &Dinode, g: &Geometry) -> impl Iterator<Item = Range<u64>> {
    let of = |pointers: &[ordo_ondisk::FragNo], size: u64| {
        let last = g.lblkno(size.checked_sub(1)?);
        let at = *pointers.get(usize::try_from(last).ok()?)?;
        let frags = g.blkfrags(size, last);
        (!at.is_hole() && frags < g.frag).then(|| at.0..at.plus(frags).0)
    };
    let data = dinode.has_blocks(g).then(|| of(&dinode.db[..NDADDR], dinode.size)).flatten();
    let attributes = of(&dinode.extb, dinode.extsize.into());
    data.into_iter().chain(attributes)
}
