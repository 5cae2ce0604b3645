//! What a new volume is to be like, and why there can be none like that.

use crate::{Corrupt, Endian, Format};

/// The parameters of a new volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewfsParams {
    /// UFS1 or UFS2.
    pub format: Format,
    /// Byte order.
    pub endian: Endian,
    /// Size of the device, in bytes.
    pub volume_bytes: u64,
    /// Sector size of the device, in bytes: 512 or 4096.
    pub sector: u32,
    /// Size of a block, in bytes: 4096 to 65536.
    pub bsize: u32,
    /// Size of a fragment, in bytes: a half, a quarter or an eighth of a block, or all of it; at least a sector.
    pub fsize: u32,
    /// Bytes of the volume per inode; `None` for two fragments.
    pub density: Option<u32>,
    /// Percent reserved for privileged callers: 0 to 99.
    pub minfree: u32,
    /// Most blocks in one transfer; `None` for 1 MiB.
    pub maxcontig: Option<u32>,
    /// Most blocks of one file in a group; `None` for an eighth of `bsize`.
    pub maxbpg: Option<u32>,
    /// Most fragments of a group; `None` for as many as its block can map.
    pub max_fpg: Option<u32>,
    /// What the allocator optimises.
    pub optim: Optim,
    /// Label, at most 31 bytes.
    pub label: String,
    /// Set the flag for a volume managed with soft updates.
    pub softdep: bool,
    /// Set the flag that access control lists of POSIX.1e apply to the files (UFS2).
    pub acls: bool,
    /// Use check hashes (UFS2 for FreeBSD).
    pub check_hashes: bool,
    /// The system that will write to the volume.
    pub system: System,
    /// Rotation of the disk, for the placement of 4.2BSD (UFS1).
    pub rotation: Option<Rotation>,
    /// Seconds since 1970.
    pub now: i64,
    /// A random number, which distinguishes volumes made in the same second.
    pub id: u32,
}

/// The system for which a volume is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum System {
    /// FreeBSD: check hashes on UFS2, a directory for snapshots, a record of the places of the superblock's backups.
    FreeBsd,
    /// NetBSD, which would interpret the flag of check hashes as that of quotas, and FreeBSD's size of the device as
    /// the place of a log.
    NetBsd,
}

/// What the allocator optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Optim {
    /// Time: a growing file gets whole blocks.
    Time,
    /// Space: a growing file gets fragments that fit.
    Space,
}

/// The rotation of a disk of the 1980s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rotation {
    /// Milliseconds between the end of a transfer and the start of the next.
    pub rotdelay_ms: u32,
    /// Revolutions per second.
    pub rps: u32,
    /// Sectors of a track.
    pub nsect: u32,
}

/// Why such a volume cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NewfsError {
    /// Invalid block size.
    #[error("a block of {0} bytes: must be a power of two from 4096 to 65536")]
    BlockSize(u32),
    /// Invalid fragment size.
    #[error("a fragment of {fsize} bytes: must be 1/1, 1/2, 1/4 or 1/8 of a block of {bsize}, and at least {least}")]
    FragSize {
        /// Bytes of a fragment.
        fsize: u32,
        /// Bytes of a block.
        bsize: u32,
        /// Smallest valid size: a sector.
        least: u32,
    },
    /// Invalid reserve.
    #[error("a reserve of {0} percent: must be at most 99")]
    MinFree(u32),
    /// Invalid label.
    #[error("a label of {0} bytes: must be at most 31, without NUL")]
    Label(usize),
    /// Volume too small.
    #[error("a volume of {bytes} bytes is too small: with these blocks at least {least} are needed")]
    TooSmall {
        /// Bytes of the volume.
        bytes: u64,
        /// Size of the metadata of one group and a little data, in bytes.
        least: u64,
    },
    /// Volume too large.
    #[error("a volume of {frags} fragments is too large: this format has room for {most}; take larger fragments")]
    TooLarge {
        /// Fragments of the volume.
        frags: u64,
        /// Most that the format can address.
        most: u64,
    },
    /// Inodes too dense.
    #[error("an inode for every {density} bytes: more than the format can number; at least {least} bytes are needed")]
    Density {
        /// Bytes per inode.
        density: u32,
        /// Smallest possible value.
        least: u64,
    },
    /// No group size works.
    #[error("no cylinder group fits into a block of {0} bytes with these sizes")]
    NoGroup(u32),
    /// Too many groups.
    #[error(
        "{groups} cylinder groups: the first has no room for the summary of so many; take blocks larger than {bsize} bytes"
    )]
    Summary {
        /// Cylinder groups.
        groups: u64,
        /// Bytes of a block.
        bsize: u32,
    },
    /// Rotation on UFS2.
    #[error("rotational placement is UFS1's only")]
    Rotation,
    /// The result broke a rule: a bug of this program.
    #[error("the computed superblock is wrong: {0}")]
    Wrong(#[from] Corrupt),
}

impl NewfsParams {
    /// FreeBSD's defaults for a device of `volume_bytes`.
    pub fn new(format: Format, volume_bytes: u64) -> NewfsParams {
        NewfsParams {
            format,
            endian: Endian::Little,
            volume_bytes,
            sector: 512,
            bsize: 32768,
            fsize: 4096,
            density: None,
            minfree: 8,
            maxcontig: None,
            maxbpg: None,
            max_fpg: None,
            optim: Optim::Time,
            label: String::new(),
            softdep: false,
            acls: false,
            check_hashes: true,
            system: System::FreeBsd,
            rotation: None,
            now: 0,
            id: 0,
        }
    }
}
