//! The programs that measure and test a file system, each written once for [`ordo_vfs::FileSystem`].
//!
//! W1. Nothing here reads a clock or draws unseeded random numbers: clocks come from the caller, numbers from a seed.
//!     The same parameters make the same calls, in the same order, on any file system.
//! W2. Every lookup is forgotten again. A program leaves no node held, whether it succeeds or fails.
//! W3. A program works under the base directory it is given, which no one else uses, and removes what it made
//!     (program-1 and program-2).
#![forbid(unsafe_code)]

#[macro_use]
mod table;

pub mod age;
mod andrew;
mod compile;
mod compute;
mod contents;
mod copy_tree;
mod create_delete;
mod error;
mod large_file;
mod look;
mod meter;
mod netnews;
mod overwrites;
mod own_log;
mod parameters;
mod paths;
mod postmark;
mod program;
mod program_log;
pub mod random;
mod registry;
mod remove_tree;
mod report;
pub mod script;
mod sdet;
mod sequential;
mod small_files;
mod ssh;
#[cfg(test)]
mod tests;
mod throughput;
mod tpcb;
mod tree;
mod unix;

pub use andrew::Andrew;
pub use compute::Compute;
pub use copy_tree::CopyTree;
pub use create_delete::CreateDelete;
pub use error::{Failed, Result, WorkloadError};
pub use large_file::LargeFile;
pub use look::{Leaf, Seen, look};
pub use meter::{Cleaning, Counts, Meter, PhaseResult, Reading, SYNC};
pub use netnews::Netnews;
pub use overwrites::Overwrites;
pub use own_log::OwnLog;
pub use parameters::{Parameter, Params, Values, Workload};
pub use paths::{Held, Session};
pub use postmark::Postmark;
pub use program::Program;
pub use registry::{clean, find, prepare, run, sync, work, workloads};
pub use remove_tree::RemoveTree;
pub use report::{Row, rows};
pub use sdet::Sdet;
pub use sequential::Sequential;
pub use small_files::SmallFiles;
pub use ssh::Ssh;
pub use table::Table;
pub use throughput::{CreateFiles, CreateRemove, Files, RemoveFiles};
pub use tpcb::Tpcb;
pub use tree::Tree;
