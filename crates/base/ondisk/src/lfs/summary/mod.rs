//! The summary of a partial segment: which blocks of which files follow it, and which inode blocks.
//!
//! P1. A [`Summary`] is whole: magic and checksum are right, every list lies inside, and the lists do not overlap.
//!     Whether it is fresh, [`Summary::follows`] says.
//! P2. The places of the blocks are not stored; they follow from the order ([`Summary::walk`]). A summary whose walk
//!     leaves its segment, or does not meet every inode block, is malformed.
//! P3. A block shorter than a block of the volume is the last of its record.
//!
//! [`seal`] describes what OrdoFS adds to the format.

mod build;
mod decode;
mod raw;
pub mod seal;
mod walk;

pub use build::{Full, InodeSlot, PsegBuilder, Stamp};
pub use raw::{RawFinfo32, RawFinfo64, RawSummary1, RawSummary2, RawSummary64};
pub use seal::Seal;
pub use walk::{Item, Pseg};

use super::flagset::flag_set;
use super::{Daddr, Geometry, Serial};
use crate::num::index;
use crate::{Corrupt, Ino, Lbn, Rule, Structure};

/// Magic of a summary.
pub const MAGIC: u32 = 0x0006_1561;

flag_set! {
    /// Flags of a partial segment.
    pub struct SumFlags(u16) {
        /// It has blocks or inodes of directory operations.
        DIROP = 0x01,
        /// The directory operations go on in the next partial segment.
        CONT = 0x02,
        /// The cleaner wrote it.
        CLEAN = 0x04,
        /// newfs, fsck or a roll-forward wrote it.
        RFW = 0x08,
        /// Written to make room in the cache of inodes.
        RECLAIM = 0x10,
    }
}

/// The record of blocks of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finfo {
    /// Generation of the file; not 0.
    pub version: u32,
    /// The file.
    pub ino: Ino,
    /// Bytes of the last block; the others are whole.
    pub lastlength: u32,
    /// The blocks, in their order on disk; never empty. Negative numbers are indirect blocks.
    pub lbns: Vec<Lbn>,
}

/// A summary that was checked. See the module's invariants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// Start of the next segment (not of the next partial segment).
    pub next: Daddr,
    /// The volume's random number; 0 in version 1.
    pub ident: u32,
    /// Flags.
    pub flags: SumFlags,
    /// The inode that was reclaimed, with that flag.
    pub reclino: u64,
    /// Serial number; in version 1 that of the seal, 0 where there is none (summary-seal-4).
    pub serial: Serial,
    /// Time of writing, seconds.
    pub create: u64,
    /// Checksum of the blocks.
    pub datasum: u32,
    /// Inodes (not inode blocks).
    pub ninos: u16,
    /// The files' records.
    pub finfos: Vec<Finfo>,
    /// Addresses of the inode blocks, in their order on disk.
    pub inode_blocks: Vec<Daddr>,
}

impl Summary {
    /// Checks that this is the summary that the log goes on with: of this volume, and with this serial number.
    ///
    /// # Errors
    /// The field that says otherwise.
    pub fn follows(&self, ident: u32, expected: Serial) -> Result<(), Corrupt> {
        if self.ident != ident {
            return Err(Corrupt::new(Structure::PartialSegment, "ss_ident", self.ident, Rule::IsHex(ident)));
        }
        if self.serial != expected {
            let rule = Rule::Is(expected.0.into());
            return Err(Corrupt::new(Structure::PartialSegment, "ss_serial", self.serial.0, rule));
        }
        Ok(())
    }

    /// `true` if it is not from a later turn of the log than the summary with number `last`, which lies before it in
    /// its segment. Of version 1 only sealed ones can be compared.
    pub fn is_stale(&self, g: &Geometry, last: Serial) -> bool {
        let unnumbered = g.version == super::Version::V1 && self.serial == Serial(0);
        self.ident != g.ident || (self.serial <= last && !unnumbered)
    }

    /// Blocks of files.
    pub fn nblocks(&self) -> usize {
        self.finfos.iter().fold(0, |n, finfo| n.saturating_add(finfo.lbns.len()))
    }

    /// Index of the first byte behind the files' records.
    pub(super) fn records_end(&self, g: &Geometry) -> usize {
        let (header, each) = (index(g.version.finfo_header()), index(g.version.pointer_size()));
        let record = |finfo: &Finfo| finfo.lbns.len().saturating_mul(each).saturating_add(header);
        let records = self.finfos.iter().map(record).fold(0, usize::saturating_add);
        index(g.version.summary_header()).saturating_add(records)
    }

    /// `true` if nothing follows it. No program should write such a one, and old readers take it for the log's end.
    pub fn is_empty(&self) -> bool {
        self.finfos.is_empty() && self.ninos == 0
    }
}
