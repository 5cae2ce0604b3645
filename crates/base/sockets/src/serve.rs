//! The service: a thread that accepts, and one for each client.

use crate::clients::{Clients, Entry, Place, STALLED};
use crate::listener::{Arrival, Listener};
use crate::stream::Stream;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The pause after a connection could not be accepted: there are no descriptors, and trying again does not make any.
pub const PAUSE: Duration = Duration::from_millis(50);

/// Serves until the server is stopped: each client has a thread that calls `attend`, and a place as long as that runs.
/// Returns when the last one has ended. `tell` is told what went wrong with single connections.
///
/// # Errors
/// The system's, when the listener is of no use any more.
pub fn serve(
    listener: &Listener,
    clients: &Arc<Clients>,
    tell: &dyn Fn(&str),
    attend: impl Fn(Stream, &Place) + Clone + Send + 'static,
) -> io::Result<()> {
    // One line until it is otherwise: who connects again and again fills no log.
    let (mut threads, mut told, mut told_full) = (Vec::new(), false, false);
    let outcome = loop {
        if clients.is_stopped() {
            break Ok(());
        }
        let entered = match listener.accept() {
            Err(error) => break Err(error),
            Ok(Arrival::Nobody) => {
                wait(clients, Some(listener));
                continue;
            }
            Ok(Arrival::Short(error)) => Err(error),
            Ok(Arrival::Client(stream)) => match clients.enter(&stream, STALLED) {
                Entry::Stopped => break Ok(()),
                Entry::Full => {
                    if !std::mem::replace(&mut told_full, true) {
                        tell("a connection was refused, as all are until one ends: there are as many as there may be");
                    }
                    continue;
                }
                Entry::Short(error) => Err(error),
                Entry::Place(place) => {
                    let attend = attend.clone();
                    // The place ends with the thread; without one, with the closure.
                    std::thread::Builder::new().name("ordo-client".into()).spawn(move || attend(stream, &place))
                }
            },
        };
        threads.retain(|thread: &std::thread::JoinHandle<()>| !thread.is_finished());
        match entered {
            Ok(thread) => {
                threads.push(thread);
                (told, told_full) = (false, false);
            }
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tell(&format!("a connection could not be accepted: {error}"));
                }
                wait(clients, None);
            }
        }
    };
    clients.stop();
    clients.see_off();
    for thread in threads {
        // A client's thread that panicked affects that client only.
        let _ = thread.join();
    }
    outcome
}

/// Waits for a client, or for [`PAUSE`]; in both cases not beyond the stop.
fn wait(clients: &Clients, listener: Option<&Listener>) {
    let mut fds = vec![PollFd::from_borrowed_fd(clients.stop_signal(), PollFlags::IN)];
    fds.extend(listener.map(|listener| PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)));
    let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(PAUSE.subsec_nanos()) };
    if !matches!(poll(&mut fds, if listener.is_some() { None } else { Some(&pause) }), Ok(_) | Err(Errno::INTR)) {
        // The system has no memory for it now.
        std::thread::sleep(PAUSE);
    }
}
