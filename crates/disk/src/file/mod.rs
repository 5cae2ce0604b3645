//! A regular file or a block device as a disk.
//!
//! F1. A file that was opened for writing is locked: a second writer is refused, for it would undo the first one's
//!     work without either noticing. Readers share a lock, which a writer's excludes.
//! F2. A flush is `fdatasync`, a forced write is `RWF_DSYNC`. What is in the page cache is not durable, so the cache
//!     is volatile even where the device's own is not; only direct I/O to a write-through device has none.
//! F3. A file that has become shorter is *gone*, for reads at once and for writes at the next flush: the page cache
//!     would let it grow again, with holes where data was.

mod open;
mod pool;
mod uring;
mod work;

use std::fs::File;
use std::future::{Future, poll_fn};
use std::io;
use std::path::Path;
use std::pin::pin;
use std::rc::{Rc, Weak};
use std::task::Poll;

use rt::Rt;
use rt::sync::{Notify, Receiver};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use crate::device::{read_len, write_len};
use crate::error::OpenError;
use crate::{Cause, Disk, DiskError, DiskFuture, DiskInfo, DiskOff, DiskOp, ReadPart, WritePart};
use open::{Opened, open_disk, size_of};
use work::{Done, Fault, Work};

/// How to open a file or device.
#[derive(Clone, Debug, Default)]
pub struct FileOptions {
    /// No write, and a lock that other readers share.
    pub read_only: bool,
    /// Bypass the page cache (O_DIRECT). Sectors are then as large as the device wants them.
    pub direct: bool,
    /// Overrides what is known of the cache.
    pub volatile_cache: Option<bool>,
    /// The first byte of the part that is used.
    pub offset: u64,
    /// The length of the part that is used; all the rest if `None`.
    pub len: Option<u64>,
    /// Who makes the system calls.
    pub engine: EngineChoice,
}

/// Who makes the system calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EngineChoice {
    /// io_uring, and threads where it is refused. The environment variable `ORDO_IO` (`uring` or `threads`) decides
    /// otherwise.
    #[default]
    Auto,
    /// io_uring, or no disk.
    Uring,
    /// Threads that make blocking calls.
    Threads,
}

/// A file or block device; clones are handles of the same one.
#[derive(Clone)]
pub struct FileDisk(Rc<Shared>);

struct Shared {
    info: DiskInfo,
    offset: u64,
    /// Whether the length can change under us (F3).
    regular: bool,
    /// Its lock lasts as long as it is open.
    file: File,
    engine: Rc<dyn Engine>,
    bell: Rc<Notify>,
    name: &'static str,
}

/// Who makes the system calls.
trait Engine {
    /// Hands work over. It goes on to its end even if the receiver is dropped.
    fn submit(&self, work: Work) -> Receiver<Done>;
    /// Takes answers and passes them on.
    fn reap(&self);
    /// Answers are still to come.
    fn busy(&self) -> bool;
    /// Work was not accepted: call `reap` again soon, for no answer may come before.
    fn stuck(&self) -> bool {
        false
    }
    /// Readable when there is something to reap.
    fn bell(&self) -> io::Result<OwnedFd>;
}

impl FileDisk {
    /// Opens and locks `path`.
    pub fn open(rt: &Rt, path: impl AsRef<Path>, options: &FileOptions) -> Result<FileDisk, OpenError> {
        let path = path.as_ref();
        let refused = |source| OpenError::Io { path: path.into(), source };
        let Opened { file, size, sector, volatile_cache, regular } = open_disk(path, options)?;
        let len = options.len.unwrap_or(size.saturating_sub(options.offset));
        let end = options.offset.saturating_add(len);
        if end > size || !options.offset.is_multiple_of(u64::from(sector)) || !len.is_multiple_of(u64::from(sector)) {
            return Err(OpenError::Window { path: path.into(), offset: options.offset, end, size, sector });
        }
        let (engine, name) = engine(&file, options.engine).map_err(refused)?;
        let info = DiskInfo {
            size: len,
            sector,
            volatile_cache: options.volatile_cache.unwrap_or(volatile_cache),
            read_only: options.read_only,
            max_transfer: 1 << 20,
            depth: if name == "io_uring" { uring::DEPTH } else { pool::THREADS * 2 },
            immediate: false,
        };
        let bell = Rc::new(Notify::new());
        let watch = rt.watch(engine.bell().map_err(refused)?);
        rt.spawn(drive(rt.clone(), Rc::downgrade(&engine), watch, bell.clone()));
        Ok(FileDisk(Rc::new(Shared { info, offset: options.offset, regular, file, engine, bell, name })))
    }

    /// Who makes the system calls: `io_uring` or `threads`.
    pub fn engine(&self) -> &'static str {
        self.0.name
    }

    fn submit(&self, work: Work) -> Receiver<Done> {
        let receiver = self.0.engine.submit(work);
        if self.0.engine.busy() {
            self.0.bell.notify_one();
        }
        receiver
    }

    fn ask<T: Unpin + 'static>(
        &self,
        request: Request,
        work: Work,
        answer: impl FnOnce(Work) -> Result<T, Cause> + 'static,
    ) -> DiskFuture<Result<T, DiskError>> {
        if let Err(error) = self.0.info.check(request.op, request.at, request.len) {
            return DiskFuture::now(Err(error));
        }
        let size = self.0.info.size;
        let finish = move |done: Done| {
            let outcome = done.map_err(|fault| cause_of(fault, size)).and_then(answer);
            outcome.map_err(|cause| DiskError::new(request.op, request.at, request.len, cause))
        };
        let mut receiver = self.submit(work);
        match receiver.try_take() {
            Some(done) => DiskFuture::now(finish(done)),
            None => {
                DiskFuture::later(async move { finish(receiver.await.unwrap_or(Err(Fault::System(Errno::CANCELED)))) })
            }
        }
    }
}

struct Request {
    op: DiskOp,
    at: DiskOff,
    len: u64,
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.bell.notify_one();
    }
}

fn engine(file: &File, choice: EngineChoice) -> io::Result<(Rc<dyn Engine>, &'static str)> {
    let choice = match (choice, std::env::var("ORDO_IO").as_deref()) {
        (EngineChoice::Auto, Ok("uring")) => EngineChoice::Uring,
        (EngineChoice::Auto, Ok("threads")) => EngineChoice::Threads,
        _ => choice,
    };
    if choice != EngineChoice::Threads {
        match uring::Ring::new(file) {
            Ok(ring) => return Ok((Rc::new(ring), "io_uring")),
            // EPERM, ENOSYS, ENOMEM (locked memory), EMFILE: whatever the reason, threads need less.
            Err(error) if choice == EngineChoice::Uring => return Err(error),
            Err(_) => {}
        }
    }
    Ok((Rc::new(pool::Pool::new(file)?), "threads"))
}

/// Passes answers on as they come. Rests while nothing is under way, so that an idle disk neither keeps virtual time
/// from moving nor hides a deadlock; ends with the disk.
async fn drive(rt: Rt, engine: Weak<dyn Engine>, watch: rt::Watch, bell: Rc<Notify>) {
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
        Fault::System(Errno::OPNOTSUPP) => Cause::Unsupported,
        Fault::System(errno) => Cause::Io(errno.raw_os_error()),
    }
}

impl Disk for FileDisk {
    fn info(&self) -> DiskInfo {
        self.0.info.clone()
    }

    fn read(&self, at: DiskOff, parts: Vec<ReadPart>) -> DiskFuture<Result<Vec<ReadPart>, DiskError>> {
        let request = Request { op: DiskOp::Read, at, len: read_len(&parts) };
        let work = Work::Read { at: self.0.offset.saturating_add(at.0), parts };
        self.ask(request, work, |work| match work {
            Work::Read { parts, .. } => Ok(parts),
            _ => Err(Cause::Unsupported),
        })
    }

    fn write(&self, at: DiskOff, parts: Vec<WritePart>, fua: bool) -> DiskFuture<Result<(), DiskError>> {
        let request = Request { op: DiskOp::Write, at, len: write_len(&parts) };
        let work = Work::Write { at: self.0.offset.saturating_add(at.0), parts, fua };
        self.ask(request, work, |_| Ok(()))
    }

    fn flush(&self) -> DiskFuture<Result<(), DiskError>> {
        if self.0.info.read_only {
            return DiskFuture::now(Ok(()));
        }
        let shared = self.0.clone();
        self.ask(Request { op: DiskOp::Flush, at: DiskOff(0), len: 0 }, Work::Flush, move |_| {
            let size = shared.info.size;
            let gone = shared.regular && size_of(&shared.file).is_ok_and(|now| now < shared.offset + size);
            if gone { Err(Cause::Gone { size }) } else { Ok(()) }
        })
    }

    fn discard(&self, at: DiskOff, len: u64) -> DiskFuture<Result<(), DiskError>> {
        let work = Work::Punch { at: self.0.offset.saturating_add(at.0), len };
        self.ask(Request { op: DiskOp::Discard, at, len }, work, |_| Ok(()))
    }
}

#[cfg(test)]
mod tests;
