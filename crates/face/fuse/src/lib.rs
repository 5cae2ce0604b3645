//! A mounted volume: the kernel's FUSE protocol over any [`ordo_vfs::FileSystem`].
//!
//! ```text
//! mount() -> Session        /dev/fuse, opened and mounted (by root, or by fusermount3)
//! serve(fs, Session)        requests -> calls -> replies, on the engine's own thread, until unmounted
//! unmount()                 ends the mount and returns when the image can be moved
//! ```
//!
//! `proto` encodes and decodes the protocol, `transport` accesses the device, `server` handles the requests, `mount`
//! mounts and unmounts, `background` detaches a server from its terminal. `docs/decisions/0001-fuse-transport.md`
//! explains why the transport is our own.
// Not `forbid`: `transport/uring.rs` shares memory with the kernel. No other file may use unsafe code.
#![deny(unsafe_code)]

mod background;
mod errno;
mod first;
pub mod mount;
pub mod proto;
mod questions;
mod server;
pub mod transport;

pub use background::{Background, Foreground, background};
pub use mount::record::{Recording, Taken, record};
pub use mount::remount::{AccessTimes, Remount, remount};
pub use mount::status::{status, work};
pub use mount::sync::sync;
pub use mount::unmount::{Unmounted, force as force_unmount, unmount};
pub use mount::{Lease, MountError, MountOptions, Session, mount};
pub use questions::{ADOPT, SCRUB, STATUS, TRACE};
pub use server::{Ended, Reason, Scrub, ServeError, ServeOptions, Status, end_signals, serve};
pub use transport::{Gone, NoUring, TransportChoice};
