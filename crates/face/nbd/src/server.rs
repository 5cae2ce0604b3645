//! The server: accepts connections, and runs the executor until it is stopped.

use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ordo_rt::Rt;
use rustix::io::Errno;

use crate::connection::attend;
use crate::export::{Description, Export, Failure};
use crate::jobs::Jobs;
use crate::stall::Stalls;
use crate::stream::{Address, Listener, Stream};
use crate::work::Served;

/// The most connections at a time.
const CONNECTIONS_MOST: usize = 32;
/// How long a client may keep its connection waiting when another client wants the place.
const STALLED: Duration = Duration::from_secs(30);
/// The pause after a connection could not be accepted: there are no descriptors, and trying again does not make any.
const NO_DESCRIPTORS: Duration = Duration::from_millis(50);
/// Tries to wake the thread that accepts: without descriptors it cannot be knocked at, until clients have left.
const KNOCKS: u32 = 100;
/// How long a client may take to accept its last replies when the server stops.
const PATIENCE: Duration = Duration::from_secs(5);

/// How to serve.
pub struct ServerOptions {
    /// The name of the export; clients may also leave it out.
    pub name: String,
    /// Told of connections that ended badly, and of flushes that failed. Called from any thread.
    pub complain: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A server that listens, and serves once it runs.
pub struct Server {
    listener: Listener,
    options: ServerOptions,
    clients: Arc<Clients>,
}

/// Stops a server, from any thread.
#[derive(Clone)]
pub struct Stopper {
    address: Address,
    clients: Arc<Clients>,
}

/// The connections, and whether the server was stopped.
#[derive(Default)]
struct Clients {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    streams: BTreeMap<u64, (Stream, Stalls)>,
    next: u64,
    stopped: bool,
}

/// Whether a client may come in.
enum Entry {
    Number(u64, Stalls),
    Full,
    Stopped,
}

impl Server {
    /// A server at this listener.
    pub fn new(listener: Listener, options: ServerOptions) -> Server {
        Server { listener, options, clients: Arc::default() }
    }

    /// A handle that stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper { address: self.listener.address().clone(), clients: self.clients.clone() }
    }

    /// Serves `export` until the server is stopped. Requests that were read are carried out and answered first; then
    /// everything that was written is made durable.
    ///
    /// # Errors
    /// The system's, from the socket; or the last flush failed.
    pub fn run(self, rt: &Rt, export: impl Export + 'static) -> io::Result<()> {
        let complain = self.options.complain.clone();
        let served = Rc::new(Served::new(export, Box::new(move |what| complain(what))));
        let (description, jobs) = (served.description.clone(), Arc::new(Jobs::default()));
        let coming = jobs.clone();
        let accepting = std::thread::Builder::new().name("ordo-nbd-accept".into()).spawn(move || {
            let outcome = self.accept_all(description, &coming);
            coming.close();
            outcome
        })?;
        rt.block_on(async {
            while let Some(job) = jobs.next().await {
                rt.spawn(served.clone().carry_out(job));
            }
        });
        // OK to expect: that thread runs no code of a client, and a panic there is a defect to be seen.
        let outcome = accepting.join().expect("the accepting thread panicked");
        let flushed = rt.block_on(served.flush());
        outcome.and(flushed.map_err(|Failure { text, .. }| io::Error::other(text)))
    }

    fn accept_all(&self, description: Description, jobs: &Arc<Jobs>) -> io::Result<()> {
        let description = Arc::new(description);
        let (mut threads, mut told) = (Vec::new(), false);
        let outcome = loop {
            let stream = match self.listener.accept() {
                Ok(stream) => stream,
                Err(_) if self.clients.lock().stopped => break Ok(()),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) if is_of_the_listener(&error) => break Err(error),
                Err(error) => {
                    // Of this one connection, or of a system that is short of something for a while (serving-3).
                    if !std::mem::replace(&mut told, true) {
                        (self.options.complain)(&format!("a connection could not be accepted: {error}"));
                    }
                    std::thread::sleep(NO_DESCRIPTORS);
                    continue;
                }
            };
            told = false;
            let (number, stalls) = match self.clients.enter(&stream, STALLED) {
                Entry::Number(number, stalls) => (number, stalls),
                Entry::Full => {
                    (self.options.complain)("a connection was refused: there are as many as there may be");
                    continue;
                }
                Entry::Stopped => break Ok(()),
            };
            let (description, jobs) = (description.clone(), jobs.clone());
            let (name, complain) = (self.options.name.clone(), self.options.complain.clone());
            let clients = self.clients.clone();
            let thread = std::thread::Builder::new().name("ordo-nbd-client".into()).spawn(move || {
                if let Err(error) = attend(stream, &description, &name, &jobs, &stalls) {
                    complain(&format!("connection {number} was ended: {error}"));
                }
                clients.leave(number);
            });
            match thread {
                Ok(thread) => threads.push(thread),
                // The connection was dropped with the closure.
                Err(_) => self.clients.leave(number),
            }
            threads.retain(|thread| !thread.is_finished());
        };
        self.clients.stop();
        self.clients.see_off();
        for thread in threads {
            // A client's thread that panicked affects that client only.
            let _ = thread.join();
        }
        outcome
    }
}

impl Stopper {
    /// Makes the server's [`Server::run`] return soon.
    pub fn stop(&self) {
        self.clients.stop();
        for _ in 0..KNOCKS {
            if self.address.knock() {
                return;
            }
            std::thread::sleep(NO_DESCRIPTORS);
        }
    }
}

/// The listener is no use any more.
fn is_of_the_listener(error: &io::Error) -> bool {
    let errno = error.raw_os_error().map(Errno::from_raw_os_error);
    matches!(errno, Some(Errno::BADF | Errno::INVAL | Errno::NOTSOCK | Errno::OPNOTSUPP))
}

impl Clients {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where there are as many as there may be, one that has stalled for `patience` gives way.
    fn enter(&self, stream: &Stream, patience: Duration) -> Entry {
        let mut state = self.lock();
        if state.stopped {
            return Entry::Stopped;
        }
        if state.streams.len() >= CONNECTIONS_MOST {
            let stalled = state.streams.iter().find(|(_, (_, stalls))| stalls.are_longer_than(patience));
            if let Some((stream, _)) =
                stalled.map(|(number, _)| *number).and_then(|number| state.streams.remove(&number))
            {
                stream.shutdown(Shutdown::Both);
            }
        }
        let Some(mine) = stream.try_clone().ok().filter(|_| state.streams.len() < CONNECTIONS_MOST) else {
            return Entry::Full;
        };
        let number = state.next;
        state.next += 1;
        let stalls = Stalls::default();
        state.streams.insert(number, (mine, stalls.clone()));
        Entry::Number(number, stalls)
    }

    fn leave(&self, number: u64) {
        self.lock().streams.remove(&number);
        self.left.notify_all();
    }

    /// Accepts no more requests; replies are still sent.
    fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.streams.values().for_each(|(stream, _)| stream.shutdown(Shutdown::Read));
    }

    /// Waits until all have left. One that does not take its replies in time loses them.
    fn see_off(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !state.streams.is_empty() {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return state.streams.values().for_each(|(stream, _)| stream.shutdown(Shutdown::Both));
            }
            state = self.left.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stall::Watched;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_lack_of_descriptors_is_no_end_of_the_listener() {
        let ends = |errno: Errno| is_of_the_listener(&errno.into());
        assert!(![Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::NETDOWN, Errno::PERM].into_iter().any(ends));
        assert!(ends(Errno::BADF) && ends(Errno::INVAL));
    }

    #[test]
    fn a_client_that_has_stalled_gives_way_to_the_next_one_and_no_other_does() {
        let clients = Clients::default();
        let pairs: Vec<_> = (0..CONNECTIONS_MOST + 2).map(|_| UnixStream::pair().unwrap()).collect();
        let streams: Vec<_> = pairs.iter().map(|(own, _)| Stream::Unix(own.try_clone().unwrap())).collect();
        let mut all: Vec<_> = streams[..CONNECTIONS_MOST]
            .iter()
            .map(|stream| match clients.enter(stream, Duration::ZERO) {
                Entry::Number(_, stalls) => stalls,
                _ => panic!("there is room"),
            })
            .collect();
        let next = &streams[CONNECTIONS_MOST];
        assert!(matches!(clients.enter(next, Duration::ZERO), Entry::Full), "all of them ask nothing");
        let (stalls, mut half) = (all.swap_remove(5), streams[5].try_clone().unwrap());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| Watched(&mut half, &stalls.reading).read(&mut [0; 28]));
            while !stalls.are_longer_than(Duration::ZERO) {
                std::thread::yield_now();
            }
            assert!(matches!(clients.enter(next, Duration::from_secs(3600)), Entry::Full), "not for long");
            assert!(matches!(clients.enter(next, Duration::ZERO), Entry::Number(..)));
            assert_eq!(waits.join().unwrap().unwrap(), 0, "its connection has ended");
        });
        assert!(matches!(clients.enter(&streams[CONNECTIONS_MOST + 1], Duration::ZERO), Entry::Full));
    }
}
