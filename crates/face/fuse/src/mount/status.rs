//! Querying the server of a mount for the state of its volume.

use super::table;
use crate::questions::{ANSWER_MOST, STATUS};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// Where `source` is mounted, and the server's answer, if it gives one. `None` if it is not mounted.
///
/// # Errors
/// The system's, without `/proc`.
pub fn status(source: &OsStr) -> io::Result<Option<(PathBuf, Option<String>)>> {
    let Some(dir) = found(source)? else { return Ok(None) };
    let text = ask(&dir, STATUS).ok().flatten();
    Ok(Some((dir, text)))
}

/// Has the server do a part of the work `what` ([`crate::SCRUB`], [`crate::ADOPT`]), from the number `from` on, for the
/// volume that is mounted from `place`, or at it. `None` if none is. `Some(Err(_))` if the server refused or failed.
///
/// # Errors
/// The system's, without `/proc`.
pub fn work(what: &str, place: &OsStr, from: u64) -> io::Result<Option<Result<String, Errno>>> {
    let Some(dir) = found(place)? else { return Ok(None) };
    Ok(Some(ask(&dir, &format!("{what}{from}")).and_then(|text| text.ok_or(Errno::ILSEQ))))
}

/// Where `place` is mounted, or the mount that is there.
fn found(place: &OsStr) -> io::Result<Option<PathBuf>> {
    let whole = |path: &OsStr| Path::new(path).canonicalize().ok();
    let wanted = whole(place);
    let same = |path: &OsStr| path == place || wanted.is_some() && whole(path) == wanted;
    // The directory comes from the table as the kernel has it: looking at a dead mount would be an error.
    let is_it = |mount: &table::Mounted| {
        mount.kind == "fuse.ordo" && (same(&mount.source) || wanted.as_deref() == Some(mount.dir.as_path()))
    };
    Ok(table::mounts()?.into_iter().rev().find(is_it).map(|mount| mount.dir))
}

fn ask(dir: &Path, attribute: &str) -> Result<Option<String>, Errno> {
    let mut bytes = vec![0; ANSWER_MOST];
    let len = rustix::fs::getxattr(dir, attribute, bytes.as_mut_slice())?;
    bytes.truncate(len);
    Ok(String::from_utf8(bytes).ok())
}
