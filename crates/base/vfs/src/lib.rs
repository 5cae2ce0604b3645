//! The one interface to a file system, used by the kernel's transports, the library, the workloads and the tests.
//!
//! The trait is modelled on the requests of the Linux kernel, since a mounted file system must answer them, and every
//! other caller needs a subset of them. It does not expose blocks, schemes or disks.
//!
//! V1. A call either happens as a whole or, when it returns an error, has changed nothing that the caller can see.
//! V2. A [`NodeId`] stays valid, and its file's contents stay readable, while lookups on it are outstanding, even when
//!     its last name is removed: `lookup` and the calls that create add one, [`FileSystem::forget`] takes them back.
//! V3. Permissions are not checked here. The kernel decides access before a request arrives (`default_permissions`); a
//!     library caller owns the image. Only what the volume itself forbids is refused: immutable and append-only files,
//!     a read-only volume.

mod attr;
mod errno;
mod error;
mod forward;
mod fs;

/// The bytes of [`Segments`].
pub use bytes::Bytes;

pub use attr::{Attr, Kind, Mode, SetAttr, SetTime, Stamp, StatFs};
pub use errno::errno_of;
pub use error::{Error, Origin, Refusal, Result, Source};
pub use fs::{
    Caller, DirEntry, Entry, FallocMode, FileSystem, MAX_NAME, Name, NodeId, RenameMode, Segments, Whence, XattrMode,
};
