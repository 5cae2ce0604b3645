//! Traces: requests with times, and what they are about.
//!
//! Trace1. Times do not decrease: a reader sorts, and keeps the order of the file where two are the same.
//! Trace2. Every request lies within its file.
//! Trace3. A line that cannot be read is an error that names its number, from 1.

mod about;
mod blkparse;
mod blocks;
mod calls;
mod disksim;
mod files;
mod format;
mod msr;
mod read;
mod request;
mod spc;

pub use about::About;
pub use files::{is_request, keep_first, of_calls};
pub use format::{Format, TraceError};
pub use read::read;
pub use request::{Catalogue, Contents, Directory, File, Op, Request, Trace};
