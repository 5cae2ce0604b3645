//! Which inodes live, and with how many links.
//!
//! N1. Links are the count of the first record of the list, plus the places of the list that have the name now, minus
//!     the removals of the list. A result that no inode can have ends the replay. So does an entry of another type than
//!     its record.
//! N2. The type of an inode is that of the *last* record of its list. A directory of that type with one link and no dot
//!     link has lost its body: its name is taken away. One without a link other than dots dies.
//! N3. An inode that is free on the disk loses its bit, and nothing else.
//! N4. An inode without enough links by its type on the disk dies: its blocks are freed, and the names in it lose
//!     their links, each in an inode with records, now or when that is looked at.

use crate::lists::Element;
use crate::names::Directory;
use crate::outcome::{Done, give_up};
use crate::replay::Replay;
use ordo_ondisk::Dinode;
use ordo_ondisk::Ino;
use ordo_ondisk::dinode::{IFMT, mode};

/// The most links of an inode.
const MOST: i64 = 32767;
/// Byte of a directory at which its `..` is.
const DOTDOT: u64 = 12;

impl Replay {
    pub(crate) fn check_links(&mut self) -> Done<()> {
        let all: Vec<u32> = self.inodes.all.keys().copied().collect();
        all.into_iter().try_for_each(|ino| self.check_inode(ino))
    }

    /// N1.
    fn check_inode(&mut self, ino: u32) -> Done<()> {
        let Some(inode) = self.inodes.all.get(&ino) else { return Ok(()) };
        let (Some(first), Some(last)) = (inode.list.first(), inode.list.last()) else { return Ok(()) };
        let (mut links, mut dots) = (i64::from(first.of.nlink) - inode.lost, 0);
        for element in &inode.list {
            links -= i64::from(element.removed);
            let Some(present) = self.present(element.of.parent.0, element.of.diroff, ino)? else { continue };
            if present.kind != 0 && u16::from(present.kind) != element.of.mode >> 12 {
                return give_up(format!("inode {ino} has a name of another type than its record"));
            }
            links += 1;
            dots += i64::from(present.dot);
        }
        if !(0..=MOST).contains(&links) {
            return give_up(format!("inode {ino} would have {links} links"));
        }
        let kind = last.of.mode & IFMT;
        if let Some(inode) = self.inodes.all.get_mut(&ino) {
            (inode.checked, inode.links, inode.dots, inode.kind) = (true, links, dots, kind);
        }
        self.adjust(ino)
    }

    /// N2, N3, N4.
    fn adjust(&mut self, ino: u32) -> Done<()> {
        let Some(inode) = self.inodes.all.get(&ino) else { return Ok(()) };
        let (mut links, dots, told, list) = (inode.links, inode.dots, inode.kind, inode.list.clone());
        if told == mode::DIR && links == 1 && dots == 0 {
            self.take_name(ino, &list)?;
            links = 0;
        }
        if told == mode::DIR && links - dots == 0 {
            links = 0;
            for child in list.iter().filter(|element| element.of.diroff == DOTDOT).map(|element| element.of.parent.0) {
                if self.present(child, DOTDOT, ino)?.is_some() {
                    self.inodes.skips.insert(child);
                }
            }
        }
        if let Some(inode) = self.inodes.all.get_mut(&ino) {
            inode.links = links;
        }
        let mut dinode = self.volume.dinode(ino)?;
        if dinode.mode == 0 {
            let directories = list.iter().filter(|element| element.of.mode & IFMT == mode::DIR).count();
            if directories > 0 && directories < list.len() {
                self.unsure.insert(self.volume.geo.ino_to_cg(Ino(ino)).0);
            }
            return self.volume.free_inode(ino, told == mode::DIR);
        }
        if links < least(&dinode) {
            return self.reclaim(ino);
        }
        if i64::from(dinode.nlink) != links {
            dinode.nlink = u16::try_from(links).unwrap_or(u16::MAX);
            self.volume.put_dinode(ino, &dinode)?;
        }
        Ok(())
    }

    /// Takes away the name of a directory without a body.
    fn take_name(&mut self, ino: u32, list: &[Element]) -> Done<()> {
        for element in list {
            if let Some(present) = self.present(element.of.parent.0, element.of.diroff, ino)? {
                return self.clear_name(present);
            }
        }
        give_up(format!("directory {ino} has a name that no record tells"))
    }

    /// An inode loses a name with the directory that has it (N4).
    fn lose_name(&mut self, parent: u32, offset: u64, child: u32, dot: bool) -> Done<()> {
        let Some(inode) = self.inodes.all.get_mut(&child) else {
            let mut dinode = self.volume.dinode(child)?;
            if dinode.mode == 0 || dinode.nlink == 0 {
                return give_up(format!("inode {child} has a name in directory {parent}, and no link"));
            }
            dinode.nlink -= 1;
            if i64::from(dinode.nlink) < least(&dinode) {
                return self.reclaim(child);
            }
            return self.volume.put_dinode(child, &dinode);
        };
        if inode.checked {
            inode.links -= 1;
            inode.dots -= i64::from(dot);
            return self.adjust(child);
        }
        // With a record of this place it will be seen that the name is gone.
        if !inode.list.iter().any(|element| (element.of.parent.0, element.of.diroff) == (parent, offset)) {
            inode.lost += 1;
        }
        Ok(())
    }

    /// Frees an inode with its blocks.
    pub(crate) fn reclaim(&mut self, ino: u32) -> Done<()> {
        if ino == Ino::ROOT.0 {
            return give_up("nothing would lead to the root");
        }
        let dinode = self.volume.dinode(ino)?;
        if dinode.is_dir() {
            self.free_children(ino, &dinode)?;
        }
        self.free_blocks_of(ino, &dinode)?;
        self.volume.put_dinode(ino, &Dinode { gen_: dinode.gen_, ..Dinode::default() })?;
        self.volume.free_inode(ino, dinode.is_dir())
    }

    fn free_children(&mut self, ino: u32, dinode: &Dinode) -> Done<()> {
        for entry in Directory::read(&self.volume, dinode)? {
            if entry.name == b"." || entry.name == b".." && self.inodes.skips.contains(&ino) {
                continue;
            }
            let dot = entry.name == b"..";
            let has_records = !dot && self.inodes.all.contains_key(&entry.ino);
            if has_records && self.present(entry.ino, DOTDOT, ino)?.is_some() {
                self.inodes.skips.insert(entry.ino);
            }
            self.lose_name(ino, entry.at, entry.ino, dot)?;
        }
        Ok(())
    }
}

/// The least links of an inode that lives.
fn least(dinode: &Dinode) -> i64 {
    if dinode.is_dir() { 2 } else { 1 }
}
