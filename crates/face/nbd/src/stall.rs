//! Since when a client has kept its connection waiting: in the middle of a request, or with a reply that it does not
//! take. A client that asks nothing keeps nobody waiting.

use std::io::{self, IoSlice, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What a connection's threads note. One reads and one writes: each has its own.
#[derive(Clone, Default)]
pub(crate) struct Stalls {
    pub(crate) reading: Stall,
    pub(crate) writing: Stall,
}

impl Stalls {
    /// The client has kept either of them waiting for so long.
    pub(crate) fn are_longer_than(&self, patience: Duration) -> bool {
        [&self.reading, &self.writing].into_iter().any(|stall| stall.since().is_some_and(|at| at.elapsed() >= patience))
    }
}

/// A wait for the client, if there is one.
#[derive(Clone, Default)]
pub(crate) struct Stall(Arc<Mutex<Option<Instant>>>);

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
pub(crate) struct Watched<'a, S>(pub(crate) &'a mut S, pub(crate) &'a Stall);

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
    fn a_client_is_waited_for_only_within_a_call() {
        let stalls = Stalls::default();
        assert!(!stalls.are_longer_than(Duration::ZERO));
        stalls.writing.during(|| assert!(stalls.are_longer_than(Duration::ZERO)));
        Watched(&mut io::empty(), &stalls.reading).read_to_end(&mut Vec::new()).unwrap();
        assert!(!stalls.are_longer_than(Duration::ZERO));
        stalls.reading.during(|| assert!(!stalls.are_longer_than(Duration::from_secs(3600))));
    }
}
