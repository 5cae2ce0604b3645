//! Operations, each as one line of text.
//!
//! The parts of a path are separated by slashes and contain no blanks. A path that starts with `@` and a digit starts
//! at the node held in that slot, otherwise at the root. Modes are octal, flags hexadecimal, other numbers decimal.
//! Values that have a default may be omitted at the end of a line that is read.

use super::short;
use ordo_vfs::{FallocMode, Kind, RenameMode, Whence, XattrMode};
use std::fmt;
use std::str::FromStr;

/// An operation. The fields are those of the call of the same name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Op {
    Create {
        path: String,
        mode: u32,
    },
    Mknod {
        path: String,
        kind: Kind,
        mode: u32,
        rdev: u64,
    },
    Mkdir {
        path: String,
        mode: u32,
    },
    Symlink {
        path: String,
        target: String,
    },
    Link {
        path: String,
        to: String,
    },
    Unlink {
        path: String,
    },
    Rmdir {
        path: String,
    },
    Rename {
        path: String,
        to: String,
        mode: RenameMode,
    },
    /// Creates a file without a name in the directory `path` and holds it.
    Tmpfile {
        slot: u8,
        path: String,
        mode: u32,
    },
    /// Looks `path` up and holds it until `Close`, or until the slot is reused.
    Open {
        slot: u8,
        path: String,
    },
    Close {
        slot: u8,
    },
    /// Writes bytes that depend on `seed` and on their offset.
    Write {
        path: String,
        offset: u64,
        len: u32,
        seed: u64,
    },
    Read {
        path: String,
        offset: u64,
        len: u32,
    },
    Truncate {
        path: String,
        size: u64,
    },
    Fallocate {
        path: String,
        offset: u64,
        len: u64,
        mode: FallocMode,
    },
    Seek {
        path: String,
        offset: u64,
        whence: Whence,
    },
    /// Reads a directory, `batch` entries per call.
    Readdir {
        path: String,
        batch: u32,
    },
    Readlink {
        path: String,
    },
    Stat {
        path: String,
    },
    Chmod {
        path: String,
        mode: u32,
    },
    Chown {
        path: String,
        uid: u32,
        gid: u32,
    },
    /// Sets the modification time.
    SetTime {
        path: String,
        secs: i64,
        nanos: u32,
    },
    SetFlags {
        path: String,
        flags: u32,
    },
    SetXattr {
        path: String,
        name: String,
        len: u32,
        seed: u64,
        mode: XattrMode,
    },
    /// Sets the access list, or the default list, from `mode`, with an entry for `user` and a mask unless it is 0.
    SetAcl {
        path: String,
        default: bool,
        mode: u32,
        user: u32,
    },
    GetXattr {
        path: String,
        name: String,
    },
    ListXattr {
        path: String,
    },
    RemoveXattr {
        path: String,
        name: String,
    },
    Fsync {
        path: String,
        data_only: bool,
    },
    Sync,
    /// Lets time pass, so that the syncer writes meanwhile. Without a clock it does nothing.
    Pause {
        millis: u64,
    },
}

/// A line that is not an operation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an operation: {0:?}")]
pub struct BadOp(pub String);

const KINDS: [(Kind, &str); 5] = [
    (Kind::Regular, "file"),
    (Kind::Fifo, "fifo"),
    (Kind::Socket, "socket"),
    (Kind::CharDevice, "char"),
    (Kind::BlockDevice, "block"),
];

const RENAMES: [(RenameMode, &str); 3] =
    [(RenameMode::Replace, "replace"), (RenameMode::NoReplace, "noreplace"), (RenameMode::Exchange, "exchange")];

const FALLOCS: [(FallocMode, &str); 5] = [
    (FallocMode::Allocate { keep_size: false }, "allocate"),
    (FallocMode::Allocate { keep_size: true }, "allocate-keep"),
    (FallocMode::PunchHole, "punch"),
    (FallocMode::ZeroRange { keep_size: false }, "zero"),
    (FallocMode::ZeroRange { keep_size: true }, "zero-keep"),
];

const WHENCES: [(Whence, &str); 2] = [(Whence::Data, "data"), (Whence::Hole, "hole")];

const XATTRS: [(XattrMode, &str); 3] =
    [(XattrMode::Set, "set"), (XattrMode::Create, "create"), (XattrMode::Replace, "replace")];

/// The word for a value. Every value of an operation has one, except kinds that `mknod` does not make.
fn word<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> &'static str {
    words.iter().find(|(known, _)| known == value).map_or("?", |(_, word)| word)
}

/// The word for this mode in a line.
pub(crate) fn falloc_word(mode: FallocMode) -> &'static str {
    word(&FALLOCS, &mode)
}

fn value<T: Copy>(words: &[(T, &str)], text: &str) -> Option<T> {
    words.iter().find(|(_, word)| *word == text).map(|(value, _)| *value)
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Create { path, mode } => write!(f, "create {path} {mode:o}"),
            Op::Mknod { path, kind, mode, rdev } => write!(f, "mknod {path} {} {mode:o} {rdev}", word(&KINDS, kind)),
            Op::Mkdir { path, mode } => write!(f, "mkdir {path} {mode:o}"),
            Op::Symlink { path, target } => write!(f, "symlink {path} {target}"),
            Op::Link { path, to } => write!(f, "link {path} {to}"),
            Op::Unlink { path } => write!(f, "unlink {path}"),
            Op::Rmdir { path } => write!(f, "rmdir {path}"),
            Op::Rename { path, to, mode } => write!(f, "rename {path} {to} {}", word(&RENAMES, mode)),
            Op::Tmpfile { slot, path, mode } => write!(f, "tmpfile @{slot} {path} {mode:o}"),
            Op::Open { slot, path } => write!(f, "open @{slot} {path}"),
            Op::Close { slot } => write!(f, "close @{slot}"),
            Op::Write { path, offset, len, seed } => write!(f, "write {path} {offset} {len} {seed}"),
            Op::Read { path, offset, len } => write!(f, "read {path} {offset} {len}"),
            Op::Truncate { path, size } => write!(f, "truncate {path} {size}"),
            Op::Fallocate { path, offset, len, mode } => {
                write!(f, "fallocate {path} {offset} {len} {}", word(&FALLOCS, mode))
            }
            Op::Seek { path, offset, whence } => write!(f, "seek {path} {offset} {}", word(&WHENCES, whence)),
            Op::Readdir { path, batch } => write!(f, "readdir {path} {batch}"),
            Op::Readlink { path } => write!(f, "readlink {path}"),
            Op::Stat { path } => write!(f, "stat {path}"),
            Op::Chmod { path, mode } => write!(f, "chmod {path} {mode:o}"),
            Op::Chown { path, uid, gid } => write!(f, "chown {path} {uid} {gid}"),
            Op::SetTime { path, secs, nanos } => write!(f, "settime {path} {secs} {nanos}"),
            Op::SetFlags { path, flags } => write!(f, "setflags {path} {flags:x}"),
            Op::SetXattr { path, name, len, seed, mode } => {
                write!(f, "setxattr {path} {name} {len} {seed} {}", word(&XATTRS, mode))
            }
            Op::SetAcl { path, default, mode, user } => {
                write!(f, "setacl {path} {} {mode:o} {user}", if *default { "default" } else { "access" })
            }
            Op::GetXattr { path, name } => write!(f, "getxattr {path} {name}"),
            Op::ListXattr { path } => write!(f, "listxattr {path}"),
            Op::RemoveXattr { path, name } => write!(f, "removexattr {path} {name}"),
            Op::Fsync { path, data_only } => write!(f, "fsync {path} {}", if *data_only { "data" } else { "all" }),
            Op::Sync => write!(f, "sync"),
            Op::Pause { millis } => write!(f, "pause {millis}"),
        }
    }
}

impl FromStr for Op {
    type Err = BadOp;

    fn from_str(line: &str) -> Result<Op, BadOp> {
        Op::read(line, None)
    }
}

impl Op {
    /// Parses `line`; its seed is `seed` if it needs one and has none.
    pub(crate) fn read(line: &str, seed: Option<u64>) -> Result<Op, BadOp> {
        let words = short::exact(line, seed);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        parse_names(&words).or_else(|| parse_contents(&words)).ok_or_else(|| BadOp(line.to_owned()))
    }

    /// The paths in the operation.
    pub(crate) fn paths_mut(&mut self) -> Vec<&mut String> {
        match self {
            Op::Link { path, to } | Op::Rename { path, to, .. } => vec![path, to],
            Op::Create { path, .. }
            | Op::Mknod { path, .. }
            | Op::Mkdir { path, .. }
            | Op::Symlink { path, .. }
            | Op::Unlink { path }
            | Op::Rmdir { path }
            | Op::Tmpfile { path, .. }
            | Op::Open { path, .. }
            | Op::Write { path, .. }
            | Op::Read { path, .. }
            | Op::Truncate { path, .. }
            | Op::Fallocate { path, .. }
            | Op::Seek { path, .. }
            | Op::Readdir { path, .. }
            | Op::Readlink { path }
            | Op::Stat { path }
            | Op::Chmod { path, .. }
            | Op::Chown { path, .. }
            | Op::SetTime { path, .. }
            | Op::SetFlags { path, .. }
            | Op::SetXattr { path, .. }
            | Op::SetAcl { path, .. }
            | Op::GetXattr { path, .. }
            | Op::ListXattr { path }
            | Op::RemoveXattr { path, .. }
            | Op::Fsync { path, .. } => vec![path],
            Op::Close { .. } | Op::Sync | Op::Pause { .. } => Vec::new(),
        }
    }
}

fn octal(text: &str) -> Option<u32> {
    u32::from_str_radix(text, 8).ok()
}

fn slot(text: &str) -> Option<u8> {
    text.strip_prefix('@')?.parse().ok()
}

/// Operations on names, slots and attributes.
fn parse_names(words: &[&str]) -> Option<Op> {
    let own = |text: &&str| (*text).to_owned();
    Some(match words {
        ["create", path, mode] => Op::Create { path: own(path), mode: octal(mode)? },
        ["mknod", path, kind, mode, rdev] => {
            Op::Mknod { path: own(path), kind: value(&KINDS, kind)?, mode: octal(mode)?, rdev: rdev.parse().ok()? }
        }
        ["mkdir", path, mode] => Op::Mkdir { path: own(path), mode: octal(mode)? },
        ["symlink", path, target] => Op::Symlink { path: own(path), target: own(target) },
        ["link", path, to] => Op::Link { path: own(path), to: own(to) },
        ["unlink", path] => Op::Unlink { path: own(path) },
        ["rmdir", path] => Op::Rmdir { path: own(path) },
        ["rename", path, to, mode] => Op::Rename { path: own(path), to: own(to), mode: value(&RENAMES, mode)? },
        ["tmpfile", no, path, mode] => Op::Tmpfile { slot: slot(no)?, path: own(path), mode: octal(mode)? },
        ["open", no, path] => Op::Open { slot: slot(no)?, path: own(path) },
        ["close", no] => Op::Close { slot: slot(no)? },
        ["readdir", path, batch] => Op::Readdir { path: own(path), batch: batch.parse().ok()? },
        ["readlink", path] => Op::Readlink { path: own(path) },
        ["stat", path] => Op::Stat { path: own(path) },
        ["chmod", path, mode] => Op::Chmod { path: own(path), mode: octal(mode)? },
        ["chown", path, uid, gid] => Op::Chown { path: own(path), uid: uid.parse().ok()?, gid: gid.parse().ok()? },
        ["settime", path, secs, nanos] => {
            Op::SetTime { path: own(path), secs: secs.parse().ok()?, nanos: nanos.parse().ok()? }
        }
        ["setflags", path, flags] => Op::SetFlags { path: own(path), flags: u32::from_str_radix(flags, 16).ok()? },
        _ => return None,
    })
}

/// Operations on contents and extended attributes.
fn parse_contents(words: &[&str]) -> Option<Op> {
    let own = |text: &&str| (*text).to_owned();
    Some(match words {
        ["write", path, offset, len, seed] => Op::Write {
            path: own(path),
            offset: offset.parse().ok()?,
            len: len.parse().ok()?,
            seed: seed.parse().ok()?,
        },
        ["read", path, offset, len] => {
            Op::Read { path: own(path), offset: offset.parse().ok()?, len: len.parse().ok()? }
        }
        ["truncate", path, size] => Op::Truncate { path: own(path), size: size.parse().ok()? },
        ["fallocate", path, offset, len, mode] => Op::Fallocate {
            path: own(path),
            offset: offset.parse().ok()?,
            len: len.parse().ok()?,
            mode: value(&FALLOCS, mode)?,
        },
        ["seek", path, offset, whence] => {
            Op::Seek { path: own(path), offset: offset.parse().ok()?, whence: value(&WHENCES, whence)? }
        }
        ["setxattr", path, name, len, seed, mode] => Op::SetXattr {
            path: own(path),
            name: own(name),
            len: len.parse().ok()?,
            seed: seed.parse().ok()?,
            mode: value(&XATTRS, mode)?,
        },
        ["setacl", path, which @ ("access" | "default"), mode, user] => {
            Op::SetAcl { path: own(path), default: *which == "default", mode: octal(mode)?, user: user.parse().ok()? }
        }
        ["getxattr", path, name] => Op::GetXattr { path: own(path), name: own(name) },
        ["listxattr", path] => Op::ListXattr { path: own(path) },
        ["removexattr", path, name] => Op::RemoveXattr { path: own(path), name: own(name) },
        ["fsync", path, which @ ("data" | "all")] => Op::Fsync { path: own(path), data_only: *which == "data" },
        ["sync"] => Op::Sync,
        ["pause", millis] => Op::Pause { millis: millis.parse().ok()? },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Features, Generator, Shape};

    #[test]
    fn every_generated_operation_survives_being_written_and_read() {
        let mut kinds = std::collections::BTreeSet::new();
        for op in Generator::new(1, Shape::default(), Features::all()).take(20_000) {
            let line = op.to_string();
            kinds.insert(line.split(' ').next().unwrap_or_default().to_owned());
            assert_eq!(line.parse(), Ok(op), "{line}");
        }
        assert_eq!(kinds.len(), 30, "{kinds:?}");
    }

    #[test]
    fn nonsense_is_refused_with_the_line() {
        for line in ["", "create", "create a 9", "close 1", "rename a b sideways", "write a 1 99999999999 0"] {
            assert_eq!(line.parse::<Op>(), Err(BadOp(line.to_owned())));
        }
    }
}
