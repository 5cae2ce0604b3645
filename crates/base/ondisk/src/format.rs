//! The formats of UFS, and the systems that made dialects of them.

/// UFS1 has 32-bit addresses and 128-byte inodes, UFS2 64-bit addresses and 256-byte inodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Format {
    Ufs1,
    Ufs2,
}

/// The system whose meaning of the ambiguous fields applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// FreeBSD: check hashes, soft updates journal.
    FreeBsd,
    /// NetBSD: write-ahead block log, quotas in inodes; also `makefs`.
    NetBsd,
    /// OpenBSD: flags in another field.
    OpenBsd,
    /// 4.2BSD, 4.3BSD and 4.4BSD: narrow fields, rotational tables.
    OldBsd,
    /// Apple and NeXT: UFS1 with directory blocks of 1024 bytes.
    Apple,
    /// Solaris: UFS1 with 4.4BSD's narrow fields, owners of 32 bits in other places, and a log of its own.
    Solaris,
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Dialect::FreeBsd => "FreeBSD",
            Dialect::NetBsd => "NetBSD",
            Dialect::OpenBsd => "OpenBSD",
            Dialect::OldBsd => "4.2BSD to 4.4BSD",
            Dialect::Apple => "Apple",
            Dialect::Solaris => "Solaris",
        })
    }
}
