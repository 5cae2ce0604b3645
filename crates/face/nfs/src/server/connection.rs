//! A connection: one task reads its calls, one writes the replies, each call is a task of its own.

use super::{Server, first};
use crate::wire::Incoming;
use ordo_rt::Time;
use ordo_rt::sync::Notify;
use ordo_vfs::FileSystem;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::time::Duration;

/// Most calls of a connection in progress.
pub(super) const CALLS: usize = 16;
/// Bytes of replies that wait for the client, beyond which its next call waits, too.
const REPLIES: usize = 1 << 20;
/// How long a client may let replies wait until its place may be another's. One that works takes them at once.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes that one read takes.
const PIECE: usize = 64 << 10;

pub(crate) struct Connection {
    stream: Rc<TcpStream>,
    /// The client's address.
    pub(super) address: IpAddr,
    /// The connection comes from a port that only root may have.
    pub(super) low_port: bool,
    /// When its last call came, or a part of a reply left.
    pub(super) used: Cell<Time>,
    replies: RefCell<VecDeque<Vec<u8>>>,
    reply_bytes: Cell<usize>,
    calls: Cell<usize>,
    /// No further calls are read.
    read: Cell<bool>,
    ended: Cell<bool>,
    /// Notified when a call ends, a reply waits or has left, and at the end.
    changed: Notify,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr) -> io::Result<Connection> {
        stream.set_nonblocking(true)?;
        // A reply is written whole: waiting for more to send with it would only delay it.
        stream.set_nodelay(true)?;
        Ok(Connection {
            stream: Rc::new(stream),
            address: peer.ip(),
            low_port: peer.port() < 1024,
            used: Cell::new(Time::ZERO),
            replies: RefCell::default(),
            reply_bytes: Cell::new(0),
            calls: Cell::new(0),
            read: Cell::new(false),
            ended: Cell::new(false),
            changed: Notify::new(),
        })
    }

    /// Nobody loses anything that he waits for if this one ends (nfs-server-2).
    pub(super) fn gives_way(&self, now: Time) -> bool {
        self.calls.get() == 0 && (self.reply_bytes.get() == 0 || now >= self.used.get() + PATIENCE)
    }

    pub(super) fn is_ended(&self) -> bool {
        self.ended.get()
    }

    /// The client may not begin another call now (nfs-server-1).
    fn is_busy(&self) -> bool {
        self.calls.get() >= CALLS || self.reply_bytes.get() >= REPLIES
    }

    /// Takes no further calls; the replies of those in progress still leave.
    pub(super) fn end_reading(&self) {
        self.read.set(true);
        self.changed.notify_all();
    }

    pub(super) fn end(&self) {
        self.ended.set(true);
        self.read.set(true);
        // It may be closed at the other end already.
        let _ = self.stream.shutdown(Shutdown::Both);
        self.changed.notify_all();
    }

    fn send(&self, reply: Vec<u8>) {
        self.reply_bytes.set(self.reply_bytes.get() + reply.len());
        self.replies.borrow_mut().push_back(reply);
        self.changed.notify_all();
    }
}

impl<F: FileSystem + 'static> Server<F> {
    /// Reads calls until the client closes the connection, or sends what is none.
    pub(super) async fn read_calls(self: Rc<Self>, connection: Rc<Connection>) {
        let arrivals = self.rt.watch(connection.stream.clone());
        let (mut incoming, mut piece) = (Incoming::default(), vec![0; PIECE]);
        while !connection.read.get() {
            match (&*connection.stream).read(&mut piece) {
                Ok(0) => break,
                Ok(len) => {
                    let mut records = Vec::new();
                    if incoming.feed(&piece[..len], |record| records.push(record)).is_err() {
                        return self.ends(&connection);
                    }
                    connection.used.set(self.rt.now());
                    for record in records {
                        while connection.is_busy() && !connection.ended.get() {
                            connection.changed.notified().await;
                        }
                        if connection.ended.get() {
                            return self.ends(&connection);
                        }
                        self.begin(&connection, record);
                    }
                    self.rt.yield_now().await;
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    first(arrivals.readable(), connection.changed.notified()).await;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return self.ends(&connection),
            }
        }
        connection.end_reading();
    }

    fn begin(self: &Rc<Self>, connection: &Rc<Connection>, record: Vec<u8>) {
        connection.calls.set(connection.calls.get() + 1);
        self.calls.set(self.calls.get() + 1);
        let (server, connection) = (self.clone(), connection.clone());
        self.rt.spawn(async move {
            match server.answer(&connection, &record).await {
                Some(reply) => connection.send(reply),
                None => connection.end(),
            }
            connection.calls.set(connection.calls.get() - 1);
            server.calls.set(server.calls.get() - 1);
            connection.changed.notify_all();
            server.ended.notify_all();
        });
    }

    /// Writes replies as the client takes them; ends the connection after the last one.
    pub(super) async fn write_replies(self: Rc<Self>, connection: Rc<Connection>) {
        let room = self.rt.watch_writes(connection.stream.clone());
        while !connection.ended.get() {
            let next = connection.replies.borrow_mut().pop_front();
            let Some(reply) = next else {
                if connection.read.get() && connection.calls.get() == 0 {
                    break;
                }
                connection.changed.notified().await;
                continue;
            };
            let mut left = &reply[..];
            while !left.is_empty() && !connection.ended.get() {
                match (&*connection.stream).write(left) {
                    Ok(len) => {
                        left = &left[len..];
                        connection.used.set(self.rt.now());
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => {
                        // At its end the connection is shut down, and has room.
                        room.readable().await;
                    }
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return self.ends(&connection),
                }
            }
            connection.reply_bytes.set(connection.reply_bytes.get() - reply.len());
            connection.changed.notify_all();
        }
        self.ends(&connection);
    }

    fn ends(&self, connection: &Rc<Connection>) {
        connection.end();
        self.connections.borrow_mut().retain(|other| !Rc::ptr_eq(other, connection));
        self.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    #[test]
    fn a_client_that_takes_no_replies_keeps_its_place_for_a_while_only() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, peer) = listener.accept().unwrap();
        let connection = Connection::new(stream, peer).unwrap();
        assert!(connection.gives_way(Time::ZERO), "it asks nothing");
        connection.send(vec![0; 100]);
        assert!(!connection.gives_way(Time::ZERO), "its reply is on the way");
        assert!(connection.gives_way(Time::ZERO + PATIENCE));
        connection.used.set(Time::ZERO + PATIENCE);
        assert!(!connection.gives_way(Time::ZERO + PATIENCE), "a part of it has left");
        connection.calls.set(1);
        assert!(!connection.gives_way(Time::ZERO + PATIENCE + PATIENCE), "its call must end first");
    }
}
