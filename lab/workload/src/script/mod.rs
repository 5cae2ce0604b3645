//! Scripts: short lists of calls during which the power is cut at every moment.
//!
//! A script is a text that a person writes and reads. One call per line, in the forms of [`Op`](crate::random::Op),
//! short or exact:
//!
//! ```text
//! # A file takes the place of another one.
//!
//! create a
//! write a 0 4096
//! create b
//! ---
//! rename a b
//! fsync b
//! ```
//!
//! - The comment at the head says what the script tests. Other comments and blank lines are for the reader.
//! - The lines above `---` are the set-up: it is made durable before the power may be cut. Without such a line there is
//!   no set-up.
//! - `{3..7}` in a line makes one call for each of these numbers, with `{}` for the same number further on in the line.
//!   `{x*200}` is `x` 200 times.
//! - A comment `# refused` directly above a call says that the call may be refused, on this volume or on another one.
//!
//! [`all`], [`bugs`] and [`ufs`] are ready-made; [`ace`] makes all short sequences within bounds, [`moves`] all those
//! of calls on directories, [`random`] random ones from a seed.
//!
//! S1. A script gives the same calls everywhere. An omitted seed is chosen by the script's text alone.
//! S2. No two writes of a script have the same seed unless the text says so. Bytes found after a crash then identify
//!     their write; with equal bytes a stale block would pass for the right one.
//! S3. No call is skipped or fails on a correct file system, and none is refused without the mark. Otherwise a script
//!     that tests nothing would look like one that passed.

pub mod ace;
mod calls;
mod expand;
mod library;
pub mod moves;
pub mod random;
mod text;

pub use calls::Script;
pub use library::{all, bugs, find, log, ufs};
pub use text::BadScript;
