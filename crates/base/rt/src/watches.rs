//! The descriptors of an executor, and the poll that wakes who waits for them.

use std::cell::RefCell;
use std::rc::Rc;
use std::task::Waker;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;

use crate::ready::Ready;

#[derive(Default)]
pub(crate) struct Watches {
    pub(crate) slots: Vec<Option<Slot>>,
}

pub(crate) struct Slot {
    fd: Rc<dyn AsFd>,
    /// What is waited for.
    events: PollFlags,
    /// The waiting task; without one the descriptor is not polled.
    pub(crate) waiting: Option<Waker>,
    /// Data was there at the last poll, and no task has consumed the event yet.
    pub(crate) readable: bool,
}

impl Watches {
    pub(crate) fn add(&mut self, fd: Rc<dyn AsFd>, events: PollFlags) -> usize {
        let slot = Some(Slot { fd, events, waiting: None, readable: false });
        match self.slots.iter().position(Option::is_none) {
            Some(free) => {
                self.slots[free] = slot;
                free
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        }
    }

    pub(crate) fn any_waiting(&self) -> bool {
        self.slots.iter().flatten().any(|slot| slot.waiting.is_some())
    }
}

/// Polls every awaited descriptor, for at most `timeout` (`None`: until something happens), and wakes the waiting
/// tasks. A wake from another thread ends the wait.
pub(crate) fn turn(watches: &RefCell<Watches>, ready: &Ready, timeout: Option<Duration>) -> Result<(), Errno> {
    let awaited: Vec<(usize, PollFlags, Rc<dyn AsFd>)> = watches
        .borrow()
        .slots
        .iter()
        .enumerate()
        .filter_map(|(i, slot)| slot.as_ref().filter(|s| s.waiting.is_some()).map(|s| (i, s.events, s.fd.clone())))
        .collect();
    let looks_only = timeout.is_some_and(|t| t.is_zero());
    // A look does not sleep, so it happens even if tasks are ready: else one that is always ready would keep the
    // others from what they wait for.
    let bell = match looks_only {
        true => None,
        false => match ready.fall_asleep()? {
            Some(bell) => Some(bell),
            None => return Ok(()),
        },
    };
    let mut fds: Vec<PollFd<'_>> =
        awaited.iter().map(|(_, events, fd)| PollFd::from_borrowed_fd(fd.as_fd(), *events)).collect();
    fds.extend(bell.map(|bell| PollFd::new(bell, PollFlags::IN)));
    // A time too long for a timespec is as good as forever.
    let timeout = timeout.and_then(|t| Timespec::try_from(t).ok());
    let outcome = match poll(&mut fds, timeout.as_ref()) {
        Err(Errno::INTR) => Ok(0),
        other => other,
    };
    if bell.is_some() {
        ready.awake(fds.last().is_some_and(|bell| !bell.revents().is_empty()));
    }
    if outcome? == 0 {
        return Ok(());
    }
    for (fd, (i, ..)) in fds.iter().zip(&awaited) {
        if !fd.revents().is_empty() {
            let waker = watches.borrow_mut().slots[*i].as_mut().and_then(|slot| {
                slot.readable = true;
                slot.waiting.take()
            });
            waker.inspect(Waker::wake_by_ref);
        }
    }
    Ok(())
}
