//! The clock of a server's connection.

use std::time::Instant;

/// The machine's clock: a server takes its own time, on other threads, whatever the executor's clock says.
#[expect(clippy::disallowed_methods, reason = "a server is outside of every run that could be repeated")]
pub(super) fn clock() -> Instant {
    Instant::now()
}
