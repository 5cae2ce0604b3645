//! The on-disk structures of UFS1 and UFS2, and of BSD's log-structured file system ([`lfs`]), in both byte orders.
//!
//! Pure functions on bytes: no device, no cache, no policy, no clock. Other crates read and write the bytes; this one
//! decodes, checks and encodes them.
//!
//! O1. No input is trusted. Decoding checks every size, offset and count before it is used, and returns a [`Corrupt`]
//!     that names structure, field, place and value. No input causes a panic, an endless loop or unbounded allocation.
//! O2. Output is complete: the function that encodes a structure also sets its times and its check hash, so no path can
//!     forget them.
//! O3. Bytes without a known meaning are written back as they were read.
//!
//! The names are those of the BSD sources. The bytes are described in `docs/format/ufs.md` and
//! `docs/format/lfs.md`.

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::arithmetic_side_effects,
        clippy::as_conversions,
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

pub mod acl;
mod addr;
pub mod cg;
mod corrupt;
pub mod csum;
pub mod dinode;
pub mod dirent;
mod encoding;
mod endian;
pub mod extattr;
mod field;
mod format;
mod geometry;
mod hash;
pub mod lfs;
pub mod mmp;
pub mod nfs4;
mod num;
#[allow(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::indexing_slicing,
    reason = "fields at constant places of whole sectors"
)]
pub mod partition;
pub mod quota;
pub mod redo;
pub mod snapshot;
pub mod suj;
pub mod superblock;
pub mod wapbl;

pub use addr::{ByteOff, CgFrag, Cgx, FragNo, Ino, Lbn};
pub use cg::CgLayout;
pub use corrupt::{Corrupt, Rule, Structure};
pub use csum::{Csum, CsumTotal};
pub use dinode::{Dinode, Timestamp};
pub use encoding::Encoding;
pub use endian::Endian;
pub use field::FieldPlace;
pub use format::{Dialect, Format};
pub use geometry::{BlockPath, Geometry, NDADDR, NIADDR, NXADDR, Root, Tree};
pub use hash::{check_hash, check_hash_without};
pub use superblock::{Features, Refused, Superblock};
