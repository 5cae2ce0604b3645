//! An in-memory tree that behaves as POSIX specifies: the reference for the tests, and the empty file system against
//! which mounts are measured.
//!
//! Where POSIX leaves a choice, this follows Linux, since a mounted volume is used through Linux; for what Linux does
//! not have (file flags), FreeBSD.
//!
//! M1. Every entry of a directory names a live node; a node is freed when its last name and its last lookup are gone.
//! M2. A refused call has changed nothing (vfs-1): all checks come before the first change.
//! M3. No call waits. A future of this file system is ready at its first poll, so [`ready()`] can run it.
//! M4. A file that lost its last name gets no new one; only a file made by `tmpfile` may, once. Otherwise a file that
//!     is being freed could come back.
//! M5. A removed directory that still has lookups is empty, without even `.`, and accepts no entries.
#![forbid(unsafe_code)]

mod acl;
mod arena;
mod contents;
mod create;
mod dir;
pub mod flags;
mod fs;
mod ino;
mod names;
mod options;
mod ready;
mod rename;
mod setattr;
mod state;
mod xattr;

pub use fs::MemFs;
pub use options::Options;
pub use ready::ready;
