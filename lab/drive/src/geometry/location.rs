//! A place on the medium.

/// Where a block is. Sectors and block numbers count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Location {
    /// The cylinder.
    pub cylinder: u32,
    /// The head.
    pub head: u32,
    /// The physical sector on its track.
    pub sector: u32,
    /// Physical sectors of the track.
    pub sectors: u32,
    /// Where the sector begins, in revolutions.
    pub angle: f64,
    /// The lowest block of the track.
    pub track_first: u64,
    /// The highest block of the track.
    pub track_last: u64,
    /// The last block of the stretch that begins at this block.
    pub stretch_last: u64,
}
