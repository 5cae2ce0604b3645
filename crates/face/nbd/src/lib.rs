//! A server of the NBD protocol (doc/proto.md of the NBD project): it exports a disk, or a file inside a volume.
//!
//! One thread has the executor and the export; each connection has a thread that reads requests and one that sends
//! replies. Requests of all connections run beside each other on the one executor.
//!
//! serving-1. *Flushed means durable.* A flush is answered when every write that was answered before it, on any
//!     connection, is durable. So several connections of one client are one disk (`CAN_MULTI_CONN`).
//! serving-2. *A failed flush is final.* What it covered may be lost although a later flush would succeed, so every
//!     later flush and forced write fails, until the server is started again.
//! serving-3. *A client costs only its connection.* Nothing that a client announces is allocated before it has
//!     arrived; what is under way for one connection is bounded, and so is the number of connections. A client that
//!     breaks the protocol, or is gone, loses its connection and nothing else. One that stops in the middle of a
//!     request, takes no replies, or asks nothing after its handshake, loses its place to the next client when there is
//!     no other. What it had is free when it is gone: a reply gives its room back before anything waits for room.
//! serving-4. A change or a flush that was read is carried out to its end, whether or not its client still waits. What
//!     only answers, and has not begun, is not carried out for a client that is gone: others wait for the disk.
//! serving-5. What the server cannot do is refused, never done halfway: a range beyond the end, an unknown flag, a
//!     change of a read-only export, a fast zeroing that would be slow.
#![forbid(unsafe_code)]
// The threads of connections have deadlines of the real world; no engine runs on them.
#![allow(clippy::disallowed_methods)]

mod connection;
mod export;
mod handshake;
mod inside;
mod jobs;
mod reply;
mod request;
mod room;
mod server;
mod whole;
mod work;

pub use export::{Description, Export, Extent, Failure};
pub use inside::Inside;
pub use ordo_sockets::{Address, Listener, Stopper};
pub use server::{Server, ServerOptions, url};
pub use whole::Whole;

/// The longest read or write of one request, in bytes; the protocol's own default.
pub const REQUEST_MOST: u32 = 32 << 20;
