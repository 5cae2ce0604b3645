//! Step 9: sets names and link counts of surviving and dying inodes, and frees the dying ones.

use super::group::InodeKind;
use super::links::{DOTDOT, EntryPlace, Links, Node, is_name};
use super::replay::Replay;
use crate::outcome::NotReplayed;
use crate::walk::Walk;
use ordo_ondisk::{Dinode, dirent};

impl Replay {
    pub(super) async fn settle_links(&mut self) -> Result<(), NotReplayed> {
        let mut links = Links::of(std::mem::take(&mut self.events));
        self.look_up(&mut links).await?;
        links.settle()?;
        for index in 0..links.nodes.len() {
            self.settle_names(&mut links, index).await?;
        }
        for node in &links.nodes {
            self.settle_count(&links, node).await?;
            let kind = match (node.mode | node.told_mode, node.is_dir()) {
                // No record says whether the group counts it as its old or as its new type.
                _ if node.reused => InodeKind::Unknown,
                (0, _) => InodeKind::Unknown,
                (_, true) => InodeKind::Directory,
                (_, false) => InodeKind::Other,
            };
            self.inode_bits.insert(node.ino, (node.alive, kind));
        }
        let dead: Vec<u32> = links.nodes.iter().filter(|n| !n.alive && n.mode != 0).map(|n| n.ino).collect();
        for ino in dead.into_iter().chain(links.doomed.clone()) {
            self.reclaim(&links, ino).await?;
        }
        Ok(())
    }

    /// Which names of an inode are removed: all names of a dying directory, all but one of a surviving one. Of several
    /// names the one that its `..` agrees with stays, as in a full check. Then only names are removed, and an
    /// interrupted replay never leaves a `..` that disagrees with the only name.
    async fn settle_names(&mut self, links: &mut Links, index: usize) -> Result<(), NotReplayed> {
        let Some(node) = links.nodes.get(index) else { return Ok(()) };
        let (ino, alive) = (node.ino, node.alive);
        let broken = |what| Err(NotReplayed::Inode { ino, what });
        let names: Vec<_> = links.present(node).filter(|(_, place)| alive || is_name(ino, place)).collect();
        if names.iter().any(|(_, place)| u16::from(place.kind) != node_kind(node)) {
            return broken("its name is of another kind of file");
        }
        if !node.is_dir() {
            return if alive || names.is_empty() { Ok(()) } else { broken("it is free and has a name") };
        }
        if node.mode == 0 && !names.is_empty() {
            return broken("it is free and has a name");
        }
        let own: Vec<_> = names.into_iter().filter(|(_, place)| is_name(ino, place)).collect();
        let untouched = links.has_untouched_name(node);
        if !alive && untouched {
            return broken("it dies, and may have a name that the journal does not tell of");
        }
        let agrees = if own.len() > 1 { self.dotdot(links, ino).await?.names } else { 0 };
        let newer = || own.iter().find(|(touch, _)| !touch.leaves).or(own.first());
        let staying = own.iter().find(|(_, place)| place.parent == agrees).or_else(newer);
        let kept = staying.filter(|_| alive && !untouched).map(|(touch, place)| (touch.place, *place));
        for (touch, place) in own.iter().filter(|(touch, _)| kept.is_none_or(|(kept, _)| kept != touch.place)) {
            self.clear_entry(*place).await?;
            if let Some(place) = links.places.get_mut(touch.place) {
                place.names = 0;
            }
        }
        if alive { self.settle_dotdot(links, index, kept.map(|(_, place)| place)).await } else { Ok(()) }
    }

    /// Makes the `..` of a surviving directory lead to the directory that names it.
    async fn settle_dotdot(
        &mut self,
        links: &mut Links,
        index: usize,
        name: Option<EntryPlace>,
    ) -> Result<(), NotReplayed> {
        let Some(ino) = links.nodes.get(index).map(|node| node.ino) else { return Ok(()) };
        let broken = NotReplayed::Inode { ino, what: "its `..` leads elsewhere, and the journal does not tell why" };
        let place = links.place(ino, DOTDOT);
        let before = || {
            let had = |n: &usize| {
                let touches = links.nodes.get(*n).map(|node| links.touches(node)).unwrap_or_default();
                touches.iter().any(|touch| Some(touch.place) == place && touch.before)
            };
            let node = links.touching(place?).find(had)?;
            links.nodes.get(node).map(|node| node.ino)
        };
        let parent = match (name, place) {
            (Some(name), _) => name.parent,
            // Its name is unchanged, so its parent is, too.
            (None, Some(_)) => before().ok_or(NotReplayed::Inode { ino, what: "its parent is not known" })?,
            (None, None) => return Ok(()),
        };
        let found = self.dotdot(links, ino).await?;
        if found.names == parent {
            return Ok(());
        }
        let counts = |node: &Node| links.touches(node).iter().any(|touch| Some(touch.place) == place);
        let told = links.node(parent).and_then(|node| links.nodes.get(node)).is_some_and(counts);
        if found.names == 0 || !told {
            return Err(broken);
        }
        self.name_directory(found, parent).await?;
        if let Some(place) = place.and_then(|place| links.places.get_mut(place)) {
            place.names = parent;
        }
        Ok(())
    }

    /// The `..` of a directory on the disk.
    async fn dotdot(&mut self, links: &Links, ino: u32) -> Result<EntryPlace, NotReplayed> {
        let mut found = EntryPlace { parent: ino, at: DOTDOT, ..EntryPlace::default() };
        match links.place(ino, DOTDOT).and_then(|place| links.places.get(place)) {
            Some(known) => found = *known,
            None => self.read_places(std::slice::from_mut(&mut found)).await?,
        }
        Ok(found)
    }

    /// Writes the link count of a surviving inode.
    async fn settle_count(&mut self, links: &Links, node: &Node) -> Result<(), NotReplayed> {
        let Some(right) = links.count(node)?.filter(|_| node.alive) else { return Ok(()) };
        let ino = node.ino;
        let right = u16::try_from(right).map_err(|_| NotReplayed::Inode { ino, what: "it has too many links" })?;
        if right == node.nlink {
            return Ok(());
        }
        let mut dinode = self.dinode(ino).await?;
        dinode.nlink = right;
        self.put_dinode(ino, &dinode).await?;
        self.done.links_adjusted += 1;
        if right > node.nlink {
            let at = Dinode::place(&self.geo, ordo_ondisk::Ino(ino));
            let bytes = self.image.bytes(at, self.geo.dinode_size as usize).await?.to_vec();
            self.raised.push((at, bytes));
        }
        Ok(())
    }

    /// Frees an inode. Its blocks are freed with those that records name.
    async fn reclaim(&mut self, links: &Links, ino: u32) -> Result<(), NotReplayed> {
        let dinode = self.dinode(ino).await?;
        if dinode.is_dir() {
            self.leads_nowhere(links, ino, &dinode).await?;
        }
        let mut walk = Walk::new(&self.geo, &dinode);
        while let Some(pointer) = self.step(ino, &mut walk).await? {
            self.implied.push(super::records::FileBlock::of(ino, &pointer));
        }
        let kind = match self.inode_bits.get(&ino) {
            Some((_, InodeKind::Unknown)) => InodeKind::Unknown,
            _ if dinode.is_dir() => InodeKind::Directory,
            _ => InodeKind::Other,
        };
        self.inode_bits.insert(ino, (false, kind));
        self.reclaimed.insert(ino);
        // The list of inodes without a name must stay whole until the end (recover-suj-5).
        let freelink = if self.unlinked.contains(&ino) { dinode.freelink } else { 0 };
        self.put_dinode(ino, &Dinode { gen_: dinode.gen_, freelink, ..Dinode::default() }).await
    }

    /// Checks that records describe every name in a dying directory. Otherwise its count cannot be right.
    async fn leads_nowhere(&mut self, links: &Links, ino: u32, dinode: &Dinode) -> Result<(), NotReplayed> {
        let untold = |at: u64, entry: &dirent::Dirent<'_>| {
            let place = u32::try_from(at).ok().and_then(|at| links.place(ino, at));
            let told = place.is_some_and(|place| {
                links.touching(place).any(|node| links.nodes.get(node).is_some_and(|node| node.ino == entry.ino.0))
            });
            (!told && entry.ino.0 != ino).then_some(())
        };
        match self.look_at_names(ino, dinode, untold).await? {
            Some(()) => {
                Err(NotReplayed::Inode { ino, what: "it dies, and has a name that the journal does not tell of" })
            }
            None => Ok(()),
        }
    }
}

/// The directory-entry type of an inode.
fn node_kind(node: &Node) -> u16 {
    let known = if node.mode == 0 { node.told_mode } else { node.mode };
    known >> 12
}
