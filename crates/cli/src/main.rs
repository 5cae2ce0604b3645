//! The command `ordo`.
fn main() {}
