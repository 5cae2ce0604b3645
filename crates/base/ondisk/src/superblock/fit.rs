//! Which systems can use a volume: the kernel mounts it for writing, and fsck does not take for damage what the system
//! that made the volume has put there.
//!
//! Decided from the superblock alone. It does not show whether a file has extended attributes, whose blocks NetBSD
//! counts on its own UFS2 with attributes only. A system of the other byte order may not recognise the volume either:
//! FreeBSD reads its own order only.

use super::fields::flag;
use super::{MAGIC_UFS2EA, Superblock};
use crate::{Dialect, Format};

/// Why a system must not write to a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Unfit {
    /// FreeBSD's flag means quotas on NetBSD.
    #[error("check hashes (ordo tune -o check-hashes=off takes them away)")]
    CheckHashes,
    /// FreeBSD's flag is unknown to NetBSD.
    #[error("the journal of soft updates (ordo tune -o journal=off takes it away)")]
    SujJournal,
    /// A crash or a check left a flag that is unknown to NetBSD.
    #[error("a flag that says that the volume must be checked (ordo fsck -p)")]
    NeedsFsck,
    /// Flags that are unknown to the system, or have another meaning.
    #[error("flags {0:#x}, which it does not know or interprets differently")]
    Flags(u32),
    /// NetBSD's log is in a file without a name, and its place is stored where FreeBSD has other fields.
    #[error("NetBSD's log")]
    Wapbl,
    /// NetBSD's quotas are in files without names.
    #[error("NetBSD's quotas in inodes")]
    Quota2,
    /// NetBSD's UFS2 with attributes has a magic of its own.
    #[error("the magic of NetBSD's UFS2 with extended attributes")]
    Magic,
    /// The superblock is at makefs's place.
    #[error("a superblock at byte {0}")]
    Place(u64),
    /// A field of which the system accepts only one value.
    #[error("{0}, which it refuses")]
    Field(&'static str),
    /// A volume of another system, which gives the fields other meanings.
    #[error("fields in the form of {0}")]
    Dialect(Dialect),
}

/// `fs_flags` with which NetBSD mounts: soft updates (which it ignores), POSIX and NFSv4 access control lists, log,
/// quotas.
const NETBSD_KNOWS: u32 =
    flag::DOSOFTDEP | flag::ACLS | flag::NETBSD_WAPBL | flag::NETBSD_QUOTA2 | flag::NETBSD_NFS4ACLS;

impl Superblock {
    /// Why FreeBSD must not write to it.
    ///
    /// # Errors
    /// The first reason.
    pub fn fit_for_freebsd(&self) -> Result<(), Unfit> {
        let (f, on) = (&self.fields, self.features());
        let own = matches!(self.dialect, Dialect::FreeBsd | Dialect::NetBsd);
        let home: u32 = if self.format == Format::Ufs2 { 65536 } else { 8192 };
        // What only FreeBSD refuses is among the volume's warnings.
        let odd = self.warnings.first().map(|odd| odd.field);
        let flags =
            if self.dialect == Dialect::NetBsd { f.flags & !(flag::UNCLEAN | flag::DOSOFTDEP | flag::TRIM) } else { 0 };
        first([
            (!own, Unfit::Dialect(self.dialect)),
            (f.magic == MAGIC_UFS2EA, Unfit::Magic),
            (on.wapbl || on.wapbl_at.is_some(), Unfit::Wapbl),
            (on.quota2, Unfit::Quota2),
            (flags != 0, Unfit::Flags(flags)),
            (self.at.0 != home.into() || f.sblockloc != i64::from(home), Unfit::Place(self.at.0)),
            (odd.is_some(), Unfit::Field(odd.unwrap_or_default())),
        ])
    }

    /// Why NetBSD must not write to it.
    ///
    /// # Errors
    /// The first reason.
    pub fn fit_for_netbsd(&self) -> Result<(), Unfit> {
        let (f, on) = (&self.fields, self.features());
        let free = self.dialect == Dialect::FreeBsd;
        // The same bits with another meaning.
        let taken = if free { flag::NETBSD_WAPBL | flag::NETBSD_QUOTA2 | flag::NETBSD_NFS4ACLS } else { 0 };
        let flags = f.flags & !(NETBSD_KNOWS & !taken);
        first([
            (self.dialect == Dialect::OpenBsd, Unfit::Dialect(self.dialect)),
            (free && f.flags & flag::METACKHASH != 0, Unfit::CheckHashes),
            (on.suj, Unfit::SujJournal),
            (flags & (flag::UNCLEAN | flag::NEEDSFSCK) != 0, Unfit::NeedsFsck),
            (flags != 0 && self.has_wide_fields(), Unfit::Flags(flags)),
            (f.sblockloc != i64::try_from(self.at.0).unwrap_or(-1), Unfit::Place(self.at.0)),
        ])
    }
}

fn first<const N: usize>(reasons: [(bool, Unfit); N]) -> Result<(), Unfit> {
    match reasons.into_iter().find(|(holds, _)| *holds) {
        Some((_, why)) => Err(why),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::{NewfsParams, System};

    fn volume(format: Format, system: System) -> Superblock {
        NewfsParams { system, now: 9, ..NewfsParams::new(format, 8 << 20) }.superblock().unwrap()
    }

    #[test]
    fn a_volume_is_fit_for_the_system_that_it_was_made_for() {
        for format in [Format::Ufs1, Format::Ufs2] {
            let [free, net] = [System::FreeBsd, System::NetBsd].map(|system| volume(format, system));
            assert_eq!((free.fit_for_freebsd(), net.fit_for_netbsd()), (Ok(()), Ok(())));
            // No NetBSD feature is in use yet.
            assert_eq!(net.fit_for_freebsd(), Ok(()));
            let hashes = if format == Format::Ufs2 { Err(Unfit::CheckHashes) } else { Ok(()) };
            assert_eq!(free.fit_for_netbsd(), hashes);
        }
    }

    #[test]
    fn each_thing_of_one_system_makes_it_unfit_for_the_other() {
        let mut plain = volume(Format::Ufs2, System::FreeBsd);
        (plain.fields.flags, plain.fields.metackhash) = (0, 0);
        assert_eq!(plain.fit_for_netbsd(), Ok(()));
        let free = |flags: u32| {
            let mut sb = plain.clone();
            sb.fields.flags = flags;
            assert_eq!(sb.fit_for_freebsd(), Ok(()), "{flags:#x}");
            sb.fit_for_netbsd()
        };
        assert_eq!(free(flag::DOSOFTDEP), Ok(()));
        assert_eq!(free(flag::DOSOFTDEP | flag::SUJ), Err(Unfit::SujJournal));
        assert_eq!(free(flag::UNCLEAN), Err(Unfit::NeedsFsck));
        for bit in [flag::NFS4ACLS, flag::TRIM, flag::MULTILABEL, flag::GJOURNAL] {
            assert_eq!(free(bit), Err(Unfit::Flags(bit)));
        }
        let mut net = volume(Format::Ufs2, System::NetBsd);
        net.fields.flags = flag::NETBSD_NFS4ACLS;
        assert_eq!((net.fit_for_netbsd(), net.fit_for_freebsd()), (Ok(()), Err(Unfit::Flags(flag::NETBSD_NFS4ACLS))));
        net.fields.flags = flag::NETBSD_WAPBL;
        assert_eq!((net.fit_for_netbsd(), net.fit_for_freebsd()), (Ok(()), Err(Unfit::Wapbl)));
        net.fields.flags = flag::TRIM;
        assert_eq!((net.fit_for_netbsd(), net.fit_for_freebsd()), (Err(Unfit::Flags(flag::TRIM)), Ok(())));
    }
}
