//! Random operations, played on two file systems and compared.
//!
//! A seed gives a list of [`Op`]s. A [`Player`] applies them to a file system and reports the outcome of each in a form
//! that does not depend on the implementation. [`differential()`] plays the same list on two file systems, one of them
//! usually the model, and reports the first step at which they differ; [`shrink()`] then finds a short list that still
//! differs. An operation is one line of text, so that a list can be stored, read, and played again.
//!
//! N1. Outcomes contain only what every correct file system must agree on: no inode numbers, no times that were not
//!     set, no sizes of directories, no positions of holes (but what is reported as a hole must read as zeroes).
//! N2. An operation that does not apply to the file it meets is skipped by a rule that depends on the file's kind only,
//!     so it is skipped on both sides.

mod compare;
mod differential;
mod features;
mod generate;
mod op;
mod player;
mod short;
mod shrink;

pub use compare::{Difference, compare_trees};
pub use differential::{Divergence, Rules, differential};
pub use features::Features;
pub use generate::{Generator, Shape};
pub(crate) use op::falloc_word;
pub use op::{BadOp, Op};
pub use player::{Outcome, Player, Seen};
pub(crate) use short::usage;
pub use shrink::shrink;
