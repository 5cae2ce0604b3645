//! Engines: io_uring, threads, or a connection to a server do the work of a disk; a task passes the results on.

pub(crate) mod direct;
pub(crate) mod pool;
pub(crate) mod uring;
pub(crate) mod work;

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::Poll;

use ordo_rt::Rt;
use ordo_rt::sync::{Notify, Receiver};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::device::DiskInfo;
use crate::error::{Cause, DiskError, DiskOp};
use crate::fence::Lease;
use crate::{DiskFuture, DiskOff, read_len, write_len};
use direct::Direct;
use work::{Done, Fault, Work};

/// Does work outside the executor's thread, or outside the program.
pub(crate) trait Engine {
    /// Submits work. It runs to its end even if the receiver is dropped.
    fn submit(&self, work: Work) -> Receiver<Done>;
    /// Takes completed work and passes the results on.
    fn reap(&self);
    /// Some work is not completed yet.
    fn busy(&self) -> bool;
    /// Work was not accepted: call `reap` again soon, since no completion may come before.
    fn stuck(&self) -> bool {
        false
    }
    /// Readable when there is something to reap.
    fn bell(&self) -> io::Result<OwnedFd>;
    /// See [`crate::Disk::hold`].
    fn hold(&self, _lease: &Lease) {}
}

/// A disk's engine, driven by a task of the executor for as long as the disk lives.
pub(crate) struct Driven {
    rt: Rt,
    engine: Rc<dyn Engine>,
    direct: Option<Rc<Direct>>,
    bell: Rc<Notify>,
}

impl Driven {
    /// `direct` does what is short at once, where that may be.
    pub(crate) fn new(rt: &Rt, engine: Rc<dyn Engine>, direct: Option<Direct>) -> io::Result<Driven> {
        let bell = Rc::new(Notify::new());
        let watch = rt.watch(engine.bell()?);
        rt.spawn(drive(rt.clone(), Rc::downgrade(&engine), watch, bell.clone()));
        Ok(Driven { rt: rt.clone(), engine, direct: direct.map(Rc::new), bell })
    }

    /// For an engine whose own tasks pass results on: it is never busy.
    pub(crate) fn by_its_own(rt: &Rt, engine: Rc<dyn Engine>) -> Driven {
        Driven { rt: rt.clone(), engine, direct: None, bell: Rc::new(Notify::new()) }
    }

    /// See [`crate::Disk::hold`].
    pub(crate) fn hold(&self, lease: &Lease) {
        self.engine.hold(lease);
    }

    /// Submits `work` that lies at `at` of the disk that `info` describes; `answer` converts the result.
    pub(crate) fn ask<T: Unpin + 'static>(
        &self,
        info: &DiskInfo,
        at: DiskOff,
        work: Work,
        answer: impl FnOnce(Work) -> Result<T, Cause> + 'static,
    ) -> DiskFuture<Result<T, DiskError>> {
        let (op, len) = match &work {
            Work::Read { parts, .. } => (DiskOp::Read, read_len(parts)),
            Work::Write { parts, .. } => (DiskOp::Write, write_len(parts)),
            Work::Flush => (DiskOp::Flush, 0),
            Work::Punch { len, .. } => (DiskOp::Discard, *len),
            Work::Extents { len, .. } => (DiskOp::Read, *len),
        };
        if let Err(error) = info.check(op, at, len) {
            return DiskFuture::now(Err(error));
        }
        let size = info.size;
        let finish = move |done: Done| {
            let outcome = done.map_err(|fault| cause_of(fault, size)).and_then(answer);
            outcome.map_err(|cause| DiskError::new(op, at, len, cause))
        };
        let work = match &self.direct {
            None => work,
            Some(direct) => match direct.take(work, self.engine.busy()) {
                Ok(done) => return DiskFuture::now(finish(done)),
                Err(work) => work,
            },
        };
        let timed = matches!(work, Work::Write { .. } | Work::Flush);
        let timed = self.direct.clone().filter(|_| timed).map(|direct| (direct, self.rt.now(), work.is_barrier()));
        let ended = move || {
            timed.inspect(|(direct, began, barrier)| direct.ended(*began, *barrier));
        };
        let mut receiver = self.engine.submit(work);
        if self.engine.busy() {
            self.bell.notify_one();
        }
        match receiver.try_take() {
            Some(done) => {
                ended();
                DiskFuture::now(finish(done))
            }
            None => DiskFuture::later(async move {
                let done = receiver.await.unwrap_or(Err(Fault::System(Errno::CANCELED)));
                ended();
                finish(done)
            }),
        }
    }
}

impl Drop for Driven {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

/// Passes results on as they come. Sleeps while nothing is in flight, so that an idle disk neither stops virtual time
/// nor hides a deadlock; ends with the disk.
async fn drive(rt: Rt, engine: Weak<dyn Engine>, watch: ordo_rt::Watch, bell: Rc<Notify>) {
    loop {
        let Some(engine) = engine.upgrade() else { return };
        engine.reap();
        let (busy, stuck) = (engine.busy(), engine.stuck());
        drop(engine);
        if stuck {
            rt.yield_now().await;
        } else if busy {
            let (mut answered, mut rung) = (pin!(watch.readable()), pin!(bell.notified()));
            poll_fn(|cx| match (answered.as_mut().poll(cx), rung.as_mut().poll(cx)) {
                (Poll::Pending, Poll::Pending) => Poll::Pending,
                _ => Poll::Ready(()),
            })
            .await;
        } else {
            bell.notified().await;
        }
    }
}

fn cause_of(fault: Fault, size: u64) -> Cause {
    match fault {
        Fault::Ended | Fault::System(Errno::NXIO | Errno::NODEV) => Cause::Gone { size },
        Fault::Nothing => Cause::Nothing,
        Fault::Lost(lost) => Cause::Lost(lost),
        Fault::System(Errno::OPNOTSUPP) => Cause::Unsupported,
        Fault::System(errno) => Cause::Io(errno.raw_os_error()),
    }
}
