//! Traces that strace has written, where a file trace is taken, too.

use crate::out::{say, usage};
use anyhow::{Context, bail};
use ordo_filetrace::Call;
use ordo_filetrace::strace::{self, Root};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The option that says which files of a strace are in the trace.
#[derive(Debug, Clone, Default, clap::Args)]
pub(crate) struct UnderArg {
    /// The directory that becomes the root of a trace of strace; other files are left out [default: /, without /dev,
    /// /proc and /sys]
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

/// The calls of a trace that strace has written; `None` if another program wrote it. Says what is not in it.
pub(crate) fn calls(name: &str, text: &str, under: &UnderArg) -> anyhow::Result<Option<Vec<Call>>> {
    if !strace::is_strace(text) {
        return Ok(None);
    }
    let root = match &under.root {
        None => Root::default(),
        Some(path) => Root::new(path.as_os_str().as_bytes())
            .ok_or_else(|| usage(format!("--root: {} must begin with /, as strace writes it", path.display())))?,
    };
    let read = strace::read(text, root).with_context(|| name.to_owned())?;
    say(&format!("{name}: {} calls were followed, {} lines of a trace; {}", read.seen, read.calls.len(), read.left));
    if read.calls.is_empty() {
        bail!("{name}: nothing in it is done under the root (--root)");
    }
    Ok(Some(read.calls))
}
