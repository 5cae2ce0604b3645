//! From block number to place on the medium.
//!
//! G1. A lookup costs a few divisions and binary searches, however long the tracks and the lists of slips are.
//! G2. Blocks that follow one another without a gap on a track form a *stretch*. Within one, the place of a block is a
//!     sum and a product; the closed forms of the mechanism rely on that.
//! G3. A track is the set of blocks whose place is on it. It may have fewer blocks than sectors (spares, slips), and a
//!     slip in it parts it into stretches.

mod indexed;
mod location;
mod zone;

pub(crate) use indexed::{Child, Entry, Indexed, Pattern};
pub use location::Location;
pub(crate) use zone::{Sparing, Zone, ZoneData};

/// The places of all blocks of a drive.
#[derive(Clone, Debug)]
pub struct Geometry {
    pub(crate) cylinders: u32,
    pub(crate) surfaces: u32,
    pub(crate) blocks: u64,
    /// The most sectors of any track.
    pub(crate) most_sectors: u32,
    pub(crate) map: Map,
}

#[derive(Clone, Debug)]
pub(crate) enum Map {
    /// The first block of each zone, and the zones: the search touches one short run of memory.
    Zones(Vec<u64>, Vec<Zone>),
    Indexed(Indexed),
}

impl Geometry {
    /// The size of the drive in blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The number of cylinders.
    pub fn cylinders(&self) -> u32 {
        self.cylinders
    }

    /// The number of surfaces.
    pub fn surfaces(&self) -> u32 {
        self.surfaces
    }

    /// True if a tree of tracks maps the blocks, not zones.
    pub fn is_indexed(&self) -> bool {
        matches!(self.map, Map::Indexed(_))
    }

    /// The place of block `lbn`.
    ///
    /// # Panics
    ///
    /// If the drive has no such block.
    pub fn locate(&self, lbn: u64) -> Location {
        assert!(lbn < self.blocks, "block {lbn} of {}", self.blocks);
        match &self.map {
            Map::Zones(firsts, zones) => zones[firsts.partition_point(|first| *first <= lbn) - 1].locate(lbn),
            Map::Indexed(indexed) => {
                let place = indexed.locate(lbn);
                let last = self.blocks - 1;
                Location { track_last: place.track_last.min(last), stretch_last: place.stretch_last.min(last), ..place }
            }
        }
    }
}
