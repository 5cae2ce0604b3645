//! Querying the server of a mount for the state of its volume.

use super::table;
use crate::STATUS;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

/// The maximum length of an answer in bytes.
const ROOM: usize = 4096;

/// Where `source` is mounted, and the server's answer, if it gives one. `None` if it is not mounted.
///
/// # Errors
/// The system's, without `/proc`.
pub fn status(source: &OsStr) -> io::Result<Option<(PathBuf, Option<String>)>> {
    let whole = |path: &OsStr| Path::new(path).canonicalize().ok();
    let wanted = whole(source);
    let same = |mount: &OsStr| mount == source || wanted.is_some() && whole(mount) == wanted;
    let is_it = |mount: &table::Mounted| mount.kind == "fuse.ordo" && same(&mount.source);
    let Some(mount) = table::mounts()?.into_iter().rev().find(is_it) else { return Ok(None) };
    let mut bytes = vec![0; ROOM];
    let text = rustix::fs::getxattr(&mount.dir, STATUS, bytes.as_mut_slice()).ok().and_then(|len| {
        bytes.truncate(len);
        String::from_utf8(bytes).ok()
    });
    Ok(Some((mount.dir, text)))
}
