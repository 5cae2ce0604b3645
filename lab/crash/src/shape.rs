//! The volume on which a script runs.

use crate::device::Device;
use ordo_ondisk::lfs::Version;
use ordo_ondisk::{Endian, Format};
use ordo_rt::Rng;
use ordo_workload::script::random::Ground;
use ordofs::{NewLfs, NewVolume};

/// The volume on which a script runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shape {
    /// UFS1 or UFS2. A log-structured volume has no choice: [`LogShape::version`] decides.
    pub format: Format,
    /// Bytes of the volume.
    pub size: u64,
    /// Bytes of a block.
    pub bsize: u32,
    /// Bytes of a fragment.
    pub fsize: u32,
    /// Byte order of its integers.
    pub endian: Endian,
    /// The volume is log-structured, and has these segments.
    pub log: Option<LogShape>,
}

/// The segments of a log-structured volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogShape {
    /// Form of the log.
    pub version: Version,
    /// Bytes of a segment.
    pub segment: u32,
    /// Segments that are not counted as space.
    pub free: u32,
    /// Segments that only the cleaner may fill.
    pub reserve: u32,
}

/// Bytes of the smallest segment of a small volume.
const SEGMENT: u32 = 64 << 10;
/// Bytes of a volume of few segments.
const FEW: u64 = 2 << 20;

impl LogShape {
    /// Segments for a volume of `size` bytes, small enough that there are many.
    pub fn of(size: u64, bsize: u32) -> LogShape {
        // Label, superblock, a summary and a few blocks fit into the first.
        let segment = (16384 + 8192 + 4 * bsize).next_power_of_two().max(SEGMENT);
        let nseg = u32::try_from(size / u64::from(segment)).unwrap_or(u32::MAX);
        let free = (nseg / 8).clamp(1, 20);
        LogShape { version: Version::V2, segment, free, reserve: free / 2 + 1 }
    }
}

impl Shape {
    /// A small volume with small blocks, on which a script meets fragments, indirect blocks and new blocks of inodes
    /// after a few calls.
    pub fn small(device: &Device) -> Shape {
        let fsize = device.sector.max(512);
        let bsize = (fsize * 8).max(4096);
        Shape { format: Format::Ufs2, size: 8 << 20, bsize, fsize, endian: Endian::Little, log: None }
    }

    /// The same, log-structured.
    pub fn small_log(device: &Device) -> Shape {
        Shape::small(device).into_log()
    }

    /// A log-structured volume of so few segments that they are soon used again.
    pub fn few_segments(device: &Device) -> Shape {
        let small = Shape::small(device);
        // newfs places the second superblock only where 512 fragments follow it.
        let size = if small.fsize > 2048 { 2 * FEW } else { FEW };
        Shape { size, bsize: device.sector.max(4096), ..small }.into_log()
    }

    /// A log-structured volume of these sizes.
    pub fn into_log(self) -> Shape {
        let log = LogShape::of(self.size, self.bsize);
        // Larger fragments than a superblock are not possible there.
        Shape { format: Format::Ufs1, fsize: self.fsize.min(8192), log: Some(log), ..self }
    }

    /// The same for a random script, whose seed says which form of the log it has, too. Version 1 needs a disk that
    /// writes sectors of 512 bytes.
    pub fn into_log_of(self, seed: u64, device: &Device) -> Shape {
        let drawn = *Rng::new(seed ^ 0x666f_726d).pick(&[Version::V2, Version::V2, Version::Lfs64, Version::V1]);
        let version = if drawn == Version::V1 && device.sector > 512 { Version::V2 } else { drawn };
        let shape = self.into_log();
        Shape { log: shape.log.map(|log| LogShape { version, ..log }), ..shape }
    }

    /// The parameters of the volume that random scripts are generated for.
    pub fn ground(&self) -> Ground {
        let Shape { format, size, bsize, fsize, endian, .. } = *self;
        let (ufs1, big_endian) = (format == Format::Ufs1, endian == Endian::Big);
        Ground { ufs1, big_endian, size, block: bsize.into(), frag: fsize.into() }
    }

    pub(crate) fn volume(&self) -> NewVolume {
        NewVolume::new(self.size).with(|params| {
            (params.format, params.endian) = (self.format, self.endian);
            (params.bsize, params.fsize) = (self.bsize, self.fsize);
        })
    }

    /// The log-structured volume of this shape. Its identity is a number that no garbage has.
    pub(crate) fn log_volume(&self, log: LogShape) -> NewLfs {
        NewLfs::new(self.size).with(|of| {
            (of.block, of.fragment, of.endian) = (Some(self.bsize), Some(self.fsize), self.endian);
            (of.segment, of.minfreeseg, of.resvseg) = (Some(log.segment), Some(log.free), Some(log.reserve));
            (of.version, of.ident) = (log.version, 0x6f72_646f);
        })
    }
}

impl From<Ground> for Shape {
    fn from(ground: Ground) -> Shape {
        let Ground { ufs1, big_endian, size, block, frag } = ground;
        Shape {
            format: if ufs1 { Format::Ufs1 } else { Format::Ufs2 },
            size,
            bsize: block as u32,
            fsize: frag as u32,
            endian: if big_endian { Endian::Big } else { Endian::Little },
            log: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_1_is_drawn_only_for_disks_that_write_its_sectors() {
        let drawn = |disk: &str, of: Version| {
            let device = Device::by_name(disk).unwrap();
            let log = |seed| Shape::small(device).into_log_of(seed, device).log.map(|log| log.version);
            (0..64).any(|seed| log(seed) == Some(of))
        };
        assert!(drawn("sata", Version::V1) && !drawn("nvme", Version::V1) && drawn("nvme", Version::Lfs64));
    }
}
