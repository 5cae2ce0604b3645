//! Sockets of servers: how they are bound, how clients come in and get a place, and how all of it ends. Three servers
//! use it: NBD and the log's daemon with threads, NFS with tasks of its own.
//!
//! sockets-1. *What exists stays.* A name that belongs to anything but an abandoned socket of this user is refused, and
//!     what is there is untouched; so is a socket that another process made in our place, when ours ends.
//! sockets-2. *A Unix socket is its user's from the first moment.* Its permissions are those of the descriptor before
//!     it has a name: neither the umask nor a moment between bind(2) and chmod(2) lets anybody else in.
//! sockets-3. *A place is held exactly as long as its client costs something.* The thread of a client owns the place. A
//!     client that gives way to another keeps it until its thread has ended, else there would be more threads than
//!     places.
//! sockets-4. *A lack of descriptors or memory ends nothing.* It passes: the server waits a moment, and goes on with
//!     those that are connected.
//! sockets-5. *Ending needs nothing.* A server is woken by a descriptor that it has had from the beginning, not by a
//!     connection, which takes a descriptor, and waits where others have filled the queue.
#![forbid(unsafe_code)]
// Threads of connections have deadlines of the real world; no engine runs on them.
#![allow(clippy::disallowed_methods)]

mod clients;
mod listener;
mod name;
mod serve;
mod stall;
mod stream;

pub use clients::{Clients, Place, Stopper};
pub use listener::{Address, Arrival, Listener};
pub use serve::{PAUSE, serve};
pub use stall::{Stall, Stalls, Watched};
pub use stream::Stream;
