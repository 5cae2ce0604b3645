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

/// The most bytes of one call: it returns only when the client has taken all of them. A client behind a slow line, who
/// takes some all the time, has not stalled.
const STEP: usize = 256 << 10;

/// A stream whose calls are noted.
pub struct Watched<'a, S>(pub &'a mut S, pub &'a Stall);

impl<S: Read> Read for Watched<'_, S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.1.during(|| self.0.read(into))
    }
}

impl<S: Write> Write for Watched<'_, S> {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        self.1.during(|| self.0.write(&data[..data.len().min(STEP)]))
    }

    fn write_vectored(&mut self, data: &[IoSlice<'_>]) -> io::Result<usize> {
        let mut room = STEP;
        let fits = |slice: &&IoSlice<'_>| room.checked_sub(slice.len()).map(|rest| room = rest).is_some();
        match (data.iter().take_while(fits).count(), data.first()) {
            (0, Some(long)) => self.write(long),
            (count, _) => self.1.during(|| self.0.write_vectored(&data[..count])),
        }
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

    /// Accepts everything, as a socket that blocks does.
    #[derive(Default)]
    struct Accepts(Vec<usize>);

    impl Write for Accepts {
        fn write(&mut self, data: &[u8]) -> io::Result<usize> {
            self.0.push(data.len());
            Ok(data.len())
        }

        fn write_vectored(&mut self, data: &[IoSlice<'_>]) -> io::Result<usize> {
            self.0.push(data.iter().map(|slice| slice.len()).sum());
            Ok(self.0[self.0.len() - 1])
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn no_call_takes_as_long_as_a_large_reply_does() {
        let (mut to, stall) = (Accepts::default(), Stall::default());
        let lengths = [16, 3 * STEP + 5, 0, STEP, 7, STEP - 7, 1];
        let pieces = lengths.map(|len| vec![1; len]);
        let mut slices = pieces.each_ref().map(|piece| IoSlice::new(piece));
        let mut rest = &mut slices[..];
        while !rest.is_empty() {
            let done = Watched(&mut to, &stall).write_vectored(rest).unwrap();
            IoSlice::advance_slices(&mut rest, done);
        }
        Watched(&mut to, &stall).write_all(&pieces[1]).unwrap();
        assert!(to.0.iter().all(|&len| len <= STEP), "{:?}", to.0);
        assert_eq!(to.0.iter().sum::<usize>(), lengths.iter().sum::<usize>() + lengths[1]);
    }
}
