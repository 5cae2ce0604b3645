//! The exit status and the output of a command.
//!
//! Exit status: 0 done, 1 the answer is "no", 2 wrong usage, 3 an error, with one line `ordo: what, where, what to do`
//! on standard error. Results are printed to standard output through [`Out`], JSON as exactly one document.

use crate::text;
use serde::Serialize;
use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit status of a command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// All is done.
    pub const DONE: Status = Status(0);
    /// The answer is no.
    pub const NO: Status = Status(1);

    /// The one of two that says more of what went wrong.
    pub fn worse(self, other: Status) -> Status {
        Status(self.0.max(other.0))
    }
}

/// What every command returns.
pub type Outcome = anyhow::Result<Status>;

/// Wrong usage by the user; it has an exit status of its own.
#[derive(Debug)]
pub struct Usage(pub String);

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// Wrong usage, as an error.
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Usage(text.into()).into()
}

/// The reader of the output is gone: not an error.
#[derive(Debug)]
pub struct ReaderGone;

impl std::fmt::Display for ReaderGone {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the reader of the output is gone")
    }
}

impl std::error::Error for ReaderGone {}

/// Standard output. Buffered; [`Out::end`] writes the rest.
pub struct Out {
    to: BufWriter<Stdout>,
    terminal: bool,
}

impl Out {
    pub(crate) fn new() -> Out {
        let stdout = io::stdout();
        let terminal = stdout.is_terminal();
        Out { to: BufWriter::with_capacity(1 << 16, stdout), terminal }
    }

    /// Unmodified bytes: the contents of a file.
    pub fn bytes(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        self.to.write_all(bytes).map_err(write_error)
    }

    /// Text and the end of a line.
    pub fn line(&mut self, line: impl AsRef<str>) -> anyhow::Result<()> {
        self.bytes(line.as_ref().as_bytes())?;
        self.bytes(b"\n")
    }

    /// A name from an image: unmodified for another program, with control characters escaped for a terminal.
    pub fn name(&mut self, name: &[u8]) -> anyhow::Result<()> {
        if self.terminal { self.bytes(text::escape(name).as_bytes()) } else { self.bytes(name) }
    }

    /// One JSON document.
    pub fn json(&mut self, document: &impl Serialize) -> anyhow::Result<()> {
        let text = serde_json::to_string_pretty(document)?;
        self.line(text)
    }

    /// On a terminal everything so far is to be seen now.
    pub fn shown(&mut self) -> anyhow::Result<()> {
        if self.terminal { self.to.flush().map_err(write_error) } else { Ok(()) }
    }

    /// Writes what is still buffered.
    pub fn end(mut self) -> anyhow::Result<()> {
        self.to.flush().map_err(write_error)
    }
}

fn write_error(error: io::Error) -> anyhow::Error {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ReaderGone.into(),
        _ => anyhow::Error::new(error).context("cannot write the output"),
    }
}

/// Prints one complete document or text.
pub fn print(write: impl FnOnce(&mut Out) -> anyhow::Result<()>) -> anyhow::Result<()> {
    let mut out = Out::new();
    write(&mut out)?;
    out.end()
}

/// A line on standard error.
pub fn say(line: &str) {
    // If standard error fails, nothing more can be done.
    let _ = crate::progress::aside(|| writeln!(io::stderr(), "ordo: {}", text::one_line(line)));
}

/// The command line asks for JSON.
static JSON: AtomicBool = AtomicBool::new(false);

/// From now on [`complain`] speaks JSON.
pub fn speak_json() {
    JSON.store(true, Ordering::Relaxed);
}

/// An error after which the command goes on: a line, or a document where the command line asks for JSON.
pub fn complain(error: &str) {
    if JSON.load(Ordering::Relaxed) {
        crate::progress::aside(|| say_json(error));
    } else {
        say(error);
    }
}

/// The error that ended a command of which JSON was asked: one document on standard error.
pub fn say_json(error: &str) {
    let document = serde_json::json!({ "error": format!("ordo: {error}") });
    let _ = writeln!(io::stderr(), "{document}");
}

/// The causes of an error in one line, without causes that the text before already ends with.
pub fn describe(error: &anyhow::Error) -> String {
    let mut line = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if line.is_empty() {
            line = cause;
        } else if !line.ends_with(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn an_error_is_one_line_with_its_causes() {
        let error = Err::<(), _>(io::Error::other("bad sector")).context("reading x").context("x: cannot").unwrap_err();
        assert_eq!(describe(&error), "x: cannot: reading x: bad sector");
        let twice = Err::<(), _>(io::Error::other("bad sector")).context("reading x: bad sector").unwrap_err();
        assert_eq!(describe(&twice), "reading x: bad sector");
    }

    #[test]
    fn a_reader_that_is_gone_is_told_apart_from_a_full_disk() {
        assert!(write_error(io::ErrorKind::BrokenPipe.into()).is::<ReaderGone>());
        assert!(!write_error(io::ErrorKind::StorageFull.into()).is::<ReaderGone>());
    }
}
