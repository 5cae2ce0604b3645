//! Phase 4: link counts, and inodes without a name.

use crate::volume::{InodeState, Volume};
use crate::{Error, Finding, Phase, Severity};
use ordo_ondisk::Ino;

impl Volume {
    /// Phase 4.
    pub(crate) async fn check_links(&mut self) -> Result<(), Error> {
        for index in 0..self.dirs.len() {
            let Some(dir) = self.dir_at(index) else { continue };
            // Its own `.`, and its `..` in the parent; the root is its own parent.
            self.count_link(dir.ino, 1);
            self.count_link(if dir.ino == Ino::ROOT.0 { dir.ino } else { dir.parent }, 1);
        }
        self.dots_counted = true;
        // All names first: a file that gets one in `lost+found` can change the counts of that and of the root.
        self.each_inode(true).await?;
        self.each_inode(false).await
    }

    async fn each_inode(&mut self, nameless: bool) -> Result<(), Error> {
        let ncg = self.geo.ncg;
        for c in 0..ncg {
            self.step(Phase::Links, c.into(), ncg.into());
            let mut index = 0;
            // The group can grow by `lost+found` while its files are named there.
            while let Some(known) = self.groups.get(c as usize).and_then(|group| group.inodes.get(index)) {
                let ino = c * self.geo.ipg + index as u32;
                match known.state {
                    InodeState::EmptyDir if nameless => {
                        self.find(Finding::EmptyDirectory { ino });
                        self.clear_inode(ino).await?;
                    }
                    InodeState::File if nameless && known.links == 0 => self.settle_nameless(ino).await?,
                    InodeState::File | InodeState::Dir if !nameless => self.check_count(ino).await?,
                    _ => {}
                }
                index += 1;
            }
        }
        Ok(())
    }

    /// Rule 39: a nameless file is freed if that was already in progress, or if it is empty; otherwise it gets a name.
    async fn settle_nameless(&mut self, ino: u32) -> Result<(), Error> {
        let leaving = self.trusts_soft_updates();
        let size = self.dinode(ino).await?.size;
        self.find(Finding::Unreferenced { ino, size });
        let worthless = self.known(ino).nlink == 0 || size == 0;
        if leaving || worthless || self.lose(ino).await?.is_none() {
            return self.clear_inode(ino).await;
        }
        self.put_count(ino).await
    }

    /// Checks rule 38.
    async fn check_count(&mut self, ino: u32) -> Result<(), Error> {
        let known = self.known(ino);
        let (found, right) = (u32::from(known.nlink), known.links);
        if found == right {
            return Ok(());
        }
        // `lost+found` itself, and a parent that got a directory back, gained links by this repair.
        if !self.lost_gained(ino) {
            let severity = if right > found { Severity::Manual } else { Severity::Preen };
            self.find_as(Finding::LinkCount { ino, found, right }, severity);
        }
        self.put_count(ino).await
    }

    /// Writes the number of links that were found.
    pub(crate) async fn put_count(&mut self, ino: u32) -> Result<(), Error> {
        let mut dinode = self.dinode(ino).await?;
        dinode.nlink = u16::try_from(self.known(ino).links).unwrap_or(u16::MAX);
        if dinode.nlink > self.known(ino).nlink {
            self.raised.insert(ino);
        }
        if let Some(known) = self.known_mut(ino) {
            known.nlink = dinode.nlink;
        }
        self.put_dinode(ino, &dinode).await
    }
}
