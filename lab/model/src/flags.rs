//! BSD file flags, and which calls they forbid.
//!
//! The numbers are those of `<sys/stat.h>`. The user's and the system's variant of a flag forbid the same; who may
//! clear which is a question of permission, which is not checked here.

use ordo_vfs::{Refusal, Result};

/// Not to be dumped. Forbids nothing.
pub const UF_NODUMP: u32 = 0x0000_0001;
/// The file may not change in any way.
pub const UF_IMMUTABLE: u32 = 0x0000_0002;
/// Writes may only add to the end.
pub const UF_APPEND: u32 = 0x0000_0004;
/// The file's names may not be removed.
pub const UF_NOUNLINK: u32 = 0x0000_0010;
/// Like [`UF_IMMUTABLE`], set by the system.
pub const SF_IMMUTABLE: u32 = 0x0002_0000;
/// Like [`UF_APPEND`], set by the system.
pub const SF_APPEND: u32 = 0x0004_0000;
/// Like [`UF_NOUNLINK`], set by the system.
pub const SF_NOUNLINK: u32 = 0x0010_0000;

/// Either immutable flag.
pub const IMMUTABLE: u32 = UF_IMMUTABLE | SF_IMMUTABLE;
/// Either append-only flag.
pub const APPEND: u32 = UF_APPEND | SF_APPEND;
/// Either no-unlink flag.
pub const NOUNLINK: u32 = UF_NOUNLINK | SF_NOUNLINK;

/// Refuses if one of `forbidding` is set in `flags`.
pub(crate) fn refuse(flags: u32, forbidding: u32) -> Result<()> {
    if flags & forbidding != 0 { Err(Refusal::NotPermitted.into()) } else { Ok(()) }
}
