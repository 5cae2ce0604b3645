//! The server: receives requests, calls a [`ordo_vfs::FileSystem`], sends replies.
//!
//! S1. A request whose blocks are cached is answered before the next one is read, in one poll and without a task. A
//!     request that must wait becomes a task of its own, so it does not delay others.
//! S2. Every request that the kernel waits for gets exactly one reply, in any order.
//! S3. [`serve`] returns only when no call is in progress and every lookup was returned: the volume may be closed. The
//!     exception is [`Reason::GivenUp`]: the disk does not answer, and the user does not want to wait.

mod attributes;
mod callers;
mod contents;
mod dispatch;
mod end;
mod follow;
mod init;
mod ioctl;
mod listing;
mod lookups;
mod record;
mod signals;
mod spin;
mod whiteout;
mod xattr;

use crate::first::{First, first};
use crate::mount::{Lease, Session};
use crate::proto::reply::Show;
use crate::transport::{DevFuse, Gone, NoUring, Transport, TransportChoice, Uring};
use callers::{Callers, Company, Turn};
use dispatch::Drained;
use follow::Follow;
use init::Agreed;
use lookups::Lookups;
use ordo_rt::Rt;
use ordo_rt::sync::Notify;
use ordo_vfs::{FileSystem, NodeId};
use record::Tape;
use rustix::io::Errno;
use signals::Signals;
pub use signals::end_signals;
use spin::Spin;
use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::rc::Rc;

/// The name of an extended attribute of a mount's root that is not stored in any file: its value is the server's report
/// on the volume. It is not listed.
pub const STATUS: &str = "user.ordofs.status";

/// Like [`STATUS`], what asks the server for a record of its calls: each of these is followed by a word. `start` begins
/// a recording, `take` reads whole lines of it, `stop` ends it. Only root and the server's own user may ask.
pub const TRACE: &str = "user.ordofs.trace.";

/// Like [`STATUS`]; a number follows. Who asks for it has the server read and heal a part of what the volume can
/// verify, from there on, and gets the result when that is done. A part at a time, so that the caller can be
/// interrupted and the volume be unmounted. Only root and the server's own user may ask.
pub const SCRUB: &str = "user.ordofs.scrub.";

/// The work of [`SCRUB`], and its result. `Err`: the disk failed, or the volume has nothing with which to verify.
pub type Scrub = Box<dyn Fn(u64) -> Pin<Box<dyn Future<Output = Result<String, Errno>>>>>;

/// The server's report on its volume.
#[derive(Debug, Clone)]
pub struct Status {
    /// The report.
    pub text: String,
    /// It will change: on a volume without attributes, ENOSYS must wait until then, because the kernel never queries
    /// again.
    pub busy: bool,
}

/// How a mounted volume is presented and served.
pub struct ServeOptions {
    /// The transport to the kernel.
    pub transport: TransportChoice,
    /// The kernel caches written data and sends it later, in larger pieces. Speeds up small writes, slows sequential
    /// ones.
    pub writeback: bool,
    /// The volume has extended attributes. Without them every request about them is answered with ENOSYS once.
    pub xattrs: bool,
    /// The volume has POSIX ACLs, and the kernel must enforce them. Needs `xattrs`.
    pub acls: bool,
    /// Shows every file as this user's.
    pub uid: Option<u32>,
    /// Shows every file as this group's.
    pub gid: Option<u32>,
    /// Permission bits that are masked.
    pub umask: u16,
    /// The serving thread moves to the CPU of a caller that is alone. `false`: it stays where the scheduler puts it.
    pub follow: bool,
    /// SIGTERM and SIGINT unmount; a second one ends the service at once.
    pub signals: bool,
    /// Called once, when the mount is usable: the kernel has the reply to its first request.
    pub ready: Option<Box<dyn FnOnce()>>,
    /// The value of the attribute [`crate::STATUS`] of the root: the state of the mounted volume.
    pub status: Option<Box<dyn Fn() -> Status>>,
    /// The work of [`SCRUB`].
    pub scrub: Option<Scrub>,
    /// Called when the end takes long: from then on a signal gives it up.
    pub ends_slowly: Rc<dyn Fn()>,
    /// Called for every error of disk or image, of which the caller of the file system sees only an errno.
    pub complain: Box<dyn Fn(&ordo_vfs::Error)>,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions {
            transport: TransportChoice::Classic,
            writeback: false,
            xattrs: true,
            acls: false,
            uid: None,
            gid: None,
            umask: 0,
            follow: true,
            signals: false,
            ready: None,
            status: None,
            scrub: None,
            ends_slowly: Rc::new(|| ()),
            complain: Box::new(|_| ()),
        }
    }
}

/// Why the service ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// The file system was unmounted, or its connection aborted.
    Unmounted,
    /// A second signal came while the mount was still in use. Its users get errors from now on.
    Signalled,
    /// A signal came, and this process, which has given up its rights, may not unmount: the mount stays, and all of its
    /// users get errors from now on.
    MayNotUnmount,
    /// The device failed.
    Failed(Gone),
    /// Calls waited for a disk that does not answer, and a signal came: the volume cannot be closed.
    GivenUp,
}

/// The end of a service.
#[must_use = "close the volume first, then end the lease"]
pub struct Ended {
    /// Why it ended.
    pub reason: Reason,
    /// To be ended when the image is closed: `umount` waits for it, and prints its report.
    pub lease: Option<Lease>,
    signals: Option<Signals>,
    ends_slowly: Rc<dyn Fn()>,
}

impl Ended {
    /// The output of `work`, which closes the volume; `None` if that takes long, and a signal gives it up.
    pub async fn unless_given_up<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        patiently(work, self.signals.as_ref(), &self.ends_slowly).await
    }
}

async fn patiently<T>(
    work: impl Future<Output = T>,
    signals: Option<&Signals>,
    ends_slowly: &Rc<dyn Fn()>,
) -> Option<T> {
    let Some(signals) = signals else { return Some(work.await) };
    match first(work, signals.give_up(|| ends_slowly())).await {
        First::Left(output) => Some(output),
        First::Right(()) => None,
    }
}

/// Why the service cannot start.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The device cannot be set up.
    #[error("the FUSE device cannot be used: {0}")]
    Device(rustix::io::Errno),
    /// The chosen transport is not available.
    #[error(transparent)]
    NoUring(#[from] NoUring),
    /// Signals cannot be watched.
    #[error("signals cannot be watched: {0}")]
    Signals(std::io::Error),
}

/// Serves `fs` at the mount of `session` until it is unmounted.
///
/// # Errors
/// [`ServeError`] when it cannot start. A later failure is in [`Ended::reason`].
pub async fn serve<F: FileSystem + 'static>(
    rt: &Rt,
    fs: Rc<F>,
    session: Session,
    opts: ServeOptions,
) -> Result<Ended, ServeError> {
    let signals = opts.signals.then(|| Signals::watch(rt, session.place())).transpose().map_err(ServeError::Signals)?;
    // Dropped after the device was closed: a mount that still exists (the service failed, or the connection was
    // aborted) would answer everything with ENOTCONN.
    let (fd, _mounted, lease) = session.into_parts();
    let device = DevFuse::new(rt, fd).map_err(ServeError::Device)?;
    let ends_slowly = opts.ends_slowly.clone();
    let reason = match opts.transport {
        TransportChoice::Classic => serve_on(rt, fs, device, opts, signals.as_ref(), lease.as_ref()).await,
        TransportChoice::Uring => {
            serve_on(rt, fs, Uring::new(rt, device)?, opts, signals.as_ref(), lease.as_ref()).await
        }
    };
    Ok(Ended { reason, lease, signals, ends_slowly })
}

async fn serve_on<F: FileSystem + 'static, T: Transport + 'static>(
    rt: &Rt,
    fs: Rc<F>,
    transport: T,
    mut opts: ServeOptions,
    signals: Option<&Signals>,
    lease: Option<&Lease>,
) -> Reason {
    let (mut callers, follow) = (Callers::new(rt.now()), Follow::new(opts.follow));
    // Over io_uring the transport learns of requests when it is waited for.
    let classic = matches!(opts.transport, TransportChoice::Classic);
    let mut spin = Spin::new(opts.follow && classic && follow::has_choice());
    let mut ready = Some(opts.ready.take().unwrap_or_else(|| Box::new(|| ())));
    let server = Rc::new(Server::new(rt, fs, transport, opts));
    let reason = loop {
        match server.drain(rt) {
            Err(Gone::Unmounted) => break Reason::Unmounted,
            Err(gone) => break Reason::Failed(gone),
            Ok(Drained::More) => rt.yield_now().await,
            Ok(Drained::All) => {
                match server.stage.get() {
                    Stage::Starting => {}
                    Stage::Serving(_) => {
                        if let Some(ready) = ready.take() {
                            if let Err(gone) = server.transport.begin() {
                                break Reason::Failed(gone);
                            }
                            ready();
                        }
                    }
                    Stage::Refused(errno) => break Reason::Failed(Gone::Failed(errno)),
                }
                let now = rt.now();
                let company = callers.note(server.turn.take(), now);
                let came = company != Company::Nobody;
                if came {
                    rt.set_one_caller(company.is_one_alone());
                }
                follow.after(company);
                let awake = spin.goes_on(came, now);
                let next = async {
                    match awake {
                        true => rt.yield_now().await,
                        false => server.transport.ready().await,
                    }
                };
                match signals {
                    None => next.await,
                    Some(signals) => match first(next, signals.end()).await {
                        First::Left(()) => {}
                        First::Right(reason) => break reason,
                    },
                }
            }
        }
    };
    rt.set_one_caller(false);
    // At once: what is under way may take long, and who waits for it must know that this server ends.
    if let (Some(lease), Reason::Unmounted) = (lease, reason) {
        lease.is_unmounted();
    }
    let ends_slowly = server.opts.ends_slowly.clone();
    let end = async {
        if matches!(reason, Reason::Signalled | Reason::MayNotUnmount) {
            server.take_what_is_mapped(rt).await;
        }
        server.settle().await;
    };
    patiently(end, signals, &ends_slowly).await.map_or(Reason::GivenUp, |()| reason)
}

/// The state of [`serve`], shared by the requests in progress.
struct Server<F, T> {
    fs: Rc<F>,
    transport: T,
    show: Show,
    opts: ServeOptions,
    stage: Cell<Stage>,
    lookups: RefCell<Lookups>,
    /// What is recorded of the calls.
    tape: Tape,
    /// SETATTR requests so far.
    setattrs: Cell<u64>,
    /// The file of which a caller, by thread, has just removed the capability (attributes-1).
    uncapable: Cell<Option<(NodeId, u32)>>,
    /// What was read since the server slept last.
    turn: Cell<Turn>,
    /// Requests that became tasks and are not finished.
    under_way: Cell<usize>,
    /// Notified when `under_way` becomes zero.
    finished: Notify,
    /// Nothing is read or written for programs any more (end-2).
    ends: Cell<bool>,
}

impl<F: FileSystem, T: Transport> Server<F, T> {
    fn new(rt: &Rt, fs: Rc<F>, transport: T, opts: ServeOptions) -> Server<F, T> {
        Server {
            show: Show::new(fs.root()).with(opts.uid, opts.gid, opts.umask),
            fs,
            transport,
            opts,
            stage: Cell::new(Stage::Starting),
            lookups: RefCell::default(),
            tape: Tape::new(rt),
            setattrs: Cell::new(0),
            uncapable: Cell::new(None),
            turn: Cell::new(Turn::default()),
            under_way: Cell::new(0),
            finished: Notify::new(),
            ends: Cell::new(false),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    /// INIT has not come.
    Starting,
    /// INIT was answered.
    Serving(Agreed),
    /// INIT was refused; nothing more will come.
    Refused(Errno),
}

#[cfg(test)]
mod tests;
