//! Finds records: those of an inode, of an entry, of a page. Nothing here changes a record.

use super::{AllocDep, Deps, DirAdd, DirRem, InodeDep, Page, PageKind, PageNo, RemId};
use crate::records::Id;
use ordo_buf::Ahead;
use ordo_ondisk::Ino;

impl Deps {
    /// The id of an inode's record, if it has one.
    #[inline]
    pub(in crate::softupdates) fn id_of(&self, ino: Ino) -> Option<Id<InodeDep>> {
        self.inodes.id_of(ino)
    }

    /// The record of an inode, if it has one.
    #[inline]
    pub(in crate::softupdates) fn inode_of(&self, ino: Ino) -> Option<&InodeDep> {
        self.inodes.of(ino)
    }

    /// The same, mutable.
    #[inline]
    pub(in crate::softupdates) fn inode_of_mut(&mut self, ino: Ino) -> Option<&mut InodeDep> {
        self.inodes.of_mut(ino)
    }

    /// The pending pointers in an inode, newest first.
    pub(in crate::softupdates) fn pointers_of(&self, ino: Ino) -> impl Iterator<Item = Id<AllocDep>> + '_ {
        self.pointers_from(self.inode_of(ino).and_then(|dep| dep.pointers))
    }

    /// A pending pointer and the older ones of the same inode, newest first.
    pub(in crate::softupdates) fn pointers_from(
        &self,
        newest: Option<Id<AllocDep>>,
    ) -> impl Iterator<Item = Id<AllocDep>> + '_ {
        self.pointers.list(newest)
    }

    pub(in crate::softupdates) fn newest_name(&self, ino: Ino) -> Option<Id<DirAdd>> {
        self.inode_of(ino)?.names
    }

    /// Pending names of an inode, newest first.
    pub(in crate::softupdates) fn names_of(&self, ino: Ino) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        self.names_from(self.newest_name(ino))
    }

    /// A pending name and the older ones of the same inode, newest first.
    pub(in crate::softupdates) fn names_from(
        &self,
        newest: Option<Id<DirAdd>>,
    ) -> impl Iterator<Item = Id<DirAdd>> + '_ {
        self.names.list(newest)
    }

    /// The pending name in this entry, the newest if there are two. `newest` is the newest of all names of the inode.
    pub(in crate::softupdates) fn add_at(
        &self,
        newest: Option<Id<DirAdd>>,
        page: PageNo,
        offset: u32,
    ) -> Option<Id<DirAdd>> {
        let is_here = |id: &Id<DirAdd>| self.names.get(*id).is_some_and(|add| add.page == page && add.offset == offset);
        self.names_from(newest).find(is_here)
    }

    /// The directory that the name is in.
    #[inline]
    pub(in crate::softupdates) fn directory_of(&self, add: &DirAdd) -> Ino {
        self.page(add.page).owner()
    }

    /// All removals that are not durable.
    pub(in crate::softupdates) fn removals(&mut self) -> impl Iterator<Item = &mut DirRem> {
        self.pages.iter_mut().flatten().flat_map(|page| match &mut page.kind {
            PageKind::Directory(names) => names.rems.iter_mut(),
            _ => [].iter_mut(),
        })
    }

    /// The removals in a page up to this sequence number, if that one is not durable yet.
    pub(in crate::softupdates) fn removals_to(&self, RemId(no, seq): RemId) -> &[DirRem] {
        let rems = self.removals_in(no);
        rems.iter().position(|rem| rem.seq == seq).map_or(&[], |at| &rems[..=at])
    }

    /// The removals in a page that are not durable, oldest first.
    pub(in crate::softupdates) fn removals_in(&self, page: PageNo) -> &[DirRem] {
        rems_of(self.pages.get(page.0 as usize).and_then(Option::as_ref))
    }

    /// Prefetches the records of a file that is about to lose a name. On a busy volume they are not in the processor's
    /// cache, and each is found through the one before.
    pub(in crate::softupdates) fn prefetch(&self, ino: Ino, ahead: Ahead) {
        match ahead {
            Ahead::Found => self.inodes.prefetch(ino),
            Ahead::Read => {
                let Some(dep) = self.inodes.of(ino) else { return };
                dep.names.into_iter().for_each(|name| self.names.prefetch(name));
                dep.pointers.into_iter().for_each(|pointer| self.pointers.prefetch(pointer));
            }
        }
    }
}

/// Oldest first.
pub(in crate::softupdates) fn rems_of(page: Option<&Page>) -> &[DirRem] {
    match page.map(|page| &page.kind) {
        Some(PageKind::Directory(names)) => &names.rems,
        _ => &[],
    }
}
