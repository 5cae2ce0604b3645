//! From the foreground to the background, with the result told.
//!
//! The parent runs the same program again with a mark in its environment, and reads the child's standard output: `ok`
//! when the mount is usable, else the reason why not. A child that dies before it says anything is a failure too, so
//! the parent's exit status is always true.

use rustix::fs::{Mode, OFlags};
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

const MARK: &str = "ORDO_BACKGROUND";
const OK: &[u8] = b"ok\n";

/// The way back to the parent, in the child.
#[derive(Debug)]
pub struct Foreground(());

/// Which of the two processes this is.
#[derive(Debug)]
pub enum Background {
    /// The child: mount, then tell.
    Child(Foreground),
    /// The parent: the child said this.
    Parent(Result<(), String>),
}

/// Runs this program again in the background and waits for what it says; returns twice.
///
/// The child inherits arguments, directory and standard error. Call it before anything else was done.
///
/// # Errors
/// The system's, when the program cannot be run again.
pub fn background() -> io::Result<Background> {
    if std::env::var_os(MARK).is_some() {
        // A session of its own: what ends the terminal's programs does not end a mount. Fails only for the leader of
        // one, who needs none.
        let _ = rustix::process::setsid();
        return Ok(Background::Child(Foreground(())));
    }
    let mut args = std::env::args_os();
    let mut child = Command::new(std::env::current_exe()?)
        // The name it was called by: a mount helper knows itself by it.
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
    /// Tells the parent that the mount is usable, and lets go of terminal and directory.
    ///
    /// # Errors
    /// The system's. The service may go on.
    pub fn usable(self) -> io::Result<()> {
        let mut stdout = io::stdout();
        stdout.write_all(OK)?;
        stdout.flush()?;
        let null = rustix::fs::open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
        // The pipe ends here, which is what the parent waits for.
        rustix::stdio::dup2_stdout(&null)?;
        rustix::stdio::dup2_stderr(&null)?;
        std::env::set_current_dir("/")
    }

    /// Tells the parent why not.
    pub fn failed(self, why: &str) {
        // The parent may have been killed; then nobody wants to know.
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
