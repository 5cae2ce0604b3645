//! The laboratory: runs workloads under schemes on modelled machines, in virtual time.
//!
//! A [`Machine`] has a drive, a CPU and memory; a [`Run`] is one workload under one scheme on it, by one or many users.
//! It runs the same engine that a user mounts: only clock, drive and CPU are modelled.
//!
//! L1. Nothing here reads a clock or draws unseeded random numbers: its parameters decide a run.
//! L2. A machine is calibrated once, from what a paper says of its baseline, never to fit a single result.
#![forbid(unsafe_code)]

mod aged;
mod aged_ffs;
mod cpu;
mod error;
mod log_drive;
mod machine;
pub mod paper;
mod policies;
mod prepared;
pub mod promised;
mod replay;
mod run;
mod user;

pub use aged::aged_log;
pub use aged_ffs::{AgedFfs, AgedVolume};
pub use cpu::Costs;
pub use error::{LabError, Result};
pub use machine::{Machine, Shape};
pub use ordofs::rt::together;
pub use replay::{Replay, Replayed};
pub use run::{LogPlace, Outcome, Run, Start, cleaning};

/// The drives available to a machine.
pub fn drives() -> Vec<&'static str> {
    ordo_drive::names().collect()
}
