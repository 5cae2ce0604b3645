//! Ctrl-C and SIGTERM, for commands that change a volume.
//!
//! I1. The first signal ends the work after its current step: a file, a name, a piece of a long file. The volume is
//!     then closed as after the complete work, so it is clean, and the program reports its progress.
//! I2. The program ends by that signal, and not with a status of its own: a shell that runs it in a loop ends the loop.
//! I3. A second signal ends the program at once. It leaves the same state as a kill, which the next command repairs as
//!     far as the volume's scheme allows.

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

static CAUGHT: OnceLock<Arc<AtomicUsize>> = OnceLock::new();

/// From now on signals are recorded for [`check`]. May be called again.
///
/// # Errors
/// When no handler can be installed.
pub fn catch() -> anyhow::Result<()> {
    if CAUGHT.get().is_some() {
        return Ok(());
    }
    let (number, again) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    for signal in [SIGINT, SIGTERM] {
        let register = || {
            // In this order: the second signal must see the flag that the first has set.
            signal_hook::flag::register_conditional_default(signal, again.clone())?;
            signal_hook::flag::register(signal, again.clone())?;
            signal_hook::flag::register_usize(signal, number.clone(), signal as usize)
        };
        register().context("cannot catch signals")?;
    }
    CAUGHT.get_or_init(|| number);
    Ok(())
}

/// The signal that was caught.
pub fn caught() -> Option<i32> {
    let number = CAUGHT.get()?.load(Ordering::Relaxed);
    (number != 0).then_some(number as i32)
}

/// Whether the work may continue.
///
/// # Errors
/// [`Interrupted`], once a signal was caught.
pub fn check() -> Result<(), Interrupted> {
    caught().map_or(Ok(()), |signal| Err(Interrupted::by(signal)))
}

/// The error of a command; an interruption gets the progress added, other errors already say where the work stopped.
pub fn how_far(error: anyhow::Error, done: impl FnOnce() -> String) -> anyhow::Error {
    match error.downcast::<Interrupted>() {
        Ok(interrupted) => interrupted.after(done()).into(),
        Err(other) => other,
    }
}

/// The same, where the work wrote to no volume.
pub fn how_far_on_host(error: anyhow::Error, done: impl FnOnce() -> String) -> anyhow::Error {
    match error.downcast::<Interrupted>() {
        Ok(interrupted) => interrupted.instead(done()).into(),
        Err(other) => other,
    }
}

/// A signal ended the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    signal: i32,
    /// The progress, in words.
    done: String,
}

impl Interrupted {
    /// An interruption by this signal.
    pub fn by(signal: i32) -> Interrupted {
        Interrupted { signal, done: String::new() }
    }

    /// The same, with the progress so far. It is printed after the volume was closed.
    pub fn after(self, done: impl Into<String>) -> Interrupted {
        Interrupted { done: format!("{}; the volume was closed cleanly", done.into()), ..self }
    }

    /// The same, where no volume is left.
    pub fn instead(self, done: impl Into<String>) -> Interrupted {
        Interrupted { done: done.into(), ..self }
    }

    /// Ends the program as if the signal had not been caught (I2).
    pub fn end_by_signal(&self) {
        // If the system does not end it, the caller's status does.
        let _ = signal_hook::low_level::emulate_default_handler(self.signal);
    }
}

impl std::fmt::Display for Interrupted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = signal_hook::low_level::signal_name(self.signal).unwrap_or("a signal");
        let done = if self.done.is_empty() { "the volume was closed cleanly" } else { &self.done };
        write!(f, "interrupted by {name}: {done}")
    }
}

impl std::error::Error for Interrupted {}
