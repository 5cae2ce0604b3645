//! A client of the daemon.

use super::proto::{Code, DONE, Fields, Op, numbers, receive, send};
use crate::{Lsn, Record};
use std::io;
use std::os::unix::net::UnixStream;
use std::path::Path;

/// Errors of a client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The connection failed.
    #[error("the log's server: {0}")]
    Io(#[from] io::Error),
    /// The server refused the request.
    #[error("{text}")]
    Refused {
        /// The reason, for programs.
        code: Code,
        /// The reason, for people.
        text: String,
    },
    /// The server's answer does not follow the protocol.
    #[error("the answer cannot be parsed; is this the socket of ordo wafs serve?")]
    Nonsense,
}

/// Some records of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    /// In order.
    pub records: Vec<Record>,
    /// Where the next ones begin; `None` at the end.
    pub next: Option<Lsn>,
}

/// The state of a stream, and of the log that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamInfo {
    /// The first number that the stream needs.
    pub low: Lsn,
    /// Its last record.
    pub last: Lsn,
    /// Bytes of the log, for all streams.
    pub size: u64,
    /// Bytes that are free.
    pub free: u64,
}

/// A stream in the log of a server. Calls block until the server has answered.
pub struct Client {
    socket: UnixStream,
    low: Lsn,
    last: Lsn,
}

impl Client {
    /// Connects to the server at `socket`, as the client of the stream `name`.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with [`Code::InUse`] or [`Code::Name`], [`ClientError::Io`].
    pub fn connect(socket: impl AsRef<Path>, name: &str) -> Result<Client, ClientError> {
        let mut client = Client { socket: UnixStream::connect(socket)?, low: Lsn::NONE, last: Lsn::NONE };
        let answer = client.ask(Op::Open, name.as_bytes())?;
        let mut fields = Fields(&answer);
        (client.low, client.last) = fields.lsn().zip(fields.lsn()).ok_or(ClientError::Nonsense)?;
        Ok(client)
    }

    /// The first record that was needed, and the last one, when this client connected.
    pub fn found(&self) -> (Lsn, Lsn) {
        (self.low, self.last)
    }

    /// Appends a record; durable later.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with [`Code::TooLong`], [`Code::Full`] or [`Code::Failed`], [`ClientError::Io`].
    pub fn append(&mut self, data: &[u8]) -> Result<Lsn, ClientError> {
        number(&self.ask(Op::Append, data)?)
    }

    /// Appends a record; durable when this returns, unless the server runs in mode async.
    ///
    /// # Errors
    /// As [`Client::append`].
    pub fn commit(&mut self, data: &[u8]) -> Result<Lsn, ClientError> {
        number(&self.ask(Op::Commit, data)?)
    }

    /// Makes the record `lsn`, and all before it, durable.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with [`Code::NoRecord`] or [`Code::Failed`], [`ClientError::Io`].
    pub fn force(&mut self, lsn: Lsn) -> Result<(), ClientError> {
        self.ask(Op::Force, &numbers(&[lsn.0])).map(drop)
    }

    /// One record of the stream.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with [`Code::NoRecord`] or [`Code::Failed`], [`ClientError::Io`].
    pub fn read(&mut self, lsn: Lsn) -> Result<Record, ClientError> {
        let answer = self.ask(Op::Read, &numbers(&[lsn.0]))?;
        let mut fields = Fields(&answer);
        let time = fields.u64().ok_or(ClientError::Nonsense)?;
        Ok(Record { lsn, time, data: fields.0.to_vec() })
    }

    /// Records from `from` on, at most about `most` bytes of them.
    ///
    /// # Errors
    /// As [`Client::read`].
    pub fn scan(&mut self, from: Lsn, most: u32) -> Result<Batch, ClientError> {
        let mut body = numbers(&[from.0]);
        body.extend_from_slice(&most.to_le_bytes());
        let answer = self.ask(Op::Scan, &body)?;
        let mut fields = Fields(&answer);
        let next = fields.lsn().ok_or(ClientError::Nonsense)?;
        let mut records = Vec::new();
        while !fields.0.is_empty() {
            records.push(fields.record().ok_or(ClientError::Nonsense)?);
        }
        Ok(Batch { records, next: Some(next).filter(|next| *next != Lsn::NONE) })
    }

    /// Declares that no record below `low` is needed any more.
    ///
    /// # Errors
    /// As [`Client::force`].
    pub fn reclaim(&mut self, low: Lsn) -> Result<(), ClientError> {
        self.ask(Op::Reclaim, &numbers(&[low.0])).map(drop)
    }

    /// The state of the stream and its log.
    ///
    /// # Errors
    /// [`ClientError::Io`].
    pub fn info(&mut self) -> Result<StreamInfo, ClientError> {
        let answer = self.ask(Op::Info, &[])?;
        let mut fields = Fields(&answer);
        let mut info =
            || Some(StreamInfo { low: fields.lsn()?, last: fields.lsn()?, size: fields.u64()?, free: fields.u64()? });
        info().ok_or(ClientError::Nonsense)
    }

    /// Ends the stream, with all its records.
    ///
    /// # Errors
    /// [`ClientError::Refused`] with [`Code::Failed`], [`ClientError::Io`].
    pub fn end(mut self) -> Result<(), ClientError> {
        self.ask(Op::Drop, &[]).map(drop)
    }

    fn ask(&mut self, op: Op, body: &[u8]) -> Result<Vec<u8>, ClientError> {
        send(&mut self.socket, op as u8, body)?;
        match receive(&mut self.socket)? {
            None => Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Some((DONE, answer)) => Ok(answer),
            Some((code, text)) => {
                let code = Code::of(code).ok_or(ClientError::Nonsense)?;
                Err(ClientError::Refused { code, text: String::from_utf8_lossy(&text).into_owned() })
            }
        }
    }
}

fn number(answer: &[u8]) -> Result<Lsn, ClientError> {
    Fields(answer).lsn().ok_or(ClientError::Nonsense)
}
