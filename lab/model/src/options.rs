//! The limits of a tree.

/// The limits of a [`MemFs`](crate::MemFs).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Granularity of holes and unit of allocation, in bytes; a multiple of 512.
    pub block_size: u32,
    /// Largest number of blocks of all files together.
    pub blocks: u64,
    /// Largest number of files of all kinds.
    pub inodes: u64,
    /// Most links to a file; a directory has two and one for each subdirectory. UFS counts to 32,767.
    pub link_max: u32,
    /// Longest file in bytes.
    pub max_file_size: u64,
    /// Do not update access times.
    pub noatime: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            block_size: 4096,
            blocks: 1 << 21,
            inodes: 1 << 24,
            link_max: 32767,
            max_file_size: 1 << 44,
            noatime: false,
        }
    }
}
