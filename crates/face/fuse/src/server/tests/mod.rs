//! The server over a transport in memory: each request gets its reply, in any order; each lookup is given back once.

mod record;

use super::callers::Turn;
use super::*;
use crate::proto::abi::{self, EntryOut, InHeader, Opcode};
use crate::proto::reply::{Answer, Notice, Reply};
use crate::transport::{Message, Notifier};
use bytes::Bytes;
use ordo_rt::sync::Notify;
use ordo_vfs::{
    Attr, Caller, DirEntry, Entry, Kind, Mode, Name, NodeId, Refusal, Result, Segments, SetAttr, Stamp, StatFs,
};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use zerocopy::IntoBytes;

const ROOT: NodeId = NodeId(2);
/// A node whose attributes are not returned until the gate opens.
const SLOW: NodeId = NodeId(7);
/// A set-user-id file.
const SETUID: NodeId = NodeId(9);

/// Finds every name, as the node numbered by its length. Full except for the reserve. Most other calls are refused.
#[derive(Default)]
struct Stub {
    gate: Notify,
    open: Cell<bool>,
    forgotten: RefCell<Vec<(NodeId, u64)>>,
    set: RefCell<Vec<(NodeId, Option<u16>)>>,
    /// What was made durable: a file, or everything.
    synced: RefCell<Vec<Option<NodeId>>>,
}

fn attr(node: NodeId) -> Attr {
    Attr {
        ino: node.0,
        generation: 1,
        kind: Kind::Regular,
        mode: Mode::new(if node == SETUID { 0o4755 } else { 0o644 }),
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        size: 0,
        sectors: 0,
        block_size: 4096,
        flags: 0,
        atime: Stamp::default(),
        mtime: Stamp::default(),
        ctime: Stamp::default(),
        birth: None,
    }
}

fn no<T>() -> Result<T> {
    Err(Refusal::NotSupported.into())
}

macro_rules! refused {
    ($stub:ident, $call:ident($($arg:ident),*).await) => {{
        let _ = ($($arg,)*);
        no()
    }};
}

#[rustfmt::skip]
impl FileSystem for Stub {
    ordo_vfs::forward! { refused:
        readlink mknod mkdir symlink tmpfile link unlink rmdir rename fallocate seek getxattr setxattr
        listxattr
    }
    fn root(&self) -> NodeId { ROOT }
    fn read_only(&self) -> bool { false }
    async fn lookup(&self, _: NodeId, name: Name<'_>) -> Result<Entry> {
        let node = NodeId(name.bytes().len() as u64);
        if name.bytes() == b"absent" { Err(Refusal::NotFound.into()) } else { Ok(Entry { node, attr: attr(node) }) }
    }
    fn forget(&self, node: NodeId, lookups: u64) { self.forgotten.borrow_mut().push((node, lookups)); }
    async fn getattr(&self, node: NodeId) -> Result<Attr> {
        if node == SLOW && !self.open.get() { self.gate.notified().await; }
        Ok(attr(node))
    }
    async fn setattr(&self, node: NodeId, set: &SetAttr) -> Result<Attr> {
        self.set.borrow_mut().push((node, set.mode.map(Mode::bits)));
        Ok(attr(node))
    }
    async fn read(&self, _: NodeId, _: u64, len: u32) -> Result<Segments> { Ok(vec![Bytes::from(vec![1; len as usize * 2])]) }
    async fn write(&self, who: &Caller, _: NodeId, _: u64, data: &[u8]) -> Result<u32> {
        if who.privileged { Ok(data.len() as u32) } else { Err(Refusal::NoSpace.into()) }
    }
    async fn readdir(&self, _: NodeId, _: u64, take: &mut dyn FnMut(DirEntry<'_>) -> bool) -> Result<()> {
        let names: [&[u8]; 4] = [b".", b"..", b"abc", b"absent"];
        names.iter().all(|name| take(DirEntry { ino: 9, kind: 8, next: 1, name }));
        Ok(())
    }
    async fn fsync(&self, node: NodeId, _: bool) -> Result<()> { self.synced.borrow_mut().push(Some(node)); Ok(()) }
    async fn syncfs(&self) -> Result<()> { self.synced.borrow_mut().push(None); no() }
    async fn statfs(&self) -> Result<StatFs> { Err(ordo_vfs::Error::corrupt("cylinder group 3")) }
    async fn removexattr(&self, _: NodeId, _: &[u8]) -> Result<()> { Ok(()) }
}

/// Number of the request, and the body or the error's number.
type Sent = (u64, std::result::Result<Vec<u8>, i32>);

/// Delivers a script of requests, opens the gate at its end, and is unmounted at the next poll.
#[derive(Default)]
struct Script {
    requests: RefCell<VecDeque<Vec<u8>>>,
    replies: RefCell<Vec<Sent>>,
    notices: RefCell<Vec<Notice>>,
    /// Replies are not accepted.
    deaf: bool,
    fs: Rc<Stub>,
}

impl Transport for Rc<Script> {
    fn receive(&self) -> std::result::Result<Option<Message>, Gone> {
        match self.requests.borrow_mut().pop_front() {
            Some(request) => Ok(Some(Message::copied(&request))),
            None if self.fs.open.replace(true) => Err(Gone::Unmounted),
            None => {
                self.fs.gate.notify_all();
                Ok(None)
            }
        }
    }

    async fn ready(&self) {}

    fn reply(&self, unique: u64, answer: &Answer) -> bool {
        let bytes = match answer {
            Ok(Reply::Silent) => return true,
            Ok(Reply::Done) => Ok(Vec::new()),
            Ok(Reply::Bytes(bytes) | Reply::Entry(_, bytes) | Reply::Listing(_, bytes)) => Ok(bytes.clone()),
            Ok(Reply::Data(pieces)) => Ok(pieces.concat()),
            Err(errno) => Err(errno.raw_os_error()),
        };
        self.replies.borrow_mut().push((unique, bytes));
        !self.deaf
    }

    fn notify(&self, notice: Notice) {
        self.notices.borrow_mut().push(notice);
    }

    fn notifier(&self) -> rustix::io::Result<Notifier> {
        Err(Errno::NFILE)
    }
}

fn request(unique: u64, opcode: u32, nodeid: u64, body: &[u8]) -> Vec<u8> {
    let len = (size_of::<InHeader>() + body.len()) as u32;
    let head = InHeader { len, opcode, unique, nodeid, ..Default::default() };
    [head.as_bytes(), body].concat()
}

/// Serves `requests`; returns the script with its replies, and the reason for the end.
fn run_to(deaf: bool, requests: &[Vec<u8>], opts: ServeOptions) -> (Rc<Script>, Reason) {
    let rt = Rt::virtual_time(1);
    let script = Script { requests: RefCell::new(requests.to_vec().into()), deaf, ..Script::default() };
    let script = Rc::new(script);
    let reason = rt.block_on(serve_on(&rt, script.fs.clone(), script.clone(), opts, None, None));
    (script, reason)
}

fn run(deaf: bool, requests: &[Vec<u8>], opts: ServeOptions) -> Rc<Script> {
    let (script, reason) = run_to(deaf, requests, opts);
    assert_eq!(reason, Reason::Unmounted);
    script
}

fn uniques(script: &Script) -> Vec<u64> {
    script.replies.borrow().iter().map(|(unique, _)| *unique).collect()
}

#[test]
fn a_request_that_waits_delays_nobody_and_is_still_answered() {
    let getattr = |unique, node| request(unique, Opcode::Getattr as u32, node, &[0; 16]);
    let script = run(false, &[getattr(1, SLOW.0), getattr(2, 5), getattr(3, SLOW.0)], ServeOptions::default());
    assert_eq!(uniques(&script), [2, 1, 3]);
}

#[test]
fn a_turn_counts_the_requests_that_have_a_caller_each_once() {
    let rt = Rt::virtual_time(1);
    let of = |pid, node: NodeId| {
        let head = InHeader { len: 56, opcode: Opcode::Getattr as u32, nodeid: node.0, pid, ..Default::default() };
        [head.as_bytes(), &[0; 16]].concat()
    };
    let requests = [of(5, SLOW), of(0, SETUID), of(6, SETUID)];
    let script = Rc::new(Script { requests: RefCell::new(requests.into()), ..Script::default() });
    let server = Rc::new(Server::new(&rt, script.fs.clone(), script.clone(), ServeOptions::default()));
    assert!(matches!(server.drain(&rt), Ok(Drained::All)));
    rt.block_on(server.settle());
    let mut turn = Turn::default();
    [(5, false), (6, true)].iter().for_each(|(pid, beside)| turn.add(*pid, *beside));
    assert_eq!((server.turn.get(), script.replies.borrow().len()), (turn, 3));
}

#[test]
fn every_request_gets_its_reply_and_malformed_ones_an_error() {
    let requests = [
        request(1, Opcode::Lookup as u32, 1, b"no end"),
        request(2, Opcode::Lookup as u32, 1, b"a/b\0"),
        request(3, Opcode::Open as u32, 5, &[0; 8]),
        request(4, 4096, 1, &[]),
        request(5, Opcode::Statfs as u32, 1, &[]),
        request(6, Opcode::Forget as u32, 5, &[9; 8]),
        vec![1, 2, 3],
        request(7, Opcode::Read as u32, 5, abi::ReadIn { size: 4, ..Default::default() }.as_bytes()),
    ];
    let complaints = Rc::new(RefCell::new(Vec::new()));
    let heard = complaints.clone();
    let complain = Box::new(move |error: &ordo_vfs::Error| heard.borrow_mut().push(error.to_string()));
    let script = run(false, &requests, ServeOptions { complain, ..ServeOptions::default() });
    let (inval, nosys, uclean) = (Err(22), Err(38), Err(117));
    let replies = [(1, inval.clone()), (2, inval), (3, nosys.clone()), (4, nosys), (5, uclean), (7, Ok(vec![1; 4]))];
    assert_eq!(*script.replies.borrow(), replies);
    assert_eq!(*complaints.borrow(), ["cylinder group 3"]);
}

#[test]
fn an_absent_name_is_answered_so_that_the_kernel_remembers_it() {
    let script = run(false, &[request(1, Opcode::Lookup as u32, 1, b"absent\0")], ServeOptions::default());
    let (_, Ok(bytes)) = script.replies.borrow()[0].clone() else { panic!("an error") };
    let out = <EntryOut as zerocopy::FromBytes>::read_from_bytes(&bytes).unwrap();
    assert!(out.nodeid == 0 && out.entry_valid > 1_000_000);
}

#[test]
fn every_lookup_is_given_back_once_whatever_the_kernel_says() {
    let list = abi::ReadIn { size: 4096, ..Default::default() };
    let requests = [
        request(1, Opcode::Lookup as u32, 1, b"abc\0"),
        request(2, Opcode::Lookup as u32, 1, b"abcde\0"),
        request(3, Opcode::Readdirplus as u32, 1, list.as_bytes()),
        request(4, Opcode::Forget as u32, 5, abi::ForgetIn { nlookup: 100 }.as_bytes()),
    ];
    let taken = run(false, &requests, ServeOptions::default());
    assert_eq!(*taken.fs.forgotten.borrow(), [(NodeId(5), 1), (NodeId(3), 2)]);
    // A reply that is not accepted counts as no lookup, nor does an entry that is refused in a listing.
    let deaf = run(true, &requests[..3], ServeOptions::default());
    assert_eq!(*deaf.fs.forgotten.borrow(), [(NodeId(3), 1), (NodeId(5), 1), (NodeId(3), 1)]);
}

#[test]
fn a_write_by_who_may_not_keep_it_takes_set_user_id_and_the_kernel_is_told() {
    let write = |unique, node, uid, write_flags| {
        let args = abi::WriteIn { size: 1, write_flags, ..Default::default() };
        let mut bytes = request(unique, Opcode::Write as u32, node, &[args.as_bytes(), b"x"].concat());
        bytes[24..28].copy_from_slice(&u32::to_ne_bytes(uid));
        bytes
    };
    let kill = abi::WRITE_KILL_SUIDGID;
    let requests = [write(1, SETUID.0, 0, 0), write(2, 5, 0, kill), write(3, SETUID.0, 0, kill)];
    let script = run(false, &requests, ServeOptions::default());
    assert_eq!(*script.fs.set.borrow(), [(SETUID, Some(0o755))]);
    assert_eq!(*script.notices.borrow(), [Notice::StaleAttributes(SETUID.0)]);
    // No caller waits for a write-back by the kernel: it may use the reserve.
    let script = run(false, &[write(1, 5, 1000, 0), write(2, 5, u32::MAX, abi::WRITE_CACHE)], ServeOptions::default());
    assert_eq!(*script.replies.borrow(), [(1, Err(28)), (2, Ok(vec![1, 0, 0, 0, 0, 0, 0, 0]))]);
}

#[test]
fn root_that_writes_takes_the_capability_and_leaves_set_user_id() {
    let by = |mut bytes: Vec<u8>, uid: u32, pid: u32| {
        bytes[24..28].copy_from_slice(&uid.to_ne_bytes());
        bytes[32..36].copy_from_slice(&pid.to_ne_bytes());
        bytes
    };
    let remove = |uid, pid| by(request(1, Opcode::Removexattr as u32, SETUID.0, b"security.capability\0"), uid, pid);
    let nothing =
        |uid, pid| by(request(2, Opcode::Setattr as u32, SETUID.0, abi::SetattrIn::default().as_bytes()), uid, pid);
    let cleared = |requests: &[Vec<u8>]| run(false, requests, ServeOptions::default()).fs.set.borrow().clone();
    assert_eq!(cleared(&[remove(0, 7), nothing(0, 7)]), []);
    let gone = [(SETUID, Some(0o755))];
    assert_eq!(cleared(&[nothing(0, 7)]), gone, "a chown that changes neither");
    assert_eq!(cleared(&[remove(0, 7), nothing(0, 8)]), gone, "another thread");
    assert_eq!(cleared(&[remove(0, 7), nothing(0, 7), nothing(0, 7)]), gone, "once");
    assert_eq!(cleared(&[remove(1000, 7), nothing(1000, 7)]), gone, "a user");
}

#[test]
fn fsync_of_the_root_makes_everything_durable_and_of_another_directory_that_one() {
    let fsync = |unique, opcode: Opcode, node| request(unique, opcode as u32, node, abi::FsyncIn::default().as_bytes());
    let requests = [fsync(1, Opcode::Fsyncdir, 1), fsync(2, Opcode::Fsyncdir, 5), fsync(3, Opcode::Fsync, 5)];
    let script = run(false, &requests, ServeOptions::default());
    assert_eq!(*script.fs.synced.borrow(), [None, Some(NodeId(5)), Some(NodeId(5))]);
    assert_eq!(*script.replies.borrow(), [(1, Err(95)), (2, Ok(Vec::new())), (3, Ok(Vec::new()))]);
}

#[test]
fn the_mount_is_usable_after_init_and_not_after_a_refused_one() {
    let refused = Reason::Failed(Gone::Failed(Errno::PROTO));
    for (minor, usable, reason) in [(45, true, Reason::Unmounted), (9, false, refused)] {
        let called = Rc::new(Cell::new(false));
        let flag = called.clone();
        let opts = ServeOptions { ready: Some(Box::new(move || flag.set(true))), ..ServeOptions::default() };
        let init = abi::InitIn { major: 7, minor, ..Default::default() };
        let (_, ended) = run_to(false, &[request(1, Opcode::Init as u32, 0, init.as_bytes())], opts);
        assert_eq!((called.get(), ended), (usable, reason));
    }
}
