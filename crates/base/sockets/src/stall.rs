//! Since when a client has kept its connection waiting: in the middle of a request, with a reply that it does not take,
//! or with its first request. A client that has asked something, and asks nothing now, keeps nobody waiting: a virtual
//! machine may leave its disk alone for a day.

use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a connection's threads note. One reads and one writes: each has its own.
#[derive(Debug, Clone)]
pub struct Stalls {
    /// In the middle of a request.
    pub reading: Stall,
    /// With a reply.
    pub writing: Stall,
    first: Stall,
}

impl Default for Stalls {
    fn default() -> Stalls {
        let first = Stall::default();
        first.set(Some(Instant::now()));
        Stalls { reading: Stall::default(), writing: Stall::default(), first }
    }
}

impl Stalls {
    /// The client has asked its first question.
    pub fn has_asked(&self) {
        self.first.set(None);
    }

    /// How long the client has kept its connection waiting.
    pub fn longest(&self) -> Option<Duration> {
        [&self.reading, &self.writing, &self.first].into_iter().filter_map(Stall::since).map(|at| at.elapsed()).max()
    }
}

/// A wait for the client, if there is one.
#[derive(Debug, Clone, Default)]
pub struct Stall(Arc<Mutex<Option<Instant>>>);

impl Stall {
    fn set(&self, since: Option<Instant>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn since(&self) -> Option<Instant> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the client is waited for, until the call returns.
    fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        self.set(Some(Instant::now()));
        let outcome = call();
        self.set(None);
        outcome
    }
}

/// A stream whose calls are noted.
pub struct Watched<'a, S>(pub &'a mut S, pub &'a Stall);

impl<S: Read> Read for Watched<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1.during(|| self.0.read(into))
    }
}

impl<S: Write> Write for Watched<'_, S> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.1.during(|| self.0.write(data))
    }

    fn write_vectored(&mut self, data: &[IoSlice<'_>]) -> io::Result<usize> {
        self.1.during(|| self.0.write_vectored(data))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_waited_for_within_a_call_and_until_it_has_asked_something() {
        let stalls = Stalls::default();
        assert!(stalls.longest().is_some(), "it has asked nothing yet");
        stalls.has_asked();
        assert_eq!(stalls.longest(), None);
        stalls.writing.during(|| assert!(stalls.longest().is_some()));
        Watched(&mut io::empty(), &stalls.reading).read_to_end(&mut Vec::new()).unwrap();
        assert_eq!(stalls.longest(), None);
    }
}
