//! A trace-driven simulator of file systems: the one of the paper on active journaling ("Not Just a Log").
//!
//! A [`Trace`] says which blocks of which files are read and written, and when. [`run()`] plays it on a [`System`]: a
//! page cache with slabs, a queue with a scheduler, the transactions and the layout of that system, over a drive of
//! `ordo_drive`. It is an open model: a request comes at its time, whether the ones before it are done or not, and what
//! is measured is how long it takes until its blocks are in memory.
//!
//! No file system of the engine runs here, and no byte of a file exists: only places and times. That is what the
//! paper's authors did, and it is why a trace of half a million requests takes a second.
//!
//! Sim1. Nothing here reads a clock or draws an unseeded number. The same trace, setting and seed give the same bytes.
//! Sim2. Every system gets the same requests. What differs is where blocks lie, what a commit writes, and which copy is
//!       read.
//! Sim3. A synthetic trace is made from what the paper prints of the real one, and its program says what it adds.
#![forbid(unsafe_code)]

mod ahead;
mod cache;
mod layout;
mod luck;
pub mod recorded;
mod result;
mod run;
mod sched;
mod setting;
pub mod synth;
pub mod trace;
mod volume;

pub use result::{DISTANCE_BINS, Distances, Outcome, Seeks, TIME_BINS, Times, Work, summary};
pub use run::{SimError, run};
pub use sched::Scheduler;
pub use setting::{Mode, Setting, SettingError, System};
pub use trace::{Catalogue, Contents, Directory, File, Op, Request, Trace};
pub use volume::{GROUP, drive_for};
