//! Rename: replacing a name or not, within a directory or between two; and the exchange of two names.
//!
//! The order keeps rule 3 of the schemes (ufs-2): raise the link count, set the new name, then clear the old one and
//! drop the raised link. A directory that moves gets its new parent's link before its `..` names it.
//!
//! If directories move into each other, the order of single steps is not enough. Suppose `a/b` moves out of `a`, and
//! then `a` into it: the disk may have the new name of `a` and no longer the old one, while it has `b` only below `a`.
//! So a directory that has moved, and that the disk may still have at its old place
//! ([`ordo_buf::TracksInodes::is_moving`]), is not moved again, replaced or removed, and no other directory moves below
//! it, before a sync.

use crate::directory::{Found, Target};
use crate::{Inode, Layout, Ufs, attr};
use ordo_buf::{CallKind, Fields, Freed, Op};
use ordo_ondisk::Ino;
use ordo_rt::sync::WriteGuard;
use ordo_vfs::{Caller, Kind, Name, NodeId, Refusal, RenameMode, Result, Stamp};
use std::rc::Rc;

/// One end of a rename: a directory, a name in it, and what that name names.
struct End<'a> {
    dir: &'a Rc<Inode>,
    name: &'a [u8],
    found: Found,
    inode: Rc<Inode>,
}

impl<L: Layout> Ufs<L> {
    /// Moves a name, or exchanges two.
    pub(crate) async fn rename(
        &self,
        from: NodeId,
        name: Name<'_>,
        to: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        let from = self.directory(from).await?;
        let to = self.directory(to).await?;
        if name.is_dot_or_dotdot() || to_name.is_dot_or_dotdot() {
            return Err(Refusal::Invalid.into());
        }
        let (from, to) = (&from, &to);
        self.call_at_rest(CallKind::Rename, async |op| {
            let across = !Rc::ptr_eq(from, to);
            let _moves = if across { Some(self.moves.lock().await) } else { None };
            let _locks = self.lock_both(from, to).await?;
            let found = self.must_find(from, name.bytes()).await?;
            let source = End { dir: from, name: name.bytes(), found, inode: self.inode(found.ino).await? };
            if to.links_seen() == 0 {
                return Err(Refusal::NotFound.into());
            }
            let target = match self.find(to, to_name.bytes()).await? {
                None => None,
                Some(found) => Some(End { dir: to, name: to_name.bytes(), found, inode: self.inode(found.ino).await? }),
            };
            // If several refusals fit, the order is Linux's.
            match (mode, &target) {
                (RenameMode::NoReplace, Some(_)) => return Err(Refusal::Exists.into()),
                (RenameMode::Exchange, None) => return Err(Refusal::NotFound.into()),
                _ => {}
            }
            if across && source.inode.is_dir() && self.is_within(to, source.found.ino).await? {
                return Err(Refusal::Invalid.into());
            }
            if let Some(target) = &target
                && across
                && target.inode.is_dir()
                && self.is_within(from, target.found.ino).await?
            {
                // The target contains the source, somewhere below it.
                let exchange = mode == RenameMode::Exchange;
                return Err(if exchange { Refusal::Invalid } else { Refusal::NotEmpty }.into());
            }
            if target.as_ref().is_some_and(|target| target.found.ino == source.found.ino) {
                return Ok(true);
            }
            attr::may_unlink(from, &source.inode)?;
            self.may_enter(to)?;
            let ends = [Some(&source), target.as_ref()];
            if ends.iter().flatten().any(|end| self.is_moving(&end.inode)) {
                return Ok(false);
            }
            let comes = |end: &End<'_>| across && end.inode.is_dir();
            let goes_back = mode == RenameMode::Exchange && target.as_ref().is_some_and(comes);
            if comes(&source) && self.is_below_moving(to).await? || goes_back && self.is_below_moving(from).await? {
                return Ok(false);
            }
            match target {
                Some(target) if mode == RenameMode::Exchange => self.exchange(op, source, target).await?,
                Some(target) => self.replace(op, source, target).await?,
                None => self.place(op, source, to, to_name.bytes()).await?,
            }
            Ok(true)
        })
        .await
    }

    /// Locks two directories so that no other call can wait for them in the opposite order (ufs-3).
    async fn lock_both<'a>(
        &self,
        a: &'a Rc<Inode>,
        b: &'a Rc<Inode>,
    ) -> Result<(WriteGuard<'a, ()>, Option<WriteGuard<'a, ()>>)> {
        if Rc::ptr_eq(a, b) {
            return Ok((a.lock.write().await, None));
        }
        let b_above = self.is_within(a, b.ino()).await?;
        let a_first = !b_above && (a.ino() < b.ino() || self.is_within(b, a.ino()).await?);
        let (first, second) = if a_first { (a, b) } else { (b, a) };
        Ok((first.lock.write().await, Some(second.lock.write().await)))
    }

    /// `dir` is `above`, or lies below it. The walk ends: a chain of `..` longer than the number of inodes is damage.
    async fn is_within(&self, dir: &Rc<Inode>, above: Ino) -> Result<bool> {
        let mut dir = dir.clone();
        for _ in 0..self.layout.shape().inodes {
            if dir.ino() == above {
                return Ok(true);
            }
            // A removed directory that is still open has lost its contents, and lies below nothing.
            if dir.ino() == Ino::ROOT || dir.size() == 0 {
                return Ok(false);
            }
            dir = self.inode(self.parent_of(&dir).await?).await?;
        }
        Err(ordo_vfs::Error::corrupt(format!("directory inode {}: its chain of `..` is a loop", dir.ino().0)))
    }

    /// On the disk, `dir` or a directory above it may still be at the place from which it moved. What moved in here
    /// meanwhile could be found on the disk below itself, and nowhere else.
    async fn is_below_moving(&self, dir: &Rc<Inode>) -> Result<bool> {
        let mut dir = dir.clone();
        while dir.ino() != Ino::ROOT && dir.size() > 0 {
            if self.is_moving(&dir) {
                return Ok(true);
            }
            dir = self.inode(self.parent_of(&dir).await?).await?;
        }
        Ok(false)
    }

    /// The new name is free.
    async fn place(&self, op: Op, source: End<'_>, to: &Rc<Inode>, to_name: &[u8]) -> Result<()> {
        let now = self.now();
        let inode = source.inode.clone();
        let kind = inode.kind().ok_or(Refusal::Stale)?;
        let moves_dir = kind == Kind::Directory && !Rc::ptr_eq(source.dir, to);
        if moves_dir && to.dinode().nlink >= crate::create::MAX_LINKS {
            return Err(Refusal::TooManyLinks.into());
        }
        let buf = self.add_link(op, &inode, now).await?;
        if moves_dir {
            self.add_link(op, to, now).await?;
        }
        let target = Target { ino: inode.ino(), kind, inode: &buf, mkdir: None };
        #[cfg(feature = "planted")]
        if !moves_dir && crate::planted::has(crate::planted::Bug::OldNameFirst) {
            self.leave_old_name(op, source, now).await?;
            return self.enter(op, &Caller::default(), to, to_name, target, now).await;
        }
        if let Err(error) = self.enter(op, &Caller::default(), to, to_name, target, now).await {
            self.take_link_back(op, &inode).await?;
            if moves_dir {
                self.take_link_back(op, to).await?;
            }
            return Err(error);
        }
        if moves_dir {
            self.turn_dotdot(op, &inode, to, source.dir.ino(), now).await?;
        }
        self.leave_old_name(op, source, now).await
    }

    /// The new name exists, and is redirected to the source.
    async fn replace(&self, op: Op, source: End<'_>, target: End<'_>) -> Result<()> {
        let now = self.now();
        let kind = source.inode.kind().ok_or(Refusal::Stale)?;
        let (is_dir, over_dir) = (kind == Kind::Directory, target.inode.is_dir());
        attr::may_unlink(target.dir, &target.inode)?;
        match (is_dir, over_dir) {
            (true, false) => return Err(Refusal::NotDirectory.into()),
            (false, true) => return Err(Refusal::IsDirectory.into()),
            _ => {}
        }
        let replaced = target.inode.lock.write().await;
        if over_dir && !self.is_empty(&target.inode).await? {
            return Err(Refusal::NotEmpty.into());
        }
        if over_dir || target.inode.links_seen() <= 1 {
            self.layout.can_be_released(&target.inode)?;
        }
        let moves_dir = is_dir && !Rc::ptr_eq(source.dir, target.dir);
        let buf = self.add_link(op, &source.inode, now).await?;
        if moves_dir {
            self.add_link(op, target.dir, now).await?;
        }
        let parent = over_dir.then(|| target.dir.ino());
        let links = if over_dir { target.inode.links_seen() } else { 1 };
        self.links_leave(op, &target.inode, links).await?;
        if over_dir {
            self.links_leave(op, target.dir, 1).await?;
        }
        let ticket = self.cache().ledger().issue(Freed::DropLink { ino: target.found.ino, links, parent });
        let new = Target { ino: source.found.ino, kind, inode: &buf, mkdir: None };
        let ripe = self.redirect(op, target.dir, target.found, new, false, ticket, now).await?;
        let moved = async {
            if moves_dir {
                self.turn_dotdot(op, &source.inode, target.dir, source.dir.ino(), now).await?;
            }
            self.leave_old_name(op, source, now).await
        };
        if let Err(error) = moved.await {
            ripe.into_iter().for_each(|ticket| self.cache().keep_stuck(ticket));
            return Err(error);
        }
        drop(replaced);
        self.redeem(op, ripe, now).await
    }

    /// Both names exist and are exchanged. The inode of `a` has a third name meanwhile: two entries cannot change at
    /// once, and a crash between the two changes must leave each a name (ufs-2).
    async fn exchange(&self, op: Op, a: End<'_>, b: End<'_>) -> Result<()> {
        let now = self.now();
        attr::may_unlink(b.dir, &b.inode)?;
        let aside = self.name_aside(op, &a, now).await?;
        self.swap(op, &a, &b, now).await?;
        let found = self.must_find(a.dir, &aside).await?;
        let ticket = self.leaving(op, &a.inode).await?;
        let ripe = self.clear(op, a.dir, &aside, found, ticket, now).await?;
        self.redeem(op, ripe, now).await
    }

    /// Enters an unused name beside that of `end`.
    async fn name_aside(&self, op: Op, end: &End<'_>, now: Stamp) -> Result<Vec<u8>> {
        let kind = end.inode.kind().ok_or(Refusal::Stale)?;
        let mut name = format!(".exchange-{}", end.found.ino.0).into_bytes();
        while self.find(end.dir, &name).await?.is_some() {
            name.push(b'_');
            if name.len() > ordo_vfs::MAX_NAME {
                return Err(Refusal::Exists.into());
            }
        }
        let buf = self.add_link(op, &end.inode, now).await?;
        let target = Target { ino: end.found.ino, kind, inode: &buf, mkdir: None };
        if let Err(error) = self.enter(op, &Caller::default(), end.dir, &name, target, now).await {
            self.take_link_back(op, &end.inode).await?;
            return Err(error);
        }
        Ok(name)
    }

    async fn swap(&self, op: Op, a: &End<'_>, b: &End<'_>, now: Stamp) -> Result<()> {
        let across = !Rc::ptr_eq(a.dir, b.dir);
        for (end, other) in [(a, b), (b, a)] {
            self.add_link(op, &end.inode, now).await?;
            if across && end.inode.is_dir() {
                self.add_link(op, other.dir, now).await?;
            }
        }
        for (end, other) in [(a, b), (b, a)] {
            let kind = other.inode.kind().ok_or(Refusal::Stale)?;
            let buf = self.layout.block_of(&other.inode).await?;
            let new = Target { ino: other.found.ino, kind, inode: &buf, mkdir: None };
            let ticket = self.leaving(op, &end.inode).await?;
            let ripe = self.redirect(op, end.dir, end.found, new, false, ticket, now).await?;
            self.redeem(op, ripe, now).await?;
            if across && kind == Kind::Directory {
                self.turn_dotdot(op, &other.inode, end.dir, other.dir.ino(), now).await?;
            }
        }
        Ok(())
    }

    /// Redirects `..` of `dir` to `to`, and drops the link that it was for the old parent.
    async fn turn_dotdot(&self, op: Op, dir: &Rc<Inode>, to: &Rc<Inode>, old_parent: Ino, now: Stamp) -> Result<()> {
        let _inside = dir.lock.write().await;
        let found = self.must_find(dir, b"..").await?;
        let buf = self.layout.block_of(to).await?;
        let old = self.inode(old_parent).await?;
        if self.layout.shape().keeps_depth {
            let depth = to.dinode().freelink.saturating_add(1);
            dir.dinode_mut().freelink = depth;
            self.changed(op, dir, Fields::Times).await?;
        }
        let ticket = self.leaving(op, &old).await?;
        let target = Target { ino: to.ino(), kind: Kind::Directory, inode: &buf, mkdir: None };
        let ripe = self.redirect(op, dir, found, target, true, ticket, now).await?;
        self.redeem(op, ripe, now).await
    }

    /// Clears the old name, and drops the link that was raised for the new one.
    async fn leave_old_name(&self, op: Op, source: End<'_>, now: Stamp) -> Result<()> {
        // The new name may have gone into the old one's chunk; the old entry has not moved (dirhash-2).
        let ticket = self.leaving(op, &source.inode).await?;
        let ripe = self.clear(op, source.dir, source.name, source.found, ticket, now).await?;
        self.redeem(op, ripe, now).await
    }

    /// A ticket for one link of `inode`, which callers do not see any more.
    async fn leaving(&self, op: Op, inode: &Inode) -> Result<ordo_buf::Ticket> {
        self.links_leave(op, inode, 1).await?;
        Ok(self.cache().ledger().issue(Freed::DropLink { ino: inode.ino(), links: 1, parent: None }))
    }

    async fn take_link_back(&self, op: Op, inode: &Inode) -> Result<()> {
        inode.dinode_mut().nlink -= 1;
        self.changed(op, inode, Fields::LinksDown).await.map(drop)
    }
}
