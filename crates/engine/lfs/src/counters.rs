//! What a mounted volume says of its log, and what its owner may ask of it.

use crate::cleaner::Coalesced;
use crate::log::{self, Lfs};

/// What the log has done since the mount.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Counters {
    /// Segments that became usable again, those in which nothing was alive included.
    pub segments_cleaned: u64,
    /// Segments that the cleaner read.
    pub segments_read: u64,
    /// Segments that the log has entered.
    pub segments_written: u64,
    /// Bytes written and bytes read by the cleaner, over bytes of new file data; `None` before there is any
    /// (Rosenblum and Ousterhout 1992, section 3.4).
    pub write_cost: Option<f64>,
    /// The parts of the write cost, in bytes: written by all, read by the cleaner, and new data of files.
    pub bytes_written: u64,
    /// See above.
    pub bytes_read: u64,
    /// See above.
    pub bytes_new: u64,
    /// Bytes that were alive in the segments that the cleaner read.
    pub bytes_alive: u64,
}

impl Lfs {
    /// What the log has done since the mount.
    pub fn counters(&self) -> Counters {
        let counts = self.log.counts.get();
        let moved = (counts.bytes_written + counts.bytes_read) as f64;
        let new = counts.bytes_of_files.saturating_sub(counts.bytes_moved);
        let write_cost = (new > 0).then(|| moved / new as f64);
        let log::Counts { segments_cleaned, segments_read, segments_written, bytes_written, bytes_read, .. } = counts;
        Counters {
            segments_cleaned,
            segments_read,
            segments_written,
            write_cost,
            bytes_written,
            bytes_read,
            bytes_new: new,
            bytes_alive: counts.bytes_alive,
        }
    }

    /// Segments that can be written now.
    pub fn clean_segments(&self) -> u32 {
        u32::try_from(self.log.ifile.borrow().sums().clean).unwrap_or(u32::MAX)
    }

    /// The usage table, segment by segment, and the segment in which the log goes on.
    pub fn segments(&self) -> (Vec<ordo_ondisk::lfs::SegUse>, Option<ordo_ondisk::lfs::SegNo>) {
        (self.log.ifile.borrow().all_usage().to_vec(), self.log.current())
    }

    /// Bytes that are alive on the disk, and bytes of all segments.
    pub fn used(&self) -> (u64, u64) {
        let live = self.log.ifile.borrow().sums().live;
        (live, u64::from(self.log.g.nseg) * u64::from(self.log.g.ssize))
    }

    /// Writes files whose blocks are far apart in the log again, each in one piece.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    pub async fn coalesce(&self) -> ordo_vfs::Result<Coalesced> {
        self.log.coalesce().await
    }

    /// Cleans as long as that makes segments clean.
    ///
    /// # Errors
    /// `NoSpace`, `Io`, `Corrupt`.
    pub async fn clean(&self) -> ordo_vfs::Result<()> {
        self.log.clean_all().await
    }

    /// The volume's geometry.
    pub fn geometry(&self) -> &ordo_ondisk::lfs::Geometry {
        &self.log.g
    }
}
