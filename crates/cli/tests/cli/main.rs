//! The built program, end to end.

mod common;
mod generated;
mod inside;
mod mounted;
