//! A connection: the calls of it that are in progress, and the replies that wait for its client.

use ordo_rt::Time;
use ordo_rt::sync::Notify;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Shutdown, SocketAddr, TcpStream};
use std::rc::Rc;
use std::time::Duration;

/// Most calls of a connection in progress.
pub(super) const CALLS: usize = 16;
/// Bytes of replies that wait for the client, beyond which its next call waits, too.
const REPLIES: usize = 1 << 20;
/// How long a client may let replies wait until its place may be another's. One that works takes them at once.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Connection {
    pub(super) stream: Rc<TcpStream>,
    /// The client's address.
    pub(super) address: IpAddr,
    /// The connection comes from a port that only root may have.
    pub(super) low_port: bool,
    /// When its last call came, or a part of a reply left.
    pub(super) used: Cell<Time>,
    pub(super) replies: RefCell<VecDeque<Vec<u8>>>,
    pub(super) reply_bytes: Cell<usize>,
    pub(super) calls: Cell<usize>,
    /// No further calls are read.
    pub(super) read: Cell<bool>,
    pub(super) ended: Cell<bool>,
    /// Notified when a call ends, a reply waits or has left, and at the end.
    pub(super) changed: Notify,
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
    pub(super) fn is_busy(&self) -> bool {
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

    pub(super) fn send(&self, reply: Vec<u8>) {
        self.reply_bytes.set(self.reply_bytes.get() + reply.len());
        self.replies.borrow_mut().push_back(reply);
        self.changed.notify_all();
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
