//! What a file system shows: every name, every file, its bytes. Read from the live file system after each call, and
//! from a recovered one after a power cut.
//!
//! T1. A file is identified by inode number and generation, so that the oracles can follow it through its names.
//! T2. Of a file larger than [`WHOLE_MAX`] only the first bytes of each stretch are kept. Of a smaller one every byte
//!     counts.

use bytes::Bytes;
use ordo_vfs::{Attr, FileSystem, Kind, Name, NodeId, Result};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::rc::Rc;
use xxhash_rust::xxh3::Xxh3Default;

/// Files up to this size are kept whole, in bytes.
const WHOLE_MAX: u64 = 256 << 10;
/// Of larger files: the first [`SAMPLE`] bytes of each [`STRETCH`].
const STRETCH: u64 = 64 << 10;
const SAMPLE: u32 = 4096;

/// Identifies a file until its inode is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct FileId {
    /// Inode number.
    pub(crate) ino: u64,
    /// Generation of the inode.
    pub(crate) generation: u32,
}

impl FileId {
    /// No file.
    const NONE: FileId = FileId { ino: 0, generation: 0 };
}

/// Where fsck puts what has no name.
pub(crate) const LOST: &[u8] = b"lost+found";

impl From<&Attr> for FileId {
    fn from(attr: &Attr) -> FileId {
        FileId { ino: attr.ino, generation: attr.generation }
    }
}

/// A file, without its names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct File {
    /// Kind, and the number of a device.
    pub(crate) kind: (Kind, u64),
    /// Permission bits; 0 for symbolic links.
    pub(crate) mode: u16,
    /// Owner and group.
    pub(crate) owner: (u32, u32),
    /// BSD flags.
    pub(crate) flags: u32,
    /// Link count of the inode.
    pub(crate) nlink: u32,
    /// Bytes; 0 for directories.
    pub(crate) size: u64,
    /// Allocated units of 512 bytes; 0 for directories.
    pub(crate) sectors: u64,
    /// The contents: pieces by offset (T2). For a symbolic link, its target.
    pub(crate) contents: Rc<Vec<(u64, Bytes)>>,
    /// Extended attributes.
    pub(crate) xattrs: BTreeMap<Vec<u8>, Bytes>,
    /// The entries of a directory, without the dots.
    pub(crate) names: BTreeMap<Vec<u8>, FileId>,
}

impl File {
    /// Whether there are only zeroes from `offset` up to `end`, as far as is known (T2).
    pub(crate) fn is_zero_between(&self, offset: u64, end: u64) -> bool {
        self.contents.iter().all(|(from, piece)| {
            let within = |at: u64| at.saturating_sub(*from).min(piece.len() as u64) as usize;
            piece[within(offset)..within(end).max(within(offset))].iter().all(|byte| *byte == 0)
        })
    }

    /// The bytes from `offset` on up to `len`, zeroes beyond the end; `None` where they were not kept (T2).
    pub(crate) fn bytes(&self, offset: u64, len: usize) -> Option<Bytes> {
        if offset >= self.size {
            return Some(Bytes::from(vec![0; len]));
        }
        let at = self.contents.partition_point(|(from, _)| *from <= offset).checked_sub(1)?;
        let (from, piece) = &self.contents[at];
        let within = (offset - from) as usize;
        let end = within + (len as u64).min(self.size - offset) as usize;
        if end > piece.len() {
            return None;
        }
        if end - within == len {
            return Some(piece.slice(within..end));
        }
        let mut padded = piece[within..end].to_vec();
        padded.resize(len, 0);
        Some(padded.into())
    }
}

impl File {
    /// Reads everything but the names in a directory.
    async fn read<F: FileSystem>(fs: &F, node: NodeId, attr: &Attr) -> Result<File> {
        let directory = attr.kind == Kind::Directory;
        let mut file = File {
            kind: (attr.kind, attr.rdev),
            mode: if attr.kind == Kind::Symlink { 0 } else { attr.mode.bits() },
            owner: (attr.uid, attr.gid),
            flags: attr.flags,
            nlink: attr.nlink,
            size: if directory { 0 } else { attr.size },
            sectors: if directory { 0 } else { attr.sectors },
            contents: Rc::default(),
            xattrs: BTreeMap::new(),
            names: BTreeMap::new(),
        };
        match attr.kind {
            Kind::Regular => file.contents = Rc::new(contents(fs, node, attr.size).await?),
            Kind::Symlink => file.contents = Rc::new(vec![(0, fs.readlink(node).await?)]),
            _ => {}
        }
        if matches!(attr.kind, Kind::Directory | Kind::Regular) {
            for name in xattrs(fs, node).await? {
                let value = fs.getxattr(node, &name).await?;
                file.xattrs.insert(name, value);
            }
        }
        Ok(file)
    }

    /// Equal except for names, counts, and zeroes at the end.
    fn leaks_into(&self, is: &File) -> bool {
        let kept = || is.contents.iter().all(|(at, piece)| self.bytes(*at, piece.len()).as_ref() == Some(piece));
        let cut = || is.size < self.size && self.is_zero_between(is.size, self.size) && kept();
        (self.kind, self.mode, self.owner, self.flags) == (is.kind, is.mode, is.owner, is.flags)
            && self.xattrs == is.xattrs
            && (self.size == is.size && self.contents == is.contents || cut())
    }
}

/// A whole tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tree {
    /// The root directory.
    pub(crate) root: FileId,
    /// Every file that has a name, and the root.
    pub(crate) files: BTreeMap<FileId, File>,
    /// Files without a name that somebody holds open: they were removed, or have no name yet. What they hold may be
    /// seen after a crash, under the older name or the later one. A directory counts with its attributes.
    pub(crate) nameless: BTreeMap<FileId, File>,
}

impl Tree {
    /// Reads everything from the root on.
    ///
    /// # Errors
    /// Those of the calls that read.
    pub(crate) async fn read<F: FileSystem>(fs: &F) -> Result<Tree> {
        let root = fs.root();
        let attr = fs.getattr(root).await?;
        let mut tree = Tree { root: FileId::from(&attr), files: BTreeMap::new(), nameless: BTreeMap::new() };
        let mut waiting = vec![(root, attr)];
        while let Some((node, attr)) = waiting.pop() {
            let outcome = tree.take(fs, node, &attr, &mut waiting).await;
            if node != root {
                fs.forget(node, 1);
            }
            if outcome.is_err() {
                waiting.iter().for_each(|(node, _)| fs.forget(*node, 1));
            }
            outcome?;
        }
        Ok(tree)
    }

    async fn take<F: FileSystem>(
        &mut self,
        fs: &F,
        node: NodeId,
        attr: &Attr,
        waiting: &mut Vec<(NodeId, Attr)>,
    ) -> Result<()> {
        let id = FileId::from(attr);
        if self.files.contains_key(&id) {
            return Ok(());
        }
        let mut file = File::read(fs, node, attr).await?;
        if attr.kind == Kind::Directory {
            for name in names(fs, node).await? {
                let entry = fs.lookup(node, Name::new(&name)?).await?;
                file.names.insert(name, FileId::from(&entry.attr));
                waiting.push((entry.node, entry.attr));
            }
        }
        self.files.insert(id, file);
        Ok(())
    }

    /// Adds those of the held files that have no name.
    ///
    /// # Errors
    /// Those of the calls that read.
    pub(crate) async fn add_nameless<F: FileSystem>(&mut self, fs: &F, held: Vec<NodeId>) -> Result<()> {
        for node in held {
            let attr = fs.getattr(node).await?;
            let id = FileId::from(&attr);
            if !self.files.contains_key(&id) {
                self.nameless.insert(id, File::read(fs, node, &attr).await?);
            }
        }
        Ok(())
    }

    /// A file, with a name or without.
    pub(crate) fn file(&self, id: FileId) -> Option<&File> {
        self.files.get(&id).or_else(|| self.nameless.get(&id))
    }

    /// The file that a name in a directory refers to.
    pub(crate) fn entry(&self, dir: FileId, name: &[u8]) -> Option<FileId> {
        self.files.get(&dir)?.names.get(name).copied()
    }

    /// Where a file is named: the directory, and the name there. A directory has one place, and the root none.
    pub(crate) fn place_of(&self, id: FileId) -> Option<(FileId, Vec<u8>)> {
        self.files.iter().find_map(|(dir, file)| {
            file.names.iter().find(|(_, named)| **named == id).map(|(name, _)| (*dir, name.clone()))
        })
    }

    /// The names of every file except the root: its directory and the name there.
    pub(crate) fn names_of(&self) -> FxHashMap<FileId, Vec<(FileId, Vec<u8>)>> {
        let mut all: FxHashMap<FileId, Vec<(FileId, Vec<u8>)>> = FxHashMap::default();
        for (dir, file) in &self.files {
            for (name, id) in &file.names {
                all.entry(*id).or_default().push((*dir, name.clone()));
            }
        }
        all
    }

    /// The path of a directory, ending in `/`.
    pub(crate) fn path(&self, dir: FileId) -> String {
        let mut path = String::new();
        let mut at = dir;
        while at != self.root {
            let above = self
                .files
                .iter()
                .find_map(|(id, file)| file.names.iter().find(|(_, named)| **named == at).map(|(name, _)| (*id, name)));
            let Some((above, name)) = above else { return format!("(inode {})/{path}", at.ino) };
            path = format!("{}/{path}", String::from_utf8_lossy(name));
            at = above;
        }
        format!("/{path}")
    }

    /// A path of a file, by its first name.
    pub(crate) fn path_of(&self, id: FileId) -> String {
        let named = self.files.iter().find_map(|(dir, file)| {
            file.names.iter().find(|(_, named)| **named == id).map(|(name, _)| (*dir, name.clone()))
        });
        match named {
            Some((dir, name)) => format!("{}{}", self.path(dir), String::from_utf8_lossy(&name)),
            None if id == self.root => "/".into(),
            None => format!("inode {}", id.ino),
        }
    }

    /// Whether the trees are equal, whichever inode a recovery took for `lost+found`.
    pub(crate) fn alike(&self, other: &Tree) -> bool {
        self == other || self.with_lost_as(FileId::NONE) == other.with_lost_as(FileId::NONE)
    }

    fn with_lost_as(&self, id: FileId) -> Tree {
        let mut tree = self.clone();
        let root = tree.files.get_mut(&self.root);
        if let Some(lost) = root.and_then(|root| root.names.get_mut(LOST)) {
            let was = std::mem::replace(lost, id);
            let file = tree.files.remove(&was);
            tree.files.extend(file.map(|file| (id, file)));
        }
        tree
    }

    /// Whether this equals `repaired` except for what a repair removes without loss: links and space that are counted
    /// and not there, and zeroes at the end of a file that ended in a hole.
    pub(crate) fn leaks_into(&self, repaired: &Tree) -> bool {
        let same = |(id, was): (&FileId, &File)| {
            repaired.files.get(id).is_some_and(|is| was.leaks_into(is) && is.names == was.names)
        };
        self.root == repaired.root && self.files.len() == repaired.files.len() && self.files.iter().all(same)
    }

    /// A number that two trees share only if they are equal.
    pub(crate) fn digest(&self) -> u128 {
        let mut h = Xxh3Default::new();
        for (id, file) in &self.files {
            let numbers = [
                id.ino,
                u64::from(id.generation),
                file.kind.0 as u64,
                file.kind.1,
                u64::from(file.mode) << 32 | u64::from(file.nlink),
                u64::from(file.owner.0) << 32 | u64::from(file.owner.1),
                u64::from(file.flags),
                file.size,
                file.sectors,
                file.names.len() as u64,
                file.xattrs.len() as u64,
            ];
            numbers.iter().for_each(|number| h.update(&number.to_le_bytes()));
            for (name, value) in &file.xattrs {
                [name.as_slice(), &[0], value].iter().for_each(|part| h.update(part));
                h.update(&value.len().to_le_bytes());
            }
            for (name, id) in &file.names {
                [name.as_slice(), &id.ino.to_le_bytes(), &id.generation.to_le_bytes()].iter().for_each(|p| h.update(p));
            }
            for (at, piece) in file.contents.iter() {
                h.update(&at.to_le_bytes());
                h.update(piece);
            }
        }
        h.digest128()
    }
}

/// Whether this is the file of a log, in the root directory.
pub(crate) fn is_log(name: &[u8]) -> bool {
    [ordo_ondisk::suj::NAME, ordo_ondisk::redo::FILE, ordo_ondisk::redo::ACTIVE]
        .iter()
        .any(|log| log.as_bytes() == name)
}

async fn names<F: FileSystem>(fs: &F, node: NodeId) -> Result<Vec<Vec<u8>>> {
    let (mut names, mut cookie) = (Vec::new(), 0);
    loop {
        let (start, before) = (cookie, names.len());
        let mut seen = false;
        let mut take = |entry: ordo_vfs::DirEntry<'_>| {
            (cookie, seen) = (entry.next, true);
            // The journal is the volume's own: no script made it.
            if entry.name != b"." && entry.name != b".." && !is_log(entry.name) {
                names.push(entry.name.to_vec());
            }
            true
        };
        fs.readdir(node, start, &mut take).await?;
        if !seen || cookie == start && names.len() == before {
            return Ok(names);
        }
    }
}

/// Empty if the format has no extended attributes.
async fn xattrs<F: FileSystem>(fs: &F, node: NodeId) -> Result<Vec<Vec<u8>>> {
    match fs.listxattr(node).await {
        Err(ordo_vfs::Error::Refused(ordo_vfs::Refusal::NotSupported)) => Ok(Vec::new()),
        other => other,
    }
}

async fn contents<F: FileSystem>(fs: &F, node: NodeId, size: u64) -> Result<Vec<(u64, Bytes)>> {
    let mut pieces = Vec::new();
    if size == 0 {
        return Ok(pieces);
    }
    if size <= WHOLE_MAX {
        let mut segments = fs.read(node, 0, size as u32).await?;
        // A copy: a slice would keep the cache's block alive, and with it the whole cache of a dropped mount.
        let whole =
            if segments.len() == 1 { Bytes::copy_from_slice(&segments.remove(0)) } else { segments.concat().into() };
        pieces.push((0, whole));
        return Ok(pieces);
    }
    for at in (0..size).step_by(STRETCH as usize) {
        pieces.push((at, fs.read(node, at, SAMPLE).await?.concat().into()));
    }
    Ok(pieces)
}

#[cfg(test)]
mod tests;
