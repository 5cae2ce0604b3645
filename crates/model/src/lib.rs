//! An in-memory tree that behaves as POSIX says: the oracle of the tests, and the empty file system that mounts are
//! measured against.
//!
//! Where POSIX leaves a choice, Linux's answer is taken, since a mounted volume is used through Linux; where Linux has
//! no answer (file flags), FreeBSD's.
//!
//! M1. Every entry of a directory names a live node; a node goes when its last name and its last lookup are gone.
//! M2. A refused call has changed nothing (V1 of `vfs`): every check comes before the first change.
//! M3. No call waits. A future of this file system is ready when it is polled first, so [`ready`] can run it.
//! M4. A file that lost its last name gets no new one; only one made by `tmpfile` may, once. Otherwise a file whose
//!     freeing has begun could come back.
//! M5. A removed directory that is still looked up holds nothing, not even `.`, and takes nothing.
#![forbid(unsafe_code)]

mod acl;
mod arena;
mod contents;
mod create;
mod dir;
pub mod flags;
mod fs;
mod names;
mod ready;
mod rename;
mod setattr;
mod state;
mod xattr;

pub use fs::{MemFs, Options};
pub use ready::ready;
