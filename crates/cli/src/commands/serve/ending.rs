//! SIGINT, SIGTERM and SIGHUP end a server.
//!
//! E1. The first signal asks the server to stop, or, if it does not serve yet, as soon as it does: a volume that is
//!     being opened is then closed cleanly.
//! E2. A second signal ends the program at once, as a kill would.

use anyhow::Context;
use signal_hook::iterator::Signals;
use std::sync::{Arc, Mutex, PoisonError};

/// What stops the server.
type Stop = Box<dyn FnOnce() + Send>;

/// The end of a server: see the module.
#[derive(Clone, Default)]
pub(super) struct Ending(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    signalled: bool,
    stop: Option<Stop>,
}

impl Ending {
    /// From now on signals are for the server.
    ///
    /// # Errors
    /// When no handler can be installed.
    pub(super) fn by_signals() -> anyhow::Result<Ending> {
        let (ending, mut signals) = (Ending::default(), Signals::new(ordo_fuse::end_signals()).context("signals")?);
        let own = ending.clone();
        std::thread::spawn(move || {
            for signal in signals.forever() {
                if !own.signal() {
                    // If the system does not end it, nothing else would.
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                }
            }
        });
        Ok(ending)
    }

    /// How the server is stopped; called at most once, on another thread, or here if the signal has come already.
    pub(super) fn stop_with(&self, stop: impl FnOnce() + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !state.signalled {
            state.stop = Some(Box::new(stop));
            return;
        }
        drop(state);
        stop();
    }

    /// False at the second signal.
    fn signal(&self) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !std::mem::replace(&mut state.signalled, true);
        let stop = state.stop.take();
        drop(state);
        if let Some(stop) = stop {
            stop();
        }
        first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_signal_that_comes_before_the_server_stops_it_too() {
        for early in [true, false] {
            let (ending, stopped) = (Ending::default(), Arc::new(AtomicUsize::new(0)));
            let count = stopped.clone();
            let stop = move || {
                count.fetch_add(1, Ordering::SeqCst);
            };
            if early {
                assert!(ending.signal());
                ending.stop_with(stop);
            } else {
                ending.stop_with(stop);
                assert!(ending.signal());
            }
            assert_eq!(stopped.load(Ordering::SeqCst), 1);
            assert!(!ending.signal());
            assert_eq!(stopped.load(Ordering::SeqCst), 1);
        }
    }
}
