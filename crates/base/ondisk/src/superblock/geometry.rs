//! The geometry that a checked superblock gives.

use super::Superblock;
use super::fields::ck;
use crate::num::{bits32, bits64, low32};
use crate::{ByteOff, Dialect, Format, FragNo, Geometry};

/// Solaris has symbolic links of up to 56 bytes in the inode.
const SOLARIS_SYMLINK: u32 = 57;

impl Superblock {
    /// The numbers that all address arithmetic uses.
    pub fn geometry(&self) -> Geometry {
        let f = &self.fields;
        let ufs1 = self.format == Format::Ufs1;
        // Checked to be positive, and small.
        let n = |field: i32| u32::try_from(field).unwrap_or(0);
        let (apple, solaris) = (self.dialect == Dialect::Apple, self.dialect == Dialect::Solaris);
        let old = |field: i32| if ufs1 { n(field) } else { 0 };
        let size = bits64(f.size);
        let half = n(f.fpg).checked_div(2).unwrap_or(0);
        let reserve = u64::from(n(f.fpg)).saturating_mul(u64::from(n(f.minfree).min(99))).checked_div(200).unwrap_or(0);
        let reserve = low32(reserve) & !n(f.frag).saturating_sub(1);
        Geometry {
            format: self.format,
            endian: self.endian,
            dialect: self.dialect,
            bsize: n(f.bsize),
            fsize: n(f.fsize),
            frag: n(f.frag),
            bshift: n(f.bshift),
            fshift: n(f.fshift),
            fragshift: n(f.fragshift),
            ncg: f.ncg,
            fpg: n(f.fpg),
            ipg: f.ipg,
            size,
            // Old versions of growfs stored it wrong.
            dsize: u64::try_from(f.dsize).unwrap_or(0).min(size),
            sblkno: n(f.sblkno),
            cblkno: n(f.cblkno),
            iblkno: n(f.iblkno),
            dblkno: n(f.dblkno),
            cgoffset: old(f.old_cgoffset),
            cgmask: bits32(f.old_cgmask),
            nindir: n(f.nindir),
            inopb: f.inopb,
            dinode_size: if ufs1 { 128 } else { 256 },
            maxsymlinklen: match (apple, solaris) {
                (true, _) => 60,
                (_, true) => SOLARIS_SYMLINK,
                _ => n(f.maxsymlinklen),
            },
            maxfilesize: f.maxfilesize,
            contigsumsize: n(f.contigsumsize),
            maxcontig: n(f.maxcontig).clamp(1, 1024),
            maxbpg: if f.maxbpg > 0 { n(f.maxbpg) } else { n(f.bsize).checked_div(8).unwrap_or(1) },
            metaspace: match self.dialect {
                Dialect::FreeBsd => u32::try_from(f.metaspace).unwrap_or(0).min(half),
                Dialect::OpenBsd => reserve,
                Dialect::NetBsd | Dialect::OldBsd | Dialect::Apple | Dialect::Solaris => 0,
            },
            minfree: n(f.minfree).min(99),
            cgsize: n(f.cgsize),
            cssize: n(f.cssize),
            csaddr: FragNo(bits64(f.csaddr)),
            sbsize: n(f.sbsize),
            sblockloc: ByteOff(u64::try_from(f.sblockloc).unwrap_or(0)),
            dirblksiz: if apple { 1024 } else { 512 },
            old_dirent: f.maxsymlinklen <= 0 && !apple,
            old_inode: ufs1 && f.old_inodefmt < 2,
            old_cg: ufs1 && f.old_postblformat == -1,
            cg_hash: self.hashes() & ck::CYLGRP != 0,
            inode_hash: self.hashes() & ck::INODE != 0,
            rotdelay: old(f.old_rotdelay),
            rps: old(f.old_rps),
            nsect: old(f.old_nsect),
            nspf: old(f.old_nspf),
            cpg: old(f.old_cpg),
            nrpos: old(f.old_nrpos),
            avgfilesize: f.avgfilesize,
            avgfpdir: f.avgfpdir,
        }
    }
}
