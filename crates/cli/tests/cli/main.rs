//! The built program, end to end.

mod aged;
mod apart;
mod attributes;
mod built;
mod busy;
mod common;
mod completing;
mod contents;
mod crash;
mod disks;
mod explained;
mod flushes;
mod generated;
mod inside;
mod interrupted;
mod killed;
mod labels;
mod log_structured;
mod logged;
mod mounted;
mod needs;
mod paper;
mod quota;
mod recorded;
mod report;
mod rescued;
mod resized;
#[cfg(feature = "nfs")]
mod serve_nfs;
mod served_nbd;
mod sim;
mod sweeps;
mod tools;
mod toured;
mod tuned;
mod worked;
