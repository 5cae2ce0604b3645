//! What a line of a manifest says about a file.

use ordo_vfs::{Kind, Stamp};
use std::path::PathBuf;

/// What a line says about a file.
#[derive(Debug, Clone, Default)]
pub(super) struct Said {
    pub(super) kind: Option<Kind>,
    pub(super) mode: Option<u16>,
    pub(super) uid: Option<u32>,
    pub(super) gid: Option<u32>,
    pub(super) time: Option<Stamp>,
    pub(super) flags: Option<u32>,
    pub(super) rdev: Option<u64>,
    pub(super) link: Option<Vec<u8>>,
    pub(super) contents: Option<PathBuf>,
    pub(super) optional: bool,
}
