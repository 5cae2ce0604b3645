//! All short sequences of calls within bounds, as ACE generates them (Mohan et al., OSDI 2018, section 5).
//!
//! A sequence is made in four phases. A skeleton is chosen: which core operations, in which order. Their parameters are
//! chosen from a few files, directories and ranges. After each operation except the last one of these follows: `fsync`
//! of a related path, `sync`, or nothing; after the last one, one of the first two. Finally the script gets what its
//! calls need: files that must exist, parents, bytes before they are overwritten.
//!
//! E1. The bounds are those of the generator in ACE's repository, so the counts are equal: 328 sequences of one
//!     operation, 241,720 of two, 909,362 of two with a directory within a directory.
//! E2. No list of all sequences is kept: a sequence is found by its number. A sweep can be divided over machines and
//!     interrupted, and a number says which sequence failed.
//! E3. A number means the same sequence for as long as the bounds are the same. The first operation changes slowest,
//!     then the others, then what is made durable.
//!
//! Differences from ACE:
//!
//! - What a call needs is made in the set-up, durable, unless an earlier call changed that name; then it is made just
//!   before the call. ACE always does the latter.
//! - A direct write is a plain write; it is a different operation for the count only, so some sequences have the same
//!   calls (229,334 of the 241,720 differ). A write through a mapping is a write and `fdatasync`, which stands for
//!   `msync`; the chosen persistence follows, while ACE drops it.
//! - `remove` is `unlink` of a file that stays open until the end of the script. In ACE it differs from `unlink` in
//!   name only.
//! - Sizes are those that files have. ACE counts a file as longer after an allocation that keeps the size.
//! - In a sequence of three, ACE allows only operations that share a parameter with those before, which may be the name
//!   of a range. Here they share a name, or one of them is on a directory. The counts for three are therefore ours.

mod bounds;
mod build;
mod filled;
mod names;
mod space;
mod tree;

pub use bounds::Bounds;
pub use filled::Core;
pub use space::Space;

use super::calls::{Script, numbers};

/// How many sequences there are.
pub fn count(bounds: &Bounds) -> u64 {
    Space::new(bounds).count()
}

/// The sequence with this number, from 0. For many sequences, keep a [`Space`].
pub fn nth(bounds: &Bounds, index: u64) -> Option<Script> {
    Space::new(bounds).nth(index)
}

/// All sequences, in order of their numbers.
pub fn sequences(bounds: &Bounds) -> impl Iterator<Item = Script> + use<> {
    let space = Space::new(bounds);
    (0..space.count()).map_while(move |index| space.nth(index))
}

/// `n` different sequences, or all if there are fewer, chosen by `seed`.
pub fn sample(bounds: &Bounds, seed: u64, n: u64) -> impl Iterator<Item = Script> + use<> {
    let space = Space::new(bounds);
    numbers(space.count(), seed, n).into_iter().map_while(move |index| space.nth(index))
}

/// The sequence with this name within the bounds that [`Bounds::length`] gives, nested if the name says so:
/// `seq2-17`, `seq2n-17`.
pub fn find(name: &str) -> Option<Script> {
    let (length, index) = name.strip_prefix("seq")?.split_once('-')?;
    let (length, nested) = length.strip_suffix('n').map_or((length, false), |length| (length, true));
    let bounds = Bounds::length(length.parse().ok()?);
    let script = nth(&if nested { bounds.nested() } else { bounds }, index.parse().ok()?)?;
    (script.name == name).then_some(script)
}

#[cfg(test)]
mod tests;
