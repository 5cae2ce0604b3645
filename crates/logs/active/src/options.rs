//! How an active disk is opened, and why it may be refused.

use crate::area::NoPlace;
use ordo_disk::DiskError;
use ordo_learning::Learns;

/// The number of the journal by which the superblock keeps the volume, as found there (logs-active-7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kept {
    /// The number. `None` if another program, or another scheme, has kept the volume since: the map is void.
    pub by: Option<u64>,
    /// The volume was not unmounted: what the journal has must be found.
    pub dirty: bool,
}

/// Options of an active disk.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Commits go where the head is, and reads to the nearest copy. `None`: if the disk says where its head is, or that
    /// it has one.
    pub near_head: Option<bool>,
    /// What is completed may be lost by a power cut. `None`: as the disk says.
    pub volatile_cache: Option<bool>,
    /// Nothing is written: what is wrong is right in the answers only.
    pub read_only: bool,
    /// What is often read after the head was far away gets a replica there. `None`: if commits go where the head is.
    /// Not without that, and not if nothing is written.
    pub learning: Option<Learns>,
}

/// Why a disk cannot be opened as an active one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The file of the active journal is too small.
    #[error(transparent)]
    NoPlace(#[from] NoPlace),
    /// The volume was not unmounted, and what only group journals have cannot be found: the map is damaged.
    #[error("its map of copies is damaged, and some of what was written last is known only from that")]
    MapLost,
    /// The disk fails.
    #[error(transparent)]
    Disk(#[from] DiskError),
}
