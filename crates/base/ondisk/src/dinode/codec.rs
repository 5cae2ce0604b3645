//! Conversion between an inode on disk and [`Dinode`].

use super::{CKHASH_AT, Dinode, RawDinode1, RawDinode2, Timestamp};
use crate::num::{bits32, low32, signed32};
use crate::{Dialect, Endian, Format, FragNo, Geometry, hash};

impl Dinode {
    pub(super) fn from_ufs1(raw: &RawDinode1, g: &Geometry) -> Dinode {
        let mut inode = Dinode::from_narrow(raw);
        if g.dialect == Dialect::Solaris {
            inode.become_solaris(raw, g.endian);
            return inode;
        }
        if g.old_inode {
            (inode.uid, inode.gid) = old_ids(raw.freelink, g.endian);
            // 4.2BSD has a status word there, which it does not use.
            inode.flags = 0;
        }
        inode
    }

    /// What Solaris has in other places. Its shadow inode, which has an access control list, is left out.
    fn become_solaris(&mut self, raw: &RawDinode1, endian: Endian) {
        // Owners of 16 bits, unless they say that those of 32 count: behind the shadow inode.
        let ids = old_ids(raw.freelink, endian);
        let [a, b, c, d, ..] = endian.u64_bytes(raw.modrev);
        let wide = |narrow: u32, wide: u32| if narrow == u16::MAX.into() { wide } else { narrow };
        (self.uid, self.gid) = (wide(ids.0, raw.gid), wide(ids.1, endian.u32([a, b, c, d])));
        // Microseconds.
        for time in [&mut self.atime, &mut self.mtime, &mut self.ctime] {
            time.nsec = time.nsec.checked_mul(1000).filter(|nsec| *nsec < 1_000_000_000).unwrap_or(0);
        }
        (self.flags, self.freelink, self.modrev) = (0, 0, 0);
        if self.is_device() {
            // The first pointer has the number in 16 bits.
            let [_, second, ..] = self.db;
            self.set_rdev(second.0);
        }
    }

    /// The inode of 128 bytes, as 4.4BSD and later have it.
    pub(crate) fn from_narrow(raw: &RawDinode1) -> Dinode {
        let sec = |field: i32| i64::from(bits32(field));
        let wide = |n: u32| FragNo(n.into());
        Dinode {
            mode: raw.mode,
            nlink: raw.nlink,
            uid: raw.uid,
            gid: raw.gid,
            size: raw.size,
            blocks: raw.blocks.into(),
            atime: Timestamp::of(sec(raw.atime), raw.atimensec),
            mtime: Timestamp::of(sec(raw.mtime), raw.mtimensec),
            ctime: Timestamp::of(sec(raw.ctime), raw.ctimensec),
            gen_: raw.gen_,
            flags: raw.flags,
            db: raw.db.map(wide),
            ib: raw.ib.map(wide),
            modrev: raw.modrev,
            freelink: raw.freelink,
            ..Dinode::default()
        }
    }

    pub(crate) fn from_wide(raw: &RawDinode2) -> Dinode {
        Dinode {
            mode: raw.mode,
            nlink: raw.nlink,
            uid: raw.uid,
            gid: raw.gid,
            size: raw.size,
            blocks: raw.blocks,
            atime: Timestamp::of(raw.atime, raw.atimensec),
            mtime: Timestamp::of(raw.mtime, raw.mtimensec),
            ctime: Timestamp::of(raw.ctime, raw.ctimensec),
            birth: Timestamp::of(raw.birthtime, raw.birthnsec),
            gen_: raw.gen_,
            flags: raw.flags,
            extsize: raw.extsize,
            extb: raw.extb.map(FragNo),
            db: raw.db.map(FragNo),
            ib: raw.ib.map(FragNo),
            modrev: raw.modrev,
            freelink: raw.freelink,
            blksize: raw.blksize,
            kernflags: raw.kernflags,
        }
    }

    /// Writes the inode to the start of `bytes` with its check hash, if inodes have one. Spare bytes are kept. `None`,
    /// and nothing written, if `bytes` are shorter than an inode.
    pub fn encode(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        match g.format {
            Format::Ufs1 => self.encode_ufs1(bytes, g),
            Format::Ufs2 => self.encode_ufs2(bytes, g),
        }
    }

    fn encode_ufs1(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let mut raw = self.to_narrow();
        if g.old_inode {
            raw.freelink = pack_ids(self.uid, self.gid, g.endian);
            raw.flags = g.endian.get_u32(bytes, 100)?;
        }
        raw.store(bytes, g.endian)
    }

    /// The inode of 128 bytes, as 4.4BSD and later have it.
    pub(crate) fn to_narrow(&self) -> RawDinode1 {
        let nanos = |t: Timestamp| signed32(t.nsec);
        let narrow = |p: FragNo| low32(p.0);
        RawDinode1 {
            mode: self.mode,
            nlink: self.nlink,
            freelink: self.freelink,
            size: self.size,
            atime: self.atime.narrow(),
            atimensec: nanos(self.atime),
            mtime: self.mtime.narrow(),
            mtimensec: nanos(self.mtime),
            ctime: self.ctime.narrow(),
            ctimensec: nanos(self.ctime),
            db: self.db.map(narrow),
            ib: self.ib.map(narrow),
            flags: self.flags,
            blocks: low32(self.blocks),
            gen_: self.gen_,
            uid: self.uid,
            gid: self.gid,
            modrev: self.modrev,
        }
    }

    fn encode_ufs2(&self, bytes: &mut [u8], g: &Geometry) -> Option<()> {
        let bytes: &mut [u8; RawDinode2::SIZE] = bytes.first_chunk_mut()?;
        let e = g.endian;
        let mut raw = self.to_wide();
        raw.ckhash = e.get_u32(bytes, CKHASH_AT)?;
        raw.spare = [e.get_u32(bytes, 248)?, e.get_u32(bytes, 252)?];
        raw.store(bytes, e)?;
        if g.inode_hash && self.mode != 0 {
            hash::store_hash(bytes, CKHASH_AT, e)?;
        }
        Some(())
    }

    /// The inode of 256 bytes, with zeros where another owns the bytes: hash and spares.
    pub(crate) fn to_wide(&self) -> RawDinode2 {
        let nanos = |t: Timestamp| signed32(t.nsec);
        RawDinode2 {
            mode: self.mode,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            blksize: self.blksize,
            size: self.size,
            blocks: self.blocks,
            atime: self.atime.sec,
            mtime: self.mtime.sec,
            ctime: self.ctime.sec,
            birthtime: self.birth.sec,
            mtimensec: nanos(self.mtime),
            atimensec: nanos(self.atime),
            ctimensec: nanos(self.ctime),
            birthnsec: nanos(self.birth),
            gen_: self.gen_,
            kernflags: self.kernflags,
            flags: self.flags,
            extsize: self.extsize,
            extb: self.extb.map(|p| p.0),
            db: self.db.map(|p| p.0),
            ib: self.ib.map(|p| p.0),
            modrev: self.modrev,
            freelink: self.freelink,
            ckhash: 0,
            spare: [0; 2],
        }
    }
}

/// 4.2BSD's owner and group: two 16-bit numbers, in the order of their addresses.
fn old_ids(word: u32, endian: Endian) -> (u32, u32) {
    let [a, b, c, d] = endian.u32_bytes(word);
    (endian.u16([a, b]).into(), endian.u16([c, d]).into())
}

fn pack_ids(uid: u32, gid: u32, endian: Endian) -> u32 {
    let [a, b] = endian.u16_bytes(u16::try_from(uid).unwrap_or(u16::MAX));
    let [c, d] = endian.u16_bytes(u16::try_from(gid).unwrap_or(u16::MAX));
    endian.u32([a, b, c, d])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ino;
    use crate::dinode::flags;
    use crate::superblock::newfs::NewfsParams;

    fn geometry(format: Format, endian: Endian) -> Geometry {
        NewfsParams { endian, ..NewfsParams::new(format, 64 << 20) }.superblock().unwrap().geometry()
    }

    fn sample() -> Dinode {
        let t = |sec| Timestamp { sec, nsec: 999_999_999 };
        Dinode {
            mode: 0o100_644,
            nlink: 40_000,
            uid: 70_000,
            gid: 80_000,
            size: 1 << 33,
            blocks: 77,
            atime: t(4_000_000_000),
            mtime: t(2),
            ctime: t(3),
            birth: Timestamp::default(),
            gen_: 9,
            flags: flags::UF_NODUMP,
            db: std::array::from_fn(|i| FragNo(100 + 8 * len(i))),
            ib: [FragNo(1000), FragNo(2000), FragNo(3000)],
            modrev: 1 << 40,
            freelink: 12,
            ..Dinode::default()
        }
    }

    fn len(i: usize) -> u64 {
        crate::num::len64(i)
    }

    #[test]
    fn inode_is_read_as_it_was_written_in_every_format() {
        for format in [Format::Ufs1, Format::Ufs2] {
            for endian in [Endian::Little, Endian::Big] {
                let g = geometry(format, endian);
                let mut inode = sample();
                if format == Format::Ufs2 {
                    inode.birth = Timestamp { sec: -5, nsec: 1 };
                    (inode.extsize, inode.extb) = (300, [FragNo(1 << 40), FragNo(0)]);
                }
                let mut bytes = [0xcc; 256];
                inode.encode(&mut bytes, &g).unwrap();
                assert_eq!(Dinode::decode(&bytes, &g, Ino(9)).unwrap(), inode);
                let spare = if format == Format::Ufs2 { &bytes[248..] } else { &bytes[128..] };
                assert!(spare.iter().all(|&b| b == 0xcc));
            }
        }
    }

    #[test]
    fn free_inode_is_read_whatever_its_hash() {
        let g = geometry(Format::Ufs2, Endian::Little);
        let mut bytes = [0; 256];
        bytes[CKHASH_AT] = 1;
        assert!(Dinode::decode(&bytes, &g, Ino(9)).is_ok());
        bytes[0] = 1;
        let damage = Dinode::decode(&bytes, &g, Ino(9)).unwrap_err();
        assert_eq!((damage.field, damage.at), ("di_ckhash", Some(Dinode::place(&g, Ino(9)))));
        assert!(Dinode::decode(&bytes[1..], &g, Ino(9)).is_err());
    }

    #[test]
    fn times_beyond_what_is_stored_become_the_nearest() {
        let g = geometry(Format::Ufs1, Endian::Little);
        let read_back = |sec| {
            let mut bytes = [0; 128];
            Dinode { mtime: Timestamp { sec, nsec: 0 }, ..sample() }.encode(&mut bytes, &g).unwrap();
            Dinode::decode(&bytes, &g, Ino(9)).unwrap().mtime.sec
        };
        assert_eq!((read_back(-1), read_back(1 << 40)), (0, u32::MAX.into()));
        for sec in [i64::MIN, -1, 0, 1, u32::MAX.into(), 1 << 32, i64::MAX] {
            let (time, wide) = (Timestamp { sec, nsec: 7 }, Timestamp { sec, nsec: 7 }.held(Format::Ufs2));
            assert_eq!(
                (time.held(Format::Ufs1).sec, wide),
                (read_back(sec), time),
                "what is shown is what is read back"
            );
        }
        assert_eq!(Timestamp::of(5, 1_000_000_000), Timestamp { sec: 5, nsec: 0 });
        assert_eq!(Timestamp::of(5, -1), Timestamp { sec: 5, nsec: 0 });
    }

    #[test]
    fn old_inodes_have_owners_of_16_bits_in_both_orders() {
        for endian in [Endian::Little, Endian::Big] {
            let mut g = geometry(Format::Ufs1, endian);
            g.old_inode = true;
            let mut bytes = [0; 128];
            Dinode { uid: 1001, gid: 70_000, ..sample() }.encode(&mut bytes, &g).unwrap();
            assert_eq!((endian.get_u16(&bytes, 4), endian.get_u16(&bytes, 6)), (Some(1001), Some(65535)));
            let inode = Dinode::decode(&bytes, &g, Ino(9)).unwrap();
            assert_eq!((inode.uid, inode.gid, inode.flags), (1001, 65535, 0));
        }
    }
}
