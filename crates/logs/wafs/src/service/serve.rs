//! The daemon: a thread for each client, one log for all. A client that does not read its answers blocks only itself.

use super::proto::{Code, DONE, Fields, Op, numbers, put_record, receive, send};
use super::streams::{Stream, StreamError, Streams};
use crate::Error;
use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of records in one answer to a scan; one record may be longer.
const SCAN_MOST: usize = 1 << 20;

/// Listens on a socket.
pub struct Server {
    listener: UnixListener,
    path: PathBuf,
    streams: Arc<Streams>,
    clients: Arc<Clients>,
}

/// The connections, and whether the server was stopped.
#[derive(Default)]
struct Clients(Mutex<State>);

#[derive(Default)]
struct State {
    sockets: BTreeMap<u64, UnixStream>,
    next: u64,
    stopped: bool,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Stopper {
    path: PathBuf,
    clients: Arc<Clients>,
}

impl Server {
    /// Creates the socket `path`, accessible only to the user who runs the server. A socket left by a killed server is
    /// replaced.
    ///
    /// # Errors
    /// The system's; `AddrInUse` if another process listens there, or the name belongs to something else.
    pub fn bind(path: impl AsRef<Path>, streams: Arc<Streams>) -> io::Result<Server> {
        let path = path.as_ref();
        let listener = match UnixListener::bind(path) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && is_abandoned(path) => {
                std::fs::remove_file(path)?;
                UnixListener::bind(path)?
            }
            outcome => outcome?,
        };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        Ok(Server { listener, path: path.into(), streams, clients: Arc::default() })
    }

    /// A handle that stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper { path: self.path.clone(), clients: self.clients.clone() }
    }

    /// Serves until it is stopped. Requests that are in progress then are completed first.
    ///
    /// # Errors
    /// The system's, from the socket.
    pub fn run(self) -> io::Result<()> {
        let mut threads = Vec::new();
        let outcome = loop {
            let socket = match self.listener.accept() {
                Ok((socket, _)) => socket,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(error) => break Err(error),
            };
            let Some(number) = self.clients.enter(&socket) else { break Ok(()) };
            let (streams, clients) = (self.streams.clone(), self.clients.clone());
            threads.push(std::thread::spawn(move || {
                // The connection ends, with or without an error.
                let _ = attend(socket, &streams);
                clients.lock().sockets.remove(&number);
            }));
            threads.retain(|thread| !thread.is_finished());
        };
        self.clients.stop();
        for thread in threads {
            // A client's thread that panicked affects that client only.
            let _ = thread.join();
        }
        outcome
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // If another process removed it before, there is nothing left to do.
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Stopper {
    /// Makes the server's [`Server::run`] return soon.
    pub fn stop(&self) {
        self.clients.stop();
        // Wakes the server from waiting for a client. If it does not listen, it does not wait.
        let _ = UnixStream::connect(&self.path);
    }
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The client's number; `None` if the server was stopped.
    fn enter(&self, socket: &UnixStream) -> Option<u64> {
        let mut state = self.lock();
        let (number, mine) = (state.next, socket.try_clone().ok()?);
        if state.stopped {
            return None;
        }
        state.next += 1;
        state.sockets.insert(number, mine);
        Some(number)
    }

    /// Accepts no more requests; answers are still sent.
    fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        for socket in state.sockets.values() {
            let _ = socket.shutdown(std::net::Shutdown::Read);
        }
    }
}

/// True if the socket file exists and no process listens on it.
fn is_abandoned(path: &Path) -> bool {
    UnixStream::connect(path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// Serves one client to its end.
fn attend(mut socket: UnixStream, streams: &Arc<Streams>) -> io::Result<()> {
    let mut stream = None;
    while let Some((kind, body)) = receive(&mut socket)? {
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
