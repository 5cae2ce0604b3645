//! A snapshot of everything that a reader sees of a volume, to compare with another.

pub use ordo_workload::{Seen as Tree, look};
