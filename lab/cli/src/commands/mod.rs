//! The commands, one file each: its arguments, and its implementation.

pub(crate) mod age;
pub(crate) mod bench;
pub(crate) mod crash;
pub(crate) mod disks;
pub(crate) mod fuzz;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod paper;
pub(crate) mod report;
pub(crate) mod sim;
mod spindle;
pub(crate) mod tour;
pub(crate) mod trace;
pub(crate) mod workloads;
