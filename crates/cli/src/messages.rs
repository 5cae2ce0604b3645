//! The destination of a mount's messages, decided only here.
//!
//! In the foreground: standard error. In the background: also the system's log, as datagrams to its socket (RFC 3164,
//! which journald also accepts), because a background server has no terminal once its mount is usable.

use crate::out::say;
use crate::text;
use ordofs::{ImageSpec, Notice, Notices, Weight};
use std::os::unix::net::UnixDatagram;
use std::sync::{Mutex, PoisonError};

/// The socket of the system's log.
const SYSTEM_LOG: &str = "/dev/log";
/// The facility "daemon" of syslog(3): background programs that belong to no user.
const DAEMON: u8 = 3 << 3;

/// Reports events of one volume.
#[derive(Debug, Clone)]
pub(crate) struct Messages {
    /// The user's name for it.
    volume: String,
    background: bool,
}

impl Messages {
    /// For the volume at `spec`, served by this process.
    pub(crate) fn of(spec: &ImageSpec, background: bool) -> Messages {
        Messages { volume: spec.to_string(), background }
    }

    /// Prints one line.
    pub(crate) fn tell(&self, weight: Weight, what: &str) {
        let line = format!("{}: {what}", self.volume);
        say(&line);
        if self.background {
            log(weight, &line);
        }
    }

    /// The same, as a listener of the volume.
    pub(crate) fn listener(&self) -> Notices {
        let own = self.clone();
        Notices::to(move |notice: &Notice| own.tell(notice.weight(), &notice.to_string()))
    }

    /// Only of a wait for another writer, which would look like a hang: what changes a volume repairs it in silence.
    pub(crate) fn listener_of_waits(&self) -> Notices {
        let own = self.clone();
        Notices::to(move |notice: &Notice| {
            if let Notice::WaitsForWriter(_) = notice {
                own.tell(notice.weight(), &notice.to_string());
            }
        })
    }

    /// Of everything, but each line only once in this process: a command may open a volume several times.
    pub(crate) fn listener_once(&self) -> Notices {
        static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());
        let own = self.clone();
        Notices::to(move |notice: &Notice| {
            let what = notice.to_string();
            let line = format!("{}: {what}", own.volume);
            // A list of lines is valid even if a thread panicked while holding it.
            let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
            if !said.contains(&line) {
                own.tell(notice.weight(), &what);
                said.push(line);
            }
        })
    }
}

/// Events of what a command uses that is no volume: on standard error.
pub(crate) fn on_stderr() -> Notices {
    Notices::to(|notice: &Notice| say(&notice.to_string()))
}

/// One line of the system's log, in the format of its socket.
fn record(weight: Weight, line: &str, pid: u32) -> String {
    let severity = match weight {
        Weight::Error => 3,
        Weight::Warning => 4,
        Weight::Note => 5,
    };
    format!("<{}>ordo[{pid}]: {}", DAEMON | severity, text::one_line(line))
}

/// If the log is full or missing, the line is lost: it must not delay the volume.
fn log(weight: Weight, line: &str) {
    let record = record(weight, line, std::process::id());
    let sent = UnixDatagram::unbound().and_then(|socket| {
        socket.set_nonblocking(true)?;
        socket.send_to(record.as_bytes(), SYSTEM_LOG)
    });
    drop(sent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_facility_severity_and_one_line() {
        assert_eq!(record(Weight::Error, "v.img: a\nb", 7), "<27>ordo[7]: v.img: a b");
        assert!(
            record(Weight::Warning, "x", 7).starts_with("<28>") && record(Weight::Note, "x", 7).starts_with("<29>")
        );
    }
}
