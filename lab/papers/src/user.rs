//! The file system as one user's programs see it on a modelled machine: every call costs CPU time.
//!
//! The kernel of 1994 initialised a new block with zeroes when it allocated it, and copied the program's bytes into it
//! afterwards; ours initialises a block with the bytes themselves. Where a scheme writes the initialised block at once,
//! that is one write less for each block than in the paper's systems. So there a write beyond the end of a file goes
//! block by block, zeroes first ([`User::zeroes_first`]).
//!
//! A call is pinned where it is made: to hand it on by value would copy some KiB, several times.

use bytes::Bytes;
use ordo_vfs::{Caller, DirEntry, Entry, FileSystem, Kind, Mode, Name, NodeId, RenameMode, Result, Segments};
use std::pin::pin;
use std::time::Duration;

use crate::cpu::Share;

/// A file system, and the user who is charged for its calls.
pub(crate) struct User<'a, F> {
    fs: &'a F,
    share: &'a Share,
    /// Block size in bytes, if new blocks are initialised with zeroes.
    zeroed: Option<u32>,
    /// Bytes that a call moves at once.
    piece: u32,
}

impl<'a, F: FileSystem> User<'a, F> {
    pub(crate) fn new(fs: &'a F, share: &'a Share) -> User<'a, F> {
        User { fs, share, zeroed: None, piece: u32::MAX }
    }

    /// New blocks, of `block` bytes, are initialised with zeroes before anything is written to them.
    pub(crate) fn zeroes_first(self, block: u32) -> User<'a, F> {
        User { zeroed: Some(block), ..self }
    }

    /// A call that moves more than `bytes` moves so many, and then the next: the disk works meanwhile.
    pub(crate) fn in_pieces_of(self, bytes: u32) -> User<'a, F> {
        User { piece: bytes.max(1), ..self }
    }

    async fn write_zeroed(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8], block: u32) -> Result<u32> {
        let end = self.fs.getattr(node).await?.size;
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let piece = (u64::from(block) - at % u64::from(block)).min((data.len() - done) as u64) as usize;
            if at >= end {
                self.fs.write(who, node, at, &vec![0; piece]).await?;
            }
            done += self.fs.write(who, node, at, &data[done..done + piece]).await? as usize;
        }
        Ok(done as u32)
    }

    async fn costing<T>(&self, more: Duration, call: impl Future<Output = T>) -> T {
        self.share.work(self.share.costs().call + more).await;
        self.share.call(call).await
    }

    async fn plain<T>(&self, call: impl Future<Output = T>) -> T {
        self.costing(Duration::ZERO, call).await
    }

    /// A call that searches the directory `dir` for a name: all of it for a name that must not exist, otherwise half of
    /// it on average.
    async fn searching<T>(&self, dir: NodeId, all: bool, more: Duration, call: impl Future<Output = T>) -> T {
        let per_kib = self.share.costs().search_kib;
        let size = match per_kib.is_zero() {
            true => 0,
            false => self.fs.getattr(dir).await.map_or(0, |attr| attr.size),
        };
        let searched = if all { size } else { size / 2 };
        self.costing(more + Duration::from_nanos((per_kib.as_nanos() * u128::from(searched) / 1024) as u64), call).await
    }

    fn moving(&self, bytes: usize) -> Duration {
        Duration::from_nanos((self.share.costs().kib.as_nanos() * bytes as u128 / 1024) as u64)
    }
}

macro_rules! plain {
    ($user:ident, $call:ident($($arg:ident),*).await) => {
        $user.plain(pin!($user.fs.$call($($arg),*))).await
    };
    ($user:ident, $($call:tt)*) => {
        $user.fs.$($call)*
    };
}

impl<F: FileSystem> FileSystem for User<'_, F> {
    ordo_vfs::forward! { plain:
        root read_only forget getattr setattr readlink fallocate seek fsync syncfs statfs getxattr setxattr
        listxattr removexattr
    }

    async fn lookup(&self, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.searching(dir, false, Duration::ZERO, pin!(self.fs.lookup(dir, name))).await
    }

    async fn mknod(
        &self,
        who: &Caller,
        dir: NodeId,
        name: Name<'_>,
        kind: Kind,
        mode: Mode,
        rdev: u64,
    ) -> Result<Entry> {
        self.searching(dir, true, self.share.costs().create, pin!(self.fs.mknod(who, dir, name, kind, mode, rdev)))
            .await
    }

    async fn mkdir(&self, who: &Caller, dir: NodeId, name: Name<'_>, mode: Mode) -> Result<Entry> {
        self.searching(dir, true, self.share.costs().create, pin!(self.fs.mkdir(who, dir, name, mode))).await
    }

    async fn symlink(&self, who: &Caller, dir: NodeId, name: Name<'_>, target: &[u8]) -> Result<Entry> {
        self.searching(dir, true, self.share.costs().create, pin!(self.fs.symlink(who, dir, name, target))).await
    }

    async fn tmpfile(&self, who: &Caller, dir: NodeId, mode: Mode) -> Result<Entry> {
        self.costing(self.share.costs().create, pin!(self.fs.tmpfile(who, dir, mode))).await
    }

    async fn link(&self, node: NodeId, dir: NodeId, name: Name<'_>) -> Result<Entry> {
        self.searching(dir, true, Duration::ZERO, pin!(self.fs.link(node, dir, name))).await
    }

    async fn unlink(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.searching(dir, false, self.share.costs().remove, pin!(self.fs.unlink(dir, name))).await
    }

    async fn rmdir(&self, dir: NodeId, name: Name<'_>) -> Result<()> {
        self.searching(dir, false, self.share.costs().remove, pin!(self.fs.rmdir(dir, name))).await
    }

    async fn rename(
        &self,
        dir: NodeId,
        name: Name<'_>,
        to_dir: NodeId,
        to_name: Name<'_>,
        mode: RenameMode,
    ) -> Result<()> {
        let call = pin!(self.fs.rename(dir, name, to_dir, to_name, mode));
        self.searching(dir, false, self.share.costs().remove, call).await
    }

    async fn read(&self, node: NodeId, offset: u64, len: u32) -> Result<Segments> {
        let mut all = self.plain(pin!(self.fs.read(node, offset, len.min(self.piece)))).await?;
        let mut done: usize = all.iter().map(Bytes::len).sum();
        self.share.work(self.moving(done)).await;
        while (done as u64).is_multiple_of(self.piece.into()) && 0 < done && done < len as usize {
            let left = (len - done as u32).min(self.piece);
            let more = self.share.call(pin!(self.fs.read(node, offset + done as u64, left))).await?;
            let moved: usize = more.iter().map(Bytes::len).sum();
            if moved == 0 {
                break;
            }
            self.share.work(self.moving(moved)).await;
            done += moved;
            all.extend(more);
        }
        Ok(all)
    }

    async fn write(&self, who: &Caller, node: NodeId, offset: u64, data: &[u8]) -> Result<u32> {
        if let Some(block) = self.zeroed {
            let cost = self.moving(data.len());
            return self.costing(cost, pin!(self.write_zeroed(who, node, offset, data, block))).await;
        }
        let first = &data[..data.len().min(self.piece as usize)];
        let mut done = self.costing(self.moving(first.len()), pin!(self.fs.write(who, node, offset, first))).await?;
        // A short write ends the call.
        while done.is_multiple_of(self.piece) && 0 < done && (done as usize) < data.len() {
            let rest = &data[done as usize..];
            let piece = &rest[..rest.len().min(self.piece as usize)];
            self.share.work(self.moving(piece.len())).await;
            match self.share.call(pin!(self.fs.write(who, node, offset + u64::from(done), piece))).await {
                Ok(0) | Err(_) => break,
                Ok(moved) => done += moved,
            }
        }
        Ok(done)
    }

    async fn readdir(&self, node: NodeId, cookie: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let mut bytes = 0;
        let mut counted = |entry: DirEntry<'_>| {
            let len = entry.name.len();
            let taken = take(entry);
            bytes += if taken { len + 16 } else { 0 };
            taken
        };
        let outcome = self.plain(pin!(self.fs.readdir(node, cookie, &mut counted))).await;
        self.share.work(self.moving(bytes)).await;
        outcome
    }
}
