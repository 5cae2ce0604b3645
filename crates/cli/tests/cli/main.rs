//! The built program, end to end.

mod aged;
mod apart;
mod common;
mod contents;
mod crash;
mod disks;
mod explained;
mod flushes;
mod generated;
mod inside;
mod interrupted;
mod killed;
mod log_structured;
mod logged;
mod mounted;
mod paper;
mod recorded;
mod report;
mod rescued;
mod sim;
mod tuned;
