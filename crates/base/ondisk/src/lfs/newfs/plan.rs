//! The geometry of a new volume.

use super::{NewfsError, NewfsOptions};
use crate::lfs::superblock::{Fields, interval, least_segment};
use crate::lfs::{Daddr, LABEL_PAD, MAX_SUPERBLOCKS, SB_PAD, Serial, Version};
use crate::num::{howmany, low32};

/// Devices up to this size get small segments, blocks and fragments.
const SMALL_DEVICE: u64 = 65536 * 512;
/// One segment of this many is kept free.
const FREE_SEGMENT_OF: u32 = 10;
const MIN_FREE_SEGS: u32 = 20;
const MIN_RESV_SEGS: u32 = 15;
const MIN_SEGMENTS: u64 = 6;

/// The sizes of a volume.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    bsize: u32,
    fsize: u32,
    ibsize: u32,
    sumsize: u32,
    segment: u32,
    unit: u32,
    /// Units.
    size: u64,
    s0addr: u64,
    nseg: u32,
    minfreeseg: u32,
    resvseg: u32,
}

impl Plan {
    pub(super) fn new(of: &NewfsOptions) -> Result<Plan, NewfsError> {
        let small = of.device_bytes <= SMALL_DEVICE;
        let bsize = of.block.unwrap_or(if small { 1024 } else { 8192 });
        if !(512..=65536).contains(&bsize) || !bsize.is_power_of_two() {
            return Err(NewfsError::Block(bsize));
        }
        // The kernels of NetBSD mount version 1 with no other fragments than these.
        let fragment = if small || of.version == Version::V1 { 512 } else { 1024 };
        let fsize = of.fragment.unwrap_or(fragment.min(bsize));
        let most = bsize.min(SB_PAD);
        if !(512..=most).contains(&fsize) || !fsize.is_power_of_two() {
            return Err(NewfsError::Fragment { fragment: fsize, most });
        }
        let v1 = of.version == Version::V1;
        // Version 1 has no field for another size than a block's.
        let least = if v1 { bsize } else { fsize };
        let ibsize = of.ibsize.unwrap_or(least);
        if !(least..=bsize).contains(&ibsize) || !ibsize.is_power_of_two() {
            return Err(NewfsError::InodeBlock { ibsize, least, most: bsize });
        }
        if of.minfree > 99 {
            return Err(NewfsError::MinFree(of.minfree));
        }
        let (sumsize, unit) = if v1 { (512, 512) } else { (fsize, fsize) };
        let size = of.device_bytes.checked_div(unit.into()).unwrap_or(0);
        let s0addr = if v1 { u64::from(LABEL_PAD / 512) } else { 0 };
        let plan =
            Plan { bsize, fsize, ibsize, sumsize, segment: 0, unit, size, s0addr, nseg: 0, minfreeseg: 0, resvseg: 0 };
        plan.check_size(of)?;
        plan.with_segments(of, of.segment.unwrap_or(if small { 32768 } else { 1 << 20 }))
    }

    fn check_size(&self, of: &NewfsOptions) -> Result<(), NewfsError> {
        let bytes = (u64::MAX >> 1).checked_div(self.unit.into()).unwrap_or(0);
        let most = if of.version.is_wide() { bytes } else { u64::MAX >> 33 };
        if self.size > most { Err(NewfsError::TooLarge { units: self.size, most }) } else { Ok(()) }
    }

    /// The smallest segment, in whole fragments.
    fn least_segment(&self, version: Version) -> u32 {
        let least = least_segment(version, self.sumsize, self.bsize);
        least.div_ceil(self.fsize.max(1)).saturating_mul(self.fsize)
    }

    /// Segments of this size, or smaller ones if there would be too few and the caller left the choice.
    fn with_segments(mut self, of: &NewfsOptions, wanted: u32) -> Result<Plan, NewfsError> {
        let fragment = self.fsize;
        // Where the caller leaves the choice, not one that is hardly more than a block.
        let spare = if of.segment.is_none() { self.bsize } else { 0 };
        let least = self.least_segment(of.version).saturating_add(spare);
        let mut segment = if of.segment.is_none() { wanted.max(least.next_power_of_two()) } else { wanted };
        loop {
            if segment < least || segment.checked_rem(fragment) != Some(0) {
                return Err(NewfsError::Segment { segment, least, fragment });
            }
            if of.version == Version::V1 && !segment.is_power_of_two() {
                return Err(NewfsError::SegmentPower(segment));
            }
            self.segment = segment;
            match self.count_segments(of).and_then(|()| self.has_second_superblock()) {
                Err(NewfsError::TooFew { .. }) if of.segment.is_none() && segment / 2 >= least => segment /= 2,
                Err(reason) => return Err(reason),
                Ok(()) => return Ok(self),
            }
        }
    }

    fn count_segments(&mut self, of: &NewfsOptions) -> Result<(), NewfsError> {
        let label = howmany(LABEL_PAD.into(), self.unit.into());
        let nseg = self.size.saturating_sub(label).checked_div(self.fsbpseg()).unwrap_or(0);
        let most = u64::from(u32::MAX);
        if nseg > most {
            return Err(NewfsError::TooLarge { units: nseg, most });
        }
        self.nseg = low32(nseg);
        self.minfreeseg = of.minfreeseg.unwrap_or((self.nseg / FREE_SEGMENT_OF).max(MIN_FREE_SEGS));
        self.resvseg = of.resvseg.unwrap_or((self.minfreeseg / 2).saturating_add(1).max(MIN_RESV_SEGS));
        let least = u64::from(self.minfreeseg).saturating_mul(4).max(MIN_SEGMENTS);
        if nseg < least {
            return Err(NewfsError::TooFew { nseg, segment: self.segment, least });
        }
        if self.resvseg > self.nseg {
            return Err(NewfsError::Reserve { resvseg: self.resvseg, nseg: self.nseg });
        }
        Ok(())
    }

    /// Checkpoints need two.
    fn has_second_superblock(&self) -> Result<(), NewfsError> {
        let [_, second, ..] = self.copies();
        let (nseg, segment) = (self.nseg, self.segment);
        if second.is_hole() { Err(NewfsError::OneSuperblock { nseg, segment }) } else { Ok(()) }
    }

    /// Units of a segment.
    fn fsbpseg(&self) -> u64 {
        self.segment.checked_div(self.unit).unwrap_or(1).into()
    }

    /// Addresses of the superblock's copies.
    fn copies(&self) -> [Daddr; MAX_SUPERBLOCKS] {
        let mut copies = [Daddr(0); MAX_SUPERBLOCKS];
        let interval = u64::from(interval(self.nseg));
        for (i, copy) in (0u64..).zip(&mut copies) {
            let segment = i.saturating_mul(interval);
            let at = self.s0addr.saturating_add(segment.saturating_mul(self.fsbpseg()));
            let at = if i == 0 { howmany(LABEL_PAD.into(), self.unit.into()) } else { at };
            // The 512 are newfs's, which adds bytes to an address.
            if segment < self.nseg.into() && at.saturating_add(512) < self.size {
                *copy = Daddr(at);
            }
        }
        copies
    }

    /// The fields of the superblock, with the counts of an empty log.
    pub(super) fn fields(&self, of: &NewfsOptions) -> Fields {
        let in_block = |bytes: u32| self.bsize.checked_div(bytes).unwrap_or(0);
        let (sepb, nindir) = (in_block(of.version.seguse_size()), in_block(of.version.pointer_size()));
        let sboffs = self.copies();
        let pads = u64::try_from(sboffs.iter().filter(|at| !at.is_hole()).count()).unwrap_or(0);
        let pads = pads.saturating_mul(howmany(SB_PAD.into(), self.unit.into()));
        let data = u64::from(self.nseg.saturating_sub(self.minfreeseg)).saturating_mul(self.fsbpseg());
        let start = Daddr(self.s0addr);
        Fields {
            size: self.size,
            ssize: self.segment,
            dsize: data.saturating_sub(pads),
            bsize: self.bsize,
            fsize: self.fsize,
            frag: self.bsize.checked_div(self.fsize).unwrap_or(1),
            freehd: crate::Ino(0),
            bfree: 0,
            nfiles: 0,
            avail: 0,
            uinodes: 0,
            idaddr: start.plus(1),
            lastseg: start.plus(self.fsbpseg().saturating_mul(u64::from(self.nseg).saturating_sub(1))),
            nextseg: start.plus(self.fsbpseg()),
            curseg: start,
            offset: start,
            lastpseg: start,
            minfree: of.minfree,
            maxfilesize: crate::lfs::geometry::largest_file(nindir, self.bsize),
            fsbpseg: low32(self.fsbpseg()),
            inopb: self.ibsize.checked_div(of.version.dinode_size()).unwrap_or(0),
            ifpb: in_block(of.version.ifile_entry_size()),
            sepb,
            nindir,
            nseg: self.nseg,
            cleansz: 1,
            segtabsz: low32(howmany(self.nseg.into(), sepb.into())),
            maxsymlinklen: of.version.pointer_area(),
            sboffs,
            nclean: self.nseg,
            fsmnt: [0; 90],
            pflags: crate::lfs::superblock::PF_CLEAN,
            dmeta: 0,
            minfreeseg: self.minfreeseg,
            sumsize: self.sumsize,
            serial: Serial(0),
            ibsize: self.ibsize,
            inodefmt: 0,
            s0addr: start,
            tstamp: of.now,
            interleave: of.interleave,
            ident: if of.version == Version::V1 { 0 } else { of.ident },
            resvseg: self.resvseg,
        }
    }
}
