//! All inodes that are in use, whether a name leads to them or not.

use crate::Why;
use crate::volume::{Inode, Volume};
use ordo_ondisk::{Cgx, Ino};

/// The inodes of a volume, in order: see [`Volume::inodes`].
pub struct Inodes<'a> {
    volume: &'a Volume,
    group: u32,
    next: u32,
    end: u32,
}

impl Volume {
    /// The inodes in use with at least one link, and those that are damaged.
    pub fn inodes(&self) -> Inodes<'_> {
        Inodes { volume: self, group: 0, next: 0, end: self.written_inodes(Cgx(0)) }
    }
}

impl Iterator for Inodes<'_> {
    type Item = (Ino, Result<Inode, Why>);

    fn next(&mut self) -> Option<Self::Item> {
        let geo = self.volume.geometry();
        loop {
            if self.next >= self.end {
                self.group += 1;
                if self.group >= geo.ncg {
                    return None;
                }
                (self.next, self.end) = (0, self.volume.written_inodes(Cgx(self.group)));
                continue;
            }
            let ino = Ino(self.group.saturating_mul(geo.ipg).saturating_add(self.next));
            self.next += 1;
            if !geo.is_valid_ino(ino) {
                continue;
            }
            match self.volume.raw_inode(ino) {
                Ok(inode) if inode.dinode.mode == 0 || inode.dinode.nlink == 0 => {}
                found @ (Ok(_) | Err(Why::Damaged(_))) => return Some((ino, found)),
                Err(why) => {
                    // The rest of the block is as unreadable, or the image ends here.
                    self.next = self.next.next_multiple_of(geo.inopb.max(1)).min(self.end);
                    return Some((ino, Err(why)));
                }
            }
        }
    }
}
