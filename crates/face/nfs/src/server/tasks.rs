//! The tasks of a connection: one reads its calls, one writes the replies, each call is a task of its own.

use super::connection::Connection;
use super::{Server, first};
use crate::wire::Incoming;
use ordo_vfs::FileSystem;
use std::io::{ErrorKind, Read, Write};
use std::rc::Rc;

/// Bytes that one read takes.
const PIECE: usize = 64 << 10;

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
