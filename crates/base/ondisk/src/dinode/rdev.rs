//! Device numbers: conversion between Linux's encoding and that of the volume's system.
//!
//! UFS1 has 32 bits for them, UFS2 has 64. FreeBSD keeps the low 8 bits of the major number at bit 8 and its high 24 at
//! bit 40, the second byte of the minor at bit 32; its oldest form, 16 bits, is the same. NetBSD has 12 bits of major
//! at bit 8 and 20 of minor around them. Solaris has 14 and 18.

use crate::{Dialect, Encoding, Format};

/// Linux's number for a stored device number.
pub fn linux_rdev(encoding: impl Into<Encoding>, stored: u64) -> u64 {
    let g = encoding.into();
    let (major, minor) = match g.dialect {
        Dialect::FreeBsd if g.format == Format::Ufs2 => {
            ((stored >> 32 & 0xffff_ff00) | (stored >> 8 & 0xff), (stored >> 24 & 0xff00) | (stored & 0xffff_00ff))
        }
        Dialect::FreeBsd => (stored >> 8 & 0xff, stored & 0xffff_00ff),
        // SVR4: 14 bits and 18, or as before 8 and 8.
        Dialect::Solaris if !matches!(stored >> 16, 0 | 0xffff) => (stored >> 18 & 0x3fff, stored & 0x3_ffff),
        Dialect::Solaris => (stored >> 8 & 0x7f, stored & 0xff),
        _ => (stored >> 8 & 0xfff, (stored >> 12 & 0xf_ff00) | (stored & 0xff)),
    };
    (minor & 0xff) | (major & 0xfff) << 8 | (minor & !0xff) << 12 | (major & !0xfff) << 32
}

/// The stored number for Linux's number; `None` if the volume cannot express it.
pub fn volume_rdev(encoding: impl Into<Encoding>, linux: u64) -> Option<u64> {
    let g = encoding.into();
    let major = (linux >> 8 & 0xfff) | (linux >> 32 & 0xffff_f000);
    let minor = (linux & 0xff) | (linux >> 12 & 0xffff_ff00);
    let stored = match g.dialect {
        Dialect::FreeBsd => {
            (major & 0xffff_ff00) << 32 | (major & 0xff) << 8 | (minor & 0xff00) << 24 | (minor & 0xffff_00ff)
        }
        _ => (major & 0xfff) << 8 | (minor & 0xf_ff00) << 12 | (minor & 0xff),
    };
    // Bits that were cut off are detected by the conversion back.
    let fits = g.format == Format::Ufs2 || stored <= u32::MAX.into();
    (fits && linux_rdev(g, stored) == linux).then_some(stored)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Geometry;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format, dialect: Dialect) -> Geometry {
        let mut g = NewfsParams::new(format, 64 << 20).superblock().unwrap().geometry();
        g.dialect = dialect;
        g
    }

    /// Linux's encoding.
    fn linux(major: u64, minor: u64) -> u64 {
        (minor & 0xff) | (major & 0xfff) << 8 | (minor & !0xff) << 12 | (major & !0xfff) << 32
    }

    #[test]
    fn numbers_survive_the_way_there_and_back() {
        for (format, dialect) in [
            (Format::Ufs1, Dialect::FreeBsd),
            (Format::Ufs2, Dialect::FreeBsd),
            (Format::Ufs1, Dialect::NetBsd),
            (Format::Ufs2, Dialect::NetBsd),
        ] {
            let g = geometry(format, dialect);
            for (major, minor) in [(0, 0), (8, 1), (255, 255), (136, 200)] {
                let stored = volume_rdev(&g, linux(major, minor)).unwrap();
                assert_eq!(linux_rdev(&g, stored), linux(major, minor), "{format:?} {dialect:?} {major} {minor}");
            }
        }
        assert_eq!(volume_rdev(&geometry(Format::Ufs2, Dialect::FreeBsd), linux(8, 1)), Some(0x0801));
        assert_eq!(volume_rdev(&geometry(Format::Ufs2, Dialect::NetBsd), linux(0x12, 0x345)), Some(0x0030_1245));
        assert_eq!(
            volume_rdev(&geometry(Format::Ufs2, Dialect::FreeBsd), linux(0xabc, 0x1234)),
            Some(0x0a12_0000_bc34)
        );
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        assert_eq!(volume_rdev(&geometry(Format::Ufs1, Dialect::FreeBsd), linux(256, 0)), None);
        assert_eq!(volume_rdev(&geometry(Format::Ufs2, Dialect::NetBsd), linux(4096, 0)), None);
        assert_eq!(volume_rdev(&geometry(Format::Ufs1, Dialect::NetBsd), linux(1, 1 << 20)), None);
    }
}
