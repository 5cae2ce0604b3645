//! The library's face: open a volume, choose a scheme, work on its files.
//!
//! ```
//! use ordofs::{NewVolume, Volume};
//! # let dir = tempfile::tempdir()?;
//! # let image = dir.path().join("disk.img");
//! NewVolume::new(16 << 20).create(&image)?;
//!
//! let volume = Volume::open(&image)?.scheme("async").mount()?;
//! volume.create_dir("/etc")?;
//! volume.write("/etc/motd", b"hello")?;
//! assert_eq!(volume.read("/etc/motd")?, b"hello");
//! volume.unmount()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`Volume`] and what it gives block the caller, with the names of `std::fs`. [`Mounted`] is the async face: the file
//! system behind [`vfs::FileSystem`], on an executor of the caller's. This is the only crate that knows both layouts and
//! schemes.

#![forbid(unsafe_code)]

mod blocking;
mod error;
mod image;
mod make;
mod mounted;
mod options;
pub mod path;

pub use blocking::{DirEntries, DirEntryInfo, File, OpenVolume, Volume};
pub use error::OpenError;
pub use image::{ImageSpec, Located, locate, locate_damaged, locate_on, open, partitions};
pub use make::NewVolume;
pub use mounted::{Fs, Mounted};
pub use options::{DEFAULT_SCHEME, MountOptions};

pub use disk;
pub use ffs;
pub use rt;
pub use schemes;
pub use schemes::AllocInit;
pub use vfs;
