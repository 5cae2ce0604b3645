//! The size of a group, and its number of inodes.
//!
//! FreeBSD's search: from the smallest group with the required number of inodes, one block more at a time, until the
//! maps fill the group's block or the volume has few groups; then smaller again until the last group has room for its
//! metadata.

use super::{NewfsError, NewfsParams};
use crate::Csum;
use crate::Format;
use crate::num::{bits64, howmany, len64, low32, roundup, signed32};
use crate::superblock::SBLOCKSIZE;
use crate::superblock::fields::SbFields;

/// `sizeof(struct cg)` in the newfs that made existing volumes: its array of maps was padded.
const NEWFS_CG_HEADER: i64 = 176;
/// Fewest groups of a volume that has room for more than one.
const MIN_GROUPS: u64 = 4;

/// The search for the size of a group. Fields of `sizes` that it does not set are zero.
pub(super) struct Plan {
    /// The sizes, and `fpg` and `ipg`.
    pub(super) sizes: SbFields,
    format: Format,
    /// Fragments of the volume.
    pub(super) size: u64,
    /// Groups.
    pub(super) ncg: u64,
    frags_per_inode: u64,
}

impl Plan {
    pub(super) fn new(p: &NewfsParams, primary: u64) -> Result<Plan, NewfsError> {
        let mut plan = Plan::fixed(p, primary);
        let frags = plan.size;
        let most = match p.format {
            Format::Ufs1 => i32::MAX.unsigned_abs().into(),
            Format::Ufs2 => bits64(i64::MAX).checked_div(p.fsize.into()).unwrap_or(0),
        };
        if frags > most {
            return Err(NewfsError::TooLarge { frags, most });
        }
        // Room for the metadata of one group, the summary, the root directory and a block of data.
        let least_frags = plan.least_fpg().saturating_add(plan.frag().saturating_mul(2).into());
        if frags < least_frags.max(u64::from(plan.frag()).saturating_mul(8)) {
            let least = least_frags.saturating_mul(p.fsize.into());
            return Err(NewfsError::TooSmall { bytes: p.volume_bytes, least });
        }
        plan.smallest(p)?;
        plan.grow(p.max_fpg.unwrap_or(u32::MAX));
        plan.fit(p)?;
        Ok(plan)
    }

    /// The part that does not depend on the size of a group.
    fn fixed(p: &NewfsParams, primary: u64) -> Plan {
        let n = |value: u32| signed32(value);
        let (fsize, frag) = (u64::from(p.fsize), p.bsize.checked_div(p.fsize).unwrap_or(1));
        let blocks = |bytes: u64| roundup(howmany(bytes, fsize), frag.into());
        let (inopb, nindir) = match p.format {
            Format::Ufs1 => (p.bsize / 128, p.bsize / 4),
            Format::Ufs2 => (p.bsize / 256, p.bsize / 8),
        };
        let maxcontig = p.maxcontig.unwrap_or((1u32 << 20).checked_div(p.bsize).unwrap_or(1)).clamp(1, 256);
        let sblkno = blocks(primary.saturating_add(len64(SBLOCKSIZE)));
        let cblkno = sblkno.saturating_add(blocks(len64(SBLOCKSIZE)));
        let at = |frags: u64| signed32(low32(frags));
        let sizes = SbFields {
            sblkno: at(sblkno),
            cblkno: at(cblkno),
            iblkno: at(cblkno.saturating_add(frag.into())),
            bsize: n(p.bsize),
            fsize: n(p.fsize),
            frag: n(frag),
            bmask: n(p.bsize).saturating_neg(),
            fmask: n(p.fsize).saturating_neg(),
            bshift: n(p.bsize.trailing_zeros()),
            fshift: n(p.fsize.trailing_zeros()),
            fragshift: n(frag.trailing_zeros()),
            fsbtodb: n(p.fsize.trailing_zeros().saturating_sub(9)),
            qbmask: i64::from(p.bsize.saturating_sub(1)),
            qfmask: i64::from(p.fsize.saturating_sub(1)),
            maxbsize: n(p.bsize),
            nindir: n(nindir),
            inopb,
            maxcontig: n(maxcontig),
            contigsumsize: if maxcontig > 1 { n(maxcontig.min(16)) } else { 0 },
            old_cpg: i32::from(p.format == Format::Ufs1),
            ..SbFields::zeroed()
        };
        let size = p.volume_bytes.checked_div(fsize).unwrap_or(0);
        Plan { sizes, format: p.format, size, ncg: 0, frags_per_inode: 1 }
    }

    pub(super) fn frag(&self) -> u32 {
        self.sizes.frag.unsigned_abs()
    }

    pub(super) fn fpg(&self) -> u32 {
        self.sizes.fpg.unsigned_abs()
    }

    pub(super) fn sblkno(&self) -> u64 {
        self.sizes.sblkno.unsigned_abs().into()
    }

    /// First fragment after `ipg` inodes.
    pub(super) fn dblkno(&self) -> u64 {
        let blocks = self.sizes.ipg.checked_div(self.sizes.inopb).unwrap_or(0);
        u64::from(blocks.saturating_mul(self.frag())).saturating_add(self.sizes.iblkno.unsigned_abs().into())
    }

    /// Size of the smallest group, in fragments: its metadata with one block of inodes.
    fn least_fpg(&self) -> u64 {
        u64::from(self.sizes.iblkno.unsigned_abs()).saturating_add(self.frag().into())
    }

    pub(super) fn cg_bytes(&self) -> i64 {
        crate::cg::bytes_needed(NEWFS_CG_HEADER, &self.sizes, self.format)
    }

    /// Sets the size of a group, and from it the inodes of a group.
    fn set_fpg(&mut self, fpg: u64) {
        self.sizes.fpg = signed32(low32(fpg));
        self.sizes.ipg = low32(roundup(howmany(fpg, self.frags_per_inode), self.sizes.inopb.into()));
    }

    /// The smallest group with the required number of inodes whose maps fit in its block.
    fn smallest(&mut self, p: &NewfsParams) -> Result<(), NewfsError> {
        let inopb = u64::from(self.sizes.inopb);
        let most_inodes = (1u64 << 32).saturating_sub(inopb);
        let least_frags = self.size.checked_div(most_inodes).unwrap_or(0).saturating_add(1);
        let fsize = u64::from(p.fsize);
        let mut density = match p.density {
            Some(density) => u64::from(density),
            None => fsize.saturating_mul(least_frags.max(2)),
        };
        loop {
            self.frags_per_inode = density.checked_div(fsize).unwrap_or(0).max(1);
            if self.frags_per_inode < least_frags {
                let least = least_frags.saturating_mul(fsize);
                return Err(NewfsError::Density { density: low32(density), least });
            }
            let frag = u64::from(self.frag());
            let wanted = roundup(self.frags_per_inode.saturating_mul(inopb).min(self.size), frag);
            self.sizes.ipg = self.sizes.inopb;
            for _ in 0..2 {
                let fpg = self.dblkno().max(wanted);
                self.set_fpg(fpg);
            }
            if self.cg_bytes() < i64::from(self.sizes.bsize) {
                return Ok(());
            }
            // More inodes for the same space make the group smaller.
            density = density.checked_sub(fsize).filter(|&d| d >= fsize).ok_or(NewfsError::NoGroup(p.bsize))?;
        }
    }

    /// Fragments of data that the first group needs if there are `groups` groups: the summary, and a block each for the
    /// root directory, for `.snap`, and for a file.
    fn first_needs(&self, groups: u64) -> u64 {
        let (frag, fsize) = (u64::from(self.frag()), u64::from(self.sizes.fsize.unsigned_abs()));
        let summary = howmany(groups.saturating_mul(len64(Csum::SIZE)), fsize);
        roundup(summary, frag).saturating_add(frag.saturating_mul(3))
    }

    /// Makes the group larger until its maps fill its block or the volume has few groups.
    fn grow(&mut self, max_fpg: u32) {
        let frag = u64::from(self.frag());
        let bsize = i64::from(self.sizes.bsize);
        while self.fpg() < max_fpg {
            let fpg = u64::from(self.fpg());
            self.set_fpg(fpg);
            if !self.has_too_many_inodes() {
                let few = self.size.checked_div(fpg).unwrap_or(0) < MIN_GROUPS;
                // Tiny volumes: FreeBSD's search ends with groups that have room for their metadata only.
                let roomy = fpg.saturating_sub(self.dblkno()) >= self.first_needs(MIN_GROUPS) || fpg >= self.size;
                if few && roomy || self.cg_bytes() == bsize {
                    return;
                }
                if self.cg_bytes() < bsize {
                    self.set_fpg(fpg.saturating_add(frag));
                    continue;
                }
            }
            self.set_fpg(fpg.saturating_sub(frag));
            return;
        }
    }

    /// A group of UFS1 counts its inodes in 16 bits.
    fn has_too_many_inodes(&self) -> bool {
        self.format == Format::Ufs1 && self.sizes.ipg > 0x7fff
    }

    /// Finds sizes with which each group has room for its contents.
    fn fit(&mut self, p: &NewfsParams) -> Result<(), NewfsError> {
        let grown = self.fpg();
        let Err(refused) = self.fit_last(p).and_then(|()| self.fit_first(p)) else { return Ok(()) };
        // FreeBSD's search ends here. Small volumes can still be one group,
        let whole = roundup(self.size, self.frag().into());
        if whole <= p.max_fpg.unwrap_or(u32::MAX).into() {
            self.set_fpg(whole);
            self.ncg = 1;
            let holds = self.cg_bytes() <= self.sizes.bsize.into() && !self.has_too_many_inodes();
            if holds && self.fit_first(p).is_ok() {
                return Ok(());
            }
        }
        // or leave out a last group that is too short.
        self.set_fpg(grown.into());
        self.ncg = self.size.checked_div(self.fpg().into()).unwrap_or(0);
        self.size = self.ncg.saturating_mul(self.fpg().into());
        self.fit_first(p).map_err(|_| refused)
    }

    /// Reduces the group until the last one has room for its metadata, or is full.
    fn fit_last(&mut self, p: &NewfsParams) -> Result<(), NewfsError> {
        loop {
            let fpg = u64::from(self.fpg());
            self.ncg = howmany(self.size, fpg);
            let least = self.dblkno();
            if self.size < least || fpg < least {
                let least = least.saturating_mul(p.fsize.into());
                return Err(NewfsError::TooSmall { bytes: p.volume_bytes, least });
            }
            match self.size.checked_rem(fpg) {
                Some(last) if last != 0 && last < least => self.set_fpg(fpg.saturating_sub(self.frag().into())),
                _ => return Ok(()),
            }
        }
    }

    /// Checks that the contents of the first group fit there.
    fn fit_first(&self, p: &NewfsParams) -> Result<(), NewfsError> {
        let room = self.size.min(self.fpg().into()).saturating_sub(self.dblkno());
        let frag = u64::from(self.frag());
        let room = room.saturating_sub(room.checked_rem(frag).unwrap_or(0));
        if room >= self.first_needs(self.ncg) {
            return Ok(());
        }
        if room < self.first_needs(1) {
            let least = self.dblkno().saturating_add(self.first_needs(1)).saturating_mul(p.fsize.into());
            return Err(NewfsError::TooSmall { bytes: p.volume_bytes, least });
        }
        Err(NewfsError::Summary { groups: self.ncg, bsize: p.bsize })
    }
}
