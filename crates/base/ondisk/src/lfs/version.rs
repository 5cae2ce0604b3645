//! The three forms of the format, and the sizes that differ between them.

/// The form of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// Version 1, of 4.4BSD and early NetBSD: addresses count sectors, no serial numbers.
    V1,
    /// Version 2 with 32-bit addresses.
    V2,
    /// Version 2 with 64-bit addresses and inode numbers.
    Lfs64,
}

impl Version {
    /// `true` with 64-bit addresses.
    pub fn is_wide(self) -> bool {
        self == Version::Lfs64
    }

    /// The number in the superblock: 1 or 2.
    pub fn number(self) -> u32 {
        if self == Version::V1 { 1 } else { 2 }
    }

    /// Bytes of a pointer, of a block number in a summary and of an inode block's address there.
    pub fn pointer_size(self) -> u32 {
        if self.is_wide() { 8 } else { 4 }
    }

    /// Bytes of an inode.
    pub fn dinode_size(self) -> u32 {
        if self.is_wide() { 256 } else { 128 }
    }

    /// Where an inode has its pointers, 12 direct ones and then 3 indirect ones.
    pub fn pointers_at(self) -> usize {
        if self.is_wide() { 112 } else { 40 }
    }

    /// Bytes of a summary's header.
    pub fn summary_header(self) -> u32 {
        match self {
            Version::V1 => 28,
            Version::V2 => 48,
            Version::Lfs64 => 56,
        }
    }

    /// Bytes of a file's record in a summary, without its block numbers.
    pub fn finfo_header(self) -> u32 {
        if self.is_wide() { 24 } else { 16 }
    }

    /// Bytes of the ifile's first structure.
    pub fn cleaner_info_size(self) -> u32 {
        match self {
            Version::V1 => 8,
            Version::V2 => 28,
            Version::Lfs64 => 48,
        }
    }

    /// Bytes of a segment's entry in the ifile.
    pub fn seguse_size(self) -> u32 {
        if self == Version::V1 { 16 } else { 24 }
    }

    /// Bytes of an inode's entry in the ifile.
    pub fn ifile_entry_size(self) -> u32 {
        match self {
            Version::V1 => 12,
            Version::V2 => 20,
            Version::Lfs64 => 32,
        }
    }

    /// Bytes that the pointers in an inode have: a symbolic link shorter than this is there.
    pub fn pointer_area(self) -> u32 {
        if self.is_wide() { 120 } else { 60 }
    }
}
