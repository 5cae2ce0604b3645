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
//! # Errors
//!
//! Calls return [`Error`], mounting returns [`OpenError`]. The text says what happened and where; a program asks:
//!
//! | who has to act: `origin()` | variant of [`Error`] | `cause` |
//! | --- | --- | --- |
//! | [`Origin::Caller`] | `Refused` | the [`Refusal`](vfs::Refusal), one for each error number of POSIX |
//! | [`Origin::Disk`] | `Io` | [`DiskError`](disk::DiskError): which request, at which byte of the disk, why |
//! | [`Origin::Image`] | `Corrupt` | [`Corrupt`](ondisk::Corrupt): structure, byte, field, value and the broken rule |
//! | [`Origin::Defect`] | `Bug` | none: an invariant of OrdoFS is broken. Please report it |
//!
//! Some failures have only a text, and no cause: a group of cylinders that was damaged before and is left alone, for
//! one. An [`std::io::Error`] that was converted from one of these keeps it behind `get_ref`.
//!
//! ```
//! use ordofs::disk::DiskError;
//! use ordofs::ondisk::{Corrupt, Structure};
//! use ordofs::{Error, NewVolume, Volume};
//!
//! fn explain(error: &Error) -> String {
//!     if let Some(Corrupt { structure: Structure::Directory(ino), at, field, found, .. }) = error.cause() {
//!         return format!("directory {}, {at:?}: {field} is {found}", ino.0);
//!     }
//!     if let Some(DiskError { op, at, len, cause, .. }) = error.cause() {
//!         return format!("the disk: {op} of {len} bytes at {at}: {cause}");
//!     }
//!     format!("{:?}: {error}", error.origin())
//! }
//! # let dir = tempfile::tempdir()?;
//! # let image = dir.path().join("disk.img");
//! # NewVolume::new(16 << 20).create(&image)?;
//! # let volume = Volume::open(&image)?.mount()?;
//! # volume.write("/motd", b"hello")?;
//! # volume.unmount()?;
//!
//! // The name's entry is one byte too long.
//! let mut bytes = std::fs::read(&image)?;
//! let name = bytes.windows(5).position(|five| five == b"motd\0").ok_or("no name")?;
//! bytes[name - 4] += 1;
//! std::fs::write(&image, bytes)?;
//!
//! let volume = Volume::open(&image)?.read_only().mount()?;
//! let error = volume.read("/motd").unwrap_err();
//! assert!(explain(&error).starts_with("directory 2, Some(ByteOff("), "{error}");
//! assert!(explain(&error).contains("d_reclen is "), "{error}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The async interface
//!
//! [`Mounted`] is the async interface: the file system behind [`ordo_vfs::FileSystem`], on the caller's executor. This
//! is the only crate that knows both layouts and schemes. Nothing of it is `Send`: a volume and its files stay on the
//! thread that mounted it; [`SharedVolume`] is for many threads and other executors. Poll a call that changes the
//! volume until it completes: a call that is cancelled (its future dropped) halfway makes the volume read-only, and
//! what was not synced before is then as after a crash.

#![forbid(unsafe_code)]

mod active;
mod blocking;
mod claim;
mod contents;
mod disk_bytes;
mod error;
mod found;
mod fs;
mod image;
mod journal;
mod locate;
mod located;
mod log_home;
mod make;
mod mounted;
mod notice;
mod option_words;
mod options;
pub mod path;
mod placement;
mod rescue;
mod resize;
mod sectors;
mod snapshot;
mod tune;
mod unread;
mod versions;

pub use active::{ActiveState, BlockCopies, Rest, active_at_rest, copies_of, scrub, scrub_and_adopt, verified};
pub use blocking::{
    Calling, DirEntry, File, FileTimes, Metadata, OpenOptions, OpenVolume, ReadDir, SharedFile, SharedVolume, Volume,
};
pub use claim::{Writer, claim_disk, claimed, given_back, warn_reader, writer};
pub use contents::{ContentsKind, NoVolume, Signature, contents, wipe};
pub use disk_bytes::DiskBytes;
pub use error::{OpenError, SnapshotError};
pub use found::{Found, FoundLfs, find};
pub use fs::{Fs, LayoutName};
pub use image::{ImageSpec, open, partitions};
pub use locate::{begins_at, locate, locate_damaged, locate_to_write};
pub use located::{Located, locate_on};
pub use log_home::{is_stream, open_log};
pub use make::{Format, NewLfs, NewVolume, Newfs, Plan, cleared, refuse_existing};
pub use mounted::{
    AdoptedPart, LeaksPhase, LeaksProgress, LfsSegments, LfsState, Mounted, ScrubbedPart, without_rules,
};
pub use notice::{Notice, Notices, Weight};
pub use option_words::{option_list, parse_size, split_options};
pub use options::{COMMIT, DEFAULT_SCHEME, LFS_SCHEME, Limits, MountOptions, QuotaLimits, default_scheme};
pub use ordo_ufs::Quotas;
pub use placement::{Class, Part, Placement, Tenth};
pub use rescue::{Damaged, Described, open_damaged};
pub use resize::{ResizeError, Resized, resize, resize_on};
pub use snapshot::{Snapshot, is_snapshot, kept_in_repair, locate_snapshot, make_snapshot, remove_snapshot, snapshots};
pub use tune::{Acls, JournalChange, MmpChange, TuneError, Tuned, Tuning, VolumeId};
pub use unread::UnreadLog;

pub use ordo_active::{Adopted, Pass, Scrubbed};
pub use ordo_buf::{BufCounts, CrashLeaves, Durable, LogKind, Policy, Promises, Spread, Syncer};
pub use ordo_disk as disk;
pub use ordo_ffs as ffs;
pub use ordo_lfs as lfs;
#[cfg(feature = "nats")]
pub use ordo_nats as nats;
pub use ordo_ondisk as ondisk;
pub use ordo_rescue as rescued;
pub use ordo_rt as rt;
pub use ordo_schemes as schemes;
pub use ordo_schemes::AllocInit;
pub use ordo_vfs as vfs;
pub use ordo_vfs::{Error, Origin};
pub use versions::{
    FileVersion, GoneName, GroupVersion, Piece, Sought, Versions, sought, versions_of, versions_of_group,
};
