//! Handling requests: each message becomes a call of `vfs`, and its outcome a reply.

use super::init::{Negotiated, negotiate};
use super::shared::{Server, Stage};
use crate::errno::errno;
use crate::proto::abi::{InitIn, MknodIn};
use crate::proto::reply::{Answer, Reply, absent, statfs};
use crate::proto::request::{Args, Head, Malformed, Request};
use crate::transport::{Gone, Message, Transport};
use ordo_rt::Rt;
use ordo_vfs::{Caller, Entry, Error, FileSystem, Kind, Mode, Name, NodeId, Refusal, RenameMode};
use rustix::fs::RenameFlags;
use rustix::io::Errno;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use zerocopy::IntoBytes;

/// Requests that are answered in a row before other tasks run.
const BATCH: usize = 32;

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

/// What [`Server::drain`] left.
pub(super) enum Drained {
    /// No more requests are waiting.
    All,
    /// Other tasks must run before the rest is read.
    More,
}

impl<F: FileSystem + 'static, T: Transport + 'static> Server<F, T> {
    /// Begins the requests that wait, as many as fit between two turns of other tasks.
    pub(super) fn drain(self: &Rc<Self>, rt: &Rt) -> Result<Drained, Gone> {
        for _ in 0..BATCH {
            match self.transport.receive()? {
                Some(message) => self.begin(rt, message),
                None => return Ok(Drained::All),
            }
        }
        Ok(Drained::More)
    }

    fn begin(self: &Rc<Self>, rt: &Rt, message: Message) {
        let server = self.clone();
        let mut handled: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move { server.handle(message).await });
        // The spawned task polls again at once, so a wake of this first poll cannot be missed.
        if handled.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return;
        }
        self.under_way.set(self.under_way.get() + 1);
        let server = self.clone();
        rt.spawn(async move {
            handled.await;
            server.under_way.set(server.under_way.get() - 1);
            if server.under_way.get() == 0 {
                server.finished.notify_all();
            }
        });
    }

    fn noted(&self, pid: u32) {
        let mut turn = self.turn.get();
        turn.add(pid, self.under_way.get() > 0);
        self.turn.set(turn);
    }

    async fn handle(&self, message: Message) {
        // Shorter than a header: no reply is possible.
        let Some((head, args)) = Head::read(message.bytes()) else { return };
        self.noted(head.pid);
        let came = self.tape.now();
        let answer = self.answer(&head, args).await;
        if let Some(came) = came {
            self.tape.note(came, &head, self.decoded(&head, args), &answer);
        }
        drop(message);
        if self.transport.reply(head.unique, &answer) {
            return;
        }
        match answer {
            Ok(Reply::Entry(node, _)) => self.give_back(node),
            Ok(Reply::Listing(nodes, _)) => nodes.into_iter().for_each(|node| self.give_back(node)),
            _ => {}
        }
    }

    /// The kernel did not accept the reply that granted a lookup of `node`.
    fn give_back(&self, node: ordo_vfs::NodeId) {
        let taken = self.lookups.borrow_mut().take_back(node, 1);
        if taken > 0 {
            self.fs.forget(node, taken);
        }
    }

    /// Waits for the calls in progress, and returns every lookup.
    pub(super) async fn settle(&self) {
        while self.under_way.get() > 0 {
            self.finished.notified().await;
        }
        let left = self.lookups.borrow_mut().drain();
        left.into_iter().for_each(|(node, lookups)| self.fs.forget(node, lookups));
    }
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

    pub(super) fn done(&self, result: ordo_vfs::Result<()>) -> Answer {
        result.map(|()| Reply::Done).map_err(|e| self.refuse(&e))
    }

    fn decoded<'a>(&self, head: &Head, args: Result<Args<'a>, Malformed>) -> Result<Request<'a>, Malformed> {
        let long_setxattr = matches!(self.stage.get(), Stage::Serving(agreed) if agreed.setxattr_ext);
        args.and_then(|args| Request::read(head.opcode, args, long_setxattr))
    }

    pub(super) async fn answer(&self, head: &Head, args: Result<Args<'_>, Malformed>) -> Answer {
        let request = self.decoded(head, args).map_err(|_| Errno::INVAL)?;
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
            Request::Setattr(args) => self.setattr(head, node, &args).await,
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
                let to_dir = self.show.node(to_dir);
                if RenameFlags::from_bits_retain(flags) == RenameFlags::WHITEOUT {
                    let (from, to) = ((node, name(from)?), (to_dir, name(to_name)?));
                    return self.rename_and_hide(&who(0), from, to, head.unique).await;
                }
                let mode = rename_mode(flags)?;
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
            Request::Getxattr { size, name } => self.getxattr(head.uid, node, name, size).await,
            Request::Listxattr { size } => self.listxattr(node, size).await,
            Request::Removexattr { name } => self.removexattr(head, node, name).await,
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_flags_of_a_rename_are_refused_and_not_ignored() {
        assert_eq!(rename_mode(2), Ok(RenameMode::Exchange));
        assert_eq!(rename_mode(3), Err(Errno::INVAL));
        assert_eq!(rename_mode(4), Err(Errno::INVAL));
    }
}
