//! One log for many programs: a daemon on a Unix socket, and its clients.
//!
//! Each client has a named *stream* of its own in the one log: records that only this client sees, and a point below
//! which it needs none. All streams share each write.
//!
//! V1. What a stream has not reclaimed is kept: the log's start never passes the first record that a stream needs.
//! V2. An empty stream keeps nothing in the log.
//! V3. Names and reclaim points are records too, in a table that is rewritten before the log's start passes it. After a
//!     crash a reclaim point may be an older one: a client may see again what it had reclaimed, but never loses a
//!     record.
//! V4. A stream has one client at a time: two would reclaim each other's records.
//! V5. Clients cannot fill the log so far that the table no longer fits: otherwise nothing could be reclaimed any more.

mod client;
mod proto;
mod serve;
mod streams;

pub use client::{Batch, Client, ClientError, StreamInfo};
pub use ordo_sockets::Stopper;
pub use proto::Code;
pub use serve::Server;
pub use streams::{NAME_MOST, Stream, StreamError, Streams};
