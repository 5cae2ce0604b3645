//! The geometry that a checked superblock gives.

use super::{Fields, Superblock};
use crate::lfs::Version;
use crate::lfs::geometry::{Geometry, largest_file};

impl Superblock {
    /// The geometry of the volume.
    pub fn geometry(&self) -> Geometry {
        let f = &self.fields;
        let unit = if self.version == Version::V1 { 512 } else { f.fsize };
        let end = u64::from(f.nseg).saturating_mul(f.fsbpseg.into()).saturating_add(f.s0addr.0);
        Geometry {
            version: self.version,
            endian: self.endian,
            unit,
            bsize: f.bsize,
            fsize: f.fsize,
            block_units: f.bsize.checked_div(unit).unwrap_or(1),
            bshift: f.bsize.trailing_zeros(),
            ibsize: f.ibsize,
            sumsize: f.sumsize,
            ssize: f.ssize,
            fsbpseg: f.fsbpseg,
            nseg: f.nseg,
            s0addr: f.s0addr,
            size: if self.version == Version::V1 { end } else { f.size },
            dsize: f.dsize,
            inopb: f.inopb,
            ifpb: f.ifpb,
            sepb: f.sepb,
            nindir: f.nindir,
            cleansz: f.cleansz,
            segtabsz: f.segtabsz,
            minfreeseg: f.minfreeseg,
            resvseg: reserved_segments(f),
            minfree: f.minfree,
            interleave: f.interleave,
            ident: f.ident,
            maxsymlinklen: f.maxsymlinklen,
            maxfilesize: largest_file(f.nindir, f.bsize),
            sboffs: f.sboffs,
        }
    }
}

/// What kernels take where the superblock has no number.
fn reserved_segments(f: &Fields) -> u32 {
    if f.resvseg != 0 {
        return f.resvseg;
    }
    f.minfreeseg.saturating_sub(1).min((f.minfreeseg / 2).saturating_add(1).max(15))
}
