//! Requests and replies: one thread sends, one receives, and a bell wakes the executor.

use std::cell::RefCell;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use ordo_rt::sync::{Receiver, Sender, oneshot};
use rustc_hash::FxHashMap;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;

use super::proto::{
    CMD_DISC, CMD_FLAG_FUA, CMD_FLUSH, CMD_READ, CMD_TRIM, CMD_WRITE, REQUEST_MAGIC, SIMPLE_REPLY_MAGIC,
};
use super::stream::Stream;
use crate::WritePart;
use crate::device::{read_len, write_len};
use crate::engine::Engine;
use crate::engine::work::{Done, Fault, Work};

/// How long a server may take for its part of the handshake, and for its last replies when the disk is closed.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// A connection past its handshake.
pub(super) struct Link {
    shared: Arc<Shared>,
    send: Option<mpsc::Sender<Message>>,
    waiting: RefCell<Waiting>,
    threads: Vec<JoinHandle<()>>,
    stream: Stream,
}

#[derive(Default)]
struct Waiting {
    senders: FxHashMap<u64, Sender<Done>>,
    next: u64,
}

struct Shared {
    table: Mutex<Table>,
    bell: OwnedFd,
}

#[derive(Default)]
struct Table {
    /// Sent or about to be sent, and not answered.
    under_way: FxHashMap<u64, Work>,
    done: Vec<(u64, Done)>,
    /// The connection is lost (nbd-1).
    lost: bool,
}

/// A request as it is sent: the header, and the data of a write.
struct Message {
    header: [u8; 28],
    parts: Vec<WritePart>,
}

impl Link {
    pub(super) fn new(stream: Stream) -> io::Result<Link> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        let shared = Arc::new(Shared { table: Mutex::default(), bell });
        let (send, messages) = mpsc::channel();
        let mut link = Link { shared, send: Some(send), waiting: RefCell::default(), threads: Vec::new(), stream };
        let named = |name: &str| std::thread::Builder::new().name(name.into());
        let (sending, shared) = (link.stream.try_clone()?, link.shared.clone());
        link.threads.push(named("ordo-nbd-send").spawn(move || send_all(sending, &messages, &shared))?);
        let (receiving, shared) = (link.stream.try_clone()?, link.shared.clone());
        link.threads.push(named("ordo-nbd-receive").spawn(move || receive_all(receiving, &shared))?);
        Ok(link)
    }
}

fn send_all(mut stream: Stream, messages: &mpsc::Receiver<Message>, shared: &Shared) {
    for message in messages {
        let sent = stream
            .write_all(&message.header)
            .and_then(|()| message.parts.iter().try_for_each(|part| stream.write_all(&part.image)));
        if sent.is_err() {
            stream.shutdown(Shutdown::Both); // the receiver is notified, and fails what is in flight
            return shared.lose();
        }
    }
    // The queue is closed with the disk. The server answers what is in flight, and then closes the connection.
    let _ = stream.write_all(&header(CMD_DISC, 0, 0, 0, 0));
}

fn receive_all(mut stream: Stream, shared: &Shared) {
    // A reply that cannot be parsed is as bad as none: what follows it cannot be understood.
    while receive(&mut stream, shared).is_ok() {}
    stream.shutdown(Shutdown::Both);
    shared.lose();
}

fn receive(stream: &mut Stream, shared: &Shared) -> io::Result<()> {
    let mut reply = [0; 16];
    stream.read_exact(&mut reply)?;
    let word = |at: usize| u32::from_be_bytes([reply[at], reply[at + 1], reply[at + 2], reply[at + 3]]);
    let number = (u64::from(word(8)) << 32) | u64::from(word(12));
    if word(0) != SIMPLE_REPLY_MAGIC {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let Some(mut work) = shared.lock().under_way.remove(&number) else {
        return Err(io::ErrorKind::InvalidData.into());
    };
    let done = match (word(4), &mut work) {
        (0, Work::Read { parts, .. }) => {
            let filled = parts.iter_mut().try_for_each(|part| stream.read_exact(&mut part.block));
            if filled.is_err() {
                shared.finish(number, Err(Fault::Ended));
            }
            filled?;
            Ok(work)
        }
        (0, _) => Ok(work),
        (code, _) => Err(fault(code)),
    };
    shared.finish(number, done);
    Ok(())
}

/// The protocol's error numbers are Linux's; ESHUTDOWN says that the server is shutting down.
fn fault(code: u32) -> Fault {
    match Errno::from_raw_os_error(i32::try_from(code).ok().filter(|code| (1..4096).contains(code)).unwrap_or(5)) {
        Errno::SHUTDOWN => Fault::Ended,
        errno => Fault::System(errno),
    }
}

fn header(command: u16, flags: u16, number: u64, at: u64, len: u32) -> [u8; 28] {
    let mut header = [0; 28];
    header[0..4].copy_from_slice(&REQUEST_MAGIC.to_be_bytes());
    header[4..6].copy_from_slice(&flags.to_be_bytes());
    header[6..8].copy_from_slice(&command.to_be_bytes());
    header[8..16].copy_from_slice(&number.to_be_bytes());
    header[16..24].copy_from_slice(&at.to_be_bytes());
    header[24..28].copy_from_slice(&len.to_be_bytes());
    header
}

/// `None` if the range is longer than the protocol can express.
fn message(number: u64, work: &Work) -> Option<Message> {
    let (command, flags, at, len, parts) = match work {
        Work::Read { at, parts } => (CMD_READ, 0, *at, read_len(parts), Vec::new()),
        Work::Write { at, parts, fua } => {
            (CMD_WRITE, if *fua { CMD_FLAG_FUA } else { 0 }, *at, write_len(parts), parts.clone())
        }
        Work::Flush => (CMD_FLUSH, 0, 0, 0, Vec::new()),
        Work::Punch { at, len } => (CMD_TRIM, 0, *at, *len, Vec::new()),
    };
    Some(Message { header: header(command, flags, number, at, u32::try_from(len).ok()?), parts })
}

impl Shared {
    /// No code that can panic runs under this lock, so a poisoned one still guards good data.
    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(&self, number: u64, done: Done) {
        self.lock().done.push((number, done));
        self.ring();
    }

    fn lose(&self) {
        let mut table = self.lock();
        table.lost = true;
        let Table { under_way, done, .. } = &mut *table;
        done.extend(under_way.drain().map(|(number, _)| (number, Err(Fault::Ended))));
        drop(table);
        self.ring();
    }

    fn ring(&self) {
        // Refused only when the counter is full, and then the bell is ringing anyway.
        let _ = rustix::io::write(&self.bell, &1u64.to_ne_bytes());
    }
}

impl Engine for Link {
    fn submit(&self, work: Work) -> Receiver<Done> {
        let (sender, receiver) = oneshot();
        let mut waiting = self.waiting.borrow_mut();
        waiting.next += 1;
        let number = waiting.next;
        let Some(message) = message(number, &work) else {
            sender.send(Err(Fault::System(Errno::INVAL)));
            return receiver;
        };
        let mut table = self.shared.lock();
        if table.lost {
            sender.send(Err(Fault::Ended));
            return receiver;
        }
        // Into the table before it is sent: the reply may be faster than this thread.
        table.under_way.insert(number, work);
        drop(table);
        waiting.senders.insert(number, sender);
        // The channel is closed only when the sending thread has lost the connection, and it records that in the table.
        let _ = self.send.as_ref().map(|send| send.send(message));
        receiver
    }

    fn reap(&self) {
        let _ = rustix::io::read(&self.shared.bell, &mut [0u8; 8]);
        let done = std::mem::take(&mut self.shared.lock().done);
        for (number, done) in done {
            let sender = self.waiting.borrow_mut().senders.remove(&number);
            if let Some(sender) = sender {
                sender.send(done);
            }
        }
    }

    fn busy(&self) -> bool {
        !self.waiting.borrow().senders.is_empty()
    }

    fn bell(&self) -> io::Result<OwnedFd> {
        self.shared.bell.try_clone()
    }
}

impl Drop for Link {
    /// Submitted requests are sent and answered before the connection ends, or the server's time is over.
    fn drop(&mut self) {
        let _ = self.stream.set_read_timeout(Some(PATIENCE));
        self.send = None;
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
