//! A new log-structured volume: its geometry and its first bytes, as newfs_lfs makes them.
//!
//! W1. The computation is newfs_lfs's of NetBSD since about 2013 (one segment in ten is kept free), so that its kernel
//!     and its fsck accept the result.
//! W2. Time and random identity come in as arguments: the same options give the same bytes.
//! W3. The start of a volume is byte 0. newfs_lfs allows others and misplaces copies of the superblock for most.

mod image;
mod log;
mod options;
mod plan;

pub use image::{Initial, initial};
pub use options::{NewfsError, NewfsOptions};

use super::Superblock;

impl NewfsOptions {
    /// The superblock before the first partial segment is written: the counts are those of an empty log.
    ///
    /// # Errors
    /// The option that makes the volume impossible.
    pub fn superblock(&self) -> Result<Superblock, NewfsError> {
        let plan = plan::Plan::new(self)?;
        Ok(Superblock::fresh(self.version, self.endian, plan.fields(self))?)
    }
}

#[cfg(test)]
mod tests;
