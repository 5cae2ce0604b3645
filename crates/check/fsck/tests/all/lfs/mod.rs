//! Log-structured volumes.

mod build;
mod damage;
mod kinds;
mod roll;
mod whole;

use crate::common;
use ordo_disk::RamDisk;
use ordo_fsck::{Mode, Report};

/// A check that must not fail.
fn run(disk: &RamDisk, mode: Mode) -> Report {
    common::run(disk, mode).expect("a volume")
}
