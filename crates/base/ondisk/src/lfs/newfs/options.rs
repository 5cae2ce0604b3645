//! What a new volume is to be like, and why there can be none like that.

use crate::lfs::Version;
use crate::{Corrupt, Endian};

/// The parameters of a new volume. `None` leaves the choice to newfs's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewfsOptions {
    /// Size of the device, in bytes.
    pub device_bytes: u64,
    /// The form of the format.
    pub version: Version,
    /// Byte order.
    pub endian: Endian,
    /// Bytes of a segment.
    pub segment: Option<u32>,
    /// Bytes of a block.
    pub block: Option<u32>,
    /// Bytes of a fragment.
    pub fragment: Option<u32>,
    /// Bytes of an inode block; a fragment by default, a block in version 1.
    pub ibsize: Option<u32>,
    /// Segments that are not counted as space.
    pub minfreeseg: Option<u32>,
    /// Segments kept for the cleaner.
    pub resvseg: Option<u32>,
    /// Percent reserved for privileged callers.
    pub minfree: u32,
    /// Segments that are skipped when the next one is chosen.
    pub interleave: u32,
    /// Random number that the volume's summaries repeat.
    pub ident: u32,
    /// Seconds since 1970.
    pub now: u64,
}

/// Why such a volume cannot be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NewfsError {
    /// Invalid block size.
    #[error("a block of {0} bytes: must be a power of two from 512 to 65536")]
    Block(u32),
    /// Invalid fragment size.
    #[error("a fragment of {fragment} bytes: must be a power of two from 512 to {most}, the block's size or 8192")]
    Fragment {
        /// Bytes of a fragment.
        fragment: u32,
        /// Largest valid size.
        most: u32,
    },
    /// Invalid inode block size.
    #[error(
        "an inode block of {ibsize} bytes: must be a power of two from {least} to {most}, from a fragment (version 1: a block) to a block"
    )]
    InodeBlock {
        /// Bytes of an inode block.
        ibsize: u32,
        /// Smallest valid size.
        least: u32,
        /// Bytes of a block.
        most: u32,
    },
    /// Invalid segment size.
    #[error("a segment of {segment} bytes: must be at least {least} and a multiple of {fragment}, the fragment's size")]
    Segment {
        /// Bytes of a segment.
        segment: u32,
        /// Smallest valid size.
        least: u32,
        /// Bytes of a fragment.
        fragment: u32,
    },
    /// Version 1 needs segments of a power of two.
    #[error("a segment of {0} bytes: in version 1 it must be a power of two")]
    SegmentPower(u32),
    /// Invalid reserve.
    #[error("a reserve of {0} percent: must be at most 99")]
    MinFree(u32),
    /// Too few segments.
    #[error(
        "{nseg} segments of {segment} bytes: at least {least} are needed; take smaller segments, or keep fewer of them free"
    )]
    TooFew {
        /// Segments that there would be.
        nseg: u64,
        /// Bytes of a segment.
        segment: u32,
        /// Least number of segments.
        least: u64,
    },
    /// No place for the second superblock.
    #[error(
        "{nseg} segments of {segment} bytes: too few for a second superblock; make the volume larger, or its fragments smaller"
    )]
    OneSuperblock {
        /// Segments that there would be.
        nseg: u32,
        /// Bytes of a segment.
        segment: u32,
    },
    /// More reserved segments than segments.
    #[error("{resvseg} segments kept for the cleaner: the volume has {nseg}; keep fewer")]
    Reserve {
        /// Segments kept for the cleaner.
        resvseg: u32,
        /// Segments of the volume.
        nseg: u32,
    },
    /// Volume too large.
    #[error(
        "a volume of {units} addresses is too large: this version has {most}; take 64-bit addresses or a smaller part"
    )]
    TooLarge {
        /// Addresses of the volume.
        units: u64,
        /// Most that the version has.
        most: u64,
    },
    /// The result broke a rule: a bug of this program.
    #[error("the computed superblock is wrong: {0}")]
    Wrong(#[from] Corrupt),
}

impl NewfsOptions {
    /// newfs's defaults for a device of `device_bytes`.
    pub fn new(version: Version, device_bytes: u64) -> NewfsOptions {
        NewfsOptions {
            device_bytes,
            version,
            endian: Endian::Little,
            segment: None,
            block: None,
            fragment: None,
            ibsize: None,
            minfreeseg: None,
            resvseg: None,
            minfree: 10,
            interleave: 0,
            ident: 0,
            now: 0,
        }
    }
}
