//! Containers for the records of a scheme: slabs, an index by inode number, and lists of ids. They are tuned for a
//! volume with a hundred thousand records, more than fit in the processor's cache, and know nothing of what a record
//! means.
//!
//! R1. An id is never used for another record: once the record is gone, the id names nothing, even if its place is used
//!     again. So whatever waits for a record needs no notification: it finds that the record is gone.
//! R2. A record never moves. It starts at a cache line, and can be prefetched by its id or its inode number.

mod arena;
mod by_ino;
mod row;

pub(crate) use arena::{Arena, Id, Linked, place_size};
pub(crate) use by_ino::ByIno;
pub(crate) use row::Row;
