//! Threads that make blocking calls: for systems and containers that refuse io_uring.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use ordo_rt::sync::{Receiver, Sender, oneshot};
use rustc_hash::FxHashMap;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, OwnedFd};

use super::Engine;
use super::work::{Done, Work};

/// Enough to keep a disk with a queue of its own busy, and few enough to cost nothing when they sleep.
pub(crate) const THREADS: u32 = 8;

/// See the module.
pub(crate) struct Pool {
    shared: Arc<Shared>,
    waiting: RefCell<FxHashMap<u64, Sender<Done>>>,
    next: Cell<u64>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared {
    file: File,
    todo: Mutex<Todo>,
    come: Condvar,
    done: Mutex<Vec<(u64, Done)>>,
    /// Rung after a result was put into `done`.
    bell: OwnedFd,
}

#[derive(Default)]
struct Todo {
    work: VecDeque<(u64, Work)>,
    closed: bool,
}

impl Pool {
    pub(crate) fn new(file: &File) -> std::io::Result<Pool> {
        let shared = Arc::new(Shared {
            file: file.try_clone()?,
            todo: Mutex::default(),
            come: Condvar::new(),
            done: Mutex::default(),
            bell: eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        });
        let mut pool = Pool { shared, waiting: RefCell::default(), next: Cell::new(0), threads: Vec::new() };
        for i in 0..THREADS {
            let shared = pool.shared.clone();
            let thread = std::thread::Builder::new().name(format!("ordo-disk-{i}"));
            pool.threads.push(thread.spawn(move || shared.serve())?);
        }
        Ok(pool)
    }
}

impl Shared {
    fn serve(&self) {
        while let Some((number, work)) = self.next() {
            let done = work.run(self.file.as_fd());
            lock(&self.done).push((number, done));
            // Refused only when the counter is full, and then the bell is ringing anyway.
            let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
        }
    }

    fn next(&self) -> Option<(u64, Work)> {
        let mut todo = lock(&self.todo);
        loop {
            if let Some(work) = todo.work.pop_front() {
                return Some(work);
            }
            if todo.closed {
                return None;
            }
            todo = self.come.wait(todo).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// No code that can panic runs under these locks, so a poisoned one still guards good data.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Engine for Pool {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        let number = self.next.get();
        self.next.set(number + 1);
        self.waiting.borrow_mut().insert(number, sender);
        lock(&self.shared.todo).work.push_back((number, work));
        self.shared.come.notify_one();
        receiver
    }

    fn reap(&self) {
        let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
        for (number, done) in std::mem::take(&mut *lock(&self.shared.done)) {
            let sender = self.waiting.borrow_mut().remove(&number);
            if let Some(sender) = sender {
                sender.send(done);
            }
        }
    }

    fn busy(&self) -> bool {
        !self.waiting.borrow().is_empty()
    }

    fn bell(&self) -> std::io::Result<OwnedFd> {
        self.shared.bell.try_clone()
    }
}

impl Drop for Pool {
    /// Submitted work completes before the file is closed: a write that is not awaited is still a write.
    fn drop(&mut self) {
        lock(&self.shared.todo).closed = true;
        self.shared.come.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
