//! A search of the whole log for what the ifile should lead to. It is slow, and is done only if something is missing.
//!
//! A block of the ifile or an inode is found by the newest partial segment that holds it. The ifile never shrinks, and
//! the newest copy of its blocks is never overwritten, so the search finds it if its summary is whole.

use super::log::pseg_at;
use super::newest::{Newest, Scan};
use super::volume::Volume;
use crate::Error;
use ordo_ondisk::lfs::{Daddr, Item, SegNo, Serial, inode_block};

impl Volume {
    /// Searches the log, also behind its end: the end may be what is damaged.
    pub(crate) async fn scan_log(&mut self) -> Result<Scan, Error> {
        let mut scan = Scan::default();
        for n in 0..self.g.nseg {
            self.scan_segment(SegNo(n), &mut scan).await?;
        }
        Ok(scan)
    }

    async fn scan_segment(&mut self, n: SegNo, scan: &mut Scan) -> Result<(), Error> {
        let g = self.g;
        let (mut at, end) = (g.segment_start(n), g.segment_end(n));
        let (mut before, mut fresh) = (Serial(0), true);
        while at.plus(g.summary_units()) < end {
            let Some((summary, pseg)) = pseg_at(&mut self.image, &g, at).await? else {
                at = at.plus(1);
                continue;
            };
            if summary.serial.0 > u64::MAX >> 3 {
                // Damage: no log has so many.
                at = at.plus(1);
                continue;
            }
            // An older one behind a newer one is left from an earlier use of the segment.
            fresh &= !summary.is_stale(&g, before);
            before = summary.serial;
            at = pseg.end;
            scan.serial = scan.serial.max(summary.serial);
            if fresh {
                let count = scan.counts.entry(n.0).or_default();
                *count = (count.0.saturating_add(1), count.1.saturating_add(summary.inode_blocks.len() as u16));
            }
            for item in &pseg.items {
                match *item {
                    Item::Inodes { at } => self.scan_inodes(at, summary.serial, scan).await?,
                    Item::Block { ino, version, lbn, at, .. } => scan.block(ino.0, version, lbn.0, at, summary.serial),
                }
            }
        }
        Ok(())
    }

    async fn scan_inodes(&mut self, at: Daddr, serial: Serial, scan: &mut Scan) -> Result<(), Error> {
        let block = self.read(at, self.g.ibsize as usize).await?;
        for (slot, ino) in inode_block::slots(&block, &self.g) {
            let Ok(dinode) = inode_block::get(&block, slot, &self.g) else { continue };
            let newest = scan.inodes.entry(ino.0).or_default();
            if serial >= newest.serial {
                *newest = Newest { serial, at, version: dinode.gen_, nameless: dinode.nlink == 0 };
            }
        }
        Ok(())
    }
}
