//! One zone: cylinders whose tracks have the same number of sectors.
//!
//! Blocks of a zone are numbered from its start, reserved blocks included; *position* is the number of a sector in the
//! zone, spares included. The position of a block is its number plus the sectors that the drive skips before it.
//! Between two slips that sum is constant, so a zone is a list of *runs* of blocks, each with one distance to its
//! position. Z1 and Z2 follow from the rules of sparing, and everything here uses them:
//!
//! Z1. Positions ascend with blocks.
//! Z2. A run ends at a slip or where the spares of a group (track, cylinder, range) begin.

use super::location::Location;

/// Where the spare sectors of a zone are, and what a slip displaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sparing {
    /// There are none.
    None,
    /// Whole tracks at the end; slips are tracks.
    TracksAtZoneEnd,
    /// Sectors at the end of each group of so many tracks, the last group perhaps shorter and then without spares.
    Group { tracks: u64, pattern_moves: bool },
    /// Sectors at the end of the disk.
    DiskEnd,
    /// Sectors at the end of the zone.
    ZoneEnd,
}

/// A zone as the profile describes it.
#[derive(Clone, Debug)]
pub(crate) struct ZoneData {
    pub(crate) first_cylinder: u32,
    pub(crate) last_cylinder: u32,
    pub(crate) surfaces: u32,
    pub(crate) sectors: u32,
    pub(crate) first_block_offset: u64,
    pub(crate) reserved: u64,
    pub(crate) track_skew: u64,
    pub(crate) cylinder_skew: u64,
    pub(crate) spares: u64,
    pub(crate) slips: Vec<u64>,
    /// Location and replacement.
    pub(crate) defects: Vec<(u64, u64)>,
    pub(crate) first_lbn: u64,
    pub(crate) count: u64,
    pub(crate) sparing: Sparing,
    pub(crate) serpentine: bool,
}

/// A zone ready for lookups.
#[derive(Clone, Debug)]
pub(crate) struct Zone {
    data: ZoneData,
    sectors: u64,
    surfaces: u64,
    /// Blocks and sectors of a group; the whole zone if it has no groups.
    group_blocks: u64,
    group_sectors: u64,
    /// Groups that have spares.
    full_groups: u64,
    /// What one slip adds, in sectors.
    step: u64,
    /// The block from which on each slip counts, ascending.
    from: Vec<u64>,
    /// The first slip of the same group, for each slip.
    group_start: Vec<usize>,
}

impl ZoneData {
    fn tracks(&self) -> u64 {
        u64::from(self.last_cylinder - self.first_cylinder + 1) * u64::from(self.surfaces)
    }

    /// Blocks that the zone can hold; `None` if spares and reserved blocks are more than it has.
    pub(crate) fn capacity(&self) -> Option<u64> {
        let all = self.tracks() * u64::from(self.sectors);
        let less = match self.sparing {
            Sparing::None => 0,
            Sparing::TracksAtZoneEnd => self.spares.checked_mul(u64::from(self.sectors))?,
            Sparing::Group { tracks, .. } => self.spares.checked_mul(self.tracks() / tracks)?,
            Sparing::DiskEnd => self.slips.len() as u64,
            Sparing::ZoneEnd => self.spares,
        };
        all.checked_sub(less)?.checked_sub(self.reserved)
    }

    /// Sectors of the zone.
    pub(crate) fn sectors_in_all(&self) -> u64 {
        self.tracks() * u64::from(self.sectors)
    }

    /// How many slips lie before `block`, by the drive's rule, one after the other. For zones without groups.
    fn slips_before(&self, block: u64) -> u64 {
        let cylinder_sectors = u64::from(self.sectors) * u64::from(self.surfaces);
        let mut passed = 0;
        for slip in &self.slips {
            let counts = match self.sparing {
                Sparing::TracksAtZoneEnd => *slip <= block / u64::from(self.sectors) + passed,
                Sparing::DiskEnd => {
                    let cylinder = block / cylinder_sectors;
                    slip / cylinder_sectors < cylinder
                        || (slip / cylinder_sectors == cylinder && *slip <= block + passed)
                }
                Sparing::ZoneEnd => *slip <= block + passed,
                Sparing::None | Sparing::Group { .. } => false,
            };
            passed += u64::from(counts);
        }
        passed
    }
}

impl Zone {
    /// `data` has been checked: its capacity is its count, and slips of groups ascend.
    pub(crate) fn new(data: ZoneData) -> Zone {
        let sectors = u64::from(data.sectors);
        let all = data.tracks() * sectors;
        let (group_sectors, group_blocks, full_groups) = match data.sparing {
            Sparing::Group { tracks, .. } => (tracks * sectors, tracks * sectors - data.spares, data.tracks() / tracks),
            _ => (all, all, 0),
        };
        let step = if data.sparing == Sparing::TracksAtZoneEnd { sectors } else { 1 };
        let mut zone = Zone {
            sectors,
            surfaces: u64::from(data.surfaces),
            group_blocks,
            group_sectors,
            full_groups,
            step,
            from: Vec::new(),
            group_start: Vec::new(),
            data,
        };
        match zone.data.sparing {
            Sparing::Group { .. } => zone.prepare_groups(),
            _ => zone.prepare_flat(all),
        }
        zone
    }

    /// The first cylinder after the zone.
    pub(crate) fn end_cylinder(&self) -> u32 {
        self.data.last_cylinder + 1
    }

    fn prepare_groups(&mut self) {
        let (mut group, mut start) = (0, 0);
        for (index, slip) in self.data.slips.iter().enumerate() {
            let of = slip / self.group_sectors;
            if of != group {
                (group, start) = (of, index);
            }
            let in_group = slip % self.group_sectors;
            let mut block = in_group.saturating_sub((index - start) as u64);
            if of < self.full_groups {
                // A slip among the spares displaces no block; it must not seem to lie in the next group.
                block = block.min(self.group_blocks);
            }
            self.from.push(of * self.group_blocks + block);
            self.group_start.push(start);
        }
    }

    /// One bisection per slip: the number of slips passed never falls as the block number rises.
    fn prepare_flat(&mut self, all: u64) {
        for slips in 1..=self.data.slips.len() as u64 {
            let (mut low, mut high) = (0, all);
            while low < high {
                let middle = low + (high - low) / 2;
                if self.data.slips_before(middle) >= slips { high = middle } else { low = middle + 1 }
            }
            self.from.push(low);
            self.group_start.push(0);
        }
    }

    /// The group of a block.
    fn group(&self, block: u64) -> u64 {
        if self.full_groups == 0 { 0 } else { (block / self.group_blocks).min(self.full_groups) }
    }

    /// The position of a block, and the run it belongs to: its first block and the first one after it.
    fn run(&self, block: u64) -> (u64, u64, u64) {
        let group = self.group(block);
        let first = group * self.group_blocks;
        let end = if group < self.full_groups { first + self.group_blocks } else { u64::MAX };
        let passed = self.from.partition_point(|from| *from <= block);
        let mut low = first;
        let mut slips = 0;
        if passed > 0 {
            // A slip of an earlier group has no effect here.
            let start = self.group_start[passed - 1];
            if self.full_groups == 0 || self.data.slips[start] / self.group_sectors == group {
                slips = (passed - start) as u64;
                low = low.max(self.from[passed - 1]);
            }
        }
        let high = self.from.get(passed).map_or(end, |next| (*next).min(end));
        let position = group * self.group_sectors + (block - first) + slips * self.step;
        (position, low, high)
    }

    fn position(&self, block: u64) -> u64 {
        self.run(block).0
    }

    /// The first block at or after `position`, which is at most a track away from `near`.
    fn first_from(&self, position: u64, near: u64) -> u64 {
        let reach = self.sectors * 2;
        let (mut low, mut high) = (near.saturating_sub(reach), near + reach);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.position(middle) >= position { high = middle } else { low = middle + 1 }
        }
        low
    }

    pub(crate) fn locate(&self, lbn: u64) -> Location {
        let data = &self.data;
        let block = lbn - data.first_lbn + data.reserved;
        let (mut position, low, high) = self.run(block);
        let replaced = !data.defects.is_empty() && self.replace(&mut position);
        let n = self.sectors;
        let track = position / n;
        let sector = position - track * n;
        let cylinder = track / self.surfaces;
        let ordinal = track - cylinder * self.surfaces;

        let (track_start, track_end) = (block.saturating_sub(sector), block + (n - sector));
        let (first, end) = if replaced {
            (block, block + 1)
        } else {
            let first =
                if low <= track_start && sector <= block { track_start } else { self.first_from(track * n, block) };
            let end = if high >= track_end {
                track_end
            } else if self.position(high) >= (track + 1) * n {
                high
            } else {
                self.first_from((track + 1) * n, block)
            };
            (first, end)
        };
        let limit = data.reserved + data.count;
        let (end, first) = (end.min(limit), first.max(data.reserved));
        let stretch = if replaced { block + 1 } else { high.min(track_end).min(limit) };
        let stretch = self.before_defect(block, position, stretch);

        let offset = data.first_block_offset
            + (ordinal + (self.surfaces - 1) * cylinder) * data.track_skew
            + cylinder * data.cylinder_skew
            + self.pattern(track)
            + sector;
        let head = if data.serpentine && cylinder % 2 == 1 { self.surfaces - 1 - ordinal } else { ordinal };
        let to_lbn = data.first_lbn.wrapping_sub(data.reserved);
        Location {
            cylinder: data.first_cylinder + cylinder as u32,
            head: head as u32,
            sector: sector as u32,
            sectors: data.sectors,
            angle: (offset % n) as f64 / n as f64,
            track_first: to_lbn.wrapping_add(first),
            track_last: to_lbn.wrapping_add(end - 1),
            stretch_last: to_lbn.wrapping_add(stretch - 1),
        }
    }

    /// Replaces a defective position by its spare; `true` if it changes.
    fn replace(&self, position: &mut u64) -> bool {
        let unit = self.step;
        let (at, rest) = (*position / unit, *position % unit);
        match self.data.defects.iter().find(|(place, _)| *place == at) {
            Some((place, replacement)) if place != replacement => {
                *position = replacement * unit + rest;
                true
            }
            _ => false,
        }
    }

    /// Ends a stretch before the first replaced block in it.
    fn before_defect(&self, block: u64, position: u64, stretch: u64) -> u64 {
        let unit = self.step;
        let moved = self.data.defects.iter().filter(|(place, replacement)| place != replacement);
        let ahead = moved.map(|(place, _)| place * unit).filter(|place| *place > position);
        ahead.map(|place| block + (place - position)).fold(stretch, u64::min)
    }

    /// By how many sectors slips have shifted the pattern of a track.
    fn pattern(&self, track: u64) -> u64 {
        match self.data.sparing {
            Sparing::Group { tracks, pattern_moves: true } => {
                let start = track / tracks * self.group_sectors;
                self.data.slips.partition_point(|slip| *slip < start) as u64
            }
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests;
