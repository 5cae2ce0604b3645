//! Log-structured volumes.

mod damage;
mod whole;

use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::{Mode, Report};

/// A check that must not fail.
fn run(disk: &RamDisk, mode: Mode) -> Report {
    common::run(disk, mode).expect("a volume")
}
