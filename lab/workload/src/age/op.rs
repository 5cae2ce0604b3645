//! What users do.

/// One operation of a user. Directories and files have numbers, which are never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// Makes a directory in another, or in the base.
    Mkdir {
        /// Its number.
        dir: u32,
    },
    /// Removes an empty directory.
    Rmdir {
        /// Its number.
        dir: u32,
    },
    /// Makes a file.
    Create {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its size.
        bytes: u64,
        /// What is written by a first call, before the rest.
        first: u64,
    },
    /// Replaces a file's contents, in place, as editors and compilers do.
    Rewrite {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its new size.
        bytes: u64,
    },
    /// Writes behind a file's end.
    Append {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
        /// Its size before.
        from: u64,
        /// What is added.
        bytes: u64,
    },
    /// Removes a file.
    Remove {
        /// Its directory.
        dir: u32,
        /// Its number.
        file: u32,
    },
}
