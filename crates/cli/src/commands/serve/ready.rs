//! The line of a server that can be used.

use crate::out::print;

/// Says that the server can be used from now on, and where: for people, and for scripts that wait for this line.
pub(super) fn ready(address: &str) -> anyhow::Result<()> {
    print(|out| out.line(format!("ready {address}")))
}
