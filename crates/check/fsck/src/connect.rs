//! Phase 3: every directory is reachable from the root, and its `..` agrees.

use crate::volume::{Dir, Extent, InodeState, Known, Volume};
use crate::{Error, Finding, Phase, Severity, dirblock};
use ordo_ondisk::{ByteOff, Ino};
use ordo_recover::Order;

/// What is known of a directory's path to the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Unknown,
    /// On the path that is being followed.
    Followed,
    Known,
}

impl Volume {
    /// Phase 3.
    pub(crate) async fn check_connectivity(&mut self) -> Result<(), Error> {
        self.break_loops().await?;
        self.tell_names_of_free();
        self.undo_lost().await?;
        let orphans: Vec<Dir> =
            self.dirs.iter().filter(|dir| !dir.gone && dir.parent == 0 && dir.ino != Ino::ROOT.0).cloned().collect();
        for (dir, done) in orphans.iter().zip(0..) {
            self.step(Phase::Connectivity, done, orphans.len() as u64);
            // An orphan that was cleared may have been the parent of this one.
            if self.dir(dir.ino).is_some_and(|dir| dir.parent == 0) {
                self.settle_orphan(dir).await?;
            }
        }
        self.check_parents().await
    }

    /// Rule 37: if directories contain each other, one loses its name and becomes an orphan.
    async fn break_loops(&mut self) -> Result<(), Error> {
        let mut ways = vec![Way::Unknown; self.dirs.len()];
        for start in 0..self.dirs.len() {
            let mut path = vec![];
            let mut at = Some(start);
            while let Some(index) = at.filter(|&index| ways.get(index) == Some(&Way::Unknown)) {
                set(&mut ways, index, Way::Followed);
                path.push(index);
                at = self.dirs.get(index).and_then(|dir| self.dir_index(dir.parent));
            }
            let closes = at.filter(|&index| ways.get(index) == Some(&Way::Followed));
            for index in path {
                set(&mut ways, index, Way::Known);
            }
            let Some(ino) = closes.and_then(|index| self.dirs.get(index)).map(|dir| dir.ino) else { continue };
            if ino != Ino::ROOT.0 {
                self.find(Finding::DirectoryLoop { ino });
                self.remove_name(ino).await?;
            }
        }
        Ok(())
    }

    /// Reports names of free inodes. Soft updates never leave such a name where the root reaches it. A tree that the
    /// root does not reach is being freed, by this repair or by a mount, and a crash may have left names in it whose
    /// inodes are already free.
    fn tell_names_of_free(&mut self) {
        for finding in std::mem::take(&mut self.to_free) {
            let Finding::EntryUnallocated { dir, .. } = finding else { continue };
            let mut at = dir;
            // Loops were broken, so the way up ends.
            while let Some(above) = self.dir(at).map(|dir| dir.parent).filter(|above| *above != 0 && at != Ino::ROOT.0)
            {
                at = above;
            }
            let severity = if at == Ino::ROOT.0 { Severity::Manual } else { Severity::Preen };
            self.find_as(finding, severity);
        }
    }

    /// A directory without a name, in which every name is `#` and an inode number, is a `lost+found` that an
    /// interrupted repair was making. It is removed, and its files become nameless again, so that an interrupted and
    /// repeated repair ends in the same tree.
    async fn undo_lost(&mut self) -> Result<(), Error> {
        let nameless = |dir: &&Dir| !dir.gone && dir.parent == 0 && dir.ino != Ino::ROOT.0;
        let orphans: Vec<u32> = self.dirs.iter().filter(nameless).map(|dir| dir.ino).collect();
        for ino in orphans {
            let entries = self.all_entries(ino).await?;
            if entries.is_empty() || !entries.iter().all(|entry| crate::lost::is_lost_name(&entry.name, entry.ino)) {
                continue;
            }
            self.find(Finding::DirectoryUnconnected { ino, named: 0 });
            for entry in entries {
                self.count_link(entry.ino, -1);
                if let Some(child) = self.dir_mut(entry.ino).filter(|child| child.parent == ino) {
                    child.parent = 0;
                }
            }
            self.clear_inode(ino).await?;
        }
        Ok(())
    }

    /// Rule 36: an orphan gets a name in `lost+found`, or is freed if soft updates was about to remove it.
    async fn settle_orphan(&mut self, dir: &Dir) -> Result<(), Error> {
        let leaving = self.trusts_soft_updates();
        let nameless = self.known(dir.ino).nlink == 0 && self.is_empty_directory(dir.ino).await?;
        self.find(Finding::DirectoryUnconnected { ino: dir.ino, named: dir.dotdot });
        if leaving || nameless {
            return self.clear_tree(dir.ino).await;
        }
        match self.lose(dir.ino).await? {
            Some(parent) => self.set_parent(dir.ino, parent).await,
            None => self.clear_tree(dir.ino).await,
        }
    }

    async fn is_empty_directory(&mut self, ino: u32) -> Result<bool, Error> {
        Ok(self.all_entries(ino).await?.is_empty())
    }

    /// The names in a directory other than `.` and `..`.
    async fn all_entries(&mut self, ino: u32) -> Result<Vec<dirblock::Entry>, Error> {
        let dinode = self.dinode(ino).await?;
        let (extents, _) = self.extents(&dinode).await?;
        let (format, mut found) = (self.geo.dir_format(), vec![]);
        for Extent { at, len, offset } in extents {
            let mut bytes = vec![0; len as usize];
            self.image.read(at, &mut bytes).await?;
            for (block, n) in bytes.chunks_exact(format.block).zip(0u64..) {
                let dots = if offset == 0 && n == 0 { 2 } else { 0 };
                found.extend(dirblock::entries(block, format).0.into_iter().skip(dots));
            }
        }
        Ok(found)
    }

    /// Clears a directory and everything that is named only in it; files that thereby lose their last name are freed in
    /// phase 4.
    async fn clear_tree(&mut self, top: u32) -> Result<(), Error> {
        let mut waiting = vec![top];
        while let Some(ino) = waiting.pop() {
            for entry in self.all_entries(ino).await? {
                self.count_link(entry.ino, -1);
                if self.dir(entry.ino).is_some_and(|dir| dir.parent == ino) {
                    waiting.push(entry.ino);
                }
            }
            self.clear_inode(ino).await?;
        }
        Ok(())
    }

    /// Rule 34: every `..` names the parent.
    async fn check_parents(&mut self) -> Result<(), Error> {
        for index in 0..self.dirs.len() {
            let Some(dir) = self.dir_at(index) else { continue };
            let right = if dir.ino == Ino::ROOT.0 { dir.ino } else { dir.parent };
            if dir.dotdot != right {
                self.find(Finding::WrongParent { ino: dir.ino, found: dir.dotdot, right });
                self.set_parent(dir.ino, right).await?;
            }
        }
        Ok(())
    }

    /// Writes a directory's `..`.
    async fn set_parent(&mut self, ino: u32, parent: u32) -> Result<(), Error> {
        let first = self.dinode(ino).await?.db.first().copied().unwrap_or_default();
        let at = ByteOff(self.byte(first).0 + 12);
        self.image.write(at, &self.geo.endian.u32_bytes(parent), Order::Contents).await?;
        if let Some(dir) = self.dir_mut(ino) {
            (dir.dotdot, dir.parent) = (parent, parent);
        }
        Ok(())
    }

    /// Makes an empty directory at `ino`, which is known to be free; `false` where there is no room.
    pub(crate) async fn make_directory(&mut self, ino: u32, parent: u32, permissions: u16) -> Result<bool, Error> {
        let Some(frag) = self.take_frags(1) else { return Ok(false) };
        self.put_fresh_blocks(frag, 1).await?;
        let block = ordo_ondisk::dirent::new_directory(self.geo.dir_format(), Ino(ino), Ino(parent));
        self.image.write(self.byte(frag), &block, Order::Fresh).await?;
        let old = self.dinode(ino).await?;
        let now = ordo_ondisk::Timestamp { sec: self.now, nsec: 0 };
        let mut dinode = ordo_ondisk::Dinode {
            mode: ordo_ondisk::dinode::mode::DIR | permissions,
            nlink: 2,
            size: self.geo.dirblksiz.into(),
            blocks: (self.geo.fsize / 512).into(),
            gen_: old.gen_.wrapping_add(1).max(1),
            ..ordo_ondisk::Dinode::default()
        };
        (dinode.atime, dinode.mtime, dinode.ctime, dinode.birth) = (now, now, now, now);
        if let Some(first) = dinode.db.first_mut() {
            *first = frag;
        }
        self.put_dinode(ino, &dinode).await?;
        self.know(ino, Known { state: InodeState::Dir, type_: 4, nlink: 2, links: 0 });
        let dir = Dir { ino, first: frag, parent, dotdot: parent, named_at: 0, gone: false };
        match self.dirs.binary_search_by_key(&ino, |dir| dir.ino) {
            Ok(index) => self.dirs.get_mut(index).into_iter().for_each(|slot| *slot = dir.clone()),
            Err(index) => self.dirs.insert(index, dir),
        }
        Ok(true)
    }
}

fn set(ways: &mut [Way], index: usize, to: Way) {
    if let Some(way) = ways.get_mut(index) {
        *way = to;
    }
}
