//! Address arithmetic: the macros of the BSD sources as methods.

use super::Geometry;
use crate::num::{index, low32, roundup};
use crate::{ByteOff, CgFrag, Cgx, Encoding, FragNo, Ino};

impl Geometry {
    /// First byte of a fragment.
    #[inline]
    pub fn byte(&self, frag: FragNo) -> ByteOff {
        ByteOff(frag.0.saturating_mul(self.fsize.into()))
    }

    /// First fragment of a group; the maps count from here.
    #[inline]
    pub fn cgbase(&self, c: Cgx) -> FragNo {
        FragNo(u64::from(self.fpg).saturating_mul(c.0.into()))
    }

    /// The fragment from which the regions of a group are counted: `cgbase` plus UFS1's rotational offset.
    #[inline]
    pub fn cgstart(&self, c: Cgx) -> FragNo {
        let turn = u64::from(c.0 & !self.cgmask);
        FragNo(self.cgbase(c).0.saturating_add(u64::from(self.cgoffset).saturating_mul(turn)))
    }

    /// The backup superblock of a group.
    pub fn cgsblock(&self, c: Cgx) -> FragNo {
        self.cgstart(c).plus(self.sblkno)
    }

    /// The block of a group.
    pub fn cgtod(&self, c: Cgx) -> FragNo {
        self.cgstart(c).plus(self.cblkno)
    }

    /// The first inode block of a group.
    pub fn cgimin(&self, c: Cgx) -> FragNo {
        self.cgstart(c).plus(self.iblkno)
    }

    /// The first fragment after the inodes of a group.
    pub fn cgdmin(&self, c: Cgx) -> FragNo {
        self.cgstart(c).plus(self.dblkno)
    }

    /// The first fragment after the metadata area of a group.
    pub fn cgdata(&self, c: Cgx) -> FragNo {
        self.cgdmin(c).plus(self.metaspace)
    }

    /// Fragments of a group: all have `fpg`, the last may have fewer. 0 for a group that does not exist.
    pub fn cg_ndblk(&self, c: Cgx) -> u32 {
        low32(self.size.saturating_sub(self.cgbase(c).0)).min(self.fpg)
    }

    /// The group of a fragment.
    #[inline]
    pub fn dtog(&self, frag: FragNo) -> Cgx {
        Cgx(low32(frag.0.checked_div(self.fpg.into()).unwrap_or(0)))
    }

    /// Index of a fragment within its group.
    #[inline]
    pub fn dtogd(&self, frag: FragNo) -> CgFrag {
        CgFrag(low32(frag.0.checked_rem(self.fpg.into()).unwrap_or(0)))
    }

    /// The fragment with this index in group `c`.
    pub fn cgfrag(&self, c: Cgx, frag: CgFrag) -> FragNo {
        self.cgbase(c).plus(frag.0)
    }

    /// The group of an inode.
    #[inline]
    pub fn ino_to_cg(&self, ino: Ino) -> Cgx {
        Cgx(ino.0.checked_div(self.ipg).unwrap_or(0))
    }

    /// Index of an inode within its group.
    #[inline]
    pub fn ino_in_cg(&self, ino: Ino) -> u32 {
        ino.0.checked_rem(self.ipg).unwrap_or(0)
    }

    /// First fragment of the block that holds an inode.
    #[inline]
    pub fn ino_to_fsba(&self, ino: Ino) -> FragNo {
        let block = self.ino_in_cg(ino).checked_div(self.inopb).unwrap_or(0);
        self.cgimin(self.ino_to_cg(ino)).plus(block.saturating_mul(self.frag))
    }

    /// Index of an inode in its block.
    #[inline]
    pub fn ino_to_fsbo(&self, ino: Ino) -> u32 {
        ino.0 & self.inopb.saturating_sub(1)
    }

    /// The place of an inode: its block, and the byte within it.
    #[inline]
    pub fn inode_at(&self, ino: Ino) -> (FragNo, usize) {
        (self.ino_to_fsba(ino), index(self.ino_to_fsbo(ino).saturating_mul(self.dinode_size)))
    }

    /// Inodes of the volume, including the two that are never used.
    pub fn inodes(&self) -> u64 {
        u64::from(self.ncg).saturating_mul(self.ipg.into())
    }

    /// `true` for a number that a directory entry may name.
    pub fn is_valid_ino(&self, ino: Ino) -> bool {
        ino >= Ino::ROOT && u64::from(ino.0) < self.inodes()
    }

    /// Byte within its block.
    #[inline]
    pub fn blkoff(&self, byte: u64) -> u32 {
        low32(byte & u64::from(self.bsize.saturating_sub(1)))
    }

    /// Byte within its fragment.
    pub fn fragoff(&self, byte: u64) -> u32 {
        low32(byte & u64::from(self.fsize.saturating_sub(1)))
    }

    /// Block of a file that holds this byte.
    #[inline]
    pub fn lblkno(&self, byte: u64) -> u64 {
        byte.checked_shr(self.bshift).unwrap_or(0)
    }

    /// Whole fragments in this many bytes.
    pub fn numfrags(&self, bytes: u64) -> u64 {
        bytes.checked_shr(self.fshift).unwrap_or(0)
    }

    /// Bytes, rounded up to whole blocks.
    pub fn blkroundup(&self, bytes: u64) -> u64 {
        roundup(bytes, self.bsize.into())
    }

    /// Bytes, rounded up to whole fragments.
    pub fn fragroundup(&self, bytes: u64) -> u64 {
        roundup(bytes, self.fsize.into())
    }

    /// Index of a fragment in its block.
    #[inline]
    pub fn fragnum(&self, frag: FragNo) -> u32 {
        low32(frag.0 & u64::from(self.frag.saturating_sub(1)))
    }

    /// First fragment of a fragment's block.
    pub fn blknum(&self, frag: FragNo) -> FragNo {
        FragNo(frag.0.saturating_sub(self.fragnum(frag).into()))
    }

    /// Allocated bytes of block `lbn` of a file of `size` bytes: whole blocks, except the last one if it is direct.
    #[inline]
    pub fn blksize(&self, size: u64, lbn: u64) -> u32 {
        if lbn >= 12 || self.lblkno(size) > lbn {
            return self.bsize;
        }
        if self.lblkno(size) < lbn {
            return 0;
        }
        low32(self.fragroundup(self.blkoff(size).into()))
    }

    /// The same in fragments.
    pub fn blkfrags(&self, size: u64, lbn: u64) -> u32 {
        self.blksize(size, lbn).checked_shr(self.fshift).unwrap_or(0)
    }

    /// Whether a pointer to `n` fragments may be followed: within the volume and one block, and free of metadata.
    pub fn is_data_range(&self, frag: FragNo, n: u32) -> bool {
        self.fragnum(frag).saturating_add(n) <= self.frag && self.is_data_run(frag, n)
    }

    /// Whether `n` fragments, at most a block, may be read. They may lie across the border of two blocks, where
    /// NetBSD's `resize_ffs` has put tails of files, and where every kernel reads them. No kernel frees them rightly:
    /// code that writes or frees must check [`Geometry::is_data_range`].
    pub fn is_readable_range(&self, frag: FragNo, n: u32) -> bool {
        n <= self.frag && self.is_data_run(frag, n)
    }

    /// Whether `n` fragments, of any number of blocks, are within one group of the volume and free of metadata.
    pub fn is_data_run(&self, frag: FragNo, n: u32) -> bool {
        let end = frag.plus(n);
        if frag.is_hole() || n == 0 || end.0 > self.size {
            return false;
        }
        let c = self.dtog(frag);
        let before_metadata = c.0 > 0 && end <= self.cgsblock(c);
        let after_metadata = frag >= self.cgdmin(c) && end <= self.cgbase(c).plus(self.fpg);
        let summary_end = self.csaddr.plus(self.csfrags());
        let summary = frag < summary_end && self.csaddr < end;
        (before_metadata || after_metadata) && !summary
    }

    /// Fragments of the summary array.
    pub fn csfrags(&self) -> u32 {
        low32(self.numfrags(self.fragroundup(self.cssize.into())))
    }

    /// Bytes of a block pointer: 4 or 8.
    pub fn pointer_size(&self) -> usize {
        Encoding::from(self).pointer_size()
    }

    /// Pointer `i` of an indirect block; `None` beyond the block's end.
    #[inline]
    pub fn pointer(&self, block: &[u8], i: u32) -> Option<FragNo> {
        Encoding::from(self).pointer(block, i)
    }

    /// Stores pointer `i` of an indirect block; `None`, and nothing stored, if it is beyond the block's end.
    #[inline]
    pub fn put_pointer(&self, block: &mut [u8], i: u32, to: FragNo) -> Option<()> {
        Encoding::from(self).put_pointer(block, i, to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Format;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format, bsize: u32, fsize: u32) -> Geometry {
        NewfsParams { bsize, fsize, ..NewfsParams::new(format, 64 << 20) }.superblock().unwrap().geometry()
    }

    #[test]
    fn last_block_of_a_small_file_is_partial_and_of_a_large_one_whole() {
        let g = geometry(Format::Ufs2, 8192, 1024);
        assert_eq!(g.blksize(5000, 0), 5120);
        assert_eq!((g.blksize(8192, 0), g.blksize(8192, 1), g.blksize(8193, 1)), (8192, 0, 1024));
        assert_eq!((g.blksize(98304, 11), g.blksize(98305, 12)), (8192, 8192));
        assert_eq!((g.blksize(5000, 3), g.blkfrags(5000, 0), g.blksize(0, 0)), (0, 5, 0));
        assert_eq!(g.blksize(u64::MAX, 11), 8192);
    }

    #[test]
    fn rounding_and_splitting_of_offsets() {
        let g = geometry(Format::Ufs1, 8192, 1024);
        assert_eq!((g.blkoff(8193), g.fragoff(1025), g.lblkno(16384), g.numfrags(2047)), (1, 1, 2, 1));
        assert_eq!((g.blkroundup(1), g.fragroundup(1025), g.fragroundup(0)), (8192, 2048, 0));
        assert_eq!((g.fragnum(FragNo(13)), g.blknum(FragNo(13))), (5, FragNo(8)));
        assert_eq!(g.byte(FragNo(u64::MAX)), ByteOff(u64::MAX));
    }

    #[test]
    fn pointers_may_lead_to_data_only() {
        let g = geometry(Format::Ufs2, 32768, 4096);
        let (c1, first) = (g.cgbase(Cgx(1)), g.cgdmin(Cgx(0)));
        let data = |f: FragNo, n| g.is_data_range(f, n);
        assert!(!data(FragNo(0), 1) && !data(FragNo(8), 8) && !data(FragNo(u64::MAX), 8));
        assert!(!data(first, 1), "the summary array is the first data of group 0");
        assert!(data(first.plus(1), 7) && !data(first.plus(1), 8) && !data(first.plus(1), 0));
        assert!(data(c1, 8) && !data(g.cgsblock(Cgx(1)), 1));
        assert!(data(FragNo(g.cgsblock(Cgx(1)).0 - 8), 8));
        assert!(!data(g.cgtod(Cgx(1)), 8) && !data(g.cgimin(Cgx(1)), 8) && data(g.cgdmin(Cgx(1)), 8));
        let across = first.plus(6);
        assert!(!data(across, 3) && g.is_readable_range(across, 3) && !g.is_readable_range(across, 9));
        assert!(!g.is_readable_range(FragNo(g.cgsblock(Cgx(1)).0 - 2), 3), "metadata is no part of a file");
        let (one, all) = (g.cgdmin(Cgx(1)), g.fpg - g.dtogd(g.cgdmin(Cgx(1))).0);
        assert!(g.is_data_run(one, all) && !g.is_data_run(one, all + 8), "a run ends with its group");
        assert!(!g.is_data_run(FragNo(g.cgsblock(Cgx(1)).0 - 8), 16) && !g.is_data_run(one, 0));
        assert!(data(FragNo(g.size - 8), 8) && !data(FragNo(g.size), 1) && !data(FragNo(g.size - 4), 5));
    }

    #[test]
    fn metadata_of_old_volumes_wanders_and_comes_back() {
        let mut g = geometry(Format::Ufs1, 8192, 1024);
        (g.cgoffset, g.cgmask) = (16, !3);
        let starts = [0, 1, 3, 4, 5].map(|c| g.cgstart(Cgx(c)).0 - g.cgbase(Cgx(c)).0);
        assert_eq!(starts, [0, 16, 48, 0, 16]);
        let c = Cgx(3);
        assert!(g.is_data_range(FragNo(g.cgsblock(c).0 - 8), 8));
        assert!(!g.is_data_range(g.cgsblock(c), 8));
    }

    #[test]
    fn inodes_and_fragments_are_found_in_their_groups() {
        let g = geometry(Format::Ufs2, 32768, 4096);
        let ino = Ino(g.ipg + 129);
        assert_eq!((g.ino_to_cg(ino), g.ino_in_cg(ino)), (Cgx(1), 129));
        assert_eq!(g.inode_at(ino), (g.cgimin(Cgx(1)).plus(8), 256));
        let f = FragNo(u64::from(g.fpg) * 2 + 77);
        assert_eq!((g.dtog(f), g.dtogd(f)), (Cgx(2), CgFrag(77)));
        assert_eq!(g.cgfrag(Cgx(2), CgFrag(77)), f);
        assert!(g.is_valid_ino(Ino(2)) && !g.is_valid_ino(Ino(1)) && !g.is_valid_ino(Ino(u32::MAX)));
        assert_eq!(g.cg_ndblk(Cgx(9)), 0);
        assert_eq!(u64::from(g.cg_ndblk(Cgx(3))) + 3 * u64::from(g.fpg), g.size);
    }

    #[test]
    fn pointers_in_indirect_blocks_have_the_width_of_the_format() {
        for (format, width) in [(Format::Ufs1, 4), (Format::Ufs2, 8)] {
            let g = geometry(format, 8192, 1024);
            let mut block = vec![0; 8192];
            assert_eq!(g.put_pointer(&mut block, 3, FragNo(0x0102)), Some(()));
            assert_eq!(block[3 * width..3 * width + 2], [2, 1]);
            assert_eq!(g.pointer(&block, 3), Some(FragNo(0x0102)));
            assert_eq!(g.pointer(&block, g.nindir), None);
            assert_eq!(g.put_pointer(&mut block, g.nindir, FragNo(1)), None);
        }
        let g = geometry(Format::Ufs1, 8192, 1024);
        assert_eq!(g.put_pointer(&mut [0; 8], 0, FragNo(1 << 32)), None);
    }
}
