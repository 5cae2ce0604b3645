//! The list of tasks that are ready to run, and the wakers that fill it.
//!
//! The list is the only part of the executor that other threads touch: a thread of the disk's pool wakes the task that
//! waits for its request. The order of the list is the order of the wakes (rt-1).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::Wake;

use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;

/// The id of a task: its slot, and how many tasks had that slot before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId {
    pub(crate) slot: u32,
    pub(crate) generation: u32,
}

impl TaskId {
    /// The future that `block_on` was called with; it lives on the caller's stack, not in a slot.
    pub(crate) const MAIN: TaskId = TaskId { slot: u32::MAX, generation: 0 };
}

#[derive(Default)]
pub(crate) struct Ready {
    list: Mutex<VecDeque<TaskId>>,
    /// Set while the executor sleeps in `poll`, or is about to: a wake must then also ring the bell.
    asleep: AtomicBool,
    bell: OnceLock<OwnedFd>,
}

impl Ready {
    pub(crate) fn push(&self, task: TaskId) {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).push_back(task);
        // A load first, which is cheap: an executor that sets the flag after it looks at the list once more.
        if self.asleep.load(Ordering::SeqCst)
            && self.asleep.swap(false, Ordering::SeqCst)
            && let Some(bell) = self.bell.get()
        {
            // An eventfd refuses a write only when its counter is full, and then it is readable anyway.
            let _ = rustix::io::write(bell, &1u64.to_ne_bytes());
        }
    }

    pub(crate) fn pop(&self) -> Option<TaskId> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }

    pub(crate) fn len(&self) -> usize {
        self.list.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Announces that the executor is about to sleep. `None`: a wake came first, do not sleep. The flag is set before
    /// the list is checked; the other order would lose a wake in between.
    pub(crate) fn fall_asleep(&self) -> rustix::io::Result<Option<&OwnedFd>> {
        if self.bell.get().is_none() {
            let _ = self.bell.set(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?);
        }
        self.asleep.store(true, Ordering::SeqCst);
        if self.len() > 0 {
            self.asleep.store(false, Ordering::SeqCst);
            return Ok(None);
        }
        Ok(self.bell.get())
    }

    pub(crate) fn awake(&self, bell_rang: bool) {
        self.asleep.store(false, Ordering::SeqCst);
        if bell_rang && let Some(bell) = self.bell.get() {
            let _ = rustix::io::read(bell, &mut [0u8; 8]);
        }
    }
}

/// The waker of one task.
pub(crate) struct TaskWaker {
    pub(crate) task: TaskId,
    pub(crate) ready: Arc<Ready>,
    /// Already in the list, or finished: one entry per task is enough.
    pub(crate) queued: AtomicBool,
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.queued.swap(true, Ordering::SeqCst) {
            self.ready.push(self.task);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    fn rings(bell: &OwnedFd) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut [PollFd::new(bell, PollFlags::IN)], Some(&now)).unwrap() == 1
    }

    #[test]
    fn a_wake_before_the_sleep_prevents_it_and_one_during_it_rings() {
        let ready = Ready::default();
        ready.push(TaskId::MAIN);
        assert!(ready.fall_asleep().unwrap().is_none());
        ready.pop();
        let bell = ready.fall_asleep().unwrap().unwrap();
        assert!(!rings(bell));
        ready.push(TaskId::MAIN);
        assert!(rings(bell));
        ready.awake(true);
        assert!(!rings(bell));
    }
}
