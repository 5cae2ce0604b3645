//! The tree itself: what a call does once it has borrowed the file system.

use crate::arena::{Arena, Body, Node};
use crate::dir::Dir;
use crate::flags::{self, APPEND, IMMUTABLE};
use crate::ino::{Ino, ROOT};
use crate::options::Options;
use ordo_vfs::{Attr, FallocMode, Kind, Mode, NodeId, Refusal, Result, Segments, Stamp, StatFs, Whence};

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) arena: Arena,
    pub(crate) options: Options,
    /// Blocks allocated to files.
    pub(crate) used_blocks: u64,
}

impl State {
    /// An empty root directory.
    pub(crate) fn new(options: Options, now: Stamp) -> State {
        let mut state = State { arena: Arena::new(), options, used_blocks: 0 };
        let attr = state.new_attr(Kind::Directory, Mode::new(0o755), now);
        let body = Body::Dir(Box::new(Dir::new(ROOT)));
        state.arena.add(Node { attr, lookups: 0, linkable: false, body, xattrs: None });
        state
    }

    /// Attributes of a new file; the caller fills in number, owner and links.
    pub(crate) fn new_attr(&self, kind: Kind, mode: Mode, now: Stamp) -> Attr {
        Attr {
            ino: 0,
            generation: 0,
            kind,
            mode,
            nlink: if kind == Kind::Directory { 2 } else { 1 },
            uid: 0,
            gid: 0,
            rdev: 0,
            size: if kind == Kind::Directory { 512 } else { 0 },
            sectors: 0,
            block_size: self.options.block_size,
            flags: 0,
            atime: now,
            mtime: now,
            ctime: now,
            birth: Some(now),
        }
    }

    /// The node behind an id from a caller.
    pub(crate) fn node(&self, id: NodeId) -> Result<&Node> {
        Ok(self.arena.at(self.arena.ino(id)?))
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> Result<&mut Node> {
        let ino = self.arena.ino(id)?;
        Ok(self.arena.at_mut(ino))
    }

    /// Frees a node that has become unreachable (model-1).
    pub(crate) fn release(&mut self, ino: Ino) {
        let node = self.arena.at(ino);
        if node.attr.nlink > 0 || node.lookups > 0 {
            return;
        }
        if let Body::File(contents) = self.arena.take(ino).body {
            self.used_blocks -= contents.stored();
        }
    }

    pub(crate) fn forget(&mut self, id: NodeId, lookups: u64) {
        let Ok(ino) = self.arena.ino(id) else { return };
        let node = self.arena.at_mut(ino);
        node.lookups = node.lookups.saturating_sub(lookups);
        self.release(ino);
    }

    pub(crate) fn read(&mut self, id: NodeId, offset: u64, len: u32, now: Stamp) -> Result<Segments> {
        let keep_atime = self.options.noatime;
        let node = self.node_mut(id)?;
        let pieces = node.file()?.read(offset, len);
        if !keep_atime {
            node.attr.atime = now;
        }
        Ok(pieces)
    }

    pub(crate) fn write(&mut self, id: NodeId, offset: u64, data: &[u8], now: Stamp) -> Result<u32> {
        let node = self.node(id)?;
        let contents = node.file()?;
        flags::refuse(node.attr.flags, IMMUTABLE)?;
        if offset != contents.size() {
            flags::refuse(node.attr.flags, APPEND)?;
        }
        let Ok(len) = u32::try_from(data.len()) else { return Err(Refusal::Invalid.into()) };
        if len == 0 {
            return Ok(0);
        }
        self.check_end(offset, u64::from(len))?;
        self.check_space(contents.missing(offset, u64::from(len)))?;
        self.change_contents(id, now, |contents| contents.write(offset, data))?;
        Ok(len)
    }

    pub(crate) fn fallocate(&mut self, id: NodeId, offset: u64, len: u64, mode: FallocMode, now: Stamp) -> Result<()> {
        let node = self.node(id)?;
        let contents = node.file()?;
        if len == 0 {
            return Err(Refusal::Invalid.into());
        }
        let end = self.check_end(offset, len)?;
        // Allocating at the end adds; the other two modes change existing contents.
        let adds = matches!(mode, FallocMode::Allocate { .. });
        flags::refuse(node.attr.flags, if adds { IMMUTABLE } else { IMMUTABLE | APPEND })?;
        if adds {
            self.check_space(contents.missing(offset, len))?;
        }
        self.change_contents(id, now, |contents| match mode {
            FallocMode::Allocate { keep_size } => {
                contents.allocate(offset, len);
                if !keep_size {
                    contents.grow(end);
                }
            }
            FallocMode::PunchHole => contents.punch(offset, len),
            FallocMode::ZeroRange { keep_size } => {
                contents.punch(offset, len);
                if !keep_size {
                    contents.grow(end);
                }
            }
        })
    }

    /// Changes a regular file's contents, and with them size, space and times.
    pub(crate) fn change_contents(
        &mut self,
        id: NodeId,
        now: Stamp,
        change: impl FnOnce(&mut crate::contents::Contents),
    ) -> Result<()> {
        let sectors_per_block = u64::from(self.options.block_size / 512);
        let node = self.node_mut(id)?;
        let contents = node.file_mut()?;
        let before = contents.stored();
        change(contents);
        let (size, after) = (contents.size(), contents.stored());
        node.attr.size = size;
        node.attr.sectors = after * sectors_per_block;
        node.attr.mtime = now;
        node.attr.ctime = now;
        self.used_blocks = self.used_blocks + after - before;
        Ok(())
    }

    /// The end of a range, unless it exceeds the largest file size.
    pub(crate) fn check_end(&self, offset: u64, len: u64) -> Result<u64> {
        match offset.checked_add(len) {
            Some(end) if end <= self.options.max_file_size => Ok(end),
            _ => Err(Refusal::TooBig.into()),
        }
    }

    fn check_space(&self, blocks: u64) -> Result<()> {
        if blocks > self.options.blocks - self.used_blocks { Err(Refusal::NoSpace.into()) } else { Ok(()) }
    }

    pub(crate) fn seek(&self, id: NodeId, offset: u64, whence: Whence) -> Result<u64> {
        let contents = self.node(id)?.file()?;
        if offset >= contents.size() {
            return Err(Refusal::BeyondEnd.into());
        }
        match whence {
            Whence::Data => contents.next_data(offset).ok_or(Refusal::BeyondEnd.into()),
            Whence::Hole => Ok(contents.next_hole(offset)),
        }
    }

    pub(crate) fn statfs(&self) -> StatFs {
        let free = self.options.blocks - self.used_blocks;
        StatFs {
            frag_size: self.options.block_size,
            block_size: self.options.block_size,
            frags: self.options.blocks,
            free_frags: free,
            avail_frags: free,
            inodes: self.options.inodes,
            free_inodes: self.options.inodes.saturating_sub(self.arena.len()),
            name_max: ordo_vfs::MAX_NAME as u32,
        }
    }
}
