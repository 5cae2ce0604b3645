//! File traces: what was done to a file system, and when, as lines of text. `docs/format/file-trace.md` is the format.
//!
//! ```text
//! mount -> Call -> a line            a mount writes (crates/face/fuse)
//! text  -> read -> Vec<Call>         this crate reads
//! strace's text -> strace::read -> Vec<Call>
//! Vec<Call> -> Cast                  who is who: a number of a node may be given to several files, one after the other
//! ```
//!
//! Pure functions of text: nothing here opens a file or knows a file system.
//!
//! F1. One table (`Op::fields`) says which fields a call has. Writer and reader both go by it.
//! F2. What is written can be read, and is then the same, whatever the names are.
//! F3. A line that cannot be read is an error that names its number, from 1; no line is skipped.
//! F4. Calls are in the order in which they came. The lines are in the order in which the calls ended.
#![forbid(unsafe_code)]

mod call;
mod cast;
mod line;
pub mod strace;

pub use call::{Call, Field, Found, Kind, Op, Outcome};
pub use cast::{Before, Cast, Object};
pub use line::{HEADER, LineError, is_file_trace, read};

#[cfg(test)]
mod tests;
