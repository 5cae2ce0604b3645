//! Applies operations and reports their outcomes.

use super::Op;
use crate::contents;
use crate::paths::{self, Held, Session};
use ordo_vfs::{Attr, Caller, Error, FileSystem, Kind, Mode, Name, Refusal, SetAttr, SetTime, Stamp, Whence};
use std::hash::Hasher;
use std::rc::Rc;

/// The journals of a volume, in its root directory. No script makes them.
pub(super) const OWN_FILES: [&[u8]; 3] = [b".sujournal", b".ordofs-log", b".ordofs-active"];

/// Attributes that every correct file system agrees on (workload-random-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Seen {
    pub kind: Kind,
    /// 0 for symbolic links, whose bits have no effect.
    pub mode: u16,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub rdev: u64,
    /// 0 for directories, whose size depends on the format.
    pub size: u64,
    pub flags: u32,
}

impl Seen {
    /// The part of `attr` that is compared.
    pub fn new(attr: &Attr) -> Seen {
        Seen {
            kind: attr.kind,
            mode: if attr.kind == Kind::Symlink { 0 } else { attr.mode.bits() },
            nlink: attr.nlink,
            uid: attr.uid,
            gid: attr.gid,
            rdev: attr.rdev,
            size: if attr.kind == Kind::Directory { 0 } else { attr.size },
            flags: attr.flags,
        }
    }
}

/// The outcome of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// It succeeded, and there is nothing to compare.
    Done,
    /// It did not apply here (workload-random-2).
    Skipped,
    /// It was refused.
    Refused(Refusal),
    /// The disk or the image is bad, or a result contradicts itself. Never correct.
    Failed(String),
    /// Attributes after it.
    Attr(Seen),
    /// A time that was set, as read back.
    Time(Stamp),
    /// Bytes, by length and hash.
    Data(u64, u64),
    /// Names and kinds, in order of names. The kind is 0 if the directory does not report it.
    Names(Vec<(String, u8)>),
}

/// Why an operation stopped without an outcome.
enum Stop {
    Call(Error),
    /// workload-random-2.
    Skip,
    Wrong(String),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Stop {
        Stop::Call(error)
    }
}

type Step<T> = Result<T, Stop>;

/// Slots for held files.
const SLOTS: usize = 10;

/// Bytes of a hole that are read to check that they are zeroes, at each of its ends.
const HOLE_SAMPLE: u64 = 4096;

/// Plays operations on a file system, and holds files for them.
pub struct Player<'a, F: FileSystem> {
    session: Session<'a, F>,
    slots: [Option<Rc<Held<'a, F>>>; SLOTS],
}

impl<'a, F: FileSystem> Player<'a, F> {
    /// A player that holds nothing yet and makes all calls as `who`.
    pub fn new(fs: &'a F, who: Caller) -> Player<'a, F> {
        let mut session = Session::new(fs);
        session.who = who;
        Player { session, slots: [const { None }; SLOTS] }
    }

    /// The files that it holds, by their slots.
    pub fn held(&self) -> impl Iterator<Item = (usize, ordo_vfs::NodeId)> {
        self.slots.iter().enumerate().filter_map(|(slot, held)| Some((slot, held.as_ref()?.node())))
    }

    /// Does `op`.
    pub async fn apply(&mut self, op: &Op) -> Outcome {
        match self.call(op).await {
            Ok(outcome) => outcome,
            Err(Stop::Skip) => Outcome::Skipped,
            Err(Stop::Call(Error::Refused(refusal))) => Outcome::Refused(refusal),
            Err(Stop::Call(other)) => Outcome::Failed(other.to_string()),
            Err(Stop::Wrong(what)) => Outcome::Failed(what),
        }
    }

    async fn call(&mut self, op: &Op) -> Step<Outcome> {
        match op {
            Op::Tmpfile { slot, path, mode } => {
                let dir = self.resolve(path).await?;
                let entry = self.session.fs.tmpfile(&self.session.who, dir.node(), Mode::new(*mode)).await?;
                self.hold(*slot, Rc::new(Held::new(self.session.fs, entry)))?;
                Ok(Outcome::Attr(Seen::new(&entry.attr)))
            }
            Op::Open { slot, path } => {
                let held = self.resolve(path).await?;
                self.hold(*slot, held)?;
                Ok(Outcome::Done)
            }
            Op::Close { slot } => {
                *self.slots.get_mut(usize::from(*slot)).ok_or(Stop::Skip)? = None;
                Ok(Outcome::Done)
            }
            // A caller that plays with a clock lets it run.
            Op::Pause { .. } => Ok(Outcome::Done),
            Op::Sync => self.session.fs.syncfs().await.map(|()| Outcome::Done).map_err(Stop::Call),
            Op::Create { path, .. }
            | Op::Mknod { path, .. }
            | Op::Mkdir { path, .. }
            | Op::Symlink { path, .. }
            | Op::Unlink { path }
            | Op::Rmdir { path } => self.change_name(op, path).await,
            Op::Link { path, to } => {
                let node = self.resolve(path).await?;
                let (dir, name) = self.parent(to).await?;
                let entry = self.session.fs.link(node.node(), dir.node(), name).await?;
                Ok(self.made(entry))
            }
            Op::Rename { path, to, mode } => {
                let (dir, name) = self.parent(path).await?;
                let (to_dir, to_name) = self.parent(to).await?;
                self.session.fs.rename(dir.node(), name, to_dir.node(), to_name, *mode).await?;
                Ok(Outcome::Done)
            }
            Op::Write { path, .. }
            | Op::Read { path, .. }
            | Op::Truncate { path, .. }
            | Op::Fallocate { path, .. }
            | Op::Seek { path, .. }
            | Op::Fsync { path, .. } => self.contents(op, &*self.resolve(path).await?).await,
            Op::Readdir { path, .. } | Op::Readlink { path } | Op::Stat { path } => {
                self.look(op, &*self.resolve(path).await?).await
            }
            Op::Chmod { path, .. } | Op::Chown { path, .. } | Op::SetTime { path, .. } | Op::SetFlags { path, .. } => {
                self.attributes(op, &*self.resolve(path).await?).await
            }
            Op::SetXattr { path, .. }
            | Op::SetAcl { path, .. }
            | Op::GetXattr { path, .. }
            | Op::ListXattr { path }
            | Op::RemoveXattr { path, .. } => self.xattrs(op, &*self.resolve(path).await?).await,
        }
    }

    fn hold(&mut self, slot: u8, held: Rc<Held<'a, F>>) -> Step<()> {
        *self.slots.get_mut(usize::from(slot)).ok_or(Stop::Skip)? = Some(held);
        Ok(())
    }

    async fn resolve(&self, path: &str) -> Step<Rc<Held<'a, F>>> {
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        let slot = parts.peek().and_then(|part| part.strip_prefix('@')).and_then(|no| no.parse::<usize>().ok());
        let mut at = match slot {
            Some(slot) => {
                parts.next();
                self.slots.get(slot).and_then(Option::clone).ok_or(Stop::Skip)?
            }
            None => Rc::new(self.session.root().await?),
        };
        for part in parts {
            at = Rc::new(self.session.lookup(&at, Name::new(part.as_bytes())?).await?);
        }
        Ok(at)
    }

    async fn parent<'p>(&self, path: &'p str) -> Step<(Rc<Held<'a, F>>, Name<'p>)> {
        let (dir, name) = paths::split(path)?;
        if name.is_dot_or_dotdot() || (dir.is_empty() && path.starts_with('@')) {
            return Err(Stop::Skip);
        }
        Ok((self.resolve(dir).await?, name))
    }

    fn made(&self, entry: ordo_vfs::Entry) -> Outcome {
        self.session.fs.forget(entry.node, 1);
        Outcome::Attr(Seen::new(&entry.attr))
    }

    async fn change_name(&self, op: &Op, path: &str) -> Step<Outcome> {
        let (dir, name) = self.parent(path).await?;
        let (fs, who, dir) = (self.session.fs, &self.session.who, dir.node());
        let entry = match op {
            Op::Create { mode, .. } => fs.mknod(who, dir, name, Kind::Regular, Mode::new(*mode), 0).await?,
            Op::Mknod { kind, mode, rdev, .. } => fs.mknod(who, dir, name, *kind, Mode::new(*mode), *rdev).await?,
            Op::Mkdir { mode, .. } => fs.mkdir(who, dir, name, Mode::new(*mode)).await?,
            Op::Symlink { target, .. } => fs.symlink(who, dir, name, target.as_bytes()).await?,
            Op::Unlink { .. } => return fs.unlink(dir, name).await.map(|()| Outcome::Done).map_err(Stop::Call),
            Op::Rmdir { .. } => return fs.rmdir(dir, name).await.map(|()| Outcome::Done).map_err(Stop::Call),
            _ => return Err(Stop::Skip),
        };
        Ok(self.made(entry))
    }

    async fn contents(&self, op: &Op, file: &Held<'_, F>) -> Step<Outcome> {
        let (fs, who, node) = (self.session.fs, &self.session.who, file.node());
        match op {
            Op::Write { offset, len, seed, .. } => {
                let mut data = vec![0; *len as usize];
                contents::fill(&mut data, *seed, *offset);
                self.session.write_at(file, *offset, &data).await?;
                Ok(Outcome::Done)
            }
            Op::Read { offset, len, .. } => {
                let data = self.session.read_at(file, *offset, *len).await?;
                Ok(Outcome::Data(data.len() as u64, hash(&data)))
            }
            Op::Truncate { size, .. } => {
                let attr = fs.setattr(node, &SetAttr { size: Some(*size), ..SetAttr::default() }).await?;
                Ok(Outcome::Attr(Seen::new(&attr)))
            }
            Op::Fallocate { offset, len, mode, .. } => {
                fs.fallocate(who, node, *offset, *len, *mode).await?;
                Ok(Outcome::Attr(Seen::new(&fs.getattr(node).await?)))
            }
            Op::Seek { offset, whence, .. } if file.attr.kind == Kind::Regular => {
                self.seek(file, *offset, *whence).await
            }
            Op::Fsync { data_only, .. } => {
                fs.fsync(node, *data_only).await?;
                Ok(Outcome::Done)
            }
            _ => Err(Stop::Skip),
        }
    }

    /// The position of holes depends on the format; that they read as zeroes does not (workload-random-1).
    async fn seek(&self, file: &Held<'_, F>, offset: u64, whence: Whence) -> Step<Outcome> {
        let fs = self.session.fs;
        let size = fs.getattr(file.node()).await?.size;
        let found = match fs.seek(file.node(), offset, whence).await {
            Err(Error::Refused(Refusal::BeyondEnd)) if offset < size && whence == Whence::Data => size,
            other => other?,
        };
        let hole = match whence {
            _ if found < offset || found > size => return Err(Stop::Wrong(format!("seek to {found} of {size}"))),
            Whence::Data => offset..found,
            Whence::Hole => found..size.min(found + 1),
        };
        for from in [hole.start, hole.end.saturating_sub(HOLE_SAMPLE).max(hole.start)] {
            let len = (hole.end - from).min(HOLE_SAMPLE) as u32;
            if self.session.read_at(file, from, len).await?.iter().any(|byte| *byte != 0) {
                return Err(Stop::Wrong(format!("the hole that {whence:?} from {offset} found at {found} has data")));
            }
        }
        Ok(Outcome::Done)
    }

    async fn look(&self, op: &Op, file: &Held<'_, F>) -> Step<Outcome> {
        let attr = self.session.fs.getattr(file.node()).await?;
        match op {
            // A removed directory may return nothing or refuse.
            Op::Readdir { .. } if attr.kind == Kind::Directory && attr.nlink == 0 => Err(Stop::Skip),
            Op::Readdir { batch, .. } => {
                let mut names = self.session.list_by(file, (*batch).max(1) as usize).await?;
                names.retain(|(name, _)| !OWN_FILES.contains(&&name[..]));
                names.sort_unstable();
                let text = |(name, kind): (Vec<u8>, u8)| (String::from_utf8_lossy(&name).into_owned(), kind);
                Ok(Outcome::Names(names.into_iter().map(text).collect()))
            }
            Op::Readlink { .. } => {
                let target = self.session.fs.readlink(file.node()).await?;
                Ok(Outcome::Data(target.len() as u64, hash(&target)))
            }
            _ => Ok(Outcome::Attr(Seen::new(&attr))),
        }
    }

    async fn attributes(&self, op: &Op, file: &Held<'_, F>) -> Step<Outcome> {
        let kind = file.attr.kind;
        let none = SetAttr::default();
        let set = match op {
            Op::Chmod { .. } if kind == Kind::Symlink => return Err(Stop::Skip),
            // The kernel decides what happens to set-id bits of other files.
            Op::Chmod { mode, .. } => {
                let allowed = if kind == Kind::Directory { 0o7777 } else { 0o777 };
                SetAttr { mode: Some(Mode::new(mode & allowed)), ..none }
            }
            Op::Chown { uid, gid, .. } => SetAttr { uid: Some(*uid), gid: Some(*gid), ..none },
            Op::SetTime { secs, nanos, .. } => {
                SetAttr { mtime: Some(SetTime::At(Stamp { secs: *secs, nanos: *nanos })), ..none }
            }
            Op::SetFlags { .. } if !is_plain(kind) => return Err(Stop::Skip),
            Op::SetFlags { flags, .. } => SetAttr { flags: Some(*flags), ..none },
            _ => return Err(Stop::Skip),
        };
        let attr = self.session.fs.setattr(file.node(), &set).await?;
        Ok(if set.mtime.is_some() { Outcome::Time(attr.mtime) } else { Outcome::Attr(Seen::new(&attr)) })
    }

    async fn xattrs(&self, op: &Op, file: &Held<'_, F>) -> Step<Outcome> {
        // Whether links and special files carry attributes differs between systems.
        if !is_plain(file.attr.kind) {
            return Err(Stop::Skip);
        }
        let (fs, who, node) = (self.session.fs, &self.session.who, file.node());
        match op {
            Op::SetXattr { name, len, seed, mode, .. } => {
                let value = paths::bytes(u64::from(*len), *seed);
                fs.setxattr(who, node, name.as_bytes(), &value, *mode).await?;
                Ok(Outcome::Done)
            }
            Op::SetAcl { default, mode, user, .. } => {
                let name = if *default { "system.posix_acl_default" } else { "system.posix_acl_access" };
                fs.setxattr(who, node, name.as_bytes(), &acl(*mode, *user), ordo_vfs::XattrMode::Set).await?;
                Ok(Outcome::Attr(Seen::new(&fs.getattr(node).await?)))
            }
            Op::GetXattr { name, .. } => {
                let value = fs.getxattr(node, name.as_bytes()).await?;
                Ok(Outcome::Data(value.len() as u64, hash(&value)))
            }
            Op::ListXattr { .. } => {
                let mut names = fs.listxattr(node).await?;
                names.sort_unstable();
                let text = |name: &Vec<u8>| (String::from_utf8_lossy(name).into_owned(), 0);
                Ok(Outcome::Names(names.iter().map(text).collect()))
            }
            Op::RemoveXattr { name, .. } => {
                fs.removexattr(node, name.as_bytes()).await?;
                Ok(Outcome::Done)
            }
            _ => Err(Stop::Skip),
        }
    }
}

fn is_plain(kind: Kind) -> bool {
    matches!(kind, Kind::Regular | Kind::Directory)
}

pub(super) fn hash(data: &[u8]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(data);
    hasher.finish()
}

/// An access control list in Linux's format, from `mode`, with an entry for `user` and a mask unless that is 0.
fn acl(mode: u32, user: u32) -> Vec<u8> {
    let entry = |tag: u16, perm: u32, id: u32| {
        let mut bytes = tag.to_le_bytes().to_vec();
        bytes.extend_from_slice(&((perm & 7) as u16).to_le_bytes());
        bytes.extend_from_slice(&id.to_le_bytes());
        bytes
    };
    let mut entries = vec![entry(0x01, mode >> 6, u32::MAX)];
    if user != 0 {
        entries.push(entry(0x02, 6, user));
    }
    entries.push(entry(0x04, mode >> 3, u32::MAX));
    if user != 0 {
        entries.push(entry(0x10, mode >> 3, u32::MAX));
    }
    entries.push(entry(0x20, mode, u32::MAX));
    [2u32.to_le_bytes().to_vec(), entries.concat()].concat()
}
