//! All tests of the explorer but one, in one program: each for itself would be linked with all of it.

mod common;
mod explorer;
mod faults;
mod found;
mod journals;
mod lives;
mod mount;
mod nameless;
mod negative;
mod ordered;
mod planted;
mod random;
mod separate;
mod softupdates;
mod sync;
