//! Tests of the explorer on disks of their own, and of what the schemes do while they are recorded.

mod bounded;
mod log_by_itself;
mod one_writer;
mod separate;
mod stream;
mod sync_ends;
mod through_nbd;
