//! The server: connections on one port, and a task for each call.
//!
//! S1. A connection has at most [`connection::CALLS`] calls in progress, and its next call waits while its client does
//!     not take the replies. So a client that only asks holds a bounded part of the memory.
//! S2. There are at most [`CONNECTIONS`]; the next one takes the place of the one that has been idle longest, or whose
//!     client has taken no replies for long, so that connections which nobody uses keep nobody out.
//! S3. [`serve`] returns when no call is in progress: the volume may be closed.

mod connection;
mod dispatch;
mod replay;
mod tasks;

use crate::creds::{Identity, Squash};
use crate::handle::Key;
use connection::Connection;
pub(crate) use dispatch::decode;
use ordo_rt::Rt;
use ordo_rt::sync::Notify;
use ordo_sockets::{Arrival, Listener, PAUSE, Stream};
use ordo_vfs::{Error, FileSystem};
use replay::Replay;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::io;
use std::net::TcpStream;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

/// Most connections.
const CONNECTIONS: usize = 64;
/// How long the last replies may take to leave when the service ends.
const LAST_REPLIES: Duration = Duration::from_secs(2);

/// When a call that changed names or attributes is answered (nfs-1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Names {
    /// The scheme makes names durable before its calls return; attributes need an fsync.
    OnReturn,
    /// After an fsync of the file and of the directories.
    AfterFsync,
    /// At once: a crash of the server may take back what the client was told is done.
    Later,
}

/// What is served, and how.
pub struct Options {
    /// Seals handles (nfs-3).
    pub key: Key,
    /// Tells this volume from others, in handles and as the file system's number.
    pub volume: u64,
    /// Nothing may be changed, whatever the file system allows.
    pub read_only: bool,
    /// Whose claims to be root are believed.
    pub squash: Squash,
    /// The user for whom the calls of others are made.
    pub squashed: Identity,
    /// When names are durable.
    pub names: Names,
    /// The volume's files may have access control lists.
    pub acls: bool,
    /// The longest file, in bytes.
    pub max_file_size: u64,
    /// Most names of a file.
    pub link_max: u32,
    /// Called for every error of disk or image, of which the client sees only a number.
    pub complain: Box<dyn Fn(&Error)>,
}

/// Serves `fs` on `listener` until `stop` is ready, for NFS, MOUNT and the portmapper's one question that clients ask.
///
/// # Errors
/// When the listener cannot be used.
pub async fn serve<F: FileSystem + 'static>(
    rt: &Rt,
    fs: Rc<F>,
    listener: Listener,
    opts: Options,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let port = listener.tcp_address().map_or(0, |address| address.port());
    let listener = Rc::new(listener);
    let arrivals = rt.watch(listener.clone());
    let server = Rc::new(Server::new(rt, fs, opts, port));
    let (mut stop, mut told) = (pin!(stop), false);
    let outcome = loop {
        let ends = match listener.accept() {
            Ok(Arrival::Client(Stream::Tcp(stream))) => {
                told = false;
                server.admit(stream);
                // Who connects again and again does not keep the others waiting.
                rt.yield_now().await;
                continue;
            }
            // NFS has no addresses of this kind: a connection like that is closed.
            Ok(Arrival::Client(Stream::Unix(_))) => continue,
            Ok(Arrival::Nobody) => first(arrivals.readable(), stop.as_mut()).await,
            Ok(Arrival::Short(error)) => {
                if !std::mem::replace(&mut told, true) {
                    (server.opts.complain)(&Error::io(error).told_as("a connection could not be accepted"));
                }
                first(rt.sleep(PAUSE), stop.as_mut()).await
            }
            Err(error) => break Err(error),
        };
        if ends {
            break Ok(());
        }
    };
    server.settle().await;
    outcome
}

/// Waits for either; `true`: the second came.
async fn first(one: impl Future<Output = ()>, other: impl Future<Output = ()>) -> bool {
    let (mut one, mut other) = (pin!(one), pin!(other));
    poll_fn(|cx| {
        if other.as_mut().poll(cx).is_ready() {
            return Poll::Ready(true);
        }
        one.as_mut().poll(cx).map(|()| false)
    })
    .await
}

/// The state of [`serve`], shared by the calls in progress.
pub(crate) struct Server<F> {
    pub(crate) fs: Rc<F>,
    pub(crate) opts: Options,
    /// See nfs-2.
    pub(crate) verifier: [u8; 8],
    pub(crate) port: u16,
    rt: Rt,
    replay: RefCell<Replay>,
    connections: RefCell<Vec<Rc<Connection>>>,
    calls: Cell<usize>,
    /// Notified when a call or a connection ends.
    ended: Notify,
}

impl<F: FileSystem + 'static> Server<F> {
    pub(crate) fn new(rt: &Rt, fs: Rc<F>, opts: Options, port: u16) -> Server<F> {
        let (secs, nanos) = rt.wall();
        // Two starts within a second differ in the nanoseconds, and with a clock that was set back in the process.
        let verifier = (secs as u64) << 32 ^ u64::from(nanos) ^ u64::from(std::process::id()) << 40;
        Server {
            fs,
            opts,
            verifier: verifier.to_be_bytes(),
            port,
            rt: rt.clone(),
            replay: RefCell::default(),
            connections: RefCell::default(),
            calls: Cell::new(0),
            ended: Notify::new(),
        }
    }

    /// Begins to serve a connection (S2).
    fn admit(self: &Rc<Self>, stream: TcpStream) {
        // A client that has left already has no address.
        let Ok(connection) = stream.peer_addr().and_then(|peer| Connection::new(stream, peer)) else { return };
        let mut all = self.connections.borrow_mut();
        if all.len() >= CONNECTIONS {
            let now = self.rt.now();
            let idle = all.iter().filter(|connection| connection.gives_way(now)).min_by_key(|idle| idle.used.get());
            match idle.cloned() {
                Some(idle) => idle.end(),
                // Each has a call in progress.
                None => return connection.end(),
            }
            all.retain(|connection| !connection.is_ended());
        }
        let connection = Rc::new(connection);
        connection.used.set(self.rt.now());
        all.push(connection.clone());
        drop(all);
        self.rt.spawn(self.clone().write_replies(connection.clone()));
        self.rt.spawn(self.clone().read_calls(connection));
    }

    /// Waits for the calls in progress, and until the clients have their replies.
    async fn settle(&self) {
        for connection in self.connections.borrow().iter() {
            connection.end_reading();
        }
        while self.calls.get() > 0 {
            self.ended.notified().await;
        }
        let late = self.rt.sleep(LAST_REPLIES);
        let sent = async {
            while self.connections.borrow().iter().any(|connection| !connection.is_ended()) {
                self.ended.notified().await;
            }
        };
        first(sent, late).await;
        for connection in self.connections.borrow_mut().drain(..) {
            connection.end();
        }
        // The tasks of the connections hold the file system: they end now.
        self.rt.yield_now().await;
    }
}
