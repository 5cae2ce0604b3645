//! The features in use on a volume, and whether this program may write to it.
//!
//! The systems gave the same bits different meanings: the volume's dialect decides.

use super::Superblock;
use super::dialect::{Quota2, Wapbl, quota_magic};
use super::fields::flag;
use crate::{Dialect, Format, Ino};

/// The features in use on a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The system whose meaning of the flags was used.
    pub dialect: Dialect,
    /// Metadata was ordered with soft updates.
    pub softdep: bool,
    /// FreeBSD's journal of soft updates exists.
    pub suj: bool,
    /// A block journal of FreeBSD's GEOM lies underneath.
    pub gjournal: bool,
    /// Number of snapshots.
    pub snapshots: usize,
    /// NetBSD's log is in use: set while mounted with it, so an unmounted volume with this flag needs a replay.
    pub wapbl: bool,
    /// The place of NetBSD's log, if there is one.
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
    /// It was mounted although it was not clean.
    pub unclean: bool,
    /// Files can have extended attributes in their inode.
    pub extattr: bool,
    /// Flags without a known meaning.
    pub unknown: u32,
}

/// Why a volume may be read but not written to.
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
    /// Solaris's volumes are read only.
    #[error(
        "the volume is of Solaris, whose state, log and access control lists would become wrong; such volumes are \
         supported for reading only"
    )]
    Solaris,
    /// NetBSD's log must be replayed.
    #[error("NetBSD's log (WAPBL) must be replayed first; run fsck")]
    Wapbl,
    /// Snapshots require copy-on-write.
    #[error("the volume has {0} snapshots, which this would spoil; remove them first, with ordo rm or on their system")]
    Snapshots(usize),
    /// Quotas cannot be kept.
    #[error("the superblock's fields of NetBSD's quotas are damaged; repair it with fsck_ffs there")]
    Quota2,
    /// Counters of open files would become wrong.
    #[error("the volume is on a FreeBSD gjournal; take it off with tunefs -J disable first")]
    Gjournal,
    /// The journal must be replayed.
    #[error("FreeBSD's soft updates journal must be replayed first; run fsck")]
    SujPending,
    /// Damage was found and not repaired.
    #[error("a check found damage on this volume; run fsck")]
    NeedsFsck,
    /// New files would lack what they must inherit.
    #[error("the volume has {0}, which new files would lack")]
    Inheritance(&'static str),
    /// A feature of another system.
    #[error("the volume has flags {0:#x} of unknown meaning; it can be read only")]
    UnknownFlags(u32),
}

impl Superblock {
    /// The features in use.
    pub fn features(&self) -> Features {
        let f = &self.fields;
        let has = |bit| f.flags & bit != 0;
        let net = self.dialect == Dialect::NetBsd;
        let free = self.dialect == Dialect::FreeBsd;
        let known = match self.dialect {
            Dialect::FreeBsd => 0x7ff,
            Dialect::NetBsd => 0xf97,
            Dialect::OpenBsd | Dialect::OldBsd | Dialect::Apple | Dialect::Solaris => 0x83,
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

    /// Where NetBSD's quotas are; `None` without them, and where the superblock does not say it rightly.
    pub fn quota2(&self) -> Option<Quota2> {
        let on = self.features().quota2;
        let there = Quota2::of(&self.fields, self.endian).filter(|_| on)?;
        let fits = |ino: Option<Ino>| ino.is_none_or(|ino| self.geometry().is_valid_ino(ino));
        (fits(there.users) && fits(there.groups)).then_some(there)
    }

    /// Whether this program keeps all promises that writing to this volume requires. Independent of
    /// [`Superblock::is_clean`].
    ///
    /// # Errors
    /// The first promise that it does not keep.
    pub fn write_gate(&self) -> Result<(), Refused> {
        self.write_gate_keeping_snapshots()?;
        match self.features().snapshots {
            0 => Ok(()),
            snapshots => Err(Refused::Snapshots(snapshots)),
        }
    }

    /// The same for a writer that copies for the snapshots what it writes over.
    ///
    /// # Errors
    /// As [`Superblock::write_gate`].
    pub fn write_gate_keeping_snapshots(&self) -> Result<(), Refused> {
        let (f, on) = (&self.fields, self.features());
        let g = self.geometry();
        let first = [
            (on.dialect == Dialect::Solaris, Refused::Solaris),
            (g.old_inode, Refused::OldFormat("inodes")),
            (g.old_dirent, Refused::OldFormat("directory entries")),
            (f.old_postblformat == -1, Refused::OldFormat("cylinder groups")),
            (!self.has_wide_fields(), Refused::OldSuperblock),
            (self.format == Format::Ufs1 && (f.old_cpg > 1 || f.old_nrpos > 1), Refused::OldSuperblock),
            (matches!(on.dialect, Dialect::OpenBsd | Dialect::OldBsd | Dialect::Apple), Refused::Dialect(on.dialect)),
            (on.wapbl, Refused::Wapbl),
            (on.quota2 && self.quota2().is_none(), Refused::Quota2),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::fields::SbFields;
    use crate::superblock::newfs::NewfsParams;
    use crate::{ByteOff, Endian};

    /// A volume of `format`, with fields changed as in the table of the superblock.
    fn volume(format: Format, endian: Endian, change: fn(&mut SbFields)) -> Superblock {
        let p = NewfsParams { endian, check_hashes: false, ..NewfsParams::new(format, 8 << 20) };
        let sb = p.superblock().unwrap();
        let mut fields = sb.fields.clone();
        change(&mut fields);
        let mut bytes = sb.encode_copy(sb.at);
        fields.store(&mut bytes, endian).unwrap();
        Superblock::decode(&bytes, ByteOff(sb.at.0)).unwrap()
    }

    /// Without what FreeBSD's newfs leaves.
    fn of_netbsd(f: &mut SbFields) {
        (f.mtime, f.metaspace, f.providersize, f.sblockactualloc) = (0, 0, 0, 0);
    }

    #[test]
    fn logs_and_quotas_of_netbsd_are_seen_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let sb = match endian {
                Endian::Little => volume(Format::Ufs2, endian, |f| {
                    of_netbsd(f);
                    f.unrefs = i64::from_le_bytes([1, 2, 0, 0, 0, 0, 0, 0]);
                    (f.flags, f.providersize, f.metaspace, f.sparecon64[0]) = (0x100, 1000, 64, 512);
                }),
                Endian::Big => volume(Format::Ufs2, endian, |f| {
                    of_netbsd(f);
                    f.unrefs = i64::from_be_bytes([1, 2, 0, 0, 0, 0, 0, 0]);
                    (f.flags, f.providersize, f.metaspace, f.sparecon64[0]) = (0x100, 1000, 64, 512);
                }),
            };
            assert_eq!((sb.dialect, sb.write_gate()), (Dialect::NetBsd, Err(Refused::Wapbl)));
            let at = Wapbl { within: true, first_block: 1000, blocks: 64, block_bytes: 512, order: endian };
            assert_eq!(sb.features().wapbl_at, Some(at));
            assert_eq!(sb.geometry().metaspace, 0);
        }
        let sb = volume(Format::Ufs2, Endian::Little, |f| {
            of_netbsd(f);
            f.sparecon64[2] = 0xb746_915e;
        });
        assert_eq!((sb.dialect, sb.write_gate(), sb.quota2()), (Dialect::NetBsd, Ok(()), Some(Quota2::default())));
        for (inode, right) in [(5, true), (2, false), (1 << 20, false)] {
            for endian in [Endian::Little, Endian::Big] {
                let mut bytes = volume(Format::Ufs2, endian, of_netbsd).encode_copy(ByteOff(65536));
                bytes[904..908].copy_from_slice(&endian.u32_bytes(0xb746_915e));
                bytes[908] = 2;
                bytes[920..928].copy_from_slice(&endian.u64_bytes(inode));
                let sb = Superblock::decode(&bytes, ByteOff(65536)).unwrap();
                let wanted = right.then_some(Quota2 { users: None, groups: Some(Ino(5)) });
                assert_eq!((sb.quota2(), sb.write_gate().is_ok()), (wanted, right), "{inode}");
            }
        }
    }

    #[test]
    fn a_log_that_a_machine_of_the_other_order_made_is_seen_and_its_bytes_are_kept() {
        for (volume_order, order) in [(Endian::Big, Endian::Little), (Endian::Little, Endian::Big)] {
            for location in [1, 2] {
                let mut bytes = volume(Format::Ufs2, volume_order, of_netbsd).encode_copy(ByteOff(65536));
                bytes[864..866].copy_from_slice(&[1, location]);
                for (at, number) in [(872, 1000), (880, 64), (888, 512), (896, 17)] {
                    order.put_u64(&mut bytes, at, number).unwrap();
                }
                volume_order.put_u32(&mut bytes, 1312, flag::NETBSD_WAPBL).unwrap();
                let mut sb = Superblock::decode(&bytes, ByteOff(65536)).unwrap();
                let at = Wapbl { within: location == 2, first_block: 1000, blocks: 64, block_bytes: 512, order };
                assert_eq!((sb.dialect, sb.features().wapbl_at), (Dialect::NetBsd, Some(at)));
                assert_eq!(sb.write_gate(), Err(Refused::Wapbl));
                assert!(sb.features().wapbl && !sb.features().nfs4acls);
                sb.fields.clean = 0;
                assert_eq!(sb.encode(5)[860..992], bytes[860..992]);
            }
        }
    }

    #[test]
    fn flags_are_read_in_the_sense_of_their_system() {
        let free = volume(Format::Ufs2, Endian::Little, |f| f.flags = 0x100);
        assert_eq!((free.dialect, free.features().nfs4acls, free.features().wapbl), (Dialect::FreeBsd, true, false));
        let net = volume(Format::Ufs2, Endian::Little, |f| {
            of_netbsd(f);
            f.flags = 0x200 | 0x10;
        });
        assert_eq!(
            (net.dialect, net.features().quota2, net.features().acls, net.hashes()),
            (Dialect::NetBsd, true, true, 0)
        );
        let open = volume(Format::Ufs2, Endian::Little, |f| {
            of_netbsd(f);
            (f.metackhash, f.flags) = (3, 1_700_000_000);
        });
        let on = open.features();
        assert_eq!((on.dialect, on.unclean, on.softdep, on.unknown), (Dialect::OpenBsd, true, true, 0));
        assert_eq!(open.write_gate(), Err(Refused::Dialect(Dialect::OpenBsd)));
        let bytes = open.encode_copy(open.at);
        assert_eq!(Endian::Little.get_u32(&bytes, 1308), Some(3));
        assert_eq!(Endian::Little.get_u32(&bytes, 1312), Some(1_700_000_000));
    }

    #[test]
    fn each_obligation_that_is_not_kept_closes_the_gate() {
        let gate = |change: fn(&mut SbFields)| volume(Format::Ufs2, Endian::Little, change).write_gate();
        assert_eq!(gate(|_| {}), Ok(()));
        assert_eq!(gate(|f| f.flags = flag::DOSOFTDEP | flag::TRIM | flag::ACLS | flag::UNCLEAN), Ok(()));
        assert_eq!(gate(|f| f.snapinum[..2].copy_from_slice(&[7, 9])), Err(Refused::Snapshots(2)));
        assert_eq!(gate(|f| f.flags = flag::GJOURNAL), Err(Refused::Gjournal));
        assert_eq!(gate(|f| f.flags = flag::NEEDSFSCK), Err(Refused::NeedsFsck));
        assert_eq!(gate(|f| f.flags = flag::SUJ), Ok(()));
        assert_eq!(gate(|f| (f.flags, f.clean) = (flag::SUJ, 0)), Err(Refused::SujPending));
        assert!(matches!(gate(|f| f.flags = flag::NFS4ACLS), Err(Refused::Inheritance(_))));
        assert!(matches!(gate(|f| f.flags = flag::MULTILABEL), Err(Refused::Inheritance(_))));
        assert_eq!(gate(|f| f.flags = 0x0001_0000), Err(Refused::UnknownFlags(0x0001_0000)));
        let ufs1 = |change: fn(&mut SbFields)| volume(Format::Ufs1, Endian::Big, change).write_gate();
        assert_eq!(ufs1(|_| {}), Ok(()));
        assert_eq!(ufs1(|f| f.old_inodefmt = -1), Err(Refused::OldFormat("inodes")));
        assert_eq!(ufs1(|f| f.maxsymlinklen = 0), Err(Refused::OldFormat("directory entries")));
        assert_eq!(ufs1(|f| f.old_postblformat = -1), Err(Refused::OldFormat("cylinder groups")));
        assert_eq!(ufs1(|f| f.old_cpg = 16), Err(Refused::OldSuperblock));
        assert_eq!(ufs1(|f| f.old_nrpos = 8), Err(Refused::OldSuperblock));
    }

    #[test]
    fn superblock_from_before_2002_keeps_its_tables() {
        let mut sb = volume(Format::Ufs1, Endian::Big, |f| {
            (f.old_flags, f.flags) = (1, 0xffff_0003);
            (f.maxbsize, f.time, f.size, f.csaddr, f.cs_nbfree) = (-1, -1, -1, -1, -1);
            (f.snapinum, f.sparecon64) = ([u32::MAX; 20], [-1; 13]);
            f.old_cstotal = [1, 2, 3, 4];
        });
        assert_eq!((sb.dialect, sb.has_wide_fields(), sb.features().snapshots), (Dialect::OldBsd, false, 0));
        assert_eq!((sb.fields.size, sb.fields.cs_nbfree, sb.features().unclean), (2048, 2, true));
        assert_eq!(sb.fields.sblockloc, 8192);
        let before = sb.encode_copy(sb.at);
        sb.fields.clean = 0;
        sb.fields.cs_nbfree = 77;
        let after = sb.encode(0x0102_0304);
        let changed: Vec<usize> = (0..after.len()).filter(|&i| after[i] != before[i]).collect();
        assert_eq!(changed, [32, 33, 34, 35, 199, 209]);
    }
}
