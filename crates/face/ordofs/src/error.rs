//! Why a volume could not be opened, and why something with a snapshot was not done: each may be the cause of the
//! other.

use crate::contents::NoVolume;
use ordo_disk::DiskError;
use ordo_disk::fence::ClaimError;
use ordo_ondisk::{Corrupt, Dialect, Refused};
use ordo_vfs::Origin;
use std::error::Error as StdError;
use std::io::{self, ErrorKind};

/// Why a volume could not be opened. Each text says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or device cannot be opened, or is in use by another process.
    #[error(transparent)]
    Disk(#[from] ordo_disk::OpenError),
    /// A request that was needed to open the volume failed.
    #[error(transparent)]
    Request(#[from] DiskError),
    /// There is no volume.
    #[error(transparent)]
    NotFound(#[from] ordo_ondisk::superblock::search::NotFound),
    /// The disk contains something else.
    #[error(transparent)]
    NoVolume(#[from] NoVolume),
    /// Its one writer is another one, or the record of that writer is damaged.
    #[error(transparent)]
    Claim(Box<ClaimError>),
    /// The contents of a disk cannot be read.
    #[error("the contents cannot be examined: {0}")]
    Contents(io::Error),
    /// The volume cannot be mounted with these options.
    #[error(transparent)]
    Mount(#[from] ordo_ffs::MountError),
    /// The volume is log-structured, and what was requested exists on UFS only.
    #[error("this is a log-structured volume (LFS), and that is for UFS volumes only")]
    OnlyUfs,
    /// The scheme of a log-structured volume was named for UFS.
    #[error("the scheme lfs is the order of a log-structured volume, and this is UFS; choose another: ordo schemes")]
    OnlyLfs,
    /// A scheme was named for a log-structured volume.
    #[error("the scheme {0} is for UFS volumes; the log is the order of this one (LFS): leave out scheme=")]
    OnlyOrder(String),
    /// An option of the schemes was given for a log-structured volume.
    #[error("{0}= is an option of schemes, and a log-structured volume (LFS) takes none; leave it out")]
    OnlySchemes(&'static str),
    /// An option of the cleaner was given for UFS.
    #[error(
        "cleaner= is an option of log-structured volumes (LFS), and this is UFS, which has no cleaner; leave it out"
    )]
    NoCleaner,
    /// A new volume cannot have this shape.
    #[error(transparent)]
    Shape(#[from] ordo_ffs::NewfsError),
    /// A new log-structured volume cannot have this shape.
    #[error(transparent)]
    LogShape(#[from] ordo_ondisk::lfs::NewfsError),
    /// Something with a snapshot.
    #[error(transparent)]
    Snapshot(Box<SnapshotError>),
    /// A new volume is larger than its disk.
    #[error("a volume of {volume} bytes does not fit on a disk of {disk}")]
    TooLarge {
        /// Bytes of the volume.
        volume: u64,
        /// Bytes of the disk.
        disk: u64,
    },
    /// The disk cannot write so little.
    #[error(
        "fragments of {fragment} bytes on a disk with sectors of {sector}: take fragments of {sector} bytes or more"
    )]
    SmallFragments {
        /// Bytes of a fragment.
        fragment: u32,
        /// Bytes of a sector.
        sector: u32,
    },
    /// Addresses of the log's version 1 count sectors of 512 bytes.
    #[error("a log-structured volume (LFS) of version 1 writes sectors of 512 bytes, and the disk has sectors of {0}")]
    SmallUnit(u32),
    /// A volume was to be made where something is, and nobody said that it may be lost.
    #[error("{path}: exists and is not empty{what}; it is overwritten only where that is asked for (overwrite)")]
    Exists {
        /// The file or device.
        path: std::path::PathBuf,
        /// The name of what it holds, in brackets; empty if that is unknown.
        what: String,
    },
    /// A disk that is to hold a log holds something that is none.
    #[error("{path}: is to hold a log, and holds {what}; name another place, or empty this one first (wipefs)")]
    NotALog {
        /// The file or device.
        path: std::path::PathBuf,
        /// The name of what it holds.
        what: &'static str,
    },
    /// The suffix after the image's name does not name an existing partition.
    #[error("{0}")]
    BadSpec(String),
    /// More than one partition holds a volume.
    #[error("several partitions hold a volume: {0}; name one of them behind the image")]
    SeveralVolumes(String),
    /// There is no scheme with this name.
    #[error("no scheme is called {0:?}; `ordo schemes` lists them")]
    NoScheme(String),
    /// The scheme keeps a journal, and the volume has none.
    #[error("the scheme {0} needs a journal, and the volume has none; make one with `ordo tune -o journal=on`")]
    NoJournal(&'static str),
    /// The scheme keeps a log, and the volume has no place for one.
    #[error(
        "the scheme {0} needs a log, and the volume has no file for one; make it with `ordo tune -o log=on`, or name another disk with log=PATH"
    )]
    NoLog(&'static str),
    /// The stream of a log cannot be used.
    #[error("{0}")]
    Stream(String),
    /// This program was built without streams.
    #[error(
        "this program was built without the client for logs in streams; cargo install --features nats builds one with it"
    )]
    NoStreams,
    /// The log of this scheme cannot lie in a stream.
    #[error(
        "the log of the scheme {0} cannot lie in a stream of messages: that is for wafs; or name a disk with log=PATH"
    )]
    NotInStream(&'static str),
    /// There is no such cylinder group; how many there are.
    #[error("there is no cylinder group {0}: the volume has {1}, counted from 0")]
    NoGroup(u32, u32),
    /// The scheme keeps an active journal, and the volume has none.
    #[error("the scheme {0} needs an active journal, and the volume has none; make one with `ordo tune -o active=on`")]
    NoActive(&'static str),
    /// The active journal of the volume cannot be used.
    #[error("the active journal cannot be used: {0}; make it anew with `ordo tune -o active=off` and `-o active=on`")]
    Active(Box<ordo_recover::NotReplayed>),
    /// Volumes of this system have no field that records a log.
    #[error("the scheme {0} keeps a log, but a volume of {1} cannot record where it is; choose another scheme")]
    NoLogThere(&'static str, Dialect),
    /// The journal of the volume cannot be used.
    #[error("the journal cannot be used: {0}; make it anew with `ordo tune -o journal=off` and `-o journal=on`")]
    Journal(Box<ordo_recover::NotReplayed>),
    /// The file in which logs are kept cannot be used.
    #[error(
        "the log of the volume cannot be used: {0}; make it anew with `ordo tune -o log=off` and `-o log=on`, or rename \
        the file .ordofs-log if it is a file of yours"
    )]
    Log(Box<ordo_recover::NotReplayed>),
    /// The scheme has no such rule.
    #[error(transparent)]
    NoRule(#[from] ordo_schemes::NoRule),
    /// The volume failed.
    #[error(transparent)]
    Volume(#[from] ordo_vfs::Error),
}

/// For callers that use `std::io`. The error itself is kept inside, with its text.
impl From<OpenError> for io::Error {
    fn from(error: OpenError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}

impl OpenError {
    /// The active journal cannot be used.
    pub(crate) fn active(why: ordo_recover::NotReplayed) -> OpenError {
        OpenError::Active(Box::new(why))
    }

    /// It says that the volume's active journal is missing or damaged, and not that the disk fails.
    pub(crate) fn is_about_active(&self) -> bool {
        match self {
            OpenError::NoActive(_) => true,
            OpenError::Active(why) => why.of_disk().is_none(),
            _ => false,
        }
    }

    /// The journal cannot be used.
    pub(crate) fn journal(why: ordo_recover::NotReplayed) -> OpenError {
        OpenError::Journal(Box::new(why))
    }

    /// The file of the log cannot be used.
    pub(crate) fn log(why: ordo_recover::NotReplayed) -> OpenError {
        OpenError::Log(Box::new(why))
    }
}

impl OpenError {
    /// The error of type `T` that this one is or began as: [`DiskError`] has the failed request,
    /// [`Corrupt`] the damaged field. See [`ordo_vfs::Error::cause`].
    pub fn cause<T: StdError + 'static>(&self) -> Option<&T> {
        let mut error: &(dyn StdError + 'static) = match self {
            OpenError::Mount(ordo_ffs::MountError::Volume(error)) | OpenError::Volume(error) => return error.cause(),
            OpenError::Disk(error) => error,
            OpenError::Request(error) => error,
            OpenError::NotFound(error) => error,
            OpenError::NoVolume(error) => error,
            OpenError::Mount(error) => error,
            OpenError::Shape(error) => error,
            OpenError::LogShape(error) => error,
            OpenError::NoRule(error) => error,
            OpenError::Journal(error) | OpenError::Log(error) => &**error,
            OpenError::Claim(error) => &**error,
            OpenError::Contents(error) => error,
            _ => return None,
        };
        loop {
            match error.downcast_ref() {
                Some(found) => return Some(found),
                None => error = error.source()?,
            }
        }
    }

    /// Who has to act.
    pub fn origin(&self) -> Origin {
        match self {
            OpenError::Mount(ordo_ffs::MountError::Volume(error)) | OpenError::Volume(error) => error.origin(),
            OpenError::Disk(ordo_disk::OpenError::Io { .. } | ordo_disk::OpenError::Unusable { .. })
            | OpenError::Request(_)
            | OpenError::Contents(_) => Origin::Disk,
            OpenError::NotFound(_)
            | OpenError::NoVolume(_)
            | OpenError::Journal(_)
            | OpenError::Log(_)
            | OpenError::Mount(
                ordo_ffs::MountError::Dirty
                | ordo_ffs::MountError::Backup
                | ordo_ffs::MountError::Unproven
                | ordo_ffs::MountError::CutShort { .. },
            ) => Origin::Image,
            OpenError::Claim(error) => match **error {
                ClaimError::Damaged { .. } => Origin::Image,
                ClaimError::Unread(_) | ClaimError::Disk(_) => Origin::Disk,
                _ => Origin::Caller,
            },
            _ => Origin::Caller,
        }
    }

    /// The nearest kind of `std::io`.
    pub fn kind(&self) -> ErrorKind {
        match self {
            OpenError::Disk(ordo_disk::OpenError::Io { source, .. }) => source.kind(),
            OpenError::Exists { .. }
            | OpenError::NotALog { .. }
            | OpenError::Disk(ordo_disk::OpenError::Exists { .. }) => ErrorKind::AlreadyExists,
            OpenError::Disk(ordo_disk::OpenError::Locked { .. }) => ErrorKind::ResourceBusy,
            OpenError::Claim(error) => match &**error {
                ClaimError::Damaged { .. } => ErrorKind::InvalidData,
                ClaimError::Unread(error) | ClaimError::Disk(error) => {
                    io::Error::from_raw_os_error(error.errno()).kind()
                }
                _ => ErrorKind::ResourceBusy,
            },
            OpenError::Request(error) => io::Error::from_raw_os_error(error.errno()).kind(),
            OpenError::NotFound(_) | OpenError::NoVolume(_) => ErrorKind::InvalidData,
            OpenError::Contents(source) => source.kind(),
            OpenError::Mount(ordo_ffs::MountError::Volume(error)) | OpenError::Volume(error) => error.kind(),
            OpenError::Mount(_) => ErrorKind::Unsupported,
            _ => ErrorKind::InvalidInput,
        }
    }
}

/// Why a snapshot was not read, made, kept or removed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// The volume cannot be opened.
    #[error(transparent)]
    Open(Box<OpenError>),
    /// A request to the disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// A file could not be made or removed.
    #[error(transparent)]
    Volume(#[from] ordo_vfs::Error),
    /// This program does not write to such volumes.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No snapshot has this name.
    #[error("the volume has no snapshot {0:?}; ordo snapshot --list IMAGE shows them")]
    NotFound(String),
    /// The snapshot is damaged, and nothing can be kept for it.
    #[error("snapshot {ino} is damaged: {why}; ordo fsck -y removes it")]
    Damaged {
        /// Its inode.
        ino: u32,
        /// What is wrong with it.
        why: String,
    },
    /// A structure of the volume is damaged.
    #[error("{0}; run ordo fsck -y first")]
    Corrupt(Corrupt),
    /// The volume is in use, or was not unmounted cleanly.
    #[error("the volume was not unmounted in order; run ordo fsck -p first")]
    Dirty,
    /// The list in the superblock is full.
    #[error("the volume has {0} snapshots, which is the most; remove one first")]
    TooMany(usize),
    /// The form of snapshots on such a volume is not known for sure.
    #[error("snapshots are made and kept on volumes of FreeBSD only, and this is one of {0}")]
    Dialect(Dialect),
    /// The scheme's recovery is not known to leave snapshots as they are.
    #[error("a volume with snapshots is not written to under the scheme {0}; choose another, or remove the snapshots")]
    Scheme(&'static str),
    /// Removing it by one name would leave an empty file under the others.
    #[error("the snapshot has {0} names; remove the others on FreeBSD first")]
    Names(u16),
    /// An active journal is no file of the volume's format.
    #[error(
        "the volume has an active journal, which a snapshot cannot leave out; take it away (ordo tune -o active=off)"
    )]
    Active,
    /// No space for the first copies of a new snapshot.
    #[error("a snapshot needs {needs} free blocks for its first copies, and the volume has {has}")]
    NoSpace {
        /// Blocks.
        needs: u64,
        /// Blocks.
        has: u64,
    },
}

impl From<OpenError> for SnapshotError {
    fn from(error: OpenError) -> SnapshotError {
        match error {
            OpenError::Snapshot(error) => *error,
            error => SnapshotError::Open(Box::new(error)),
        }
    }
}

impl From<Corrupt> for SnapshotError {
    fn from(damage: Corrupt) -> SnapshotError {
        SnapshotError::Corrupt(damage)
    }
}
