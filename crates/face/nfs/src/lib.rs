//! A volume for NFS clients: NFSv3 (RFC 1813) and its MOUNT protocol over TCP, for any [`ordo_vfs::FileSystem`].
//!
//! ```text
//! wire      records of TCP: pieces from anybody, put together within bounds
//! rpc       calls and replies (RFC 5531), and who calls
//! server    connections, the cache of replies, and which procedure a call is for
//! procs     the procedures, one file for each kind
//! access    what a caller may do: NFS has no kernel above it that would decide
//! handle    a file by its number, for longer than this process lives
//! ```
//!
//! The types and their encoding are those of the crate `nfs3_types`. The procedures are ours, because the servers on
//! crates.io cannot keep what a client is promised. `nfsserve` 0.11 does not show WRITE's `stable` to its file system,
//! has no COMMIT, LINK and MKNOD, and makes handles from the time of its start, so each restart leaves every client
//! with stale ones. `nfs3_server` 0.11 has `stable` and COMMIT, but refuses LINK and MKNOD, does not pass the caller to
//! the file system, drops a repeated call instead of answering it, and wants a file system that many threads share,
//! which the engine is not. Both bring an async runtime; this one uses the engine's own, [`ordo_rt`].
//!
//! N1. What was answered as stable is durable: a WRITE with `DATA_SYNC` or `FILE_SYNC`, a COMMIT, and every call that
//!     changes names or attributes. [`Names`] says what the last needs, and whether the user gave it up.
//! N2. The write verifier differs at each start. Else a client would believe that what it wrote unstable before a crash
//!     of the server is still there, and never write it again.
//! N3. A handle names a file by volume, inode number and generation, never by a path or a table of this process. A
//!     handle from before a restart works, and one of a removed file is stale, also when its number was used again.
//!     Nobody else can make one: it is sealed with a secret that outlives this process, too. Else what is in a
//!     directory that is closed to a caller could be guessed: numbers are small, and generations may count from 1.
//! N4. A call that must not happen twice and comes again, on whatever connection, is answered with the first reply.
//!     The cache is in memory: a call that was made before a restart and is repeated after it is made again.
//! N5. Nothing that comes from the network is trusted: no length is believed before so many bytes are there, and what
//!     one connection, and all together, may hold in memory is bounded.

#![forbid(unsafe_code)]

mod access;
mod convert;
mod creds;
mod handle;
mod procs;
mod rpc;
mod server;
mod wire;

pub use creds::{Identity, Squash};
pub use handle::{Key, number_by_place};
pub use ordo_sockets::{Address, Listener};
pub use server::{Names, Options, serve};
