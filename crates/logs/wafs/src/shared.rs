//! A log for many threads: it runs on a thread of its own, and other threads call it.
//!
//! Calls of several threads wait there together, and one write serves them all: this is where group commit pays.

use crate::{Error, FileError, Log, Lsn, Mode, MountOptions};
use ordo_disk::FileOptions;
use ordo_rt::Rt;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread::JoinHandle;
use std::time::Duration;

/// In mode async, an appended record is durable after this time and the disk's own latency at the latest.
const TICK: Duration = Duration::from_secs(1);

type Job = Box<dyn FnOnce(Log) -> Pin<Box<dyn Future<Output = ()>>> + Send>;

/// A mounted log that any thread may call. Clones are handles of the same log; dropping the last one unmounts it.
#[derive(Clone)]
pub struct SharedLog(Arc<Owner>);

struct Owner {
    jobs: Arc<Jobs>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Jobs(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    jobs: VecDeque<Job>,
    closed: bool,
    waker: Option<Waker>,
}

impl SharedLog {
    /// Mounts the log in a file or on a device, on a new thread.
    ///
    /// # Errors
    /// As [`Log::mount_file`].
    pub fn mount(path: impl AsRef<Path>, file: &FileOptions, options: MountOptions) -> Result<SharedLog, FileError> {
        let (path, file) = (path.as_ref().to_owned(), file.clone());
        SharedLog::start(move |rt| async move { Log::mount_file(&rt, path, &file, options).await })
    }

    /// Runs `mount` on a new thread and serves the log that it returns.
    ///
    /// # Errors
    /// Those of `mount`.
    pub fn start<E, F, M>(mount: M) -> Result<SharedLog, E>
    where
        E: Send + 'static,
        M: FnOnce(Rt) -> F + Send + 'static,
        F: Future<Output = Result<Log, E>> + 'static,
    {
        let (jobs, (told, mounted)) = (Arc::new(Jobs::default()), sync_channel(1));
        let mine = jobs.clone();
        let thread = std::thread::spawn(move || {
            let rt = Rt::real_time();
            match rt.block_on(mount(rt.clone())) {
                Ok(log) => {
                    // The thread that called `start` is waiting for this.
                    let _ = told.send(Ok(()));
                    rt.block_on(run(&rt, log, &mine));
                }
                Err(error) => drop(told.send(Err(error))),
            }
            // The file is closed with the last task that holds it.
            rt.drop_tasks();
        });
        let owner = Owner { jobs, thread: Some(thread) };
        // OK to expect: the thread sends before it ends, and ends otherwise only by a panic in our code.
        mounted.recv().expect("the log's thread has failed")?;
        Ok(SharedLog(Arc::new(owner)))
    }

    /// Runs `work` on the log's thread and waits for its end. Calls begin in the order in which they are made.
    ///
    /// # Panics
    /// If the log's thread has panicked.
    pub fn call<T, F, W>(&self, work: W) -> T
    where
        T: Send + 'static,
        W: FnOnce(Log) -> F + Send + 'static,
        F: Future<Output = T> + 'static,
    {
        let (told, answer) = sync_channel(1);
        let job = move |log| -> Pin<Box<dyn Future<Output = ()>>> {
            // The caller waits for it.
            Box::pin(async move { drop(told.send(work(log).await)) })
        };
        self.0.jobs.add(Box::new(job));
        answer.recv().expect("the log's thread has failed")
    }

    /// As [`Log::commit`].
    ///
    /// # Errors
    /// As there.
    pub fn commit(&self, data: Vec<u8>) -> Result<Lsn, Error> {
        self.call(|log| async move { log.commit(&data).await })
    }

    /// As [`Log::append_patiently`].
    ///
    /// # Errors
    /// As there.
    pub fn append(&self, data: Vec<u8>) -> Result<Lsn, Error> {
        self.call(|log| async move { log.append_patiently(&data).await })
    }

    /// As [`Log::force`].
    ///
    /// # Errors
    /// As there.
    pub fn force(&self, lsn: Lsn) -> Result<(), Error> {
        self.call(move |log| async move { log.force(lsn).await })
    }

    /// As [`Log::reclaim`].
    ///
    /// # Errors
    /// As there.
    pub fn reclaim(&self, low: Lsn) -> Result<(), Error> {
        self.call(move |log| async move { log.reclaim(low) })
    }

    /// As [`Log::sync`].
    ///
    /// # Errors
    /// As there.
    pub fn sync(&self) -> Result<(), Error> {
        self.call(|log| async move { log.sync().await })
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.jobs.change(|waiting| waiting.closed = true);
        if let Some(thread) = self.thread.take() {
            // Its panic was reported to the callers.
            let _ = thread.join();
        }
    }
}

impl Jobs {
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Waiting)) {
        let waker = {
            let mut waiting = self.lock();
            change(&mut waiting);
            waiting.waker.take()
        };
        waker.inspect(Waker::wake_by_ref);
    }

    fn add(&self, job: Job) {
        self.change(|waiting| waiting.jobs.push_back(job));
    }

    /// The next job; `None` when no handle is left that could send one.
    async fn next(&self) -> Option<Job> {
        poll_fn(|cx| {
            let mut waiting = self.lock();
            let job = waiting.jobs.pop_front();
            if job.is_none() && !waiting.closed {
                waiting.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            Poll::Ready(job)
        })
        .await
    }
}

async fn run(rt: &Rt, log: Log, jobs: &Jobs) {
    if log.mode() == Mode::Async {
        rt.spawn(tick(rt.clone(), log.clone()));
    }
    while let Some(job) = jobs.next().await {
        rt.spawn(job(log.clone()));
    }
    // A log that failed has reported the error to its callers.
    let _ = log.unmount().await;
}

async fn tick(rt: Rt, log: Log) {
    loop {
        rt.sleep(TICK).await;
        // The log keeps the error, and the next caller receives it.
        if log.last() >= log.durable() && log.force(log.last()).await.is_err() {
            return;
        }
    }
}
