//! Renaming.
//!
//! R1. A directory never becomes its own ancestor, or the subtree would be cut off from the root.
//! R2. The link count of a directory is two plus the number of its subdirectories, so a directory that changes its
//!     parent moves one link with it.

use crate::dir::Entry;
use crate::flags::{self, IMMUTABLE};
use crate::ino::Ino;
use crate::state::State;
use ordo_vfs::{Kind, Name, NodeId, Refusal, RenameMode, Result, Stamp};

/// One end of a rename.
#[derive(Clone, Copy)]
struct Side<'a> {
    dir: Ino,
    name: Name<'a>,
}

impl State {
    pub(crate) fn rename(
        &mut self,
        from: (NodeId, Name<'_>),
        to: (NodeId, Name<'_>),
        mode: RenameMode,
        now: Stamp,
    ) -> Result<()> {
        if from.1.is_dot_or_dotdot() || to.1.is_dot_or_dotdot() {
            return Err(Refusal::Invalid.into());
        }
        let from = Side { dir: self.live_dir(from.0)?, name: from.1 };
        let to = Side { dir: self.live_dir(to.0)?, name: to.1 };
        let source = self.entry(from.dir, from.name)?;
        let target = self.entry(to.dir, to.name).ok();
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Refusal::Exists.into()),
            (RenameMode::Exchange, None) => return Err(Refusal::NotFound.into()),
            _ => {}
        }
        if is_dir(source) && self.is_within(to.dir, source.ino) {
            return Err(Refusal::Invalid.into());
        }
        if target.is_some_and(|target| is_dir(target) && self.is_within(from.dir, target.ino)) {
            let exchange = mode == RenameMode::Exchange;
            return Err(if exchange { Refusal::Invalid } else { Refusal::NotEmpty }.into());
        }
        if target.is_some_and(|target| target.ino == source.ino) {
            return Ok(());
        }
        self.may_remove(from.dir, source.ino)?;
        match target {
            Some(target) => self.may_remove(to.dir, target.ino)?,
            None => flags::refuse(self.arena.at(to.dir).attr.flags, IMMUTABLE)?,
        }
        match target {
            Some(target) if mode == RenameMode::Exchange => self.exchange((from, source), (to, target), now),
            target => self.replace((from, source), (to, target), now),
        }
    }

    fn replace(&mut self, from: (Side, Entry), to: (Side, Option<Entry>), now: Stamp) -> Result<()> {
        let ((from, source), (to, target)) = (from, to);
        let moves_dir = is_dir(source);
        if let Some(target) = target {
            match (moves_dir, is_dir(target)) {
                (true, false) => return Err(Refusal::NotDirectory.into()),
                (false, true) => return Err(Refusal::IsDirectory.into()),
                (true, true) if !self.arena.at(target.ino).dir()?.is_empty() => return Err(Refusal::NotEmpty.into()),
                _ => {}
            }
        }
        if moves_dir && target.is_none() {
            self.may_take_dir(from.dir, to.dir)?;
        }
        self.arena.at_mut(from.dir).dir_mut()?.remove(from.name.bytes());
        self.arena.at_mut(to.dir).dir_mut()?.set(to.name.bytes(), source.ino, source.kind);
        if moves_dir {
            self.move_parent(source.ino, from.dir, to.dir)?;
        }
        if let Some(target) = target {
            if is_dir(target) {
                self.arena.at_mut(to.dir).attr.nlink -= 1;
            }
            self.drop_link(target, now);
        }
        self.moved(source.ino, from.dir, to.dir, now);
        Ok(())
    }

    fn exchange(&mut self, from: (Side, Entry), to: (Side, Entry), now: Stamp) -> Result<()> {
        let ((from, source), (to, target)) = (from, to);
        match (is_dir(source), is_dir(target)) {
            (true, false) => self.may_take_dir(from.dir, to.dir)?,
            (false, true) => self.may_take_dir(to.dir, from.dir)?,
            _ => {}
        }
        self.arena.at_mut(from.dir).dir_mut()?.set(from.name.bytes(), target.ino, target.kind);
        self.arena.at_mut(to.dir).dir_mut()?.set(to.name.bytes(), source.ino, source.kind);
        if is_dir(source) {
            self.move_parent(source.ino, from.dir, to.dir)?;
        }
        if is_dir(target) {
            self.move_parent(target.ino, to.dir, from.dir)?;
        }
        self.moved(source.ino, from.dir, to.dir, now);
        self.moved(target.ino, to.dir, from.dir, now);
        Ok(())
    }

    /// Refuses if `to` cannot have one more subdirectory.
    fn may_take_dir(&self, from: Ino, to: Ino) -> Result<()> {
        let full = from != to && self.arena.at(to).attr.nlink >= self.options.link_max;
        if full { Err(Refusal::TooManyLinks.into()) } else { Ok(()) }
    }

    /// R2. Updates the link counts of both parents.
    fn move_parent(&mut self, dir: Ino, from: Ino, to: Ino) -> Result<()> {
        self.arena.at_mut(from).attr.nlink -= 1;
        self.arena.at_mut(to).attr.nlink += 1;
        self.arena.at_mut(dir).dir_mut()?.parent = to;
        Ok(())
    }

    fn moved(&mut self, ino: Ino, from: Ino, to: Ino, now: Stamp) {
        self.arena.at_mut(ino).attr.ctime = now;
        self.touch_dir(from, now);
        self.touch_dir(to, now);
    }
}

fn is_dir(entry: Entry) -> bool {
    entry.kind == Kind::Directory
}
