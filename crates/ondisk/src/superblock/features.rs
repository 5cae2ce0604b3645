//! What is in force on a volume, and whether this program may write to it.
//!
//! The systems gave the same bits different meanings, so first it must be guessed whose volume it is.

use super::fields::{SbFields, flag};
use super::{MAGIC_UFS2EA, Superblock};
use crate::Endian;
use crate::geometry::Format;

/// The system whose reading of the ambiguous fields holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// FreeBSD: check hashes, soft updates journal.
    FreeBsd,
    /// NetBSD: write-ahead block log, quotas in inodes; also `makefs`.
    NetBsd,
    /// OpenBSD: flags at another place.
    OpenBsd,
    /// 4.2BSD, 4.3BSD and 4.4BSD: narrow fields, rotational tables.
    OldBsd,
    /// Apple and NeXT: UFS1 with directory blocks of 1024 bytes.
    Apple,
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Dialect::FreeBsd => "FreeBSD",
            Dialect::NetBsd => "NetBSD",
            Dialect::OpenBsd => "OpenBSD",
            Dialect::OldBsd => "4.2BSD to 4.4BSD",
            Dialect::Apple => "Apple",
        })
    }
}

impl Dialect {
    /// Guesses from what each system leaves in fields that the others do not use. OpenBSD's flags are moved to where
    /// the others have them.
    pub(super) fn guess(f: &mut SbFields, format: Format, endian: Endian, wide: bool) -> Dialect {
        if !wide {
            return Dialect::OldBsd;
        }
        // OpenBSD keeps the time of its last check where FreeBSD keeps the flags: a time after 1987.
        let time_for_flags = (0x2000_0000..0x8000_0000).contains(&f.flags);
        if time_for_flags && f.metackhash < 0x100 {
            f.flags = f.metackhash;
            f.metackhash = 0;
            return Dialect::OpenBsd;
        }
        if f.magic == MAGIC_UFS2EA || Wapbl::of(f, endian).is_some() || quota_magic(f, endian) {
            return Dialect::NetBsd;
        }
        let freebsd = f.metackhash != 0 || f.mtime != 0 || f.sblockactualloc != 0 || f.providersize != 0;
        let home = format == Format::Ufs1 || f.sblockloc == 65536;
        if freebsd && home { Dialect::FreeBsd } else { Dialect::NetBsd }
    }
}

/// Where NetBSD's log is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wapbl {
    /// `true` when it lies in the file system, in an inode's blocks; `false` behind it.
    pub within: bool,
    /// First block, in units of `block_bytes` from the start of the partition.
    pub first_block: u64,
    /// Blocks.
    pub blocks: u64,
    /// Bytes of a block of the log.
    pub block_bytes: u64,
}

// NetBSD's journal and quota fields lie where FreeBSD has 64-bit fields and spares.
impl Wapbl {
    fn of(f: &SbFields, endian: Endian) -> Option<Wapbl> {
        let [version, location, ..] = endian.i64_bytes(f.unrefs);
        if version != 1 || !(1..=2).contains(&location) {
            return None;
        }
        let [block_bytes, ..] = f.sparecon64;
        let (first_block, blocks) = (f.providersize, f.metaspace);
        if blocks <= 0 || first_block <= 0 {
            return None;
        }
        let number = |n: i64| u64::try_from(n).ok();
        Some(Wapbl {
            within: location == 2,
            first_block: number(first_block)?,
            blocks: number(blocks)?,
            block_bytes: number(block_bytes)?,
        })
    }
}

fn quota_magic(f: &SbFields, endian: Endian) -> bool {
    const Q2_HEAD_MAGIC: u32 = 0xb746_915e;
    // Byte 904: the third spare of FreeBSD's table.
    let [_, _, third, ..] = f.sparecon64;
    endian.get_u32(&endian.i64_bytes(third), 0) == Some(Q2_HEAD_MAGIC)
}

/// What is in force on a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// Whose reading of the flags was used.
    pub dialect: Dialect,
    /// Metadata was ordered with soft updates.
    pub softdep: bool,
    /// FreeBSD's journal of soft updates exists.
    pub suj: bool,
    /// A block journal of FreeBSD's GEOM lies underneath.
    pub gjournal: bool,
    /// Number of snapshots.
    pub snapshots: usize,
    /// NetBSD's log is in use: set while mounted with it, so a volume at rest with it needs a replay.
    pub wapbl: bool,
    /// Where NetBSD's log is, if there is one.
    pub wapbl_at: Option<Wapbl>,
    /// NetBSD's quotas in inodes.
    pub quota2: bool,
    /// POSIX.1e access control lists.
    pub acls: bool,
    /// NFSv4 access control lists.
    pub nfs4acls: bool,
    /// A security label for every file.
    pub multilabel: bool,
    /// Freed blocks are discarded.
    pub trim: bool,
    /// Check hashes are in force.
    pub hashes: bool,
    /// A check found damage that must be repaired before writing.
    pub needs_fsck: bool,
    /// It was mounted without being clean.
    pub unclean: bool,
    /// Files can have extended attributes in their inode.
    pub extattr: bool,
    /// Flags without a known meaning.
    pub unknown: u32,
}

/// Why a volume may be read but not written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Old format, kept only for reading.
    #[error("the volume has the {0} of 4.2BSD, which are supported for reading only")]
    OldFormat(&'static str),
    /// From before 2002.
    #[error(
        "the superblock is older than 2002 and keeps rotational tables; such volumes are supported for reading only"
    )]
    OldSuperblock,
    /// Of a system whose volumes are read only.
    #[error("the volume is of {0}; such volumes are supported for reading only")]
    Dialect(Dialect),
    /// The log must be replayed.
    #[error("NetBSD's log (WAPBL) is in use on this volume; mount and unmount it there, then try again")]
    Wapbl,
    /// Copy-on-write obligations.
    #[error("the volume has {0} snapshots, which writing would spoil; remove them on FreeBSD or NetBSD first")]
    Snapshots(usize),
    /// Quotas would go wrong.
    #[error("the volume has NetBSD quotas in inodes, which would become wrong; switch them off with tunefs -q there")]
    Quota2,
    /// Counters of open files would go wrong.
    #[error("the volume is on a FreeBSD gjournal; take it off with tunefs -J disable first")]
    Gjournal,
    /// A replay is due.
    #[error("FreeBSD's soft updates journal must be replayed first; run fsck")]
    SujPending,
    /// Damage is known.
    #[error("a check found damage on this volume; run fsck")]
    NeedsFsck,
    /// New files would lack what they must inherit.
    #[error("the volume has {0}, which new files would lack")]
    Inheritance(&'static str),
    /// Somebody else's feature.
    #[error("the volume has flags {0:#x} of unknown meaning; it can be read only")]
    UnknownFlags(u32),
}

impl Superblock {
    /// What is in force.
    pub fn features(&self) -> Features {
        let f = &self.fields;
        let has = |bit| f.flags & bit != 0;
        let net = self.dialect == Dialect::NetBsd;
        let free = self.dialect == Dialect::FreeBsd;
        let known = match self.dialect {
            Dialect::FreeBsd => 0x7ff,
            Dialect::NetBsd => 0xf97,
            Dialect::OpenBsd | Dialect::OldBsd | Dialect::Apple => 0x83,
        };
        Features {
            dialect: self.dialect,
            softdep: has(flag::DOSOFTDEP),
            suj: free && has(flag::SUJ),
            gjournal: free && has(flag::GJOURNAL),
            snapshots: f.snapinum.iter().take_while(|&&ino| ino != 0).count(),
            wapbl: net && has(flag::NETBSD_WAPBL),
            wapbl_at: if net { Wapbl::of(f, self.endian) } else { None },
            quota2: net && (has(flag::NETBSD_QUOTA2) || quota_magic(f, self.endian)),
            acls: (free || net) && has(flag::ACLS),
            nfs4acls: free && has(flag::NFS4ACLS) || net && has(flag::NETBSD_NFS4ACLS),
            multilabel: free && has(flag::MULTILABEL),
            trim: (free || net) && has(flag::TRIM),
            hashes: self.hashes() != 0,
            needs_fsck: free && has(flag::NEEDSFSCK),
            unclean: has(flag::UNCLEAN),
            extattr: self.format == Format::Ufs2 && (free || net),
            unknown: f.flags & flag::SUPPORTED & !known,
        }
    }

    /// Whether this program keeps all of the promises that writing to this volume takes. Says nothing of
    /// [`Superblock::is_clean`].
    ///
    /// # Errors
    /// The first promise that it does not keep.
    pub fn write_gate(&self) -> Result<(), Refused> {
        let (f, on) = (&self.fields, self.features());
        let g = self.geometry();
        let first = [
            (g.old_inode, Refused::OldFormat("inodes")),
            (g.old_dirent, Refused::OldFormat("directory entries")),
            (f.old_postblformat == -1, Refused::OldFormat("cylinder groups")),
            (!self.has_wide_fields(), Refused::OldSuperblock),
            (self.format == Format::Ufs1 && (f.old_cpg > 1 || f.old_nrpos > 1), Refused::OldSuperblock),
            (matches!(on.dialect, Dialect::OpenBsd | Dialect::OldBsd | Dialect::Apple), Refused::Dialect(on.dialect)),
            (on.wapbl, Refused::Wapbl),
            (on.snapshots != 0, Refused::Snapshots(on.snapshots)),
            (on.quota2, Refused::Quota2),
            (on.gjournal, Refused::Gjournal),
            (on.needs_fsck, Refused::NeedsFsck),
            (on.suj && !self.is_clean(), Refused::SujPending),
            (on.nfs4acls, Refused::Inheritance("NFSv4 access control lists")),
            (on.multilabel, Refused::Inheritance("security labels")),
            (on.unknown != 0, Refused::UnknownFlags(on.unknown)),
        ];
        match first.into_iter().find(|(refused, _)| *refused) {
            Some((_, why)) => Err(why),
            None => Ok(()),
        }
    }
}
