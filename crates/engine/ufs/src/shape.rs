//! What `ufs` knows of a volume: sizes, limits and encodings. No address follows from it.

use ordo_ondisk::dirent::DirFormat;
use ordo_ondisk::{Corrupt, Dialect, Encoding, Format, Ino, Rule, Structure, Timestamp};
use ordo_vfs::{Error, Result, Stamp};

/// The shape of a volume's files, fixed for the life of the mount.
#[derive(Debug, Clone)]
pub struct Shape {
    /// How contents are encoded, and the bytes of a block, which are a power of two.
    pub encoding: Encoding,
    /// How directories are encoded.
    pub dir_format: DirFormat,
    /// Largest file in bytes.
    pub maxfilesize: u64,
    /// Bytes of the volume: no file has more that are stored.
    pub volume: u64,
    /// Inodes of the volume: a walk through more parents than that goes in a circle.
    pub inodes: u64,
    /// Blocks in one transfer that the volume was made for; at least 1.
    pub maxcontig: u32,
    /// A directory's dinode says how deep it lies (FreeBSD's `di_dirdepth`).
    pub keeps_depth: bool,
}

impl Shape {
    /// So many stored blocks of one file were met on the way through it. More than the volume has are pointers that
    /// lead to the same blocks again and again: a walk that went on would not end.
    ///
    /// # Errors
    /// `Corrupt`.
    pub(crate) fn bound(&self, ino: Ino, blocks: u64) -> Result<()> {
        let most = self.volume / u64::from(self.bsize()) + 1;
        if blocks <= most {
            return Ok(());
        }
        let damage = Corrupt::new(Structure::Inode(ino), "stored blocks", blocks, Rule::AtMost(most.into()));
        Err(Error::corrupt(damage).told_as(format!("inode {} has more blocks than the volume", ino.0)))
    }

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

    /// The nearest time that a dinode can hold. What is shown is what a later mount shows.
    pub(crate) fn held(&self, time: Stamp) -> Stamp {
        let held = Timestamp { sec: time.secs, nsec: time.nanos }.held(self.encoding.format);
        Stamp { secs: held.sec, nanos: held.nsec }
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
