//! Traces: requests with times, and what they are about.
//!
//! Trace1. Times do not decrease: a reader sorts, and keeps the order of the file where two are the same.
//! Trace2. Every request lies within its file.
//! Trace3. A line that cannot be read is an error that names its number, from 1.

mod blkparse;
mod blocks;
mod calls;
mod disksim;
mod files;
mod msr;
mod read;
mod spc;

pub use files::{is_request, keep_first, of_calls};
pub use read::{Format, TraceError, read};

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

/// Figures about a trace, as `ordo sim list` shows them.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct About {
    /// Its name.
    pub trace: String,
    /// How many requests it has.
    pub requests: usize,
    /// The share of the requests for blocks that begin where the one before ended, in the same file.
    pub consecutive: f64,
    /// The share of the requests for blocks that lie in the first group of the disk or in groups 48 to 57.
    pub in_two_areas: f64,
    /// The share that writes.
    pub writes: f64,
    /// The share of requests after which the next one is for another file.
    pub other_file: f64,
    /// Different blocks of data, in MB.
    pub data_mb: f64,
    /// From the first request to the last, in seconds.
    pub seconds: f64,
    /// The drive.
    pub drive: &'static str,
}

impl Trace {
    /// Figures about it.
    pub fn about(&self) -> About {
        let groups = crate::volume::data_groups(self);
        let (mut asked, mut consecutive, mut inside, mut writes, mut other) = (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        let mut seen = vec![false; groups.pages()];
        let mut last: Option<(u32, u32)> = None;
        for request in self.requests.iter().filter(|request| request.op != Op::Look) {
            asked += 1;
            writes += u64::from(request.op == Op::Write);
            consecutive += u64::from(last == Some((request.file, request.first)));
            other += u64::from(last.is_some_and(|(file, _)| file != request.file));
            let group = groups.group(request.file, request.first);
            inside += u64::from(group == 0 || (48..=57).contains(&group));
            last = Some((request.file, request.first + request.blocks));
            let page = groups.page(request.file, request.first);
            seen[page..page + request.blocks as usize].fill(true);
        }
        let share = |part: u64| part as f64 / asked.max(1) as f64;
        let ends = self.requests.first().zip(self.requests.last());
        About {
            trace: self.name.clone(),
            requests: self.requests.len(),
            consecutive: share(consecutive),
            in_two_areas: share(inside),
            writes: share(writes),
            other_file: share(other),
            data_mb: seen.iter().filter(|seen| **seen).count() as f64 * 4096.0 / 1e6,
            seconds: ends.map_or(0.0, |(first, last)| (last.at_ms - first.at_ms) / 1e3),
            drive: self.drive,
        }
    }
}
