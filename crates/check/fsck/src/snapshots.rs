//! Rule 18: snapshots, before their blocks are claimed.
//!
//! A pointer of a snapshot that is set to 0 would read what the volume has there now: another file, perhaps. So a
//! damaged snapshot is not mended: it becomes a plain, empty file. The same happens to one that is in no list: it was
//! being made when the system crashed.
//!
//! Two things are mended, because a crash leaves them while a block becomes a copy or changes its snapshot. A block
//! that is in two places of one snapshot was given to it in advance, at its own place, and is a copy now: its own place
//! is free of it again. A block that two snapshots have at its own place belongs to the first, and the other reads it
//! in the volume.

use crate::volume::Volume;
use crate::{Error, Finding};
use ordo_ondisk::dinode::flags;
use ordo_ondisk::snapshot::NOCOPY;
use ordo_ondisk::{ByteOff, Cgx, Dinode, FragNo, cg};
use ordo_recover::{Pointer, Slot, Walk};
use rustc_hash::FxHashMap;

impl Volume {
    /// Checks a snapshot; one that cannot be kept is emptied in `dinode`.
    pub(crate) async fn check_snapshot(&mut self, ino: u32, dinode: &mut Dinode) -> Result<(), Error> {
        if !self.sb.fields.snapinum.contains(&ino) {
            self.find(Finding::SnapshotUnlisted { ino });
            empty(dinode);
        } else if let Some(why) = self.snapshot_damage(ino, dinode).await? {
            self.find(Finding::SnapshotDamaged { ino, why });
            empty(dinode);
        }
        Ok(())
    }

    /// Why a snapshot cannot be kept.
    async fn snapshot_damage(&mut self, ino: u32, dinode: &mut Dinode) -> Result<Option<&'static str>, Error> {
        let geo = self.geo.clone();
        if dinode.size < geo.snapshot_bytes(0) {
            return Ok(Some("it is shorter than the volume"));
        }
        if dinode.db.iter().any(|pointer| pointer.is_hole()) && geo.snapshot_blocks() >= 12 {
            return Ok(Some("a direct block is missing"));
        }
        let blocks = dinode.size.div_ceil(geo.bsize.into());
        let mut met: FxHashMap<u64, Pointer> = FxHashMap::default();
        let mut mend: Vec<(Pointer, FragNo)> = vec![];
        let (mut leaves, mut copies) = (0, FxHashMap::default());
        let mut walk = Walk::new(&self.geo, dinode);
        while let Some(pointer) = walk.next(&mut self.image, &self.geo).await? {
            let Pointer { slot, lbn, level, frag, .. } = pointer;
            if matches!(slot, Slot::Ext(_)) {
                continue;
            }
            if lbn >= blocks || !geo.is_data_range(frag, geo.frag) {
                return Ok(Some("a pointer leads to no block of data"));
            }
            leaves += u64::from(level == 1);
            if level == 0 {
                copies.insert(lbn, frag);
            }
            let own = level == 0 && geo.frag_of_block(lbn) == frag;
            if own && self.used.any(frag.0, geo.frag.into()) {
                mend.push((pointer, FragNo::HOLE));
                continue;
            }
            let Some(other) = met.insert(frag.0, pointer) else { continue };
            let other_own = other.level == 0 && geo.frag_of_block(other.lbn) == frag;
            match (own, other_own && level == 0) {
                (true, _) if other.level == 0 => mend.push((pointer, NOCOPY)),
                (_, true) => mend.push((other, NOCOPY)),
                _ => return Ok(Some("a block is in it twice")),
            }
        }
        if leaves < blocks.saturating_sub(12).div_ceil(u64::from(geo.nindir).max(1)) {
            return Ok(Some("indirect blocks are missing"));
        }
        // A writer finds in its groups which blocks the snapshot needs.
        for c in (0..geo.ncg).map(Cgx) {
            let (at, bsize) = (geo.byte(geo.cgtod(c)).0, u64::from(geo.bsize));
            let Some(copy) = copies.get(&(at / bsize)) else { return Ok(Some("the copy of a group is missing")) };
            let mut bytes = vec![0; geo.cgsize as usize];
            self.image.read(ByteOff(geo.byte(*copy).0 + at % bsize), &mut bytes).await?;
            if cg::check_maps(&bytes, &geo, c).is_err() {
                return Ok(Some("the copy of a group is damaged"));
            }
        }
        for (pointer, to) in mend {
            self.find(Finding::SnapshotTwice { ino, lbn: pointer.lbn, frag: pointer.frag.0 });
            self.set_pointer(dinode, pointer.slot, to).await?;
        }
        Ok(None)
    }
}

/// Makes it a plain, empty file.
fn empty(dinode: &mut Dinode) {
    (dinode.size, dinode.flags) = (0, dinode.flags & !flags::SF_SNAPSHOT);
    dinode.db.fill(FragNo::HOLE);
    dinode.ib.fill(FragNo::HOLE);
}
