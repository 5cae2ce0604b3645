//! Reads what can be read of a damaged UFS volume, and finds volumes in a stream of bytes.
//!
//! A mount refuses a structure that is damaged, and fsck repairs it, which writes. This crate does neither: it takes
//! each structure alone, uses what is whole, and names what is not. It shares only `ondisk` with the other readers.
//!
//! V1. Nothing is written: a [`Source`] can only be read.
//! V2. No damage ends the work. A structure that cannot be used is a [`Why`] at the place that needed it, and the rest
//!     goes on.
//! V3. No input causes a panic, an endless loop or unbounded memory: an indirect block is followed once in a file, a
//!     file has no more blocks than the volume, a directory is entered once.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod attributes;
mod contents;
mod deleted;
mod inodes;
mod map;
mod names;
mod scan;
mod source;
mod volume;
mod walk;
mod why;

pub use attributes::Attributes;
pub use contents::{Each, Piece};
pub use deleted::{Deleted, State};
pub use inodes::Inodes;
pub use map::{BadMap, ReadMap};
pub use names::{Name, Names};
pub use scan::{Format, Hit, scan};
pub use source::{Marked, Source, Stretch};
pub use volume::{Inode, Volume};
pub use walk::{Entered, Event, Walk};
pub use why::Why;
