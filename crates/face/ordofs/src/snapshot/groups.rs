//! The maps of all cylinder groups of a volume that is not mounted, changed in memory and then written.

use crate::SnapshotError;
use crate::sectors::{get, put};
use ordo_disk::{Disk, Kind};
use ordo_ondisk::cg::{Cg, CgMut, map};
use ordo_ondisk::{CgLayout, Cgx, CsumTotal, Geometry, Superblock, cg, csum};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The groups.
#[derive(Clone)]
pub(super) struct Groups {
    g: Rc<Geometry>,
    blocks: Vec<(Vec<u8>, CgLayout)>,
    changed: BTreeSet<u32>,
}

impl Groups {
    pub(super) async fn load(disk: &Rc<dyn Disk>, g: &Rc<Geometry>) -> Result<Groups, SnapshotError> {
        let mut blocks = Vec::new();
        for c in (0..g.ncg).map(Cgx) {
            let block = get(disk, g.byte(g.cgtod(c)), g.cgsize as usize, Kind::Maps).await?;
            let layout = cg::check_maps(&block, g, c)?;
            blocks.push((block, layout));
        }
        Ok(Groups { g: g.clone(), blocks, changed: BTreeSet::new() })
    }

    /// The group of a block, and the fragment of the group with which it begins.
    fn place(&self, block: u64) -> (usize, u32) {
        let frag = self.g.frag_of_block(block);
        (self.g.dtog(frag).0 as usize, self.g.dtogd(frag).0)
    }

    /// Whether all of a block is free. One that the volume has only a part of never is.
    pub(super) fn is_free(&self, block: u64) -> bool {
        let (c, first) = self.place(block);
        let view = self.blocks.get(c).and_then(|(bytes, layout)| Cg::new(bytes, *layout, self.g.endian));
        view.is_some_and(|cg| first + self.g.frag <= cg.layout().ndblk && map::all(cg.free(), first, self.g.frag, true))
    }

    /// Marks a whole block as free or in use.
    pub(super) fn mark(&mut self, block: u64, free: bool) {
        let (c, first) = self.place(block);
        let (n, endian) = (self.g.frag, self.g.endian);
        if let Some((bytes, layout)) = self.blocks.get_mut(c)
            && let Some(mut cg) = CgMut::new(bytes, *layout, endian)
            && first + n <= layout.ndblk
        {
            map::fill(cg.free_mut(), first, n, free);
            self.changed.insert(c as u32);
        }
    }

    /// Counts anew, and seals what changed.
    pub(super) fn seal(&mut self, now: i64) {
        for &c in &self.changed {
            let Some((bytes, layout)) = self.blocks.get_mut(c as usize) else { continue };
            if let Some(mut cg) = CgMut::new(bytes, *layout, self.g.endian) {
                let ndir = cg.view().ndir();
                cg.rebuild_counts(ndir);
            }
            // OK to ignore: the block was checked, and is as long as a group's.
            let _ = cg::seal(bytes, &self.g, now);
        }
    }

    /// The block of a group, sealed.
    pub(super) fn bytes(&self, c: Cgx) -> &[u8] {
        self.blocks.get(c.0 as usize).map_or(&[], |(bytes, _)| bytes)
    }

    /// The summary of all groups, in the bytes that `array` has, and the totals.
    pub(super) fn summary(&self, array: &mut [u8]) -> CsumTotal {
        let mut total = CsumTotal::default();
        for (c, (bytes, layout)) in (0..).map(Cgx).zip(&self.blocks) {
            let Some(cg) = Cg::new(bytes, *layout, self.g.endian) else { continue };
            total = total.plus(cg.cs());
            // OK to ignore: the array has a place for each group.
            let _ = csum::put(array, c, cg.cs(), self.g.endian);
        }
        total
    }

    /// Writes the groups that changed, and the summary; returns the totals.
    pub(super) async fn write(
        &mut self,
        disk: &Rc<dyn Disk>,
        sb: &Superblock,
        now: i64,
    ) -> Result<CsumTotal, SnapshotError> {
        self.seal(now);
        let g = self.g.clone();
        for c in std::mem::take(&mut self.changed).into_iter().map(Cgx) {
            put(disk, g.byte(g.cgtod(c)), self.bytes(c), Kind::Maps).await?;
        }
        let mut array = summary(disk, sb).await?;
        let total = self.summary(&mut array);
        put(disk, g.byte(g.csaddr), &array, Kind::Summary).await?;
        Ok(total)
    }
}

/// The summary of all groups.
pub(super) async fn summary(disk: &Rc<dyn Disk>, sb: &Superblock) -> Result<Vec<u8>, SnapshotError> {
    let g = sb.geometry();
    let len = (g.cssize as usize).next_multiple_of(g.fsize as usize);
    let mut bytes = get(disk, g.byte(g.csaddr), len, Kind::Summary).await?;
    bytes.truncate(g.cssize as usize);
    Ok(bytes)
}
