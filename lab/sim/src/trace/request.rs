//! A trace: its requests, and the files or the device that they are about.

/// What a request does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Blocks of a file into memory.
    Read,
    /// Blocks of a file, whole: nothing is read before.
    Write,
    /// The file's name and inode only, as stat(2) does.
    Look,
}

/// A request.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Request {
    /// When it comes, in milliseconds since the start.
    pub at_ms: f64,
    /// What it does.
    pub op: Op,
    /// The file, as an index into the catalogue; 0 in a trace of a device.
    pub file: u32,
    /// The first block of 4 KB in the file; in a trace of a device, an index into its list of blocks.
    pub first: u32,
    /// How many.
    pub blocks: u32,
}

/// A directory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Directory {
    /// The directory that it is in; `None` for the root, which comes first. A directory comes after its parent.
    pub parent: Option<u32>,
    /// Where the file system put it: 0 is the first group of the disk, 1 behind the last.
    pub place: f64,
}

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct File {
    /// Its directory.
    pub directory: u32,
    /// Its size at the end, in blocks of 4 KB.
    pub blocks: u32,
    /// It is made by the first write to it.
    pub new: bool,
}

/// The files that a trace is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Catalogue {
    /// In the order in which a walk from the root meets them.
    pub directories: Vec<Directory>,
    /// Those of one directory in the order of their names.
    pub files: Vec<File>,
}

/// What the requests are about.
#[derive(Debug, Clone, PartialEq)]
pub enum Contents {
    /// Files: names, inodes and indirect blocks are simulated, too.
    Files(Catalogue),
    /// The blocks of a device, of 4 KB, ascending: what each of them holds is not known, and taken for data of large
    /// files.
    Device(Vec<u32>),
}

/// A trace.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// The drive that it is played on.
    pub drive: &'static str,
    /// What its requests are about.
    pub contents: Contents,
    /// The requests, by time.
    pub requests: Vec<Request>,
}
