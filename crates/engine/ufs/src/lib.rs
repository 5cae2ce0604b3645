//! What the layouts of the Berkeley file systems share: names, directories, inodes, file data, attributes.
//!
//! This is the `ufs/ufs` of the BSD kernels: it implements the calls, and performs their steps in the order of rule
//! seam-0 (see [`ordo_buf::Scheme`]). The [`Layout`] decides where things are placed, the scheme when they become
//! durable.
//!
//! U1. An inode is durable before a name points to it (`LinksUp` before `LinkAdded`), and a name is gone before its
//!     link count goes down (a ticket in `LinkRemoved`). At every moment a link count on the disk is at least the
//!     number of names on the disk; a crash may leave it too high, never too low.
//! U2. A rename sets the new name before it clears the old one, with the link count raised in between: no crash loses
//!     both.
//! U3. A call that needs several locks takes the parent's before the child's, and of two directories the ancestor's
//!     first; renames between directories happen one at a time. So no two calls wait for each other.
//! U4. A call that fails for lack of space returns what it took.

#![forbid(unsafe_code)]

mod access;
mod attr;
mod charged;
mod create;
mod directory;
pub mod dirhash;
mod door;
mod durable;
mod freeing;
mod fs;
mod handle;
mod inode;
mod io;
mod layout;
mod observer;
mod once;
#[cfg(feature = "planted")]
pub mod planted;
mod quota;
mod quota_files;
mod reclaim;
mod remove;
mod rename;
mod shape;
mod space;
mod table;
mod worker;
mod xattr;

pub use charged::Charged;
pub use fs::{Atime, Ufs};
pub use inode::Inode;
pub use layout::{Fill, Layout, Mapped, NewInode};
pub use observer::{EntryAt, Observer};
pub use once::Once;
pub use quota::{Hold, Quotas};
pub use quota_files::{Enforce, Limits};
pub use shape::Shape;
pub use worker::{Access, Then, Worker, Working};
