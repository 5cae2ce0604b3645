//! Replays of whole volumes, which fsck judges. The small volume that they crash is that of fsck's tests.

#[allow(dead_code)]
#[path = "../../../../check/fsck/tests/all/common/mod.rs"]
mod common;
mod suj;
