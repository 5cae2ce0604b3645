//! The FUSE protocol: requests from the kernel, and replies to it.

pub mod abi;
pub mod reply;
pub mod request;
