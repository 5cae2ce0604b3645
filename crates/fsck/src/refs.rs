//! Phase 4: link counts, and inodes without a name.

use crate::volume::{Kind, Volume};
use crate::{Error, Finding, Phase, Severity};
use ondisk::Ino;

impl Volume {
    /// Phase 4.
    pub(crate) async fn check_links(&mut self) -> Result<(), Error> {
        for index in 0..self.dirs.len() {
            let Some(dir) = self.dirs.get(index).cloned() else { continue };
            // Its own `.`, and its `..` in the parent; the root is its own parent.
            self.count_link(dir.ino, 1);
            self.count_link(if dir.ino == Ino::ROOT.0 { dir.ino } else { dir.parent }, 1);
        }
        let ncg = self.geo.ncg;
        for c in 0..ncg {
            self.step(Phase::Links, c.into(), ncg.into());
            let mut index = 0;
            // The group can grow by `lost+found` while its files are named there.
            while self.groups.get(c as usize).is_some_and(|group| index < group.inodes.len()) {
                let ino = c * self.geo.ipg + index as u32;
                self.check_links_of(ino).await?;
                index += 1;
            }
        }
        Ok(())
    }

    async fn check_links_of(&mut self, ino: u32) -> Result<(), Error> {
        let known = self.known(ino);
        match known.kind {
            Kind::Free | Kind::Hidden => return Ok(()),
            Kind::EmptyDir => {
                self.find(Finding::EmptyDirectory { ino });
                return self.clear_inode(ino).await;
            }
            Kind::File if known.links == 0 => return self.settle_nameless(ino).await,
            Kind::File | Kind::Dir => {}
        }
        self.check_count(ino).await
    }

    /// Rule 39: a file without a name goes if it was about to, or if it holds nothing; else it gets a name.
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

    /// Rule 38.
    async fn check_count(&mut self, ino: u32) -> Result<(), Error> {
        let known = self.known(ino);
        let (found, right) = (u32::from(known.nlink), known.links);
        if found == right {
            return Ok(());
        }
        // `lost+found` itself, and a parent that got a directory back, count more links than before by our own doing.
        if !self.lost_gained(ino) {
            let severity = if right > found { Severity::Manual } else { Severity::Preen };
            self.find_as(Finding::LinkCount { ino, found, right }, severity);
        }
        self.put_count(ino).await
    }

    async fn put_count(&mut self, ino: u32) -> Result<(), Error> {
        let mut dinode = self.dinode(ino).await?;
        dinode.nlink = u16::try_from(self.known(ino).links).unwrap_or(u16::MAX);
        self.put_dinode(ino, &dinode).await
    }
}
