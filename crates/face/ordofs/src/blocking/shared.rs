//! A volume for many threads and for any async executor: it lives on a thread of its own, and calls are sent to it.
//!
//! S1. The engine is made for one thread, and stays on it. What crosses threads is the work of a call and its result.
//! S2. Between two calls the thread runs the volume's own tasks: write-back, and the commits by age. A [`Volume`] of
//!     one thread has these only while one of its calls runs.
//! S3. Each call gets a result. If the thread ends before a call has run (the volume was unmounted, or the work of
//!     another call panicked), it is an error.
//! S4. Calls run one after the other, each whole, in the order in which they were sent.
//! S5. The volume's thread never waits for itself: in the work of a call, waiting for another call or unmounting is an
//!     error, and the last handle may be dropped there.
//! S6. A fork copies the handles and not the thread. In the child each call is an error at once, and dropping a handle
//!     waits for nothing: what belongs to the threads, locks too, is as the fork found it, and is not touched.

use super::Volume;
use super::open_files::OpenFiles;
use crate::OpenError;
use ordo_rt::sync::Inbox;
use std::future::Future;
use std::io;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{JoinHandle, ThreadId};

type Job = Box<dyn FnOnce(&Volume, &OpenFiles) + Send>;

/// A volume that threads share; a clone is a handle of the same one.
///
/// When the last handle is dropped, or one calls [`SharedVolume::unmount`], the volume is unmounted.
///
/// ```
/// use ordofs::{NewVolume, SharedVolume, Volume};
/// # let dir = tempfile::tempdir()?;
/// # let image = dir.path().join("disk.img");
/// # NewVolume::new(16 << 20).create(&image)?;
/// let volume = SharedVolume::start(move || Volume::open(&image)?.mount())?;
/// let writers: Vec<_> = (0..4)
///     .map(|i| {
///         let volume = volume.clone();
///         std::thread::spawn(move || volume.call(move |v| v.write(format!("/{i}"), b"x")).wait())
///     })
///     .collect();
/// for writer in writers {
///     writer.join().unwrap()?;
/// }
/// // In an async function: volume.call(...).await
/// assert_eq!(volume.call(|v| v.read("/3")).wait()?, b"x");
/// volume.unmount()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedVolume(Arc<Handle>);

struct Handle {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<ordo_vfs::Result<()>>>>,
    id: ThreadId,
    /// The process that has the thread (S6).
    process: u32,
}

impl Handle {
    fn is_here(&self) -> bool {
        std::process::id() == self.process
    }
}

/// The calls that the thread has not begun.
type Queue = Inbox<Job>;

/// A mutex protects no more than one change here, so a panic elsewhere leaves nothing half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::NotConnected, "the volume was unmounted, or its thread has ended")
}

/// Refuses the volume's own thread (S5).
fn not_on(volume: ThreadId) -> io::Result<()> {
    match std::thread::current().id() == volume {
        true => Err(io::Error::new(io::ErrorKind::Deadlock, "the work of a call cannot wait for its own volume")),
        false => Ok(()),
    }
}

/// Ends the queue with the thread, also by a panic: jobs that are dropped tell their callers (S3).
struct Ends(Arc<Queue>);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abandon().for_each(drop);
    }
}

impl SharedVolume {
    /// Starts the thread, which mounts the volume with `mount`, for example `|| Volume::open("disk.img")?.mount()`.
    ///
    /// # Errors
    /// Those of `mount`, as [`OpenError::kind`] sorts them; the system's answer when no thread can be started.
    pub fn start(
        mount: impl FnOnce() -> Result<Volume, OpenError> + Send + 'static,
    ) -> Result<SharedVolume, io::Error> {
        let queue = Arc::new(Queue::default());
        let (served, slot) = (queue.clone(), Arc::new(Slot::new()));
        let mounted = Answer(Some(slot.clone()));
        let thread = std::thread::Builder::new().name("ordofs".into()).spawn(move || {
            let _ends = Ends(served.clone());
            let volume = match mount() {
                Ok(volume) => volume,
                Err(error) => {
                    mounted.give(Err(error.into()));
                    return Ok(());
                }
            };
            mounted.give(Ok(()));
            let files = OpenFiles::default();
            while let Some(job) = volume.rt.clone().block_on(served.next()) {
                job(&volume, &files);
            }
            // What is open keeps the file system in use.
            drop(files);
            volume.unmount()
        })?;
        slot.wait()?;
        let id = thread.thread().id();
        let process = std::process::id();
        Ok(SharedVolume(Arc::new(Handle { queue, thread: Mutex::new(Some(thread)), id, process })))
    }

    /// Sends the work of a call, for example `|v| v.read("/etc/motd")`. Await the result in any executor, or
    /// [`Calling::wait`] for it; the call also runs if neither is done.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Volume) -> ordo_vfs::Result<T> + Send + 'static,
    ) -> Calling<T> {
        self.call_with_files(|volume, _| work(volume).map_err(io::Error::from))
    }

    /// The same, for a call that may also use the files that are open.
    pub(super) fn call_with_files<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Volume, &OpenFiles) -> io::Result<T> + Send + 'static,
    ) -> Calling<T> {
        let slot = Arc::new(Slot::new());
        let answer = Answer(Some(slot.clone()));
        if let Err(forked) = self.is_here() {
            answer.give(Err(forked));
            return Calling { slot, volume: self.0.id };
        }
        // A job that is refused is dropped, which gives the answer.
        self.0.queue.send(Box::new(move |volume, files| answer.give(work(volume, files))));
        Calling { slot, volume: self.0.id }
    }

    /// Refuses a child of fork (S6).
    pub(super) fn is_here(&self) -> io::Result<()> {
        let why = "the volume belongs to the process that opened it: after a fork only the parent can use it";
        self.0.is_here().then_some(()).ok_or_else(|| io::Error::new(io::ErrorKind::NotConnected, why))
    }

    /// Unmounts the volume after all calls that were sent, and returns when it is clean. Other handles get errors from
    /// now on.
    ///
    /// # Errors
    /// What could not be written; `NotConnected` if another handle has done this, or after a fork; `Deadlock` in the
    /// work of a call (S5).
    pub fn unmount(self) -> io::Result<()> {
        not_on(self.0.id)?;
        self.is_here()?;
        self.0.queue.close();
        let thread = lock(&self.0.thread).take().ok_or_else(gone)?;
        thread.join().map_err(|_| gone())?.map_err(io::Error::from)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.is_here() {
            // Dropping it would ask the system to forget a thread that it does not know here.
            let _kept = ManuallyDrop::new(self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take());
            return;
        }
        self.queue.close();
        // On its own thread the volume is unmounted after the call that drops it.
        if let Some(thread) = lock(&self.thread).take().filter(|_| not_on(self.id).is_ok()) {
            // Errors of this unmount are the listener's, as those of a volume that is dropped.
            let _ = thread.join();
        }
    }
}

/// The place of one result.
struct Slot<T> {
    state: Mutex<Given<T>>,
    given: Condvar,
}

struct Given<T> {
    result: Option<io::Result<T>>,
    waker: Option<Waker>,
}

impl<T> Slot<T> {
    fn new() -> Slot<T> {
        Slot { state: Mutex::new(Given { result: None, waker: None }), given: Condvar::new() }
    }

    fn wait(&self) -> io::Result<T> {
        let mut state = lock(&self.state);
        loop {
            if let Some(result) = state.result.take() {
                return result;
            }
            state = self.given.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// The duty to give a result; dropped, it gives an error (S3).
struct Answer<T>(Option<Arc<Slot<T>>>);

impl<T> Answer<T> {
    fn give(mut self, result: io::Result<T>) {
        self.put(result);
    }

    fn put(&mut self, result: io::Result<T>) {
        let Some(slot) = self.0.take() else { return };
        let mut state = lock(&slot.state);
        state.result = Some(result);
        state.waker.take().inspect(Waker::wake_by_ref);
        slot.given.notify_one();
    }
}

impl<T> Drop for Answer<T> {
    fn drop(&mut self) {
        self.put(Err(gone()));
    }
}

/// A call that was sent; see [`SharedVolume::call`].
#[must_use = "the result of the call is in it: await it, or wait for it"]
pub struct Calling<T> {
    slot: Arc<Slot<T>>,
    volume: ThreadId,
}

impl<T> Calling<T> {
    /// Blocks this thread until the call has ended.
    ///
    /// # Errors
    /// Those of the call; `NotConnected` if the volume was unmounted before it; `Deadlock` in the work of another call,
    /// which runs first (S5).
    pub fn wait(self) -> io::Result<T> {
        not_on(self.volume)?;
        self.slot.wait()
    }
}

impl<T> Future for Calling<T> {
    type Output = io::Result<T>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        let mut state = lock(&self.slot.state);
        match state.result.take() {
            Some(result) => Poll::Ready(result),
            None => {
                state.waker = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}
