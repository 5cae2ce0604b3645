//! Linux io_uring: one system call to submit a request, none to take a result that is already there.
//!
//! U1. The kernel reads and writes the buffers of a request until its completion is taken from the ring. So the table
//!     here owns the buffers and the list of their addresses, and releases them only then. A dropped future frees
//!     nothing.
//! U2. The ring is not released while a request is in flight: dropping it waits.
//!
//! This is the only file of the crate with unsafe code.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fs::File;
use std::io;

use io_uring::squeue::Entry;
use io_uring::{IoUring, Probe, opcode, types};
use ordo_rt::sync::{Receiver, Sender, oneshot};
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::{Errno, ReadWriteFlags};

use super::Engine;
use super::work::{Done, Fault, IOV_MAX, PUNCH, Work};

/// The most requests in flight; more wait here.
pub(crate) const DEPTH: u32 = 64;

/// See the module.
pub(crate) struct Ring(RefCell<State>);

struct State {
    ring: IoUring,
    /// Open for as long as the ring is in use: the kernel knows it by its number.
    file: File,
    /// Boxed, so that a growing table does not touch what the kernel is using (U1).
    table: Vec<Option<Box<Pending>>>,
    free: Vec<usize>,
    under_way: usize,
    backlog: VecDeque<usize>,
}

struct Pending {
    work: Work,
    /// Pointers into the buffers that `work` owns.
    slices: Vec<Slice>,
    /// The first slice that is not done.
    first: usize,
    /// The offset and the number of the bytes that are not done.
    at: u64,
    left: u64,
    sender: Sender<Done>,
}

/// `struct iovec`.
#[repr(C)]
struct Slice {
    base: *mut u8,
    len: usize,
}

impl Ring {
    pub(crate) fn new(file: &File) -> io::Result<Ring> {
        let ring = IoUring::new(DEPTH)?;
        let mut probe = Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let wanted = [opcode::Readv::CODE, opcode::Writev::CODE, opcode::Fsync::CODE, opcode::Fallocate::CODE];
        if !wanted.iter().all(|&code| probe.is_supported(code)) {
            return Err(Errno::NOSYS.into());
        }
        let (table, free, backlog) = (Vec::new(), Vec::new(), VecDeque::new());
        Ok(Ring(RefCell::new(State { ring, file: file.try_clone()?, table, free, under_way: 0, backlog })))
    }
}

impl Pending {
    fn new(work: Work, sender: Sender<Done>) -> Box<Pending> {
        let mut pending = Box::new(Pending { work, slices: Vec::new(), first: 0, at: 0, left: 0, sender });
        // The addresses are taken where the buffers stay: those taken before a move are not valid after it.
        let (at, slices): (u64, Vec<Slice>) = match &mut pending.work {
            Work::Read { at, parts } => {
                let blocks = parts.iter_mut().map(|part| &mut part.block);
                (*at, blocks.map(|block| Slice { base: block.as_mut_ptr(), len: block.len() }).collect())
            }
            Work::Write { at, parts, .. } => {
                // The kernel only reads through these: a write never changes its source.
                let images = parts.iter().map(|part| &part.image);
                (*at, images.map(|image| Slice { base: image.as_ptr().cast_mut(), len: image.len() }).collect())
            }
            Work::Flush | Work::Punch { .. } | Work::Extents { .. } => (0, Vec::new()),
        };
        pending.left = slices.iter().map(|slice| slice.len as u64).sum();
        (pending.at, pending.slices) = (at, slices);
        pending
    }

    fn entry(&self, file: &File) -> Entry {
        let fd = types::Fd(file.as_raw_fd());
        let slices = &self.slices[self.first..];
        let count = slices.len().min(IOV_MAX) as u32;
        match &self.work {
            Work::Read { .. } => opcode::Readv::new(fd, slices.as_ptr().cast(), count).offset(self.at).build(),
            Work::Write { fua, .. } => {
                let flags = if *fua { ReadWriteFlags::DSYNC.bits() as i32 } else { 0 };
                opcode::Writev::new(fd, slices.as_ptr().cast(), count).offset(self.at).rw_flags(flags).build()
            }
            Work::Flush => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
            // It finds nothing: files are not asked.
            Work::Extents { .. } => opcode::Nop::new().build(),
            Work::Punch { at, len } => opcode::Fallocate::new(fd, *len).offset(*at).mode(PUNCH.bits() as i32).build(),
        }
    }

    /// Records a completion. `None`: there is more to do.
    fn answer(&mut self, result: i32) -> Option<Result<(), Fault>> {
        if result < 0 {
            let errno = Errno::from_raw_os_error(-result);
            let again = errno == Errno::INTR || errno == Errno::AGAIN;
            return (!again).then_some(Err(Fault::System(errno)));
        }
        if self.left == 0 {
            return Some(Ok(()));
        }
        if result == 0 {
            let read = matches!(self.work, Work::Read { .. });
            return Some(Err(if read { Fault::Ended } else { Fault::Nothing }));
        }
        // The kernel never reports more than was requested; `min` only keeps the arithmetic safe.
        let mut done = (result as usize).min(self.left as usize);
        self.at += done as u64;
        self.left -= done as u64;
        while done > 0 {
            let slice = &mut self.slices[self.first];
            let part = done.min(slice.len);
            slice.base = slice.base.wrapping_add(part);
            slice.len -= part;
            done -= part;
            self.first += usize::from(slice.len == 0);
        }
        (self.left == 0).then_some(Ok(()))
    }
}

impl State {
    fn insert(&mut self, pending: Box<Pending>) -> usize {
        match self.free.pop() {
            Some(index) => {
                self.table[index] = Some(pending);
                index
            }
            None => {
                self.table.push(Some(pending));
                self.table.len() - 1
            }
        }
    }

    fn start(&mut self, index: usize) {
        let State { ring, file, table, under_way, .. } = self;
        let Some(pending) = &table[index] else { return };
        let entry = pending.entry(file).user_data(index as u64);
        // SAFETY: The entry names the file, which `State` keeps open, the list `slices` and the buffers that it points
        // to. Both are owned by `pending`, on the heap, and are neither moved, changed nor freed before the completion
        // is taken from the ring (U1, U2): only `reap` takes a pending request out of the table or changes it, when
        // the kernel has answered it. Read buffers are not looked at before that; written images are shared and
        // immutable (`Arc`), whoever else changes one copies it first.
        let pushed = unsafe { ring.submission().push(&entry) };
        // OK to expect: the ring has room for DEPTH entries, and at most DEPTH are in flight.
        pushed.expect("the submission queue has room");
        *under_way += 1;
    }

    /// Submits the waiting entries to the kernel. If the kernel is short of memory, or full of completions, they stay
    /// for the next call.
    fn submit(&mut self) {
        while self.under_way < DEPTH as usize {
            let Some(index) = self.backlog.pop_front() else { break };
            self.start(index);
        }
        if self.ring.submission().is_empty() {
            return;
        }
        if let Err(error) = self.ring.submit() {
            let later = [Errno::INTR, Errno::AGAIN, Errno::BUSY];
            let waits = Errno::from_io_error(&error).is_some_and(|errno| later.contains(&errno));
            assert!(waits, "io_uring refuses work: {error}");
        }
    }

    fn take_answers(&mut self) -> Vec<(Sender<Done>, Done)> {
        let mut finished = Vec::new();
        while let Some(answer) = self.ring.completion().next() {
            let index = answer.user_data() as usize;
            self.under_way -= 1;
            let Some(mut pending) = self.table.get_mut(index).and_then(Option::take) else { continue };
            match pending.answer(answer.result()) {
                None => {
                    self.table[index] = Some(pending);
                    self.backlog.push_back(index);
                }
                Some(outcome) => {
                    self.free.push(index);
                    let Pending { work, sender, .. } = *pending;
                    finished.push((sender, outcome.map(|()| work)));
                }
            }
        }
        finished
    }
}

impl Engine for Ring {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        {
            let mut state = self.0.borrow_mut();
            let index = state.insert(Pending::new(work, sender));
            state.backlog.push_back(index);
        }
        // Requests served by the page cache complete within the call.
        self.reap();
        receiver
    }

    fn reap(&self) {
        let finished = {
            let mut state = self.0.borrow_mut();
            state.submit();
            let finished = state.take_answers();
            if !state.backlog.is_empty() {
                state.submit();
            }
            finished
        };
        for (sender, done) in finished {
            sender.send(done);
        }
    }

    fn busy(&self) -> bool {
        let state = self.0.borrow();
        state.under_way + state.backlog.len() > 0
    }

    fn stuck(&self) -> bool {
        !self.0.borrow_mut().ring.submission().is_empty()
    }

    fn bell(&self) -> io::Result<OwnedFd> {
        let state = self.0.borrow();
        // SAFETY: the descriptor belongs to the ring, which lives through this statement.
        unsafe { BorrowedFd::borrow_raw(state.ring.as_raw_fd()) }.try_clone_to_owned()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let state = self.0.get_mut();
        while state.under_way + state.backlog.len() > 0 {
            state.submit();
            match state.ring.submit_and_wait(1) {
                Ok(_) => drop(state.take_answers()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    // U2: the kernel may still write to these buffers. They are never freed.
                    Box::leak(Box::new(std::mem::take(&mut state.table)));
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Block, Tag, WritePart};

    #[test]
    fn a_short_answer_leaves_the_rest_to_do() {
        let part = || WritePart { image: Block::zeroed(1024).image(), tag: Tag::default() };
        let work = Work::Write { at: 4096, parts: vec![part(), part(), part()], fua: false };
        let mut pending = Pending::new(work, oneshot().0);
        let second = pending.slices[1].base as usize;
        assert!(pending.answer(1500).is_none());
        let slice = &pending.slices[pending.first];
        assert_eq!((pending.at, pending.left, pending.first), (5596, 1572, 1));
        assert_eq!((slice.base as usize - second, slice.len), (476, 548));
        assert!(pending.answer(-Errno::AGAIN.raw_os_error()).is_none());
        assert!(pending.answer(1572).is_some_and(|outcome| outcome.is_ok()));
        let work = Work::Write { at: 4096, parts: vec![part()], fua: false };
        assert!(matches!(Pending::new(work, oneshot().0).answer(0), Some(Err(Fault::Nothing))));
        assert!(Pending::new(Work::Flush, oneshot().0).answer(0).is_some_and(|outcome| outcome.is_ok()));
    }
}
