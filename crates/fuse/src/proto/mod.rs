//! The FUSE protocol: what the kernel sends and what it is sent.

pub mod abi;
pub mod reply;
pub mod request;
