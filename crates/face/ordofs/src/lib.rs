//! The library's interface: open a volume, choose a scheme, work on its files.
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
//! [`Volume`] and the types it returns block the caller, and use the names of `std::fs`:
//!
//! | `std::fs` | here |
//! | --- | --- |
//! | `File::open`, `File::create` | [`Volume::open_file`], [`Volume::create`] |
//! | `OpenOptions` | [`OpenOptions`] |
//! | `File` | [`File`]: `Read`, `Write`, `Seek`, [`File::sync_all`], [`File::set_len`] |
//! | `read`, `read_to_string`, `write`, `copy` | methods of [`Volume`] with these names |
//! | `metadata`, `symlink_metadata`, `exists`, `set_permissions` | the same; [`Metadata`], [`FileTimes`] |
//! | `create_dir`, `create_dir_all`, `read_dir` | the same; [`DirEntry`] |
//! | `remove_file`, `remove_dir`, `remove_dir_all`, `rename` | the same |
//! | `hard_link`, `read_link`, `os::unix::fs::symlink`, `chown` | the same |
//! | none | [`Volume::xattr`] and its kin, [`Volume::space`], [`Volume::sync`] |
//!
//! [`Mounted`] is the async interface: the file system behind [`ordo_vfs::FileSystem`], on the caller's executor. This
//! is the only crate that knows both layouts and schemes. Nothing here is `Send`: a volume and its files stay on the
//! thread that mounted it. Poll a call that changes the volume until it completes: a call that is cancelled (its future
//! dropped) halfway makes the volume read-only, and what was not synced before is then as after a crash.

#![forbid(unsafe_code)]

mod blocking;
mod contents;
mod error;
mod image;
mod journal;
mod make;
mod mounted;
mod notice;
mod options;
pub mod path;
mod tune;
mod unread;

pub use blocking::{DirEntry, File, FileTimes, Metadata, OpenOptions, OpenVolume, ReadDir, Volume};
pub use contents::{Kind as ContentsKind, NoVolume, Signature, contents, wipe};
pub use error::OpenError;
pub use image::{ImageSpec, Located, locate, locate_damaged, locate_on, open, partitions};
pub use make::NewVolume;
pub use mounted::{Fs, LeaksPhase, LeaksProgress, Mounted};
pub use notice::{Notice, Notices, Weight};
pub use options::{COMMIT, DEFAULT_SCHEME, Engine, MountOptions, default_scheme};
pub use tune::{JournalChange, TuneError, Tuned, Tuning};
pub use unread::UnreadLog;

pub use ordo_buf::{LogKind, Syncer};
pub use ordo_disk as disk;
pub use ordo_ffs as ffs;
pub use ordo_ffs::Spread;
pub use ordo_ondisk as ondisk;
pub use ordo_rt as rt;
pub use ordo_schemes as schemes;
pub use ordo_schemes::AllocInit;
pub use ordo_vfs as vfs;
