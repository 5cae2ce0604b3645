//! Moving the server to the background, and reporting the result.
//!
//! The parent runs the same program again with a mark in its environment, and reads the child's standard output: `ok`
//! when the mount is usable, otherwise the reason. A child that dies before it reports counts as a failure, so the
//! parent's exit status is always true.

use rustix::fs::{Mode, OFlags};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const MARK: &str = "ORDO_BACKGROUND";
const OK: &[u8] = b"ok\n";

/// The connection to the parent, in the child.
#[derive(Debug)]
pub struct Foreground(());

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Background {
    /// The child: mount, then report.
    Child(Foreground),
    /// The parent, with the child's report.
    Parent(Result<(), String>),
}

/// Runs this program again in the background and waits for its report; returns in both processes.
///
/// The child inherits arguments, directory and standard error. Call it before doing anything else.
///
/// # Errors
/// The system's, when the program cannot be run again.
pub fn background() -> io::Result<Background> {
    if std::env::var_os(MARK).is_some() {
        // A session of its own, so that signals to the terminal's programs do not end the mount. Fails only for a
        // session leader, which does not need it.
        let _ = rustix::process::setsid();
        return Ok(Background::Child(Foreground(())));
    }
    let mut args = std::env::args_os();
    let mut child = Command::new(std::env::current_exe()?)
        // The name it was called by: a mount helper recognizes itself by it.
        .arg0(args.next().unwrap_or_default())
        .args(args)
        .env(MARK, "1")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut said = Vec::new();
    if let Some(mut stdout) = child.stdout.take() {
        stdout.read_to_end(&mut said)?;
    }
    if said == OK {
        return Ok(Background::Parent(Ok(())));
    }
    let status = child.wait()?;
    Ok(Background::Parent(Err(reason(&said).unwrap_or_else(|| format!("the server ended early: {status}")))))
}

fn reason(said: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(said).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

impl Foreground {
    /// Reports to the parent that the mount is usable, and releases terminal and directory.
    ///
    /// # Errors
    /// The system's. The service may continue.
    pub fn usable(self) -> io::Result<()> {
        let mut stdout = io::stdout();
        stdout.write_all(OK)?;
        stdout.flush()?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // Closes the pipe, for which the parent waits.
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        std::env::set_current_dir("/")
    }

    /// Reports the failure to the parent.
    pub fn failed(self, why: &str) {
        // If the parent was killed, the report is not needed.
        let _ = io::stdout().write_all(why.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_no_reason() {
        assert_eq!(reason(b" \n"), None);
        assert_eq!(reason(b"no such file\n").as_deref(), Some("no such file"));
    }
}
