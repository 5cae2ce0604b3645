//! The output of strace as a file trace: what a program did to the files below a directory.
//!
//! ```text
//! text -> line    who, when, what                       (line, text)
//! line -> event   whole calls, in the order of their ends (join)
//! event -> Call   names, descriptors and processes are followed; what is below the root is a line (follow)
//! ```
//!
//! S1. Nothing in the text is trusted. A line that strace does not write is an error that names it and says what to do.
//! S2. No call is dropped in silence: what leads to no line is counted, by its reason, and by its name if nothing here
//!     knows it.
//! S3. The text says nothing of what was there before, of processes that were not traced, and of what the kernel does
//!     by itself. A guess at what is not said is counted, too.

mod follow;
mod join;
mod left;
mod line;
mod table;
mod text;
mod tree;

pub use left::{Left, Strace, StraceError};
pub use tree::Root;

/// Whether a text looks like the output of strace, with times or without: so does its first line about a process.
pub fn is_strace(text: &str) -> bool {
    let first = text.lines().find(|text| !matches!(line::line(text), Ok(None)));
    first.is_some_and(|text| line::line(text).is_ok() || line::lacks_only_time(text))
}

/// Reads what `strace` wrote with times: `-ttt`, `-tt`, `-t` or `-r`; best with `-f -y`. What lies below the root is in
/// the trace.
///
/// # Errors
/// The first line that strace does not write.
pub fn read(text: &str, root: Root) -> Result<Strace, StraceError> {
    let (events, halves) = join::join(text)?;
    let mut strace = follow::follow(&events, root)?;
    strace.left.halves = halves;
    Ok(strace)
}

#[cfg(test)]
mod tests;
