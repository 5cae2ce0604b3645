//! Who is connected: a place for each (sockets-3).

use crate::stall::Stalls;
use crate::stream::Stream;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a client may keep its connection waiting when another client wants the place.
pub(crate) const STALLED: Duration = Duration::from_secs(30);
/// How long the next client waits for the place of one that gives way: its threads end at once, unless the disk hangs.
const HANDOVER: Duration = Duration::from_secs(1);
/// How long a client may take to accept its last replies when the server stops.
const PATIENCE: Duration = Duration::from_secs(5);

/// The connections of a server, and whether it was stopped.
#[derive(Debug)]
pub struct Clients {
    state: Mutex<State>,
    /// A client has left.
    left: Condvar,
    most: usize,
    /// Readable when the server is to stop (sockets-5).
    stop: OwnedFd,
}

#[derive(Debug, Default)]
struct State {
    places: BTreeMap<u64, Taken>,
    next: u64,
    stopped: bool,
}

#[derive(Debug)]
struct Taken {
    stream: Stream,
    stalls: Stalls,
    /// It was told to leave.
    gives_way: bool,
}

/// A client's place, free again when this is dropped.
#[derive(Debug)]
pub struct Place {
    /// The client's number.
    pub number: u64,
    /// What its threads note.
    pub stalls: Stalls,
    of: Arc<Clients>,
}

/// Whether a client may come in.
#[derive(Debug)]
pub(crate) enum Entry {
    Place(Place),
    Full,
    Short(io::Error),
    Stopped,
}

/// Stops a server, from any thread.
#[derive(Debug, Clone)]
pub struct Stopper(Arc<Clients>);

impl Stopper {
    /// Makes the server return soon.
    pub fn stop(&self) {
        self.0.stop();
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.of.lock().places.remove(&self.number);
        self.of.left.notify_all();
    }
}

impl Clients {
    /// Places for so many.
    ///
    /// # Errors
    /// The system's, when it has no descriptor left.
    pub fn new(most: usize) -> io::Result<Arc<Clients>> {
        let stop = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        Ok(Arc::new(Clients { state: Mutex::default(), left: Condvar::new(), most, stop }))
    }

    /// A handle that stops their server.
    pub fn stopper(self: &Arc<Self>) -> Stopper {
        Stopper(self.clone())
    }

    /// One change is made under the lock, so a panic elsewhere leaves nothing half done.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn stop_signal(&self) -> BorrowedFd<'_> {
        self.stop.as_fd()
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.lock().stopped
    }

    /// Where there are as many as there may be, the one that has stalled longest gives way, if for `patience`.
    pub(crate) fn enter(self: &Arc<Self>, stream: &Stream, patience: Duration) -> Entry {
        let mut state = self.lock();
        if state.places.len() >= self.most && state.make_way(patience) {
            let full = |state: &mut State| state.places.len() >= self.most && !state.stopped;
            let waited = self.left.wait_timeout_while(state, HANDOVER, full);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        if state.stopped {
            return Entry::Stopped;
        }
        if state.places.len() >= self.most {
            return Entry::Full;
        }
        let own = match stream.try_clone() {
            Ok(own) => own,
            Err(error) => return Entry::Short(error),
        };
        let (number, stalls) = (state.next, Stalls::default());
        state.next += 1;
        state.places.insert(number, Taken { stream: own, stalls: stalls.clone(), gives_way: false });
        Entry::Place(Place { number, stalls, of: self.clone() })
    }

    /// Accepts no more requests; replies are still sent.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.stopped = true;
        state.places.values().for_each(|taken| taken.stream.shutdown(Shutdown::Read));
        self.left.notify_all();
        // It is full only when it was written before.
        let _ = rustix::io::write(&self.stop, &1_u64.to_ne_bytes());
    }

    /// Waits until all have left. One that does not take its replies in time loses them.
    pub(crate) fn see_off(&self) {
        let until = Instant::now() + PATIENCE;
        let mut state = self.lock();
        while !state.places.is_empty() {
            let rest = until.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return state.places.values().for_each(|taken| taken.stream.shutdown(Shutdown::Both));
            }
            state = self.left.wait_timeout(state, rest).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl State {
    /// Tells one to leave; false if there is none. It keeps its place until its thread has ended (sockets-3).
    fn make_way(&mut self, patience: Duration) -> bool {
        let waits = |taken: &&mut Taken| if taken.gives_way { None } else { taken.stalls.longest() };
        let longest = self.places.values_mut().max_by_key(waits);
        let Some(taken) = longest.filter(|taken| waits(taken).is_some_and(|wait| wait >= patience)) else {
            return false;
        };
        taken.gives_way = true;
        taken.stream.shutdown(Shutdown::Both);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stall::Watched;
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    fn place(clients: &Arc<Clients>, stream: &Stream, patience: Duration) -> Option<Place> {
        match clients.enter(stream, patience) {
            Entry::Place(place) => Some(place),
            Entry::Full => None,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_client_that_has_stalled_gives_way_and_its_place_is_free_when_its_thread_has_ended() {
        const HOUR: Duration = Duration::from_secs(3600);
        let clients = Clients::new(3).unwrap();
        let pairs: Vec<_> = (0..5).map(|_| UnixStream::pair().unwrap()).collect();
        let streams: Vec<_> = pairs.iter().map(|(own, _)| Stream::Unix(own.try_clone().unwrap())).collect();
        let mut all: Vec<_> = streams[..3].iter().map(|stream| place(&clients, stream, HOUR).unwrap()).collect();
        all.iter().for_each(|place| place.stalls.has_asked());
        assert!(place(&clients, &streams[3], Duration::ZERO).is_none(), "all of them have asked, and wait for nothing");
        let (stalled, mut half) = (all.swap_remove(1), streams[1].try_clone().unwrap());
        let (stalls, ends) = (stalled.stalls.clone(), std::sync::Mutex::new(()));
        let runs = ends.lock().unwrap();
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let _place = stalled;
                let read = Watched(&mut half, &stalls.reading).read(&mut [0; 28]);
                drop(ends.lock());
                read
            });
            while stalls.longest().is_none() {
                std::thread::yield_now();
            }
            assert!(place(&clients, &streams[3], HOUR).is_none(), "not for long");
            assert!(place(&clients, &streams[3], Duration::ZERO).is_none(), "its thread has not ended");
            drop(runs);
            assert_eq!(waits.join().unwrap().unwrap(), 0, "its connection has ended");
            let next = place(&clients, &streams[3], Duration::ZERO).unwrap();
            assert!(place(&clients, &streams[4], HOUR).is_none());
            assert!(next.stalls.longest().is_some(), "one that never asks anything gives way, too");
        });
    }
}
