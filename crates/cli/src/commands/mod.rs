//! The commands, one file each: what can be said to it, and what it does.

pub(crate) mod bench;
pub(crate) mod cat;
pub(crate) mod completions;
pub(crate) mod cp;
pub(crate) mod crash;
pub(crate) mod demo;
pub(crate) mod df;
pub(crate) mod disks;
pub(crate) mod fsck;
pub(crate) mod info;
pub(crate) mod ln;
pub(crate) mod ls;
pub(crate) mod man;
pub(crate) mod mkdir;
pub(crate) mod mkfs;
pub(crate) mod mount;
pub(crate) mod mv;
pub(crate) mod report;
pub(crate) mod rm;
pub(crate) mod schemes;
pub(crate) mod stat;
pub(crate) mod trace;
pub(crate) mod tree;
pub(crate) mod tune;
pub(crate) mod umount;
pub(crate) mod workloads;
