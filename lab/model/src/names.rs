//! Looking up, adding and removing names.
//!
//! If a call could be refused for more than one reason, the reason returned is the one that Linux finds first: the name
//! exists, the directory is gone, flags, kinds.

use crate::dir::Entry as NameEntry;
use crate::flags::{self, APPEND, IMMUTABLE, NOUNLINK};
use crate::ino::{Ino, ROOT};
use crate::state::State;
use ordo_vfs::{DirEntry, Entry, Kind, Name, NodeId, Refusal, Result, Stamp};

impl State {
    pub(crate) fn lookup(&mut self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        let ino = self.live_dir(dir)?;
        let dir = self.arena.at(ino).dir()?;
        let found = match name.bytes() {
            b"." => ino,
            b".." => dir.parent,
            bytes => dir.get(bytes).ok_or(Refusal::NotFound)?.ino,
        };
        Ok(self.look_up_node(found))
    }

    /// A directory that has not been removed.
    pub(crate) fn live_dir(&self, dir: NodeId) -> Result<Ino> {
        let ino = self.arena.ino(dir)?;
        if self.arena.at(ino).dir()?.dead { Err(Refusal::NotFound.into()) } else { Ok(ino) }
    }

    /// The entry of a name other than the dots in a directory.
    pub(crate) fn entry(&self, dir: Ino, name: Name<'_>) -> Result<NameEntry> {
        Ok(self.arena.at(dir).dir()?.get(name.bytes()).ok_or(Refusal::NotFound)?)
    }

    pub(crate) fn link(&mut self, id: NodeId, dir: NodeId, name: Name<'_>, now: Stamp) -> Result<Entry> {
        let ino = self.arena.ino(id)?;
        let dir = self.may_add(dir, name)?;
        let node = self.arena.at(ino);
        flags::refuse(node.attr.flags, IMMUTABLE | APPEND)?;
        let kind = node.attr.kind;
        if kind == Kind::Directory {
            return Err(Refusal::NotPermitted.into());
        }
        if node.attr.nlink == 0 && !node.linkable {
            return Err(Refusal::NotFound.into());
        }
        if node.attr.nlink >= self.options.link_max {
            return Err(Refusal::TooManyLinks.into());
        }
        let node = self.arena.at_mut(ino);
        node.attr.nlink += 1;
        node.attr.ctime = now;
        node.linkable = false;
        self.arena.at_mut(dir).dir_mut()?.set(name.bytes(), ino, kind);
        self.touch_dir(dir, now);
        Ok(self.look_up_node(ino))
    }

    pub(crate) fn unlink(&mut self, dir: NodeId, name: Name<'_>, now: Stamp) -> Result<()> {
        if name.is_dot_or_dotdot() {
            return Err(Refusal::IsDirectory.into());
        }
        let dir = self.live_dir(dir)?;
        let victim = self.entry(dir, name)?;
        self.may_remove(dir, victim.ino)?;
        if victim.kind == Kind::Directory {
            return Err(Refusal::IsDirectory.into());
        }
        self.arena.at_mut(dir).dir_mut()?.remove(name.bytes());
        self.touch_dir(dir, now);
        self.drop_link(victim, now);
        Ok(())
    }

    pub(crate) fn rmdir(&mut self, dir: NodeId, name: Name<'_>, now: Stamp) -> Result<()> {
        match name.bytes() {
            b"." => return Err(Refusal::Invalid.into()),
            b".." => return Err(Refusal::NotEmpty.into()),
            _ => {}
        }
        let dir = self.live_dir(dir)?;
        let victim = self.entry(dir, name)?;
        self.may_remove(dir, victim.ino)?;
        if !self.arena.at(victim.ino).dir()?.is_empty() {
            return Err(Refusal::NotEmpty.into());
        }
        let parent = self.arena.at_mut(dir);
        parent.dir_mut()?.remove(name.bytes());
        parent.attr.nlink -= 1;
        self.touch_dir(dir, now);
        self.drop_link(victim, now);
        Ok(())
    }

    /// Refuses if flags of the directory or the victim forbid the removal.
    pub(crate) fn may_remove(&self, dir: Ino, victim: Ino) -> Result<()> {
        flags::refuse(self.arena.at(dir).attr.flags, IMMUTABLE | APPEND)?;
        flags::refuse(self.arena.at(victim).attr.flags, IMMUTABLE | APPEND | NOUNLINK)
    }

    /// A file loses one name, a directory its only one; the caller updates the parent's count.
    pub(crate) fn drop_link(&mut self, victim: NameEntry, now: Stamp) {
        let node = self.arena.at_mut(victim.ino);
        node.attr.ctime = now;
        match node.dir_mut() {
            Ok(dir) => {
                dir.dead = true;
                node.attr.nlink = 0;
            }
            Err(_) => node.attr.nlink -= 1,
        }
        self.release(victim.ino);
    }

    pub(crate) fn touch_dir(&mut self, dir: Ino, now: Stamp) {
        let attr = &mut self.arena.at_mut(dir).attr;
        (attr.mtime, attr.ctime) = (now, now);
    }

    pub(crate) fn readdir(
        &mut self,
        id: NodeId,
        cookie: u64,
        now: Stamp,
        take: &mut dyn FnMut(DirEntry<'_>) -> bool,
    ) -> Result<()> {
        let ino = self.arena.ino(id)?;
        if !self.options.noatime {
            self.arena.at_mut(ino).attr.atime = now;
        }
        let dir = self.arena.at(ino).dir()?;
        if dir.dead {
            return Ok(());
        }
        let directory = Kind::Directory as u8;
        let dots = [(1, b".".as_slice(), ino), (2, b"..".as_slice(), dir.parent)];
        for (next, name, dot) in dots.into_iter().filter(|dot| dot.0 > cookie) {
            if !take(DirEntry { ino: u64::from(dot.0), kind: directory, next, name }) {
                return Ok(());
            }
        }
        for (next, name, entry) in dir.after(cookie) {
            if !take(DirEntry { ino: u64::from(entry.ino.0), kind: entry.kind as u8, next, name }) {
                break;
            }
        }
        Ok(())
    }

    /// `true` when `ancestor` is `dir` or lies on the way from it to the root. Both are live.
    pub(crate) fn is_within(&self, mut dir: Ino, ancestor: Ino) -> bool {
        loop {
            if dir == ancestor {
                return true;
            }
            match self.arena.at(dir).dir() {
                Ok(names) if dir != ROOT => dir = names.parent,
                _ => return false,
            }
        }
    }
}
