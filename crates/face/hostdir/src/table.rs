//! Maps node ids to files of the host.
//!
//! H1. A node has a place (its parent's node and a name there) or an open descriptor, or both. Before a name is
//!     removed, a descriptor is opened for the node with that place, so vfs-2 holds for files without names.
//! H2. At most [`MAX_OPEN`] descriptors are open that could be reopened by place.
//! H3. One file of the host is one node, by whichever name it was found.

use super::convert::{self, FileKey, refusal};
use ordo_vfs::{Kind, NodeId, Refusal, Result};
use rustc_hash::FxHashMap;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use std::rc::Rc;

/// Most descriptors open at a time, below the usual limit of a process.
pub const MAX_OPEN: usize = 512;

/// The root's number.
pub(super) const ROOT: u64 = 1;

/// What a descriptor can be used for; each includes those before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Access {
    /// To name the file in calls.
    Path,
    /// To read it.
    Read,
    /// To read and write it.
    Write,
}

impl Access {
    pub(super) fn flags(self) -> OFlags {
        OFlags::CLOEXEC
            | match self {
                Access::Path => OFlags::PATH,
                Access::Read => OFlags::RDONLY | OFlags::NONBLOCK,
                Access::Write => OFlags::RDWR | OFlags::NONBLOCK,
            }
    }
}

/// A name in the directory of another node.
type NameAt = (u64, Vec<u8>);

#[derive(Debug)]
struct Node {
    key: FileKey,
    kind: Kind,
    lookups: u64,
    place: Option<NameAt>,
    /// Number of nodes whose place is in this one.
    children: u64,
    open: Option<(Rc<OwnedFd>, Access)>,
    used: u64,
}

/// A way to name a node in a system call.
pub(super) struct At {
    pub(super) dir: Rc<OwnedFd>,
    pub(super) path: Vec<u8>,
    /// The path is a magic link that must be followed.
    pub(super) magic: bool,
}

#[derive(Debug)]
pub(super) struct Table {
    nodes: FxHashMap<u64, Node>,
    by_file: FxHashMap<FileKey, u64>,
    by_place: FxHashMap<NameAt, u64>,
    next: u64,
    open: usize,
    clock: u64,
}

impl Table {
    pub(super) fn new(root: OwnedFd, key: FileKey) -> Table {
        let open = Some((Rc::new(root), Access::Path));
        let root = Node { key, kind: Kind::Directory, lookups: 1, place: None, children: 0, open, used: 0 };
        Table {
            nodes: FxHashMap::from_iter([(ROOT, root)]),
            by_file: FxHashMap::from_iter([(key, ROOT)]),
            by_place: FxHashMap::default(),
            next: ROOT + 1,
            open: 0,
            clock: 0,
        }
    }

    fn node(&self, no: u64) -> Result<&Node> {
        Ok(self.nodes.get(&no).ok_or(Refusal::Stale)?)
    }

    /// The kind of a node with a lookup.
    pub(super) fn kind(&self, id: NodeId) -> Result<Kind> {
        let node = self.node(id.0)?;
        if node.lookups == 0 { Err(Refusal::Stale.into()) } else { Ok(node.kind) }
    }

    /// The parent by place; the root is its own parent.
    pub(super) fn parent(&self, id: NodeId) -> Result<NodeId> {
        let place = &self.node(id.0)?.place;
        if id.0 == ROOT { Ok(id) } else { Ok(NodeId(place.as_ref().ok_or(Refusal::NotFound)?.0)) }
    }

    /// Counts one lookup of the file that was found or made at a place, or opened without one.
    pub(super) fn found(&mut self, key: FileKey, kind: Kind, place: Option<(NodeId, &[u8])>) -> NodeId {
        let no = *self.by_file.entry(key).or_insert_with(|| {
            self.next += 1;
            let node = Node { key, kind, lookups: 0, place: None, children: 0, open: None, used: 0 };
            self.nodes.insert(self.next, node);
            self.next
        });
        if let Some(node) = self.nodes.get_mut(&no) {
            node.lookups += 1;
            if let (None, Some((dir, name)), true) = (&node.place, place, no != ROOT) {
                self.settle(no, (dir.0, name.to_vec()));
            }
        }
        NodeId(no)
    }

    pub(super) fn forget(&mut self, id: NodeId, lookups: u64) {
        if let Some(node) = self.nodes.get_mut(&id.0).filter(|_| id.0 != ROOT) {
            node.lookups = node.lookups.saturating_sub(lookups);
            self.release(id.0);
        }
    }

    /// Drops a node that is no longer needed, and possibly its parents.
    fn release(&mut self, mut no: u64) {
        while let Some(node) = self.nodes.get(&no).filter(|node| node.lookups == 0 && node.children == 0) {
            self.by_file.remove(&node.key);
            self.open -= usize::from(node.open.is_some());
            let Some(place) = self.nodes.remove(&no).and_then(|node| node.place) else { return };
            self.by_place.remove(&place);
            no = place.0;
            self.nodes.entry(no).and_modify(|parent| parent.children -= 1);
        }
    }

    fn settle(&mut self, no: u64, place: NameAt) {
        self.nodes.entry(place.0).and_modify(|parent| parent.children += 1);
        self.by_place.insert(place.clone(), no);
        self.nodes.entry(no).and_modify(|node| node.place = Some(place));
    }

    /// Makes sure that the node with this place, if there is one, survives the removal of the name (H1).
    pub(super) fn keep(&mut self, dir: NodeId, name: &[u8]) -> Result<()> {
        match self.by_place.get(&(dir.0, name.to_vec())) {
            Some(&no) => self.open(NodeId(no), Access::Path).map(|_| ()),
            None => Ok(()),
        }
    }

    /// The name was removed; call [`Table::keep`] before that. Returns the node that had its place there.
    pub(super) fn unplace(&mut self, dir: NodeId, name: &[u8]) -> Option<u64> {
        let place = (dir.0, name.to_vec());
        let no = self.by_place.remove(&place)?;
        self.nodes.entry(no).and_modify(|node| node.place = None);
        if let Some(parent) = self.nodes.get_mut(&dir.0) {
            parent.children -= 1;
            self.release(dir.0);
        }
        Some(no)
    }

    /// Gives the node a place again.
    pub(super) fn place(&mut self, no: Option<u64>, dir: NodeId, name: &[u8]) {
        if let Some(no) = no {
            self.settle(no, (dir.0, name.to_vec()));
        }
    }

    /// A descriptor that allows at least `need`.
    pub(super) fn open(&mut self, id: NodeId, need: Access) -> Result<Rc<OwnedFd>> {
        self.clock += 1;
        let now = self.clock;
        let node = self.nodes.get_mut(&id.0).ok_or(Refusal::Stale)?;
        node.used = now;
        if let Some((fd, _)) = node.open.as_ref().filter(|open| open.1 >= need) {
            return Ok(fd.clone());
        }
        let fd = Rc::new(self.open_anew(id, need.flags())?);
        self.remember(id, fd.clone(), need);
        Ok(fd)
    }

    /// A new descriptor with exactly these flags.
    pub(super) fn open_anew(&mut self, id: NodeId, flags: OFlags) -> Result<OwnedFd> {
        let at = self.at(id)?;
        let flags = if at.magic { flags } else { flags | OFlags::NOFOLLOW };
        openat(&at.dir, &at.path, flags, Mode::empty()).map_err(refusal)
    }

    /// Keeps a descriptor that is already open.
    pub(super) fn remember(&mut self, id: NodeId, fd: Rc<OwnedFd>, access: Access) {
        let Some(node) = self.nodes.get_mut(&id.0) else { return };
        self.open += usize::from(node.open.is_none());
        node.open = Some((fd, access));
        if self.open > MAX_OPEN {
            self.close_half();
        }
    }

    /// Closes a descriptor that could do more than a new one may, as after a change of flags.
    pub(super) fn reopen_later(&mut self, id: NodeId) -> Result<()> {
        let fd = Rc::new(self.open_anew(id, Access::Path.flags())?);
        self.remember(id, fd, Access::Path);
        Ok(())
    }

    /// H2: closes the less recently used half of the descriptors that can be reopened.
    fn close_half(&mut self) {
        let again = |node: &Node| node.open.is_some() && node.place.is_some();
        let mut used: Vec<u64> = self.nodes.values().filter(|node| again(node)).map(|node| node.used).collect();
        used.sort_unstable();
        let Some(&middle) = used.get(used.len() / 2) else { return };
        for node in self.nodes.values_mut().filter(|node| again(node) && node.used < middle) {
            node.open = None;
            self.open -= 1;
        }
    }

    /// How to name a node in a call without opening it.
    pub(super) fn at(&mut self, id: NodeId) -> Result<At> {
        let node = self.node(id.0)?;
        if let Some((dir, name)) = node.place.clone() {
            return Ok(At { dir: self.open(NodeId(dir), Access::Path)?, path: name, magic: false });
        }
        let (fd, _) = node.open.as_ref().ok_or(Refusal::Stale)?;
        Ok(At { dir: fd.clone(), path: convert::magic(fd), magic: true })
    }

    /// The descriptor of a node, if one is open already.
    pub(super) fn opened(&self, id: NodeId) -> Option<Rc<OwnedFd>> {
        Some(self.nodes.get(&id.0)?.open.as_ref()?.0.clone())
    }

    /// Nodes known, the root included.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Opens the directory that becomes the root.
pub(super) fn open_root(path: &std::path::Path) -> Result<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty()).map_err(refusal)
}
