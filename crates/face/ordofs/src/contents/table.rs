//! Signatures, and where their formats put them.
//!
//! A row is one signature. Signatures of two or three bytes occur by chance, so their rows have an additional check
//! ([`Row::also`]).

use super::bytes::Bytes;
use super::kind::ContentsKind;
use ordo_ondisk::partition::LABEL_PLACES;

/// Where a signature lies.
#[derive(Debug, Clone, Copy)]
pub(super) enum SignatureAt {
    /// At this byte.
    At(u64),
    /// This many bytes before the end, rounded down to a multiple of `align`, plus `plus`.
    End { back: u64, align: u64, plus: u64 },
}

impl SignatureAt {
    /// The offset on a disk of `size` bytes; `None` if the disk is too small.
    pub(super) fn on(self, size: u64) -> Option<u64> {
        match self {
            SignatureAt::At(at) => Some(at),
            SignatureAt::End { back, align, plus } => size.checked_sub(back).map(|at| at - at % align + plus),
        }
    }
}

/// A signature.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) kind: ContentsKind,
    pub(super) places: &'static [SignatureAt],
    pub(super) magic: &'static [u8],
    /// What else must hold; called with the offset of the signature.
    pub(super) also: Option<fn(&mut Bytes<'_>, u64) -> bool>,
    /// What is wiped: the first byte, relative to the signature, and how many. `None`: the signature.
    pub(super) wipe: Option<(i64, u64)>,
    /// Copies whose places are stored beside this signature: the offsets of their signatures.
    pub(super) copies: Option<fn(&mut Bytes<'_>, u64) -> Vec<u64>>,
}

const fn row(name: &'static str, kind: ContentsKind, places: &'static [SignatureAt], magic: &'static [u8]) -> Row {
    Row { name, kind, places, magic, also: None, wipe: None, copies: None }
}

impl Row {
    const fn also(self, also: fn(&mut Bytes<'_>, u64) -> bool) -> Row {
        Row { also: Some(also), ..self }
    }

    const fn wipe(self, from: i64, len: u64) -> Row {
        Row { wipe: Some((from, len)), ..self }
    }

    const fn copies(self, copies: fn(&mut Bytes<'_>, u64) -> Vec<u64>) -> Row {
        Row { copies: Some(copies), ..self }
    }
}

use ContentsKind::{Archive, Bsd, Crypt, FileSystem, Image, Lfs, Log, Member, Packed, Swap, Table, Ufs};
use SignatureAt::At;

const fn last(back: u64, plus: u64) -> SignatureAt {
    SignatureAt::End { back, align: 1, plus }
}

const START: &[SignatureAt] = &[At(0)];
/// In the superblocks of UFS: `fs_magic`.
const UFS: &[SignatureAt] = &[At(65536 + 1372), At(8192 + 1372), At(1372), At(262_144 + 1372)];
/// The last ten bytes of a page, of all sizes of pages.
const PAGE_ENDS: &[SignatureAt] = &[At(4086), At(8182), At(16374), At(32758), At(65526)];
const LUKS2_SECOND: &[SignatureAt] = &[
    At(0x4000),
    At(0x8000),
    At(0x1_0000),
    At(0x2_0000),
    At(0x4_0000),
    At(0x8_0000),
    At(0x10_0000),
    At(0x20_0000),
    At(0x40_0000),
];
const BTRFS: &[SignatureAt] = &[At(65536 + 64), At((64 << 20) + 64), At((256 << 30) + 64)];
const LVM: &[SignatureAt] = &[At(0), At(512), At(1024), At(1536)];
/// Version 1.2, 1.1, and 1.0 at the end.
const MD1: &[SignatureAt] = &[At(4096), At(0), SignatureAt::End { back: 8192, align: 4096, plus: 0 }];
const MD0: &[SignatureAt] = &[SignatureAt::End { back: 65536, align: 65536, plus: 0 }];
const ZFS_LABEL: u64 = 256 << 10;
/// The name-value list after the boot header of each of the four labels.
const ZFS: &[SignatureAt] = &[
    At(16384),
    At(ZFS_LABEL + 16384),
    SignatureAt::End { back: 2 * ZFS_LABEL, align: ZFS_LABEL, plus: 16384 },
    SignatureAt::End { back: 2 * ZFS_LABEL, align: ZFS_LABEL, plus: ZFS_LABEL + 16384 },
];
const GPT: &[SignatureAt] = &[At(512), At(4096), last(512, 0), last(4096, 0)];
/// All places where a BSD label is read.
const LABELS: &[SignatureAt] = &{
    let mut places = [At(0); LABEL_PLACES.len()];
    let mut n = 0;
    while n < places.len() {
        places[n] = At(LABEL_PLACES[n]);
        n += 1;
    }
    places
};
/// Amiga's block, which begins one of the first sixteen sectors.
const RIGID: &[SignatureAt] = &{
    let mut places = [At(0); 16];
    let mut n = 0;
    while n < places.len() {
        places[n] = At(512 * n as u64);
        n += 1;
    }
    places
};
/// At the end of the superblock, behind 512 bytes of boot code, in one of four blocks of 1 KiB.
const SYSV: &[SignatureAt] = &[At(1016), At(9 * 1024 + 1016), At(15 * 1024 + 1016), At(18 * 1024 + 1016)];
const XENIX: &[SignatureAt] = &[At(1024 + 1016)];
/// The volume structure of ISO 9660 and UDF, by sectors of 2 KiB.
const ISO: &[SignatureAt] = &[At(32769), At(34817), At(36865), At(38913), At(40961), At(43009)];
/// FAT32 and exFAT have a copy of the boot sector after it.
const FAT32: &[SignatureAt] = &[At(82), At(6 * 512 + 82)];
const EXFAT: &[SignatureAt] = &[At(3), At(12 * 512 + 3)];
const NTFS: &[SignatureAt] = &[At(3), last(512, 3)];
const BCACHEFS: &[u8] = b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef";
/// The most copies of one superblock that are looked for.
const MOST_COPIES: u32 = 4096;
const LAST_SECTOR: &[SignatureAt] = &[last(512, 0), last(4096, 0)];

/// All rows. If a disk has several signatures, the first row names its contents.
pub(super) static ROWS: &[Row] = &[
    // Berkeley file systems, and other formats of this program.
    row("UFS2", Ufs, UFS, &[0x19, 0x01, 0x54, 0x19]),
    row("UFS2", Ufs, UFS, &[0x19, 0x54, 0x01, 0x19]),
    row("UFS2", Ufs, UFS, &[0x38, 0x20, 0x01, 0x19]),
    row("UFS2", Ufs, UFS, &[0x19, 0x01, 0x20, 0x38]),
    row("UFS1", Ufs, UFS, &[0x54, 0x19, 0x01, 0x00]),
    row("UFS1", Ufs, UFS, &[0x00, 0x01, 0x19, 0x54]),
    row("UFS, not finished", Ufs, UFS, &[0x08, 0x04, 0x96, 0x19]),
    row("UFS, not finished", Ufs, UFS, &[0x19, 0x96, 0x04, 0x08]),
    row("LFS", Lfs, &[At(8192)], &[0x62, 0x01, 0x07, 0x00]).copies(lfs_le),
    row("LFS", Lfs, &[At(8192)], &[0x00, 0x07, 0x01, 0x62]).copies(lfs_be),
    row("LFS with 64-bit addresses", Bsd, &[At(8192)], &[0xfe, 0xf8, 0x9d, 0xe6]),
    row("LFS with 64-bit addresses", Bsd, &[At(8192)], &[0xe6, 0x9d, 0xf8, 0xfe]),
    row("wafs log", Log, &[At(0), At(4096)], b"ORDOWAFS"),
    row("block journal", Log, START, b"oBJb"),
    // Encryption containers and members of arrays: before file systems, which they may contain.
    row("LUKS", Crypt, START, b"LUKS\xba\xbe"),
    row("LUKS2 (its second header)", Crypt, LUKS2_SECOND, b"SKUL\xba\xbe"),
    row("BitLocker", Crypt, &[At(3)], b"-FVE-FS-"),
    row("LVM2 physical volume", Member, LVM, b"LABELONE").also(|b, at| b.has(at + 24, b"LVM2 001")),
    row("Linux RAID member", Member, MD1, &[0xfc, 0x4e, 0x2b, 0xa9]),
    row("Linux RAID member", Member, MD0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    row("Linux RAID member", Member, MD0, &[0xa9, 0x2b, 0x4e, 0xfc]),
    row("ZFS member", Member, ZFS, &[1]).also(zfs).wipe(-8192, ZFS_LABEL - 8192),
    row("GELI encryption", Crypt, LAST_SECTOR, b"GEOM::ELI\0"),
    row("GEOM mirror member", Member, LAST_SECTOR, b"GEOM::MIRROR"),
    row("GEOM stripe member", Member, LAST_SECTOR, b"GEOM::STRIPE"),
    row("GEOM concat member", Member, LAST_SECTOR, b"GEOM::CONCAT"),
    row("GEOM RAID3 member", Member, LAST_SECTOR, b"GEOM::RAID3"),
    row("GEOM journal member", Member, LAST_SECTOR, b"GEOM::JOURNAL"),
    row("GEOM member", Member, LAST_SECTOR, b"GEOM::"),
    row("bcache member", Member, &[At(4120)], b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    row("Stratis member", Member, &[At(516)], b"!Stra0tis\x86\xff\x02"),
    row("VDO", Member, START, b"dmvdo001"),
    row("dm-integrity", Member, START, b"integrt\0"),
    row("dm-verity", Member, START, b"verity\0\0"),
    row("OpenBSD softraid member", Member, &[At(8192)], b"marcCRAM"),
    row("DDF RAID member", Member, LAST_SECTOR, &[0xde, 0x11, 0xde, 0x11]),
    row("Intel RAID member", Member, &[last(1024, 0)], b"Intel Raid ISM Cfg Sig. "),
    row("Oracle ASM disk", Member, &[At(32)], b"ORCLDISK"),
    row("Ceph BlueStore", Member, START, b"bluestore block device"),
    // File systems.
    row("ext4", FileSystem, &[At(1080)], &[0x53, 0xef]).also(|b, at| ext(b, at) == Some("ext4")),
    row("ext3", FileSystem, &[At(1080)], &[0x53, 0xef]).also(|b, at| ext(b, at) == Some("ext3")),
    row("ext2", FileSystem, &[At(1080)], &[0x53, 0xef]).also(|b, at| ext(b, at) == Some("ext2")),
    row("journal of an ext file system", Log, &[At(1080)], &[0x53, 0xef]).also(|b, at| ext(b, at) == Some("journal")),
    row("XFS", FileSystem, START, b"XFSB").copies(xfs_groups),
    row("XFS log", Log, START, &[0xfe, 0xed, 0xba, 0xbe]),
    row("btrfs", FileSystem, BTRFS, b"_BHRfS_M"),
    row("bcachefs", FileSystem, &[At(4120)], BCACHEFS),
    row("bcachefs", FileSystem, &[At(3584)], BCACHEFS).copies(bcachefs_superblocks),
    row("NTFS", FileSystem, NTFS, b"NTFS    ").wipe(-3, 512),
    row("ReFS", FileSystem, &[At(3)], b"ReFS\0"),
    row("exFAT", FileSystem, EXFAT, b"EXFAT   ").wipe(-3, 512),
    row("FAT32", FileSystem, FAT32, b"FAT32   ").wipe(-82, 512),
    row("FAT", FileSystem, &[At(54)], b"FAT16   ").wipe(-54, 512),
    row("FAT", FileSystem, &[At(54)], b"FAT12   ").wipe(-54, 512),
    row("FAT", FileSystem, &[At(54)], b"FAT     ").wipe(-54, 512),
    row("f2fs", FileSystem, &[At(1024), At(5120)], &[0x10, 0x20, 0xf5, 0xf2]),
    row("erofs", FileSystem, &[At(1024)], &[0xe2, 0xe1, 0xf5, 0xe0]),
    row("JFS", FileSystem, &[At(32768)], b"JFS1"),
    row("ReiserFS", FileSystem, &[At(65536 + 52), At(8192 + 52)], b"ReIsEr"),
    row("Reiser4", FileSystem, &[At(65536)], b"ReIsEr4"),
    row("HFS+", FileSystem, &[At(1024)], b"H+\0\x04"),
    row("HFS+", FileSystem, &[At(1024)], b"HX\0\x05"),
    row("HFS", FileSystem, &[At(1024)], b"BD").also(hfs),
    row("APFS", FileSystem, &[At(32)], b"NXSB"),
    row("NILFS2", FileSystem, &[At(1030), SignatureAt::End { back: 4096, align: 4096, plus: 6 }], &[0x34, 0x34])
        .also(nilfs),
    row("OCFS2", FileSystem, &[At(1024), At(2048), At(4096), At(8192)], b"OCFSV2"),
    row("GFS2", FileSystem, &[At(65536)], &[0x01, 0x16, 0x19, 0x70]),
    row("HPFS", FileSystem, &[At(8192)], &[0x49, 0xe8, 0x95, 0xf9]),
    row("BeFS", FileSystem, &[At(32), At(544)], b"1SFB"),
    row("HAMMER", FileSystem, START, &[0x31, 0x30, 0x52, 0xc5, 0x4d, 0x4d, 0x41, 0xc8]),
    row("HAMMER2", FileSystem, START, &[0x11, 0x20, 0x17, 0x05, 0x32, 0x4d, 0x41, 0x48]),
    row("VMFS", Member, &[At(0x10_0000)], &[0x0d, 0xd0, 0x01, 0xc0]),
    row("VMFS", FileSystem, &[At(0x20_0000)], &[0x5e, 0xf1, 0xab, 0x2f]),
    row("ISO 9660", FileSystem, ISO, b"CD001"),
    row("UDF", FileSystem, ISO, b"BEA01"),
    row("UDF", FileSystem, ISO, b"NSR0"),
    row("SquashFS", FileSystem, START, b"hsqs"),
    row("SquashFS", FileSystem, START, b"sqsh"),
    row("cramfs", FileSystem, START, &[0x45, 0x3d, 0xcd, 0x28]),
    row("romfs", FileSystem, START, b"-rom1fs-"),
    row("UBI", FileSystem, START, b"UBI#"),
    row("UBIFS", FileSystem, START, &[0x31, 0x18, 0x10, 0x06]),
    row("VxFS", FileSystem, &[At(1024)], &[0xf5, 0xfc, 0x01, 0xa5]),
    row("VxFS", FileSystem, &[At(8192)], &[0xa5, 0x01, 0xfc, 0xf5]),
    row("System V file system", FileSystem, SYSV, &[0x20, 0x7e, 0x18, 0xfd]).also(sysv),
    row("System V file system", FileSystem, SYSV, &[0xfd, 0x18, 0x7e, 0x20]).also(sysv),
    row("Xenix file system", FileSystem, XENIX, &[0x44, 0x55, 0x2b, 0x00]).also(sysv),
    row("Xenix file system", FileSystem, XENIX, &[0x00, 0x2b, 0x55, 0x44]).also(sysv),
    row("MINIX", FileSystem, &[At(1040)], &[0x7f, 0x13]).also(minix),
    row("MINIX", FileSystem, &[At(1040)], &[0x8f, 0x13]).also(minix),
    row("MINIX", FileSystem, &[At(1040)], &[0x68, 0x24]).also(minix),
    row("MINIX", FileSystem, &[At(1040)], &[0x78, 0x24]).also(minix),
    // Swap, and hibernation images in its place.
    row("swap", Swap, PAGE_ENDS, b"SWAPSPACE2"),
    row("swap", Swap, PAGE_ENDS, b"SWAP-SPACE"),
    row("swap (hibernated)", Swap, PAGE_ENDS, b"S1SUSPEND"),
    row("swap (hibernated)", Swap, PAGE_ENDS, b"S2SUSPEND"),
    row("swap (hibernated)", Swap, PAGE_ENDS, b"ULSUSPEND"),
    row("swap (hibernated)", Swap, PAGE_ENDS, b"LINHIB0001"),
    // Partition tables.
    row("GPT partition table", Table, GPT, b"EFI PART"),
    row("MBR partition table", Table, &[At(510)], &[0x55, 0xaa]).also(mbr).wipe(-64, 66),
    row("BSD disklabel", Table, LABELS, &[0x57, 0x45, 0x56, 0x82])
        .also(|b, at| b.has(at + 132, &[0x57, 0x45, 0x56, 0x82])),
    row("BSD disklabel", Table, LABELS, &[0x82, 0x56, 0x45, 0x57])
        .also(|b, at| b.has(at + 132, &[0x82, 0x56, 0x45, 0x57])),
    row("DragonFly disk label", Table, &[At(512)], &[0x59, 0x4c, 0x46, 0xc4]),
    row("Amiga rigid disk block", Table, RIGID, b"RDSK").also(rigid),
    row("Apple partition map", Table, &[At(512)], b"PM\0\0"),
    row("SGI disk label", Table, START, &[0x0b, 0xe5, 0xa9, 0x41]),
    row("NeXT disk label", Table, START, b"NeXT"),
    row("NeXT disk label", Table, START, b"dlV2"),
    row("NeXT disk label", Table, START, b"dlV3"),
    row("Sun disk label", Table, &[At(508)], &[0xda, 0xbe]).also(sun),
    // Disk images with a format of their own.
    row("qcow image", Image, START, b"QFI\xfb\0\0\0\x01"),
    row("qcow2 image", Image, START, b"QFI\xfb"),
    row("QED image", Image, START, b"QED\0"),
    row("VMDK image", Image, START, b"KDMV"),
    row("VMDK image", Image, START, b"COWD"),
    row("VMDK image", Image, START, b"# Disk DescriptorFile"),
    row("VHD image", Image, &[At(0), last(512, 0)], b"conectix"),
    row("VHDX image", Image, START, b"vhdxfile"),
    row("VDI image", Image, &[At(64)], &[0x7f, 0x10, 0xda, 0xbe]),
    row("DMG image", Image, &[last(512, 0)], b"koly"),
    row("Parallels image", Image, START, b"WithoutFreeSpace"),
    row("Parallels image", Image, START, b"WithouFreSpacExt"),
    row("GEOM_UZIP image", Image, START, b"#!/bin/sh\n#V2.0 "),
    row("GEOM_UZIP image", Image, START, b"#!/bin/sh\n#V3.0 "),
    row("GEOM_UZIP image", Image, START, b"#!/bin/sh\n#V4.0 "),
    row("GEOM_UZIP image", Image, START, b"#!/bin/sh\n#L3.0"),
    row("GEOM_UZIP image", Image, START, b"#!/bin/sh\n#Z4.0"),
    row("GEOM_UZIP image", Image, START, b"#L3.0\n"),
    row("GEOM_UZIP image", Image, START, b"#Z4.0\n"),
    row("EnCase image (E01)", Image, START, b"EVF\x09\x0d\x0a\xff\0"),
    row("EnCase image (Ex01)", Image, START, b"EVF2\x0d\x0a\x81\0"),
    row("AFF image", Image, START, b"AFF10\r\n\0"),
    row("Android sparse image", Image, START, &[0x3a, 0xff, 0x26, 0xed]),
    // Compressed files.
    row("gzip", Packed, START, &[0x1f, 0x8b, 0x08]),
    row("xz", Packed, START, b"\xfd7zXZ\0"),
    row("zstd", Packed, START, &[0x28, 0xb5, 0x2f, 0xfd]),
    row("bzip2", Packed, START, b"BZh").also(|b, at| b.has(at + 4, b"1AY&SY") || b.has(at + 4, b"\x17rE8P\x90")),
    row("lz4", Packed, START, &[0x04, 0x22, 0x4d, 0x18]),
    row("lzip", Packed, START, b"LZIP\x01"),
    row("lzma", Packed, START, &[0x5d, 0x00, 0x00]).also(lzma),
    row("compress", Packed, START, &[0x1f, 0x9d, 0x90]),
    row("zip", Archive, START, b"PK\x03\x04"),
    row("7-Zip", Archive, START, b"7z\xbc\xaf\x27\x1c"),
    row("RAR", Archive, START, b"Rar!\x1a\x07"),
    row("tar", Archive, &[At(257)], b"ustar"),
];

/// Which member of the ext family this is, by its features.
fn ext(b: &mut Bytes<'_>, at: u64) -> Option<&'static str> {
    let sb = at - 56;
    // An external journal has no inodes.
    let plausible = b.le32(sb + 24) <= 6 && b.le32(sb + 4) > 0 && b.le32(sb + 76) <= 1;
    if !plausible {
        return None;
    }
    let (compat, incompat, ro_compat) = (b.le32(sb + 92), b.le32(sb + 96), b.le32(sb + 100));
    // Features that ext3 lacks: extents, 64 bits, mmp, flexible groups and later; huge files, hashes and later.
    Some(if incompat & 8 != 0 {
        "journal"
    } else if incompat & !0x3f != 0 || ro_compat & !0x7 != 0 {
        "ext4"
    } else if compat & 4 != 0 {
        "ext3"
    } else {
        "ext2"
    })
}

/// The list begins with its encoding (XDR), its byte order, and two zeroes, then its version and flags; the first name
/// is `version` or `name`.
fn zfs(b: &mut Bytes<'_>, at: u64) -> bool {
    let Some(list) = b.get(at, 64) else { return false };
    list[1] <= 1 && list[2..4] == [0, 0] && list.windows(7).any(|bytes| bytes == b"version" || bytes == b"\0\0\x04name")
}

/// Blocks of a multiple of 512 bytes, and a name that fits.
fn hfs(b: &mut Bytes<'_>, at: u64) -> bool {
    let size = b.be32(at + 20);
    let name = b.get(at + 36, 1).is_some_and(|len| (1..=27).contains(&len[0]));
    size > 0 && size.is_multiple_of(512) && name
}

/// A superblock of revision 2 that states its size.
fn nilfs(b: &mut Bytes<'_>, at: u64) -> bool {
    let (revision, bytes) = (b.le32(at - 6), b.le32(at + 2) & 0xffff);
    revision == 2 && (64..=1024).contains(&bytes)
}

/// Inodes, a zone size and a state that the kernel would accept.
fn minix(b: &mut Bytes<'_>, at: u64) -> bool {
    let sb = at - 16;
    let half = |b: &mut Bytes<'_>, at| b.le32(at) & 0xffff;
    let (inodes, imap, zmap, log) = (half(b, sb), half(b, sb + 4), half(b, sb + 6), half(b, sb + 10));
    let state = half(b, sb + 18);
    inodes > 0 && (1..=8).contains(&imap) && (1..=64).contains(&zmap) && log == 0 && state <= 3
}

/// Four entries that are active or not, of which one has a type, a start and a length. Boot code that looks like an
/// entry has a start of 0.
fn mbr(b: &mut Bytes<'_>, at: u64) -> bool {
    let Some(table) = b.get(at - 64, 64) else { return false };
    let entries = || table.chunks_exact(16);
    let used = |entry: &[u8]| entry[4] != 0 && entry[8..12] != [0; 4] && entry[12..16] != [0; 4];
    entries().all(|entry| entry[0] & 0x7f == 0) && entries().any(used)
}

/// A type that there is, which gives the size of a block.
fn sysv(b: &mut Bytes<'_>, at: u64) -> bool {
    (1..=3).contains(&b.le32(at + 4)) || (1..=3).contains(&b.be32(at + 4))
}

/// The sum over all its words is 0.
fn rigid(b: &mut Bytes<'_>, at: u64) -> bool {
    let words = b.be32(at + 4);
    let sum = (0..u64::from(words)).take(128).fold(0u32, |sum, n| sum.wrapping_add(b.be32(at + 4 * n)));
    (16..=128).contains(&words) && sum == 0
}

/// The sizes of a dictionary and of the contents: a power of two or one and a half of it; unknown, or below a petabyte.
fn lzma(b: &mut Bytes<'_>, at: u64) -> bool {
    let (dictionary, low, high) = (b.le32(at + 1), b.le32(at + 5), b.le32(at + 9));
    let is_dictionary = dictionary.is_power_of_two() || (dictionary / 3 * 2).is_power_of_two() && dictionary % 3 == 0;
    is_dictionary
        && dictionary >= 4096
        && ((low, high) == (u32::MAX, u32::MAX) || high < 1 << 18 && (low, high) != (0, 0))
}

/// The checksum over all its words is 0.
fn sun(b: &mut Bytes<'_>, at: u64) -> bool {
    let Some(label) = b.get(at - 508, 512) else { return false };
    label.chunks_exact(2).fold(0, |sum, word| sum ^ u16::from_be_bytes([word[0], word[1]])) == 0
}

/// The superblocks of the other allocation groups.
fn xfs_groups(b: &mut Bytes<'_>, at: u64) -> Vec<u64> {
    let (block, blocks, groups) = (b.be32(at + 4), b.be32(at + 84), b.be32(at + 88));
    let group = u64::from(block) * u64::from(blocks);
    (1..u64::from(groups.min(MOST_COPIES))).filter_map(|n| group.checked_mul(n)?.checked_add(at)).collect()
}

fn lfs_le(b: &mut Bytes<'_>, at: u64) -> Vec<u64> {
    lfs_copies(b, at, Bytes::le32)
}

fn lfs_be(b: &mut Bytes<'_>, at: u64) -> Vec<u64> {
    lfs_copies(b, at, Bytes::be32)
}

/// The superblocks that the first one lists: in fragments, in version 1 in sectors.
fn lfs_copies<'a>(b: &mut Bytes<'a>, at: u64, word: fn(&mut Bytes<'a>, u64) -> u32) -> Vec<u64> {
    let unit = if word(b, at + 4) == 1 { 512 } else { word(b, at + 24) };
    let places = (1..10).map(|n| u64::from(word(b, at + 188 + 4 * n)) * u64::from(unit));
    places.filter(|place| *place > at).collect()
}

/// The superblocks that the layout names, in sectors of 512 bytes; the signature is at byte 24 of each.
fn bcachefs_superblocks(b: &mut Bytes<'_>, at: u64) -> Vec<u64> {
    let count = b.get(at + 18, 1).map_or(0, |count| u64::from(count[0].min(61)));
    let sector = |b: &mut Bytes<'_>, n: u64| {
        let (low, high) = (b.le32(at + 24 + 8 * n), b.le32(at + 28 + 8 * n));
        (u64::from(high) << 32 | u64::from(low)).checked_mul(512)?.checked_add(24)
    };
    (0..count).filter_map(|n| sector(b, n)).collect()
}
