//! What `ufs` knows of a volume: sizes, limits and encodings. No address follows from it.

use ordo_ondisk::dirent::DirFormat;
use ordo_ondisk::{Dialect, Encoding, Format};

/// The shape of a volume's files, fixed for the life of the mount.
#[derive(Debug, Clone)]
pub struct Shape {
    /// How contents are encoded, and the bytes of a block, which are a power of two.
    pub encoding: Encoding,
    /// How directories are encoded.
    pub dir_format: DirFormat,
    /// Largest file in bytes.
    pub maxfilesize: u64,
    /// Inodes of the volume: a walk through more parents than that goes in a circle.
    pub inodes: u64,
    /// Blocks in one transfer that the volume was made for; at least 1.
    pub maxcontig: u32,
    /// A directory's dinode says how deep it lies (FreeBSD's `di_dirdepth`).
    pub keeps_depth: bool,
}

impl Shape {
    /// Bytes of a block.
    pub fn bsize(&self) -> u32 {
        self.encoding.bsize
    }

    /// Block of a file that holds this byte.
    #[inline]
    pub fn lblkno(&self, byte: u64) -> u64 {
        byte >> self.encoding.bsize.trailing_zeros()
    }

    /// Byte within its block.
    #[inline]
    pub fn blkoff(&self, byte: u64) -> u32 {
        (byte & u64::from(self.encoding.bsize - 1)) as u32
    }

    /// Dinodes have a time of birth.
    pub fn has_birth(&self) -> bool {
        self.encoding.format == Format::Ufs2
    }

    /// Files may have extended attributes. UFS1 has no place for them.
    pub fn has_attributes(&self) -> bool {
        self.encoding.format == Format::Ufs2
    }

    /// Attributes may be changed. NetBSD's UFS2 has a place for them, but its own fsck may mishandle them there.
    pub fn may_set_attributes(&self) -> bool {
        self.has_attributes() && self.encoding.dialect == Dialect::FreeBsd
    }
}
