//! FUSE over io_uring: requests and replies in memory that is shared with the kernel. A reply is one system call, which
//! also requests the next message; reading a request needs none.
//!
//! The kernel has a queue for each processor; each queue has several slots here, all of them in one ring. INIT, FORGET
//! and notifications still use `/dev/fuse`.
//!
//! U1. A slot is held by the kernel, by the server or by one message, and [`Slots`] checks the holder on every access.
//!     The kernel holds it from its submission until its completion is taken from the ring, and uses it at no other
//!     time.
//! U2. Memory that the kernel may still write to is never freed: if the transport ends before the mount, it is leaked.
//! U3. There is a slot for every submission in flight, so that the rings are never full.
//!
//! This is the only file of the crate with unsafe code.
#![allow(unsafe_code)]

use super::devfuse::DevFuse;
use super::message::{Message, SMALL};
use super::seam::{Gone, MAX_TRANSFER, Notifier, Transport};
use crate::first::{First, first};
use crate::proto::abi::{InHeader, OutHeader, UringCommand, UringEntry};
use crate::proto::reply::{Answer, Notice, Reply};
use io_uring::squeue::Entry128;
use io_uring::{IoUring, cqueue, opcode, types};
use ordo_rt::{Rt, Watch};
use rustc_hash::FxHashMap;
use rustix::fd::{AsRawFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::rc::Rc;
use zerocopy::{FromZeros, IntoBytes};

/// `fuse_uring_cmd` of `<linux/fuse.h>`.
const REGISTER: u32 = 1;
const COMMIT_AND_FETCH: u32 = 2;
const PARAMETER: &str = "/sys/module/fuse/parameters/enable_uring";
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// Slots of one queue, at least and at most; 64 in all unless there are more than 32 processors. Each may hold a whole
/// transfer.
const DEPTH: Range<usize> = 2..8;
const SLOTS: usize = 64;
/// Requests taken from the ring in a row before `/dev/fuse` is read: otherwise, under load, FORGETs would wait for
/// ever.
const TURN: u32 = 256;

/// Layout of a slot: `fuse_uring_req_header` (the message's header, the operation's arguments, the entry), the list of
/// the two buffers, and, on a page of its own, the payload. The room before the payload is free for the two headers, so
/// that a large message is contiguous.
const ARGUMENTS: usize = 128;
const ARGUMENTS_MOST: usize = 128;
const ENTRY: usize = 256;
const BUFFERS: usize = ENTRY + size_of::<UringEntry>();
const PAYLOAD: usize = PAGE;
const SLOT: usize = PAYLOAD + MAX_TRANSFER as usize;
const PAGE: usize = 4096;

/// Why there is no FUSE over io_uring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoUring {
    /// Before Linux 6.14, or built without it.
    #[error("this kernel has no FUSE over io_uring (Linux 6.14 brought it); use transport=classic")]
    Missing,
    /// The module's parameter is N.
    #[error(
        "FUSE over io_uring is switched off; as root: echo Y > /sys/module/fuse/parameters/enable_uring, \
         or use transport=classic"
    )]
    Off,
    /// io_uring as a whole is disabled.
    #[error("io_uring is refused: {0}; see sysctl kernel.io_uring_disabled, or use transport=classic")]
    Refused(Errno),
}

/// Whether FUSE over io_uring is available.
pub(super) fn available() -> Result<(), NoUring> {
    match std::fs::read_to_string(PARAMETER) {
        Ok(value) if value.trim() == "Y" => ring(1).map(drop),
        Ok(_) => Err(NoUring::Off),
        Err(_) => Err(NoUring::Missing),
    }
}

fn ring(entries: usize) -> Result<IoUring<Entry128>, NoUring> {
    // Completions are only processed after a system call, so the kernel need not interrupt the server for them.
    let built =
        IoUring::<Entry128, cqueue::Entry>::builder().setup_single_issuer().setup_coop_taskrun().build(entries as u32);
    built.map_err(|error| NoUring::Refused(errno_of(&error)))
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// How many processors `list` names, as in `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let each = list.trim().split(',').map(|range| {
        let (from, to) = range.split_once('-').unwrap_or((range, range));
        let (from, to) = (from.parse::<usize>().ok()?, to.parse::<usize>().ok()?);
        to.checked_sub(from)?.checked_add(1)
    });
    each.sum()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Holder {
    Kernel,
    Server,
    Message,
}

/// The memory of all slots.
struct Slots {
    /// From `Box::into_raw`; freed when the kernel holds no slot (U2).
    memory: *mut [u8],
    /// Bytes to the first page in `memory`.
    start: usize,
    holders: Vec<Cell<Holder>>,
}

impl Slots {
    fn new(slots: usize) -> Rc<Slots> {
        // Zeroed by the system, page by page when it is touched.
        let memory = Box::into_raw(vec![0u8; slots * SLOT + PAGE].into_boxed_slice());
        let start = memory.cast::<u8>().align_offset(PAGE);
        Rc::new(Slots { memory, start, holders: vec![Cell::new(Holder::Server); slots] })
    }

    /// The address of `bytes` in `slot`.
    fn at(&self, slot: usize, bytes: Range<usize>) -> *mut u8 {
        assert!(slot < self.holders.len() && bytes.start <= bytes.end && bytes.end <= SLOT);
        self.memory.cast::<u8>().wrapping_add(self.start + slot * SLOT + bytes.start)
    }

    fn write(&self, slot: usize, offset: usize, bytes: &[u8]) {
        assert_eq!(self.holders[slot].get(), Holder::Server);
        let to = self.at(slot, offset..offset + bytes.len());
        // SAFETY: `at` has checked that all of it is in the slot, thus in the allocation, which lives as long as
        // `self`. The server holds the slot, so neither the kernel nor a message looks at it (U1), and no reference
        // into the memory is made elsewhere; `bytes` is therefore not in it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
    }

    fn read(&self, slot: usize, offset: usize, bytes: &mut [u8]) {
        assert_eq!(self.holders[slot].get(), Holder::Server);
        let from = self.at(slot, offset..offset + bytes.len());
        // SAFETY: As in `write`. The memory was zeroed when it was made, so all of it is initialized.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
    }

    /// The request that the kernel has put into `slot`: its number and its message.
    fn message(self: &Rc<Slots>, slot: usize) -> (u64, Message) {
        let (mut head, mut entry) = (InHeader::new_zeroed(), UringEntry::new_zeroed());
        self.read(slot, 0, head.as_mut_bytes());
        self.read(slot, ENTRY, entry.as_mut_bytes());
        let payload = (entry.payload_size as usize).min(MAX_TRANSFER as usize);
        // The kernel does not pass the length of the arguments, only the total length.
        let arguments = (head.len as usize).saturating_sub(size_of::<InHeader>() + payload).min(ARGUMENTS_MOST);
        let mut heads = [0; size_of::<InHeader>() + ARGUMENTS_MOST];
        let heads = &mut heads[..size_of::<InHeader>() + arguments];
        heads[..size_of::<InHeader>()].copy_from_slice(head.as_bytes());
        self.read(slot, ARGUMENTS, &mut heads[size_of::<InHeader>()..]);
        let len = heads.len() + payload;
        let message = if len <= SMALL {
            let mut bytes = vec![0; len];
            bytes[..heads.len()].copy_from_slice(heads);
            self.read(slot, PAYLOAD, &mut bytes[heads.len()..]);
            Message::owned(bytes.into_boxed_slice())
        } else {
            let start = PAYLOAD - heads.len();
            self.write(slot, start, heads);
            self.holders[slot].set(Holder::Message);
            Message::lent(Lent { slots: self.clone(), slot, bytes: start..start + len })
        };
        (head.unique, message)
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        if self.holders.iter().all(|holder| holder.get() != Holder::Kernel) {
            // SAFETY: The pointer is from `Box::into_raw`, and nothing else frees it. No message refers to the memory,
            // each would own a part of the `Rc` that is dropped, and the kernel has no slot (U1).
            drop(unsafe { Box::from_raw(self.memory) });
        }
    }
}

/// A message in the memory of its slot.
struct Lent {
    slots: Rc<Slots>,
    slot: usize,
    bytes: Range<usize>,
}

impl AsRef<[u8]> for Lent {
    fn as_ref(&self) -> &[u8] {
        let start = self.slots.at(self.slot, self.bytes.clone());
        // SAFETY: `at` has checked that the bytes are in the allocation, which `slots` keeps; they were initialized
        // when it was made. The slot is held by this message until it is dropped, after every borrow of it: neither the
        // kernel nor the server writes to the bytes (U1).
        unsafe { std::slice::from_raw_parts(start, self.bytes.len()) }
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.slots.holders[self.slot].set(Holder::Server);
    }
}

/// The ring, and the state of its slots.
struct Queues {
    ring: IoUring<Entry128>,
    slots: Rc<Slots>,
    /// Slots of one queue.
    depth: usize,
    /// Slots with a request that was not yet received.
    arrived: VecDeque<usize>,
    /// The numbers of the requests that were not yet answered, and their slots.
    awaited: FxHashMap<u64, usize>,
}

impl Queues {
    fn new() -> Result<Queues, NoUring> {
        available()?;
        let possible = std::fs::read_to_string(POSSIBLE).ok().and_then(|list| count(&list));
        let queues = possible.ok_or(NoUring::Missing)?;
        let depth = (SLOTS / queues.max(1)).clamp(DEPTH.start, DEPTH.end);
        let slots = queues * depth;
        Ok(Queues {
            ring: ring(slots)?,
            slots: Slots::new(slots),
            depth,
            arrived: VecDeque::new(),
            awaited: FxHashMap::default(),
        })
    }

    /// Registers the slots with the kernel. It delivers no other request until every queue has one.
    fn register(&mut self, device: BorrowedFd<'_>) -> Result<(), Gone> {
        for slot in 0..self.slots.holders.len() {
            let buffer = |bytes: Range<usize>| [self.slots.at(slot, bytes.clone()) as usize, bytes.len()];
            let buffers = [buffer(0..BUFFERS), buffer(PAYLOAD..SLOT)];
            self.slots.write(slot, BUFFERS, buffers.as_bytes());
            self.push(device, slot, REGISTER, 0);
        }
        self.submit()?;
        // A refusal is reported at once.
        self.reap()
    }

    /// Puts one command for `slot`, of the request `unique`, into the ring. The kernel holds the slot from here on.
    fn push(&mut self, device: BorrowedFd<'_>, slot: usize, command: u32, unique: u64) {
        assert_eq!(self.slots.holders[slot].replace(Holder::Kernel), Holder::Server);
        let queue = (slot / self.depth) as u16;
        let mut bytes = [0; 80];
        let part = UringCommand { flags: 0, commit_id: unique, queue, padding: [0; 6] };
        bytes[..size_of::<UringCommand>()].copy_from_slice(part.as_bytes());
        let mut entry = opcode::UringCmd80::new(types::Fd(device.as_raw_fd()), command)
            .cmd(bytes)
            .addr(Some(self.slots.at(slot, BUFFERS..BUFFERS) as u64))
            .build()
            .user_data(slot as u64);
        const { assert!(size_of::<Entry128>() == 128 && align_of::<Entry128>() >= 4) };
        // SAFETY: `Entry128` is the kernel's `io_uring_sqe` of 128 bytes, whose field `len` is the 32 bits at 24; the
        // crate has no setter for it. The length of the list of buffers is 2.
        unsafe { std::ptr::from_mut(&mut entry).cast::<u32>().add(6).write(2) };
        // SAFETY: The entry names the device, which the caller keeps open until it was submitted, and the slot. That
        // belongs to the kernel until its completion is taken (U1), and is not freed before (U2).
        let pushed = unsafe { self.ring.submission().push(&entry) };
        // OK to expect: U3.
        pushed.expect("the submission queue has room");
    }

    fn submit(&mut self) -> Result<(), Gone> {
        while !self.ring.submission().is_empty() {
            match self.ring.submit().map_err(|error| errno_of(&error)) {
                // Temporarily short of memory.
                Ok(_) | Err(Errno::INTR | Errno::AGAIN | Errno::BUSY) => {}
                Err(errno) => return Err(Gone::Failed(errno)),
            }
        }
        Ok(())
    }

    /// Takes the completions: each is a request, or the end of a slot.
    fn reap(&mut self) -> Result<(), Gone> {
        let mut ended = Ok(());
        for completion in self.ring.completion() {
            let slot = completion.user_data() as usize;
            // OK to index: the kernel returns the number that `push` gave it.
            self.slots.holders[slot].set(Holder::Server);
            let result = completion.result();
            if result >= 0 {
                self.arrived.push_back(slot);
                continue;
            }
            ended = Err(match Errno::from_raw_os_error(-result) {
                Errno::NOTCONN | Errno::CONNABORTED | Errno::CANCELED | Errno::NODEV => Gone::Unmounted,
                errno => Gone::Failed(errno),
            });
        }
        ended
    }

    fn take(&mut self) -> Result<Option<Message>, Gone> {
        if self.arrived.is_empty() {
            self.reap()?;
        }
        let Some(slot) = self.arrived.pop_front() else { return Ok(None) };
        let (unique, message) = self.slots.message(slot);
        self.awaited.insert(unique, slot);
        Ok(Some(message))
    }

    fn commit<P: AsRef<[u8]>>(&mut self, device: BorrowedFd<'_>, slot: usize, head: (u64, i32), pieces: &[P]) -> bool {
        let (unique, mut error) = head;
        let mut end = PAYLOAD;
        for piece in pieces.iter().map(AsRef::as_ref) {
            // Longer than any request allows.
            if piece.len() > SLOT - end {
                (error, end) = (-Errno::IO.raw_os_error(), PAYLOAD);
                break;
            }
            self.slots.write(slot, end, piece);
            end += piece.len();
        }
        let size = (end - PAYLOAD) as u32;
        let out = OutHeader { len: size_of::<OutHeader>() as u32 + size, error, unique };
        self.slots.write(slot, 0, out.as_bytes());
        let entry = UringEntry { flags: 0, commit_id: unique, payload_size: size, padding: 0, reserved: 0 };
        self.slots.write(slot, ENTRY, entry.as_bytes());
        self.push(device, slot, COMMIT_AND_FETCH, unique);
        self.submit().is_ok()
    }
}

impl Drop for Queues {
    fn drop(&mut self) {
        // After an unmount every slot has been returned.
        let _ = self.reap();
    }
}

/// FUSE over io_uring.
pub struct Uring {
    queues: RefCell<Queues>,
    watch: Watch,
    device: DevFuse,
    /// `/dev/fuse` may have a message.
    news: Cell<bool>,
    /// Requests to be taken from the ring before `/dev/fuse` is read.
    turn: Cell<u32>,
}

impl Uring {
    /// Serves through a ring beside `device`.
    ///
    /// # Errors
    /// [`NoUring`], when it is disabled.
    pub fn new(rt: &Rt, device: DevFuse) -> Result<Uring, NoUring> {
        let queues = Queues::new()?;
        // SAFETY: the descriptor belongs to the ring, which lives through this statement.
        let bell: io::Result<OwnedFd> = unsafe { BorrowedFd::borrow_raw(queues.ring.as_raw_fd()) }.try_clone_to_owned();
        let bell = bell.map_err(|error| NoUring::Refused(errno_of(&error)))?;
        let watch = rt.watch(Rc::new(bell));
        Ok(Uring { queues: RefCell::new(queues), watch, device, news: Cell::new(true), turn: Cell::new(TURN) })
    }
}

impl Transport for Uring {
    fn begin(&self) -> Result<(), Gone> {
        self.queues.borrow_mut().register(self.device.fd())
    }

    fn receive(&self) -> Result<Option<Message>, Gone> {
        if self.turn.get() > 0
            && let Some(message) = self.queues.borrow_mut().take()?
        {
            self.turn.set(self.turn.get() - 1);
            return Ok(Some(message));
        }
        let due = self.turn.replace(TURN) == 0;
        // One read is enough: if more is there, `ready` returns at once.
        if (self.news.replace(false) || due)
            && let Some(message) = self.device.receive()?
        {
            return Ok(Some(message));
        }
        if due { self.queues.borrow_mut().take() } else { Ok(None) }
    }

    async fn ready(&self) {
        // The device first: the ring may be ready every time.
        if let First::Left(()) = first(self.device.ready(), self.watch.readable()).await {
            self.news.set(true);
        }
    }

    fn reply(&self, unique: u64, answer: &Answer) -> bool {
        let queues = &mut *self.queues.borrow_mut();
        let Some(slot) = queues.awaited.remove(&unique) else { return self.device.reply(unique, answer) };
        let device = self.device.fd();
        let none: [&[u8]; 0] = [];
        match answer {
            Err(errno) => queues.commit(device, slot, (unique, -errno.raw_os_error()), &none),
            Ok(Reply::Silent | Reply::Done) => queues.commit(device, slot, (unique, 0), &none),
            Ok(Reply::Bytes(bytes) | Reply::Entry(_, bytes) | Reply::Listing(_, bytes)) => {
                queues.commit(device, slot, (unique, 0), &[bytes])
            }
            Ok(Reply::Data(pieces)) => queues.commit(device, slot, (unique, 0), pieces),
        }
    }

    fn notify(&self, notice: Notice) {
        self.device.notify(notice);
    }

    fn notifier(&self) -> rustix::io::Result<Notifier> {
        self.device.notifier()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fills a slot as the kernel does.
    fn fill(slots: &Slots, arguments: &[u8], payload: &[u8]) {
        let len = (size_of::<InHeader>() + arguments.len() + payload.len()) as u32;
        slots.write(1, 0, InHeader { len, unique: 7, ..InHeader::new_zeroed() }.as_bytes());
        slots.write(1, ARGUMENTS, arguments);
        slots.write(1, PAYLOAD, payload);
        let entry = UringEntry { payload_size: payload.len() as u32, ..UringEntry::new_zeroed() };
        slots.write(1, ENTRY, entry.as_bytes());
    }

    #[test]
    fn a_message_is_in_one_piece_and_a_large_one_keeps_its_slot_until_dropped() {
        let slots = Slots::new(2);
        for (payload, holder) in [(vec![3; 100], Holder::Server), (vec![4; MAX_TRANSFER as usize], Holder::Message)] {
            fill(&slots, &[1, 2], &payload);
            let (unique, message) = slots.message(1);
            let (head, rest) = message.bytes().split_at(size_of::<InHeader>());
            assert_eq!((unique, &head[..4]), (7, &(message.bytes().len() as u32).to_ne_bytes()[..]));
            assert!(rest[..2] == [1, 2] && rest[2..] == payload);
            assert_eq!(slots.holders[1].get(), holder);
            drop(message);
            assert_eq!(slots.holders[1].get(), Holder::Server);
        }
    }

    #[test]
    fn sizes_that_do_not_fit_are_cut() {
        let slots = Slots::new(2);
        slots.write(1, 0, InHeader { len: u32::MAX, ..InHeader::new_zeroed() }.as_bytes());
        slots.write(1, ENTRY, UringEntry { payload_size: u32::MAX, ..UringEntry::new_zeroed() }.as_bytes());
        let (_, message) = slots.message(1);
        assert_eq!(message.bytes().len(), size_of::<InHeader>() + ARGUMENTS_MOST + MAX_TRANSFER as usize);
    }

    #[test]
    #[should_panic(expected = "Message")]
    fn a_slot_is_not_written_to_while_a_message_lies_in_it() {
        let slots = Slots::new(2);
        fill(&slots, &[], &[0; 5000]);
        let (_, _message) = slots.message(1);
        slots.write(1, PAYLOAD, b"reply");
    }

    #[test]
    fn processors_are_counted_as_the_system_lists_them() {
        assert_eq!([count("0\n"), count("0-3,8,10-11\n"), count("x"), count("3-1")], [Some(1), Some(7), None, None]);
    }
}
