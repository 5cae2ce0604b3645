//! The programs that measure and test a file system, each written once over [`vfs::FileSystem`].
//!
//! W1. Nothing here knows the time or makes luck of its own: clocks come from the caller, numbers from a seed. The
//!     same parameters make the same calls, in the same order, on any file system.
//! W2. Every lookup is taken back. A program leaves no node held, whether it succeeds or fails.
//! W3. A program works under the base directory it is given and removes what it made, unless it says otherwise.
#![forbid(unsafe_code)]

mod create_delete;
mod error;
mod hostdir;
mod meter;
mod paths;
mod postmark;
pub mod random;

mod registry;
mod report;
mod rng;
pub mod script;
mod sequential;
mod small_files;
mod trees;

pub use create_delete::CreateDelete;
pub use error::{Failed, Result, WorkloadError};
pub use hostdir::HostDir;
pub use meter::{Counts, Meter, PhaseResult, Reading};
pub use paths::{Held, Session};
pub use postmark::Postmark;
pub use registry::{Parameter, Params, Workload, find, run, workloads};
pub use report::{Row, rows, table};
pub use rng::Rng;
pub use sequential::Sequential;
pub use small_files::SmallFiles;
pub use trees::{Half, Trees};
