//! Handling one request, from its bytes to its reply.

use super::init::{Negotiated, negotiate};
use super::{Server, Stage};
use crate::errno::errno;
use crate::proto::abi::{self, CopyFileRangeIn, FallocateIn, InitIn, LseekIn, MknodIn, ReadIn, WriteIn};
use crate::proto::reply::{Answer, Kept, Listing, Reply, absent, statfs};
use crate::proto::request::{Args, Head, Malformed, Request};
use crate::transport::{MAX_TRANSFER, Transport};
use ordo_vfs::{
    Caller, DirEntry, Entry, Error, FallocMode, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode, Segments,
    Whence,
};
use rustix::fs::{FallocateFlags, RenameFlags};
use rustix::io::Errno;
use zerocopy::IntoBytes;

fn name(bytes: &[u8]) -> Result<Name<'_>, Errno> {
    Name::new(bytes).map_err(|e| errno(&e))
}

fn rename_mode(flags: u32) -> Result<RenameMode, Errno> {
    match RenameFlags::from_bits_retain(flags) {
        f if f.is_empty() => Ok(RenameMode::Replace),
        RenameFlags::NOREPLACE => Ok(RenameMode::NoReplace),
        RenameFlags::EXCHANGE => Ok(RenameMode::Exchange),
        _ => Err(Errno::INVAL),
    }
}

fn falloc_mode(bits: u32) -> Result<FallocMode, Errno> {
    let flags = FallocateFlags::from_bits_retain(bits);
    let keep_size = flags.contains(FallocateFlags::KEEP_SIZE);
    match flags.difference(FallocateFlags::KEEP_SIZE) {
        f if f.is_empty() => Ok(FallocMode::Allocate { keep_size }),
        FallocateFlags::PUNCH_HOLE if keep_size => Ok(FallocMode::PunchHole),
        FallocateFlags::ZERO_RANGE => Ok(FallocMode::ZeroRange { keep_size }),
        _ => Err(Errno::OPNOTSUPP),
    }
}

fn whence(number: u32) -> Result<Whence, Errno> {
    match number {
        3 => Ok(Whence::Data),
        4 => Ok(Whence::Hole),
        _ => Err(Errno::INVAL),
    }
}

/// At most `len` bytes of `pieces`: the kernel treats a longer reply as an error.
fn at_most(mut pieces: Segments, len: u32) -> Segments {
    let mut room = len as usize;
    for piece in &mut pieces {
        piece.truncate(room);
        room -= piece.len();
    }
    pieces
}

/// Whether the reply grants the kernel a lookup of one node. A listing grants many, but only as many as there is memory
/// for.
fn grants(request: &Request<'_>) -> bool {
    matches!(
        request,
        Request::Lookup { .. }
            | Request::Symlink { .. }
            | Request::Mknod { .. }
            | Request::Mkdir { .. }
            | Request::Tmpfile { .. }
            | Request::Link { .. }
    )
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    /// The errno for `error`; errors of disk or image are also passed to `ServeOptions::complain`.
    pub(super) fn refuse(&self, error: &Error) -> Errno {
        if !matches!(error, Error::Refused(_)) {
            (self.opts.complain)(error);
        }
        errno(error)
    }

    fn caller(head: &Head, umask: u32) -> Caller {
        Caller { uid: head.uid, gid: head.gid, umask: (umask & 0o777) as u16, privileged: head.uid == 0 }
    }

    fn entry(&self, made: ordo_vfs::Result<Entry>) -> Answer {
        self.shown(made, |entry| self.show.entry(entry))
    }

    fn shown(&self, made: ordo_vfs::Result<Entry>, reply: impl FnOnce(&Entry) -> Reply) -> Answer {
        let entry = made.map_err(|e| self.refuse(&e))?;
        self.lookups.borrow_mut().grant(entry.node);
        Ok(reply(&entry))
    }

    fn done(&self, result: ordo_vfs::Result<()>) -> Answer {
        result.map(|()| Reply::Done).map_err(|e| self.refuse(&e))
    }

    pub(super) async fn answer(&self, head: &Head, args: Result<Args<'_>, Malformed>) -> Answer {
        let long_setxattr = matches!(self.stage.get(), Stage::Serving(agreed) if agreed.setxattr_ext);
        let request = args.and_then(|args| Request::read(head.opcode, args, long_setxattr));
        let request = request.map_err(|_| Errno::INVAL)?;
        if grants(&request) {
            self.lookups.borrow_mut().reserve()?;
        }
        let (fs, node) = (&*self.fs, self.show.node(head.node));
        let who = |umask| Self::caller(head, umask);
        match request {
            Request::Init(asked) => self.init(&asked),
            Request::Lookup { name: bytes } => self.lookup(node, bytes).await,
            Request::Forget { count } => Ok(self.forget(head.node, count)),
            Request::BatchForget(items) => {
                items.iter().for_each(|(number, count)| drop(self.forget(number, count)));
                Ok(Reply::Silent)
            }
            Request::Getattr => {
                let attr = fs.getattr(node).await.map_err(|e| self.refuse(&e))?;
                Ok(Reply::Bytes(self.show.attr_out(&attr)))
            }
            Request::Statx => {
                let attr = fs.getattr(node).await.map_err(|e| self.refuse(&e))?;
                Ok(Reply::Bytes(self.show.statx_out(&attr)))
            }
            Request::Setattr(args) => self.setattr(node, &args).await,
            Request::Readlink => Ok(Reply::Data(vec![fs.readlink(node).await.map_err(|e| self.refuse(&e))?])),
            Request::Symlink { name: bytes, target } => {
                self.entry(fs.symlink(&who(0), node, name(bytes)?, target).await)
            }
            Request::Mknod { args, name: bytes } => self.mknod(&who(args.umask), node, &args, name(bytes)?).await,
            Request::Mkdir { args, name: bytes } => {
                self.entry(fs.mkdir(&who(args.umask), node, name(bytes)?, Mode::new(args.mode)).await)
            }
            Request::Tmpfile { args } => {
                let made = fs.tmpfile(&who(args.umask), node, Mode::new(args.mode)).await;
                self.shown(made, |entry| self.show.opened(entry))
            }
            Request::Unlink { name: bytes } => self.done(fs.unlink(node, name(bytes)?).await),
            Request::Rmdir { name: bytes } => self.done(fs.rmdir(node, name(bytes)?).await),
            Request::Rename { to_dir, flags, name: from, to_name } => {
                let (to_dir, mode) = (self.show.node(to_dir), rename_mode(flags)?);
                self.done(fs.rename(node, name(from)?, to_dir, name(to_name)?, mode).await)
            }
            Request::Link { node: target, name: bytes } => {
                self.entry(fs.link(self.show.node(target), node, name(bytes)?).await)
            }
            Request::Read(args) => self.read(node, &args).await,
            Request::Write { args, data } => self.write(who(0), node, &args, data).await,
            Request::Readdir(args) => self.readdir(node, &args).await,
            Request::Readdirplus(args) => self.readdirplus(node, &args).await,
            Request::Statfs => Ok(statfs(&fs.statfs().await.map_err(|e| self.refuse(&e))?)),
            // The kernel passes sync(2) and syncfs(2) to few servers; an fsync of the root has the same effect.
            Request::Fsync { .. } if node == fs.root() => self.done(fs.syncfs().await),
            Request::Fsync { data_only } => self.done(fs.fsync(node, data_only).await),
            Request::Syncfs => self.done(fs.syncfs().await),
            Request::Setxattr { args, name, value } => self.setxattr(&who(0), node, &args, name, value).await,
            Request::Getxattr { size, name } => self.getxattr(node, name, size).await,
            Request::Listxattr { size } => self.listxattr(node, size).await,
            Request::Removexattr { name } => self.removexattr(node, name).await,
            Request::Fallocate(args) => self.fallocate(&who(0), node, &args).await,
            Request::CopyFileRange(args) => self.copy_file_range(&who(0), node, &args).await,
            Request::Lseek(args) => self.lseek(node, &args).await,
            Request::Ioctl { args, data } => self.ioctl(node, &args, data).await,
            Request::Destroy | Request::Released => Ok(Reply::Done),
            // ENOSYS: the kernel sends no more of these. A call that waits for the disk is not interrupted.
            Request::Interrupt | Request::Unsupported => Err(Errno::NOSYS),
        }
    }

    fn init(&self, asked: &InitIn) -> Answer {
        let (out, stage) = match negotiate(asked, &self.opts) {
            Ok(Negotiated::AskAgain(out)) => (Ok(out), Stage::Starting),
            Ok(Negotiated::Settled(out, agreed)) => (Ok(out), Stage::Serving(agreed)),
            Err(errno) => (Err(errno), Stage::Refused(errno)),
        };
        self.stage.set(stage);
        Ok(Reply::Bytes(out?.as_bytes().to_vec()))
    }

    async fn lookup(&self, dir: NodeId, bytes: &[u8]) -> Answer {
        match self.fs.lookup(dir, name(bytes)?).await {
            Err(Error::Refused(Refusal::NotFound)) => Ok(absent()),
            found => self.entry(found),
        }
    }

    /// Returns up to `count` lookups of the file with the kernel's `number`.
    fn forget(&self, number: u64, count: u64) -> Reply {
        let node = self.show.node(number);
        let taken = self.lookups.borrow_mut().take_back(node, count);
        if taken > 0 {
            self.fs.forget(node, taken);
        }
        Reply::Silent
    }

    async fn mknod(&self, who: &Caller, dir: NodeId, args: &MknodIn, name: Name<'_>) -> Answer {
        let kind = match Kind::from_bits((args.mode >> 12) as u16) {
            None | Some(Kind::Directory | Kind::Symlink) => return Err(Errno::INVAL),
            Some(kind) => kind,
        };
        self.entry(self.fs.mknod(who, dir, name, kind, Mode::new(args.mode), args.rdev.into()).await)
    }

    async fn read(&self, node: NodeId, args: &ReadIn) -> Answer {
        let len = args.size.min(MAX_TRANSFER);
        let pieces = self.fs.read(node, args.offset, len).await.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Data(at_most(pieces, len)))
    }

    async fn write(&self, mut who: Caller, node: NodeId, args: &WriteIn, data: &[u8]) -> Answer {
        // The writer is not known, and cannot be told that it may not use the reserve: the data would be lost.
        who.privileged |= args.write_flags & abi::WRITE_CACHE != 0;
        if args.write_flags & abi::WRITE_KILL_SUIDGID != 0 {
            self.kill_setid(node).await?;
        }
        let cached = self.opts.writeback && args.write_flags & abi::WRITE_CACHE != 0;
        let size = match cached {
            true => self.write_keeping_times(&who, node, args.offset, data).await,
            false => self.fs.write(&who, node, args.offset, data).await,
        };
        let size = size.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Bytes(abi::WriteOut { size, padding: 0 }.as_bytes().to_vec()))
    }

    async fn readdir(&self, dir: NodeId, args: &ReadIn) -> Answer {
        let mut listing = Listing::new(args.size.min(MAX_TRANSFER));
        let read = self.fs.readdir(dir, args.offset, &mut |entry| listing.push(&entry)).await;
        read.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Bytes(listing.into_bytes()))
    }

    async fn readdirplus(&self, dir: NodeId, args: &ReadIn) -> Answer {
        let mut listing = Listing::new(args.size.min(MAX_TRANSFER));
        let mut kept: Vec<Kept> = Vec::new();
        let mut keep = |entry: DirEntry<'_>| listing.reserve(&entry).map(|entry| kept.push(entry)).is_some();
        self.fs.readdir(dir, args.offset, &mut keep).await.map_err(|e| self.refuse(&e))?;
        let mut nodes = Vec::new();
        for entry in &kept {
            // Removed meanwhile, or damaged: the listing has only the name, and opening the file returns the error.
            let found = match Name::new(&entry.name) {
                Ok(name) if !entry.is_dot_or_dotdot() && self.lookups.borrow_mut().reserve().is_ok() => {
                    self.fs.lookup(dir, name).await.ok()
                }
                _ => None,
            };
            if let Some(found) = &found {
                self.lookups.borrow_mut().grant(found.node);
                nodes.push(found.node);
            }
            listing.push_plus(&self.show, entry, found.as_ref());
        }
        Ok(Reply::Listing(nodes, listing.into_bytes()))
    }

    /// Copies for a bounded time, and returns how many bytes: the kernel requests the rest.
    async fn copy_file_range(&self, who: &Caller, node: NodeId, args: &CopyFileRangeIn) -> Answer {
        const AT_ONCE: u64 = 16 << 20;
        let to = NodeId(args.nodeid_out);
        let len = args.len.min(AT_ONCE);
        let copied =
            self.fs.copy_range(who, node, args.off_in, to, args.off_out, len).await.map_err(|e| self.refuse(&e))?;
        let size = u32::try_from(copied).map_err(|_| Errno::IO)?;
        Ok(Reply::Bytes(abi::WriteOut { size, padding: 0 }.as_bytes().to_vec()))
    }

    async fn fallocate(&self, who: &Caller, node: NodeId, args: &FallocateIn) -> Answer {
        let mode = falloc_mode(args.mode)?;
        self.done(self.fs.fallocate(who, node, args.offset, args.length, mode).await)
    }

    async fn lseek(&self, node: NodeId, args: &LseekIn) -> Answer {
        let found = self.fs.seek(node, args.offset, whence(args.whence)?).await;
        let offset = found.map_err(|e| self.refuse(&e))?;
        Ok(Reply::Bytes(abi::LseekOut { offset }.as_bytes().to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn unknown_flags_are_refused_and_not_ignored() {
        assert_eq!(rename_mode(2), Ok(RenameMode::Exchange));
        assert_eq!(rename_mode(3), Err(Errno::INVAL));
        assert_eq!(rename_mode(4), Err(Errno::INVAL));
        assert_eq!(falloc_mode(1), Ok(FallocMode::Allocate { keep_size: true }));
        assert_eq!(falloc_mode(3), Ok(FallocMode::PunchHole));
        assert_eq!(falloc_mode(2), Err(Errno::OPNOTSUPP));
        assert_eq!(falloc_mode(0x11), Ok(FallocMode::ZeroRange { keep_size: true }));
        assert_eq!(falloc_mode(0x8), Err(Errno::OPNOTSUPP));
        assert_eq!(whence(0), Err(Errno::INVAL));
    }

    #[test]
    fn more_data_than_was_asked_for_is_cut() {
        let pieces = at_most(vec![Bytes::from_static(b"abc"), Bytes::from_static(b"def"), Bytes::new()], 4);
        assert_eq!(pieces.concat(), b"abcd");
        assert_eq!(at_most(pieces, 9).concat(), b"abcd");
    }
}
