//! The daemon: a thread for each client, one log for all. A client that does not read its answers blocks only itself.

use super::proto::{Code, DONE, Fields, Op, numbers, put_record, receive, send};
use super::streams::{Stream, StreamError, Streams};
use crate::Error;
use ordo_sockets::{Address, Clients, Listener, Place, Stopper, Watched, serve};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The most bytes of records in one answer to a scan; one record may be longer.
const SCAN_MOST: usize = 1 << 20;
/// The most connections at a time. All are the user's own, so this only keeps a defect from taking the machine.
const CONNECTIONS_MOST: usize = 1024;

/// Listens on a socket.
pub struct Server {
    listener: Listener,
    streams: Arc<Streams>,
    clients: Arc<Clients>,
}

impl Server {
    /// Creates the socket `path`, accessible only to the user who runs the server. A socket left by a killed server is
    /// replaced.
    ///
    /// # Errors
    /// The system's; `AddrInUse` if another process listens there, or the name belongs to something else, which is
    /// untouched.
    pub fn bind(path: impl AsRef<Path>, streams: Arc<Streams>) -> io::Result<Server> {
        let clients = Clients::new(CONNECTIONS_MOST)?;
        let listener = Listener::bind(&Address::Unix(path.as_ref().into()))?;
        Ok(Server { listener, streams, clients })
    }

    /// A handle that stops it.
    pub fn stopper(&self) -> Stopper {
        self.clients.stopper()
    }

    /// Serves until it is stopped. Requests that are in progress then are completed first. `tell` is told of
    /// connections that could not be served.
    ///
    /// # Errors
    /// The system's, from the socket.
    pub fn run(self, tell: &dyn Fn(&str)) -> io::Result<()> {
        let Server { listener, streams, clients } = self;
        serve(&listener, &clients, tell, move |socket, place| {
            // The connection ends, with or without an error.
            let _ = attend(socket, &streams, place);
        })
    }
}

/// Serves one client to its end.
fn attend(mut socket: ordo_sockets::Stream, streams: &Arc<Streams>, place: &Place) -> io::Result<()> {
    let mut stream = None;
    while let Some((kind, body)) = receive(&mut socket)? {
        place.stalls.has_asked();
        let answer = match (Op::of(kind), stream.take()) {
            (Some(Op::Open), None) => open(streams, &body, &mut stream),
            (Some(Op::Drop), Some(mine)) => Stream::end(mine).map(|()| Vec::new()).map_err(Refused::from),
            (Some(op), Some(mut mine)) => {
                let answer = act(streams, &mut mine, op, &body);
                stream = Some(mine);
                answer
            }
            (_, before) => {
                stream = before;
                Err(Refused(Code::Misuse, "open a stream first, with a request that this server knows".into()))
            }
        };
        let mut socket = Watched(&mut socket, &place.stalls.writing);
        match answer {
            Ok(body) => send(&mut socket, DONE, &body)?,
            Err(Refused(code, text)) => send(&mut socket, code as u8, text.as_bytes())?,
        }
    }
    Ok(())
}

/// A refusal, and its reason.
struct Refused(Code, String);

impl From<StreamError> for Refused {
    fn from(error: StreamError) -> Refused {
        let code = match &error {
            StreamError::Log(Error::TooLong { .. }) => Code::TooLong,
            StreamError::Log(Error::Full { .. }) | StreamError::TooMany(_) => Code::Full,
            StreamError::Log(Error::NoRecord { .. }) => Code::NoRecord,
            StreamError::InUse(_) => Code::InUse,
            StreamError::Name => Code::Name,
            StreamError::Log(_) | StreamError::Foreign(_) => Code::Failed,
        };
        Refused(code, error.to_string())
    }
}

fn open(streams: &Arc<Streams>, body: &[u8], stream: &mut Option<Stream>) -> Result<Vec<u8>, Refused> {
    let name = std::str::from_utf8(body).map_err(|_| StreamError::Name)?;
    let opened = stream.insert(streams.stream(name)?);
    let (low, last) = opened.info();
    Ok(numbers(&[low.0, last.0]))
}

fn act(streams: &Streams, stream: &mut Stream, op: Op, body: &[u8]) -> Result<Vec<u8>, Refused> {
    let mut fields = Fields(body);
    let mut lsn = || fields.lsn().ok_or_else(|| Refused(Code::Misuse, "a sequence number is missing".into()));
    Ok(match op {
        Op::Append => numbers(&[stream.append(body)?.0]),
        Op::Commit => numbers(&[stream.commit(body)?.0]),
        Op::Force => stream.force(lsn()?).map(|()| Vec::new())?,
        Op::Reclaim => stream.reclaim(lsn()?).map(|()| Vec::new())?,
        Op::Read => {
            let record = stream.read(lsn()?)?;
            [&numbers(&[record.time])[..], &record.data].concat()
        }
        Op::Scan => {
            let (from, most) = (lsn()?, fields.u32().unwrap_or(u32::MAX) as usize);
            let (records, next) = stream.scan(from, most.min(SCAN_MOST))?;
            let mut answer = numbers(&[next.map_or(0, |next| next.0)]);
            records.iter().for_each(|record| put_record(&mut answer, record));
            answer
        }
        Op::Info => {
            let (low, last) = stream.info();
            let space = streams.log().call(|log| async move { log.space() });
            numbers(&[low.0, last.0, space.size, space.free])
        }
        Op::Open | Op::Drop => return Err(Refused(Code::Misuse, "this connection has its stream".into())),
    })
}
