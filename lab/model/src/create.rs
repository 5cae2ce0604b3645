//! Creating files: owner, group, mode and access control lists of a new file.
//!
//! The group is the caller's, unless the directory has the set-group-id bit: then it is the directory's, and a new
//! directory has the bit as well (Linux's rule). A directory's default ACL replaces the umask.

use crate::acl::Acl;
use crate::arena::{Body, Node, Xattrs};
use crate::dir::Dir;
use crate::flags::{self, IMMUTABLE};
use crate::ino::Ino;
use crate::state::State;
use crate::xattr::{ACL_ACCESS, ACL_DEFAULT};
use ordo_vfs::{Caller, Entry, Kind, Mode, Name, NodeId, Refusal, Result, Stamp};

/// What to create.
pub(crate) struct New {
    pub(crate) kind: Kind,
    pub(crate) mode: Mode,
    /// Number of a device, else 0.
    pub(crate) rdev: u64,
    pub(crate) body: Body,
}

const SET_GROUP_ID: u16 = 0o2000;

/// Longest target of a symbolic link in bytes.
const MAX_TARGET: usize = 1023;

impl State {
    /// Makes a node with a name.
    pub(crate) fn make(&mut self, who: &Caller, dir: NodeId, name: Name<'_>, new: New, now: Stamp) -> Result<Entry> {
        let dir = self.may_add(dir, name)?;
        let kind = new.kind;
        if kind == Kind::Directory && self.arena.at(dir).attr.nlink >= self.options.link_max {
            return Err(Refusal::TooManyLinks.into());
        }
        let ino = self.new_node(who, dir, new, now)?;
        let parent = self.arena.at_mut(dir);
        parent.attr.mtime = now;
        parent.attr.ctime = now;
        if kind == Kind::Directory {
            parent.attr.nlink += 1;
        }
        parent.dir_mut()?.set(name.bytes(), ino, kind);
        Ok(self.look_up_node(ino))
    }

    pub(crate) fn mkdir(&mut self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode, now: Stamp) -> Result<Entry> {
        let parent = self.arena.ino(dir)?;
        let body = Body::Dir(Box::new(Dir::new(parent)));
        self.make(who, dir, name, New { kind: Kind::Directory, mode, rdev: 0, body }, now)
    }

    pub(crate) fn symlink(
        &mut self,
        who: &Caller,
        dir: NodeId,
        name: Name<'_>,
        target: &[u8],
        now: Stamp,
    ) -> Result<Entry> {
        if target.is_empty() || target.contains(&0) {
            return Err(Refusal::Invalid.into());
        }
        if target.len() > MAX_TARGET {
            return Err(Refusal::NameTooLong.into());
        }
        let body = Body::Symlink(bytes::Bytes::copy_from_slice(target));
        self.make(who, dir, name, New { kind: Kind::Symlink, mode: Mode::new(0o777), rdev: 0, body }, now)
    }

    /// A regular file without a name.
    pub(crate) fn tmpfile(&mut self, who: &Caller, dir: NodeId, mode: Mode, now: Stamp) -> Result<Entry> {
        let dir = self.live_dir(dir)?;
        flags::refuse(self.arena.at(dir).attr.flags, IMMUTABLE)?;
        let body = Body::File(crate::contents::Contents::new(self.options.block_size));
        let ino = self.new_node(who, dir, New { kind: Kind::Regular, mode, rdev: 0, body }, now)?;
        let node = self.arena.at_mut(ino);
        node.attr.nlink = 0;
        node.linkable = true;
        Ok(self.look_up_node(ino))
    }

    /// The directory, if `name` may be created in it.
    pub(crate) fn may_add(&self, dir: NodeId, name: Name<'_>) -> Result<Ino> {
        let ino = self.arena.ino(dir)?;
        let node = self.arena.at(ino);
        let names = node.dir()?;
        if name.is_dot_or_dotdot() || names.get(name.bytes()).is_some() {
            return Err(Refusal::Exists.into());
        }
        if names.dead {
            return Err(Refusal::NotFound.into());
        }
        flags::refuse(node.attr.flags, IMMUTABLE)?;
        Ok(ino)
    }

    /// Adds a node without a lookup or a name.
    fn new_node(&mut self, who: &Caller, dir: Ino, new: New, now: Stamp) -> Result<Ino> {
        let New { kind, mode, rdev, body } = new;
        if self.arena.len() >= self.options.inodes {
            return Err(Refusal::NoInodes.into());
        }
        let mut attr = self.new_attr(kind, mode, now);
        (attr.uid, attr.gid, attr.rdev) = (who.uid, who.gid, rdev);
        let parent = self.arena.at(dir);
        let mut bits = mode.bits();
        if parent.attr.mode.bits() & SET_GROUP_ID != 0 {
            attr.gid = parent.attr.gid;
            if kind == Kind::Directory {
                bits |= SET_GROUP_ID;
            }
        }
        let xattrs = if kind == Kind::Symlink { None } else { inherit(parent, who.umask, kind, &mut bits) };
        attr.mode = Mode::new(u32::from(bits));
        if let Body::Symlink(target) = &body {
            attr.size = target.len() as u64;
        }
        Ok(self.arena.add(Node { attr, lookups: 0, linkable: false, body, xattrs }))
    }

    /// The entry for a node; counts one lookup.
    pub(crate) fn look_up_node(&mut self, ino: Ino) -> Entry {
        let node = self.arena.at_mut(ino);
        node.lookups += 1;
        let attr = node.attr;
        Entry { node: self.arena.id(ino), attr }
    }
}

/// The access control lists of a new file, and its mode bits after umask or list.
fn inherit(parent: &Node, umask: u16, kind: Kind, bits: &mut u16) -> Option<Box<Xattrs>> {
    let default = parent.xattrs.as_ref().and_then(|xattrs| xattrs.get(ACL_DEFAULT));
    let Some((default, mut acl)) = default.and_then(|value| Some((value, Acl::parse(value).ok()??))) else {
        *bits &= !umask | !0o777;
        return None;
    };
    let mut xattrs = Xattrs::new();
    *bits = acl.inherit(*bits);
    if acl.is_extended() {
        xattrs.insert(ACL_ACCESS.to_vec(), acl.to_bytes());
    }
    if kind == Kind::Directory {
        xattrs.insert(ACL_DEFAULT.to_vec(), default.clone());
    }
    (!xattrs.is_empty()).then(|| Box::new(xattrs))
}
