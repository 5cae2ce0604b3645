//! Instruments: schemes that stand before another scheme ([`ordo_buf::Wrapper`]) and observe it or break it. No volume
//! needs them; the crash explorer, `ordo trace` and the tests do.
//!
//! * [`Tracer`] reports the steps of each call, the scheme's answers, and what it allows to be written;
//! * [`Scout`] records which features of the scheme a script reaches;
//! * [`Mutant`] breaks a promise at one kind of step: a seeded bug, which the explorer must detect.

#![forbid(unsafe_code)]

mod mutant;
mod scout;
mod tracer;
mod words;

pub use mutant::{Mutant, MutantSpec, mutants};
pub use scout::{Feature, Reached, Scout};
pub use tracer::{Dependency, Line, Piece, Traced, Tracer};
