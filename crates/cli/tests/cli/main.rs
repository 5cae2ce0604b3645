//! The built program, end to end.

mod aged;
mod apart;
mod attributes;
mod built;
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
mod needs;
mod paper;
mod recorded;
mod report;
mod rescued;
mod resized;
mod sim;
mod tuned;
mod worked;
