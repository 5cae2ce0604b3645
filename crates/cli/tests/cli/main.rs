//! The built program, end to end.

mod advised;
mod apart;
mod archived;
mod attributes;
mod built;
mod busy;
mod common;
mod completing;
mod contents;
mod generated;
mod handed_over;
mod hung;
mod inside;
mod interrupted;
mod killed;
mod labels;
mod leased;
mod log_structured;
mod logged;
mod mounted;
mod mounting;
mod one_writer;
mod quota;
mod remembered;
mod replaced;
mod rescued;
#[cfg(feature = "nfs")]
mod serve_nfs;
mod served_nbd;
mod serving;
mod tools;
mod tuned;
mod unchanged;
mod undone;
mod worked;

/// The program under test.
const PROGRAM: &str = env!("CARGO_BIN_EXE_ordo");
