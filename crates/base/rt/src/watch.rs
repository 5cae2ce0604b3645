//! Descriptors that tasks wait for: `poll(2)`, level triggered.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use rustix::event::PollFlags;
use rustix::fd::AsFd;

use crate::Rt;

/// A descriptor that can be awaited; made by [`Rt::watch`] or [`Rt::watch_writes`]. It keeps the descriptor open.
pub struct Watch {
    rt: Rt,
    slot: usize,
}

impl Watch {
    pub(crate) fn of_reads(rt: Rt, fd: Rc<dyn AsFd>) -> Watch {
        Watch::new(rt, fd, PollFlags::IN)
    }

    pub(crate) fn of_writes(rt: Rt, fd: Rc<dyn AsFd>) -> Watch {
        Watch::new(rt, fd, PollFlags::OUT)
    }

    fn new(rt: Rt, fd: Rc<dyn AsFd>, events: PollFlags) -> Watch {
        let slot = rt.watches().borrow_mut().add(fd, events);
        Watch { rt, slot }
    }

    /// Ready when the descriptor has data, is closed at the other end, or has failed: when a read would not block. For
    /// a watch of writes: when it has room, or has failed. One task at a time may wait for one watch.
    pub fn readable(&self) -> Readable<'_> {
        Readable { watch: self }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let slot = self.rt.watches().borrow_mut().slots[self.slot].take();
        drop(slot);
    }
}

/// See [`Watch::readable`].
#[must_use = "futures do nothing until they are awaited"]
pub struct Readable<'a> {
    watch: &'a Watch,
}

impl Future for Readable<'_> {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut watches = self.watch.rt.watches().borrow_mut();
        // The slot lives as long as the watch, which this future borrows.
        let Some(slot) = watches.slots[self.watch.slot].as_mut() else { return Poll::Pending };
        if std::mem::take(&mut slot.readable) {
            return Poll::Ready(());
        }
        slot.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

impl Drop for Readable<'_> {
    fn drop(&mut self) {
        if let Some(slot) = self.watch.rt.watches().borrow_mut().slots[self.watch.slot].as_mut() {
            slot.waiting = None;
        }
    }
}

impl Rt {
    /// Registers a descriptor that tasks will wait for. Pass it owned or shared (`OwnedFd`, `Rc<File>`): the watch
    /// keeps it open.
    pub fn watch(&self, fd: impl AsFd + 'static) -> Watch {
        Watch::of_reads(self.clone(), Rc::new(fd))
    }

    /// The same for who waits until the descriptor has room for what is to be written: a socket.
    pub fn watch_writes(&self, fd: impl AsFd + 'static) -> Watch {
        Watch::of_writes(self.clone(), Rc::new(fd))
    }

    /// Ready when a read of `fd` would not block. For more than one wait keep a [`Rt::watch`].
    pub async fn readable(&self, fd: impl AsFd + 'static) {
        self.watch(fd).readable().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::pipe::pipe;
    use std::cell::RefCell;
    use std::time::Duration;

    #[test]
    fn a_pipe_is_readable_once_a_byte_is_in_it() {
        let rt = Rt::real_time();
        let (reader, writer) = pipe().unwrap();
        let reader = Rc::new(reader);
        let watch = rt.watch(reader.clone());
        let (rt2, wrote) = (rt.clone(), Rc::new(RefCell::new(false)));
        let flag = wrote.clone();
        rt.spawn(async move {
            rt2.sleep(Duration::from_millis(2)).await;
            *flag.borrow_mut() = true;
            rustix::io::write(&writer, b"x").unwrap();
        });
        rt.block_on(watch.readable());
        assert!(*wrote.borrow());
        rt.block_on(watch.readable()); // level triggered: the byte is still there
    }

    #[test]
    fn a_full_pipe_is_writable_once_it_was_read() {
        let rt = Rt::real_time();
        let (reader, writer) = pipe().unwrap();
        rustix::io::ioctl_fionbio(&writer, true).unwrap();
        while rustix::io::write(&writer, &[0; 4096]).is_ok() {}
        let room = rt.watch_writes(writer);
        let (rt2, read) = (rt.clone(), Rc::new(RefCell::new(false)));
        let flag = read.clone();
        rt.spawn(async move {
            rt2.sleep(Duration::from_millis(2)).await;
            *flag.borrow_mut() = true;
            rustix::io::read(&reader, &mut [0; 65536][..]).unwrap();
            rt2.sleep(Duration::from_secs(60)).await;
        });
        rt.block_on(room.readable());
        assert!(*read.borrow());
    }

    #[test]
    fn a_task_that_is_always_ready_does_not_keep_a_pipe_from_its_reader() {
        let rt = Rt::real_time();
        let (reader, writer) = pipe().unwrap();
        let watch = rt.watch(reader);
        let seen = Rc::new(RefCell::new(false));
        let flag = seen.clone();
        rt.spawn(async move {
            watch.readable().await;
            *flag.borrow_mut() = true;
        });
        rustix::io::write(&writer, b"x").unwrap();
        let began = rt.now();
        rt.block_on(async {
            while !*seen.borrow() {
                assert!(rt.now() - began < Duration::from_secs(10), "the pipe is never looked at");
                rt.yield_now().await;
            }
        });
    }

    #[test]
    fn virtual_time_stands_still_while_the_outside_is_awaited() {
        let rt = Rt::virtual_time(1);
        let (reader, writer) = pipe().unwrap();
        let watch = rt.watch(reader);
        let thread = std::thread::spawn(move || rustix::io::write(&writer, b"x").unwrap());
        let rt2 = rt.clone();
        rt.spawn(async move { rt2.sleep(Duration::from_secs(1)).await });
        rt.block_on(watch.readable());
        assert_eq!(rt.now(), crate::Time::ZERO);
        thread.join().unwrap();
    }
}
