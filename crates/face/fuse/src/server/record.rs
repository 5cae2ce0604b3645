//! The tape: what is done to the mount, as lines of a file trace, for a program that asks for them.
//!
//! T1. While nothing is recorded a call costs one test of a flag.
//! T2. A recording never refuses or changes a call, and nothing here waits. The tape is memory that was reserved when
//!     it began; what does not fit ends the recording. The program that writes the file has to keep up.
//! T3. No line is left out in silence. Who reads the tape is told that it was full, after the last line before that.
//! T4. The questions about the tape are not on it.

use crate::proto::abi::{Dirent, EntryOut, WriteOut, fattr};
use crate::proto::reply::{Answer, Reply, sized};
use crate::proto::request::{Head, Malformed, Request};
use ordo_filetrace::{Call, Found, HEADER, Kind, Op, Outcome};
use ordo_rt::{Rt, Time};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::time::Duration;
use zerocopy::FromBytes;

/// Bytes of lines that nobody has taken yet: at least 60,000 calls.
const LIMIT: usize = 4 << 20;
/// The most that is taken at once: the largest value of an attribute.
const ROOM: u32 = 64 << 10;
/// Who has taken nothing for so long is gone, and another one may record.
const PATIENCE: Duration = Duration::from_secs(5);

/// See the head.
pub(super) struct Tape {
    rt: Rt,
    on: Cell<bool>,
    reel: RefCell<Option<Reel>>,
}

/// A recording.
struct Reel {
    began: Time,
    /// Somebody has asked for lines then.
    asked: Time,
    /// Whole lines.
    lines: Vec<u8>,
    /// Some did not fit (T3).
    full: bool,
}

impl Reel {
    /// Appends lines if they fit.
    fn add(&mut self, lines: &str) {
        if self.lines.len() + lines.len() > LIMIT {
            self.full = true;
        } else {
            self.lines.extend_from_slice(lines.as_bytes());
        }
    }

    /// Takes whole lines of up to so many bytes.
    fn take(&mut self, room: usize) -> Vec<u8> {
        let end = self.lines.len().min(room);
        let end = self.lines[..end].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        self.lines.drain(..end).collect()
    }
}

impl Tape {
    pub(super) fn new(rt: &Rt) -> Tape {
        Tape { rt: rt.clone(), on: Cell::new(false), reel: RefCell::default() }
    }

    /// When a call comes, if it is to be noted (T1).
    pub(super) fn now(&self) -> Option<Time> {
        self.on.get().then(|| self.rt.now())
    }

    /// There is a recording, or what is left of one.
    pub(super) fn exists(&self) -> bool {
        self.reel.borrow().is_some()
    }

    /// The answer to a question about the tape.
    pub(super) fn ask(&self, word: &[u8], room: u32) -> Answer {
        let known = [&b"start"[..], b"take", b"stop"].contains(&word);
        match word {
            _ if !known => Err(Errno::NODATA),
            // Who asks for the size only has not taken anything yet.
            _ if room == 0 => sized(&[0; ROOM as usize], room),
            b"start" => self.start(),
            b"stop" => {
                self.on.set(false);
                Ok(Reply::Bytes(Vec::new()))
            }
            _ => self.take(room),
        }
    }

    fn start(&self) -> Answer {
        let (now, mut reel) = (self.rt.now(), self.reel.borrow_mut());
        if self.on.get() && reel.as_ref().is_some_and(|reel| now.since(reel.asked) < PATIENCE) {
            return Err(Errno::BUSY);
        }
        let mut lines = Vec::new();
        lines.try_reserve_exact(LIMIT).map_err(|_| Errno::NOMEM)?;
        let mut new = Reel { began: now, asked: now, lines, full: false };
        new.add(&format!("{HEADER}\n"));
        *reel = Some(new);
        self.on.set(true);
        Ok(Reply::Bytes(Vec::new()))
    }

    /// Lines; nothing if there are none now; an error if there will be none: NODATA after a stop, OVERFLOW if there
    /// were too many (T3).
    fn take(&self, room: u32) -> Answer {
        let mut held = self.reel.borrow_mut();
        let reel = held.as_mut().ok_or(Errno::NODATA)?;
        reel.asked = self.rt.now();
        let lines = reel.take(room.min(ROOM) as usize);
        if lines.is_empty() && !reel.lines.is_empty() {
            return Err(Errno::RANGE);
        }
        if lines.is_empty() && !self.on.get() {
            let why = if reel.full { Errno::OVERFLOW } else { Errno::NODATA };
            *held = None;
            return Err(why);
        }
        Ok(Reply::Bytes(lines))
    }

    /// Notes a call that came at `came` and got this answer (T2).
    pub(super) fn note(&self, came: Time, head: &Head, request: Result<Request<'_>, Malformed>, answer: &Answer) {
        let mut held = self.reel.borrow_mut();
        let Some(reel) = held.as_mut().filter(|reel| self.on.get() && came >= reel.began) else { return };
        let Ok(request) = request else { return };
        let at_us = came.since(reel.began).as_micros() as u64;
        let mut lines = String::new();
        calls(at_us, head.node, &request, answer, &mut |call| lines += &format!("{call}\n"));
        reel.add(&lines);
        self.on.set(!reel.full);
    }
}

/// The calls that a request stands for, and how they ended.
fn calls(at_us: u64, node: u64, request: &Request<'_>, answer: &Answer, note: &mut dyn FnMut(Call)) {
    match request {
        Request::BatchForget(items) => items.iter().for_each(|(node, count)| note(forget(at_us, node, count))),
        Request::Forget { count } => note(forget(at_us, node, *count)),
        _ => {
            let Some(mut call) = call(at_us, node, request) else { return };
            finish(&mut call, answer);
            note(call);
        }
    }
    if let (Request::Readdirplus(_), Ok(Reply::Listing(_, bytes))) = (request, answer) {
        entries(bytes, &mut |name, found| {
            let outcome = Outcome::Found(found);
            note(Call { name: name.to_vec(), outcome, ..Call::new(at_us, Op::Entry, node) });
        });
    }
}

fn forget(at_us: u64, node: u64, count: u64) -> Call {
    Call { len: count, ..Call::new(at_us, Op::Forget, node) }
}

/// The call of a request; `None` if it does nothing to the file system, or asks about the tape (T4).
fn call(at_us: u64, node: u64, request: &Request<'_>) -> Option<Call> {
    let on = |op| Call::new(at_us, op, node);
    let named = |op, name: &[u8]| Call { name: name.to_vec(), ..on(op) };
    Some(match *request {
        Request::Lookup { name } => named(Op::Lookup, name),
        Request::Getattr | Request::Statx => on(Op::Getattr),
        Request::Setattr(args) => match args.valid & fattr::SIZE {
            0 => on(Op::Setattr),
            _ => Call { how: 1, len: args.size, ..on(Op::Setattr) },
        },
        Request::Readlink => on(Op::Readlink),
        Request::Symlink { name, target } => Call { len: target.len() as u64, ..named(Op::Symlink, name) },
        Request::Mknod { name, .. } => named(Op::Create, name),
        Request::Mkdir { name, .. } => named(Op::Mkdir, name),
        Request::Tmpfile { .. } => on(Op::Tmpfile),
        Request::Unlink { name } => named(Op::Unlink, name),
        Request::Rmdir { name } => named(Op::Rmdir, name),
        Request::Rename { to_dir, flags, name, to_name } => {
            Call { to: to_dir, to_name: to_name.to_vec(), how: flags, ..named(Op::Rename, name) }
        }
        Request::Link { node: target, name } => Call { to: target, ..named(Op::Link, name) },
        Request::Read(args) => Call { offset: args.offset, len: args.size.into(), ..on(Op::Read) },
        Request::Write { args, data } => Call { offset: args.offset, len: data.len() as u64, ..on(Op::Write) },
        Request::Readdir(args) | Request::Readdirplus(args) => Call { offset: args.offset, ..on(Op::Readdir) },
        Request::Statfs => on(Op::Statfs),
        Request::Fsync { data_only } => Call { how: data_only.into(), ..on(Op::Fsync) },
        Request::Syncfs => on(Op::Syncfs),
        Request::Setxattr { name, value, .. } => Call { len: value.len() as u64, ..named(Op::Setxattr, name) },
        Request::Getxattr { name, .. } if name.starts_with(b"user.ordofs.") => return None,
        Request::Getxattr { name, .. } => named(Op::Getxattr, name),
        Request::Listxattr { .. } => on(Op::Listxattr),
        Request::Removexattr { name } => named(Op::Removexattr, name),
        Request::Fallocate(args) => Call { offset: args.offset, len: args.length, how: args.mode, ..on(Op::Fallocate) },
        Request::CopyFileRange(args) => {
            Call { offset: args.off_in, to: args.nodeid_out, to_offset: args.off_out, len: args.len, ..on(Op::Copy) }
        }
        Request::Lseek(args) => Call { offset: args.offset, how: args.whence, ..on(Op::Seek) },
        Request::Ioctl { .. } => on(Op::Flags),
        Request::Init(_)
        | Request::Destroy
        | Request::Interrupt
        | Request::Forget { .. }
        | Request::BatchForget(_)
        | Request::Released
        | Request::Unsupported => return None,
    })
}

/// How it ended, and how much was moved.
fn finish(call: &mut Call, answer: &Answer) {
    match answer {
        Err(errno) => call.outcome = Outcome::Refused(errno.raw_os_error().unsigned_abs()),
        Ok(Reply::Entry(_, bytes)) => call.outcome = found(bytes).map_or(Outcome::Done, Outcome::Found),
        // A name that is absent is an answer, so that the kernel remembers it.
        Ok(Reply::Bytes(_)) if call.op == Op::Lookup => {
            call.outcome = Outcome::Refused(Errno::NOENT.raw_os_error().unsigned_abs());
        }
        Ok(Reply::Bytes(bytes)) if matches!(call.op, Op::Write | Op::Copy) => {
            call.len = WriteOut::read_from_prefix(bytes).map_or(call.len, |(out, _)| out.size.into());
        }
        Ok(Reply::Data(pieces)) if call.op == Op::Read => call.len = pieces.iter().map(|p| p.len() as u64).sum(),
        Ok(_) => {}
    }
}

/// The node in a reply.
fn found(bytes: &[u8]) -> Option<Found> {
    let (out, _) = EntryOut::read_from_prefix(bytes).ok()?;
    let kind = match out.attr.mode >> 12 {
        0o4 => Kind::Directory,
        0o10 => Kind::File,
        0o12 => Kind::Symlink,
        _ => Kind::Other,
    };
    (out.nodeid != 0).then_some(Found { node: out.nodeid, kind, size: out.attr.size })
}

/// The entries of a listing that were looked up.
fn entries(mut bytes: &[u8], note: &mut dyn FnMut(&[u8], Found)) {
    const HEAD: usize = size_of::<EntryOut>() + size_of::<Dirent>();
    while let Some(dirent) = bytes.get(size_of::<EntryOut>()..).and_then(|rest| Dirent::read_from_prefix(rest).ok()) {
        let end = HEAD + dirent.0.namelen as usize;
        if let (Some(found), Some(name)) = (found(bytes), bytes.get(HEAD..end)) {
            note(name, found);
        }
        bytes = bytes.get(end.next_multiple_of(8)..).unwrap_or_default();
    }
}
