//! What a search of the log finds: of each block of the ifile and each inode the newest copy.

use ordo_ondisk::lfs::{Daddr, IFILE, Serial};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The newest copy of something.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Newest {
    pub(crate) serial: Serial,
    pub(crate) at: Daddr,
    /// Generation, for an inode.
    pub(crate) version: u32,
    /// Its count of links is 0.
    pub(crate) nameless: bool,
}

/// What the log holds.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) inodes: FxHashMap<u32, Newest>,
    /// Newest generation in the files' records.
    pub(crate) versions: FxHashMap<u32, (Serial, u32)>,
    /// Data blocks of the ifile.
    pub(crate) ifile: BTreeMap<u64, Newest>,
    /// Partial segments and inode blocks of each segment, from its start on.
    pub(crate) counts: FxHashMap<u32, (u16, u16)>,
    /// The highest serial number.
    pub(crate) serial: Serial,
}

impl Scan {
    pub(crate) fn block(&mut self, ino: u32, version: u32, lbn: i64, at: Daddr, serial: Serial) {
        let known = self.versions.entry(ino).or_default();
        if serial >= known.0 {
            *known = (serial, version);
        }
        if let (true, Ok(lbn)) = (ino == IFILE.0, u64::try_from(lbn)) {
            let newest = self.ifile.entry(lbn).or_default();
            if serial >= newest.serial {
                *newest = Newest { serial, at, version, nameless: false };
            }
        }
    }
}
