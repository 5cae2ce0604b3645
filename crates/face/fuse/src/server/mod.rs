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
mod options;
mod reason;
mod record;
mod shared;
mod signals;
mod spin;
mod whiteout;
mod xattr;

use crate::first::{First, first};
use crate::mount::{Lease, Session};
use crate::transport::{DevFuse, Gone, NoUring, Transport, TransportChoice, Uring};
use callers::{Callers, Company};
use dispatch::Drained;
use follow::Follow;
pub use options::{Scrub, ServeOptions, Status};
use ordo_rt::Rt;
use ordo_vfs::FileSystem;
pub use reason::Reason;
use shared::Server;
use signals::Signals;
pub use signals::end_signals;
use spin::Spin;
use std::rc::Rc;

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
                if let Err(gone) = server.begin_serving(&mut ready) {
                    break Reason::Failed(gone);
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

#[cfg(test)]
mod tests;
