//! A day's operations as calls on a file system.

use super::aged::Full;
use super::aging::Aging;
use super::op::Op;
use super::tree::Tree;
use crate::error::{Result, at};
use crate::paths::{self, Held, Session};
use ordo_vfs::{Error, FileSystem, Name, Refusal, SetAttr};
use rustc_hash::{FxHashMap, FxHashSet};

/// Bytes of one write, from one buffer.
const TRANSFER: u64 = 1 << 20;
/// How often room is made for one directory.
const PATIENCE: u32 = 100;

/// A day that is being played.
struct Player<'p, 'a, F: FileSystem> {
    session: &'p Session<'a, F>,
    base: &'p Held<'a, F>,
    data: Vec<u8>,
    /// Directories looked up today.
    dirs: FxHashMap<u32, Held<'a, F>>,
    /// Files that are gone although the plan still has them.
    gone: FxHashSet<u32>,
}

impl Aging {
    /// Plays the next day in the directory `base`, which only this uses.
    ///
    /// # Errors
    /// Errors of the file system, except a lack of space, which is noted. The use cannot go on after an error.
    pub async fn play<F: FileSystem>(&mut self, fs: &F, base: &str) -> Result<()> {
        self.play_while(fs, base, || true).await.map(drop)
    }

    /// The same, as long as `may_go_on` says so before each operation. Returns whether the day has ended; the use
    /// cannot go on after a day that has not.
    ///
    /// # Errors
    /// As [`Aging::play`].
    pub async fn play_while<F: FileSystem>(
        &mut self,
        fs: &F,
        base: &str,
        may_go_on: impl Fn() -> bool,
    ) -> Result<bool> {
        let session = &if self.profile.reserve { Session::new(fs) } else { Session::for_users(fs) };
        let held = session.resolve(base).await.map_err(at("lookup", base))?;
        let (dirs, gone) = (FxHashMap::default(), FxHashSet::default());
        let mut player = Player { session, base: &held, data: paths::bytes(TRANSFER, 1), dirs, gone };
        for op in self.plan() {
            if !may_go_on() {
                return Ok(false);
            }
            if let Err(why) = self.one(&mut player, op).await {
                return Err(at("age", &format!("{base}, {op:?}"))(why));
            }
        }
        self.day += 1;
        Ok(true)
    }

    async fn one<F: FileSystem>(&mut self, player: &mut Player<'_, '_, F>, op: Op) -> ordo_vfs::Result<()> {
        self.aged.ops += 1;
        if self.is_in_vain(player, op).await? {
            return Ok(());
        }
        let mut refused = 0;
        loop {
            match player.call(&self.tree, op).await {
                Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes)) => match op {
                    // There was no room for it, whatever went.
                    Op::Mkdir { dir } if refused == PATIENCE => {
                        self.unmade.insert(dir);
                        return Ok(());
                    }
                    _ => {}
                },
                Ok(()) => {
                    self.count(op);
                    return Ok(());
                }
                other => return other,
            }
            refused += 1;
            self.note(player.session.fs).await?;
            let bytes = match op {
                Op::Create { dir, file, bytes, .. }
                | Op::Rewrite { dir, file, bytes }
                | Op::Append { dir, file, bytes, .. } => {
                    player.give_up(&self.tree, dir, file).await?;
                    self.give_up(dir, file);
                    bytes
                }
                _ => 0,
            };
            for gone in self.relieve(bytes) {
                player.call(&self.tree, gone).await?;
                self.count(gone);
            }
            if !matches!(op, Op::Mkdir { .. }) {
                return Ok(());
            }
        }
    }

    /// Whether an operation needs a directory for which there was no room, and for which there is still none. A file
    /// in it is given up.
    async fn is_in_vain<F: FileSystem>(&mut self, player: &mut Player<'_, '_, F>, op: Op) -> ordo_vfs::Result<bool> {
        let needed = match op {
            Op::Mkdir { dir } => self.tree.dir(dir).parent,
            Op::Rmdir { dir } if self.unmade.remove(&dir) => return Ok(true),
            Op::Rmdir { .. } => None,
            Op::Create { dir, .. } | Op::Rewrite { dir, .. } | Op::Append { dir, .. } | Op::Remove { dir, .. } => {
                Some(dir)
            }
        };
        let Some(needed) = needed.filter(|dir| self.unmade.contains(dir)) else { return Ok(false) };
        // Its own parent has none either, and was there before it.
        let above = self.tree.dir(needed).parent.filter(|above| self.unmade.contains(above));
        for dir in above.into_iter().chain([needed]) {
            match player.call(&self.tree, Op::Mkdir { dir }).await {
                Ok(()) => {
                    self.unmade.remove(&dir);
                }
                Err(Error::Refused(Refusal::NoSpace | Refusal::NoInodes)) => {
                    self.note(player.session.fs).await?;
                    self.do_without(player, op);
                    return Ok(true);
                }
                Err(other) => return Err(other),
            }
        }
        Ok(false)
    }

    /// An operation is not done: its directory is not there.
    fn do_without<F: FileSystem>(&mut self, player: &mut Player<'_, '_, F>, op: Op) {
        match op {
            Op::Mkdir { dir } => {
                self.unmade.insert(dir);
            }
            Op::Rmdir { .. } => {}
            Op::Create { dir, file, .. }
            | Op::Rewrite { dir, file, .. }
            | Op::Append { dir, file, .. }
            | Op::Remove { dir, file } => {
                player.gone.insert(file);
                self.give_up(dir, file);
            }
        }
    }

    fn count(&mut self, op: Op) {
        match op {
            Op::Create { bytes, .. } => {
                self.aged.created += 1;
                self.aged.bytes += bytes;
            }
            Op::Rewrite { bytes, .. } | Op::Append { bytes, .. } => self.aged.bytes += bytes,
            Op::Remove { .. } => self.aged.removed += 1,
            Op::Mkdir { .. } | Op::Rmdir { .. } => {}
        }
    }

    /// Notes that there was no room.
    async fn note<F: FileSystem>(&mut self, fs: &F) -> ordo_vfs::Result<()> {
        let day = i64::from(self.day) - i64::from(self.profile.history());
        if let Some(full) = self.aged.full.last_mut().filter(|full| full.day == day) {
            full.refused += 1;
            return Ok(());
        }
        let space = fs.statfs().await?;
        let free = space.free_frags * u64::from(space.frag_size);
        self.aged.full.push(Full { day, refused: 1, free });
        Ok(())
    }
}

impl<'a, F: FileSystem> Player<'_, 'a, F> {
    /// The directory `dir`, looked up once a day.
    async fn dir(&mut self, tree: &Tree, dir: u32) -> ordo_vfs::Result<&Held<'a, F>> {
        if !self.dirs.contains_key(&dir) {
            let parent = tree.dir(dir).parent;
            let held = match parent {
                None => self.session.lookup(self.base, Name::new(dir_name(dir).as_bytes())?).await?,
                Some(parent) => {
                    let above = self.session.lookup(self.base, Name::new(dir_name(parent).as_bytes())?).await?;
                    self.session.lookup(&above, Name::new(dir_name(dir).as_bytes())?).await?
                }
            };
            self.dirs.insert(dir, held);
        }
        // Inserted just now, if it was not there.
        self.dirs.get(&dir).ok_or_else(|| Refusal::NotFound.into())
    }

    async fn call(&mut self, tree: &Tree, op: Op) -> ordo_vfs::Result<()> {
        let session = self.session;
        match op {
            Op::Mkdir { dir } => {
                let made = match tree.dir(dir).parent {
                    None => session.mkdir(self.base, Name::new(dir_name(dir).as_bytes())?).await?,
                    Some(parent) => {
                        let above = self.dir(tree, parent).await?;
                        session.mkdir(above, Name::new(dir_name(dir).as_bytes())?).await?
                    }
                };
                self.dirs.insert(dir, made);
                Ok(())
            }
            Op::Rmdir { dir } => {
                self.dirs.remove(&dir);
                let name = dir_name(dir);
                let above = match tree.dir(dir).parent {
                    None => self.base.node(),
                    Some(parent) => self.dir(tree, parent).await?.node(),
                };
                session.fs.rmdir(above, Name::new(name.as_bytes())?).await
            }
            Op::Create { dir, file, bytes, first } => {
                let name = file_name(file);
                let made = session.create(self.dir(tree, dir).await?, Name::new(name.as_bytes())?).await?;
                self.write(&made, 0, first).await?;
                self.write(&made, first, bytes - first).await
            }
            Op::Rewrite { file, .. } | Op::Append { file, .. } | Op::Remove { file, .. }
                if self.gone.contains(&file) =>
            {
                Ok(())
            }
            Op::Rewrite { dir, file, bytes } => {
                let held = self.file(tree, dir, file).await?;
                session.fs.setattr(held.node(), &SetAttr { size: Some(0), ..SetAttr::default() }).await?;
                self.write(&held, 0, bytes).await
            }
            Op::Append { dir, file, from, bytes } => {
                let held = self.file(tree, dir, file).await?;
                self.write(&held, from, bytes).await
            }
            Op::Remove { dir, file } => {
                self.gone.insert(file);
                let name = file_name(file);
                let dir = self.dir(tree, dir).await?.node();
                session.fs.unlink(dir, Name::new(name.as_bytes())?).await
            }
        }
    }

    async fn file(&mut self, tree: &Tree, dir: u32, file: u32) -> ordo_vfs::Result<Held<'a, F>> {
        let session = self.session;
        session.lookup(self.dir(tree, dir).await?, Name::new(file_name(file).as_bytes())?).await
    }

    async fn write(&self, file: &Held<'_, F>, from: u64, bytes: u64) -> ordo_vfs::Result<()> {
        let mut done = 0;
        while done < bytes {
            let part = (bytes - done).min(TRANSFER);
            self.session.write_at(file, from + done, &self.data[..part as usize]).await?;
            done += part;
        }
        Ok(())
    }

    /// Removes what is there of a file that was refused.
    async fn give_up(&mut self, tree: &Tree, dir: u32, file: u32) -> ordo_vfs::Result<()> {
        match self.call(tree, Op::Remove { dir, file }).await {
            Err(Error::Refused(Refusal::NotFound)) => Ok(()),
            other => other,
        }
    }
}

fn dir_name(dir: u32) -> String {
    format!("d{dir}")
}

fn file_name(file: u32) -> String {
    format!("f{file}")
}
