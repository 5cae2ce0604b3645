//! A snapshot of everything that a reader sees of a volume, to compare with another.

#[allow(unused_imports, reason = "each test file uses its part")]
pub use ordo_workload::{Seen as Tree, look};
