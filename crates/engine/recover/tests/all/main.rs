//! Replays of whole volumes, which fsck judges. The small volume that they crash is that of fsck's tests.

#[path = "../../../../check/fsck/tests/all/common/mod.rs"]
mod common;
mod suj;
