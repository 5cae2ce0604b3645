//! The geometry of a new volume, computed like FreeBSD's newfs, so that its kernel and its fsck accept the result. A
//! volume for NetBSD has the same geometry, and zero in the fields that NetBSD gives another meaning.
//!
//! Only the superblock is made here. The caller writes it unfinished first ([`Superblock::encode_unfinished`]), then
//! groups, inodes and the root directory, then the totals, then the finished superblock.

mod params;
mod plan;

use super::fields::{SbFields, ck, flag};
use super::{MAGIC_UFS1, MAGIC_UFS2, MAGIC_UNFINISHED, SBLOCKSIZE, Superblock};
use crate::num::{bits64, howmany, len64, low32, narrow, roundup, signed32, signed64};
use crate::{ByteOff, Format};
pub use params::{NewfsError, NewfsParams, Optim, Rotation, System};
use plan::Plan;

impl NewfsParams {
    /// The superblock of the volume, with totals of 0.
    ///
    /// # Errors
    /// The reason why the volume is impossible.
    pub fn superblock(&self) -> Result<Superblock, NewfsError> {
        self.check()?;
        let primary = match self.format {
            Format::Ufs1 => 8192,
            Format::Ufs2 => 65536,
        };
        let plan = Plan::new(self, primary)?;
        let mut f = self.common(&plan, primary);
        match self.format {
            Format::Ufs1 => self.ufs1(&mut f),
            Format::Ufs2 => {
                f.magic = MAGIC_UFS2;
                f.maxsymlinklen = 120;
                if self.check_hashes && self.system == System::FreeBsd {
                    f.flags |= flag::METACKHASH;
                    f.metackhash = ck::SUPPORTED;
                }
            }
        }
        if self.system == System::NetBsd {
            // NetBSD has spares or the place of a log there, and it does not mount a volume with an unknown flag.
            (f.mtime, f.metaspace, f.providersize, f.sblockactualloc, f.flags) = (0, 0, 0, 0, 0);
            // NetBSD's newfs marks the inodes as those of 4.4BSD on UFS2, too.
            f.old_inodefmt = 2;
        }
        f.maxfilesize = super::validate::pointers_reach(&f);
        Ok(Superblock::fresh(&f, self.endian, ByteOff(primary))?)
    }

    fn check(&self) -> Result<(), NewfsError> {
        if !(4096..=65536).contains(&self.bsize) || !self.bsize.is_power_of_two() {
            return Err(NewfsError::BlockSize(self.bsize));
        }
        let least = self.sector.max(512);
        let (fsize, bsize) = (self.fsize, self.bsize);
        let part = (bsize / 8..=bsize).contains(&fsize) && fsize.is_power_of_two();
        if !part || fsize < least {
            return Err(NewfsError::FragSize { fsize, bsize, least });
        }
        if self.minfree > 99 {
            return Err(NewfsError::MinFree(self.minfree));
        }
        if self.label.len() > 31 || self.label.contains('\0') {
            return Err(NewfsError::Label(self.label.len()));
        }
        if self.rotation.is_some() && self.format == Format::Ufs2 {
            return Err(NewfsError::Rotation);
        }
        Ok(())
    }

    /// Fields that both formats have.
    fn common(&self, plan: &Plan, primary: u64) -> SbFields {
        let n = |value: u64| signed32(low32(value));
        let mut f = plan.sizes.clone();
        let fsize = u64::from(self.fsize);
        f.ncg = low32(plan.ncg);
        f.cgsize = n(roundup(bits64(plan.cg_bytes()), fsize));
        f.dblkno = n(plan.dblkno());
        f.csaddr = i64::from(f.dblkno);
        let cssize = crate::csum::array_bytes(f.ncg, self.fsize);
        f.cssize = n(cssize);
        f.sbsize = n(roundup(len64(SbFields::SIZE), fsize.max(self.sector.into())).min(len64(SBLOCKSIZE)));
        let reserve = u64::from(plan.fpg()).saturating_mul(self.minfree.into()) / 200;
        f.metaspace = signed64(reserve & !u64::from(plan.frag().saturating_sub(1)));
        f.size = signed64(plan.size);
        f.providersize = f.size;
        let groups = plan.ncg.saturating_mul(plan.dblkno().saturating_sub(plan.sblkno()));
        let metadata = groups.saturating_add(plan.sblkno()).saturating_add(howmany(cssize, fsize));
        f.dsize = signed64(plan.size.saturating_sub(metadata));
        f.minfree = n(self.minfree.into());
        f.optim = i32::from(self.optim == Optim::Space);
        f.maxbpg = n(self.maxbpg.unwrap_or(self.bsize / 8).into());
        f.id = [low32(bits64(self.now) & u64::from(u32::MAX)), self.id];
        f.clean = 1;
        f.old_flags = 0x80;
        f.flags = if self.softdep { flag::DOSOFTDEP } else { 0 };
        f.flags |= if self.acls { flag::ACLS } else { 0 };
        for (to, from) in f.volname.iter_mut().zip(self.label.bytes()) {
            *to = from;
        }
        f.sblockloc = signed64(primary);
        f.sblockactualloc = f.sblockloc;
        (f.time, f.mtime) = (self.now, self.now);
        (f.avgfilesize, f.avgfpdir) = (16384, 64);
        f
    }

    /// Fields for UFS1 only: those of a disk with one track per cylinder and one cylinder per group.
    fn ufs1(&self, f: &mut SbFields) {
        f.magic = MAGIC_UFS1;
        f.maxsymlinklen = 60;
        (f.old_inodefmt, f.old_cgoffset, f.old_cgmask) = (2, 0, -1);
        (f.old_rotdelay, f.old_rps, f.old_cpg, f.old_interleave) = (0, 60, 1, 1);
        (f.old_trackskew, f.old_cpc, f.old_postblformat, f.old_nrpos) = (0, 0, 1, 1);
        f.old_nspf = signed32(self.fsize / 512);
        f.old_spc = f.fpg.saturating_mul(f.old_nspf);
        (f.old_nsect, f.old_npsect) = (f.old_spc, f.old_spc);
        if let Some(r) = self.rotation {
            f.old_rotdelay = signed32(r.rotdelay_ms);
            f.old_rps = signed32(r.rps);
            (f.old_nsect, f.old_npsect) = (signed32(r.nsect), signed32(r.nsect));
        }
        f.old_ncyl = signed32(f.ncg);
        (f.old_size, f.old_dsize) = (narrow(f.size), narrow(f.dsize));
        (f.old_csaddr, f.old_time) = (narrow(f.csaddr), narrow(f.time));
    }
}

impl Superblock {
    /// The bytes to write before anything else of a new volume: they mark it as unfinished, so a crash while it is made
    /// leaves nothing that looks like a volume.
    pub fn encode_unfinished(&self) -> Vec<u8> {
        let mut bytes = self.encode_copy(self.at);
        // Cannot fail: a superblock is at least 1376 bytes.
        let _ = self.endian.put_u32(&mut bytes, super::MAGIC_AT, MAGIC_UNFINISHED);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Corrupt, Endian};

    const MIB: u64 = 1 << 20;

    /// The fields that the format's documentation gives for a volume, in its notation.
    fn check_geometry(p: &NewfsParams, expected: &str) {
        let sb = p.superblock().unwrap();
        let f = &sb.fields;
        let of = |name: &str| -> i64 {
            match name {
                "sblkno" => f.sblkno.into(),
                "cblkno" => f.cblkno.into(),
                "iblkno" => f.iblkno.into(),
                "dblkno" => f.dblkno.into(),
                "ipg" => f.ipg.into(),
                "fpg" => f.fpg.into(),
                "ncg" => f.ncg.into(),
                "cgsize" => f.cgsize.into(),
                "cssize" => f.cssize.into(),
                "csaddr" => f.csaddr,
                "metaspace" => f.metaspace,
                "dsize" => f.dsize,
                "sbsize" => f.sbsize.into(),
                other => panic!("no field {other}"),
            }
        };
        for pair in expected.split(", ") {
            let (name, value) = pair.split_once(' ').unwrap();
            assert_eq!(of(name).to_string(), value, "{name}");
        }
        let unexpected: Vec<_> = sb.warnings.iter().map(Corrupt::to_string).collect();
        assert_eq!(unexpected, Vec::<String>::new());
    }

    #[test]
    fn ufs2_geometry_is_that_of_newfs() {
        let of = |bytes| NewfsParams::new(Format::Ufs2, bytes);
        check_geometry(
            &of(4 * MIB),
            "sblkno 24, cblkno 32, iblkno 40, dblkno 56, ipg 256, fpg 264, ncg 4, cgsize 4096, cssize 4096, \
             csaddr 56, metaspace 8, dsize 871, sbsize 4096",
        );
        check_geometry(&of(64 * MIB), "ipg 2176, fpg 4104, ncg 4, dblkno 176, cgsize 4096, metaspace 160, dsize 15751");
        check_geometry(
            &of(1024 * MIB),
            "ipg 32896, fpg 65544, ncg 4, dblkno 2096, cgsize 16384, metaspace 2616, dsize 253831",
        );
        check_geometry(
            &of(100 * 1024 * MIB),
            "ipg 80128, fpg 160056, ncg 164, dblkno 5048, cgsize 32768, cssize 4096, metaspace 6400, dsize 25390439",
        );
        let p = NewfsParams { bsize: 8192, fsize: 1024, ..of(64 * MIB) };
        check_geometry(&p, "sblkno 72, cblkno 80, iblkno 88");
    }

    #[test]
    fn ufs1_geometry_is_that_of_newfs() {
        let of = |bytes, bsize, fsize| NewfsParams { bsize, fsize, ..NewfsParams::new(Format::Ufs1, bytes) };
        check_geometry(
            &of(1024 * MIB, 16384, 2048),
            "sblkno 8, cblkno 16, iblkno 24, ipg 32640, fpg 65272, ncg 9, dblkno 2064, cgsize 14336",
        );
        check_geometry(&of(64 * MIB, 8192, 1024), "sblkno 16, cblkno 24, iblkno 32");
    }

    #[test]
    fn volumes_from_one_mebibyte_to_many_tebibytes_can_be_made() {
        for shift in 20..47 {
            for bytes in [1u64 << shift, (1 << shift) + 4096 * 77 + 512] {
                for (bsize, fsize) in [(4096, 512), (8192, 1024), (32768, 4096), (65536, 8192), (16384, 16384)] {
                    for format in [Format::Ufs1, Format::Ufs2] {
                        let p = NewfsParams { bsize, fsize, ..NewfsParams::new(format, bytes) };
                        match p.superblock() {
                            Ok(sb) => assert!(sb.volume_bytes() <= bytes && bytes - sb.volume_bytes() < 65536),
                            Err(NewfsError::TooLarge { .. }) => assert!(format == Format::Ufs1 && shift >= 40),
                            Err(NewfsError::Summary { groups, .. }) => assert!(groups > 400_000 && bsize == 4096),
                            Err(e) => panic!("{format:?} {bytes} {bsize}/{fsize}: {e}"),
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn every_volume_larger_than_the_smallest_can_be_made_and_has_room_in_its_first_group() {
        for (bsize, fsize) in [(4096, 512), (4096, 1024), (8192, 8192), (65536, 8192)] {
            for (format, max_fpg) in [(Format::Ufs1, None), (Format::Ufs2, None), (Format::Ufs2, Some(400))] {
                let of = |frags: u32| {
                    let bytes = u64::from(fsize) * u64::from(frags);
                    NewfsParams { bsize, fsize, max_fpg, ..NewfsParams::new(format, bytes) }.superblock()
                };
                let least = (1..2000).find(|&frags| of(frags).is_ok()).unwrap();
                for g in (least..least + 2000).map(|frags| of(frags).unwrap().geometry()) {
                    let end = g.size.min(g.fpg.into());
                    let room = end - u64::from(g.dblkno) - u64::from(g.csfrags());
                    assert!(room >= 3 * u64::from(g.frag), "{bsize}/{fsize}, {} fragments: {room}", g.size);
                }
            }
        }
        let groups = NewfsParams { bsize: 4096, fsize: 512, ..NewfsParams::new(Format::Ufs2, 1 << 46) };
        assert!(matches!(groups.superblock(), Err(NewfsError::Summary { .. })));
    }

    #[test]
    fn impossible_wishes_are_refused_with_the_reason() {
        let base = NewfsParams::new(Format::Ufs2, 64 * MIB);
        let wrong = |p: NewfsParams| p.superblock().unwrap_err();
        assert_eq!(wrong(NewfsParams { bsize: 12288, ..base.clone() }), NewfsError::BlockSize(12288));
        let said = wrong(NewfsParams { fsize: 2048, ..base.clone() });
        assert_eq!(said, NewfsError::FragSize { fsize: 2048, bsize: 32768, least: 512 });
        let said = wrong(NewfsParams { bsize: 4096, fsize: 512, sector: 4096, ..base.clone() });
        assert_eq!(said, NewfsError::FragSize { fsize: 512, bsize: 4096, least: 4096 });
        assert_eq!(wrong(NewfsParams { minfree: 100, ..base.clone() }), NewfsError::MinFree(100));
        assert_eq!(wrong(NewfsParams { label: "x".repeat(32), ..base.clone() }), NewfsError::Label(32));
        assert!(matches!(wrong(NewfsParams { volume_bytes: 100_000, ..base.clone() }), NewfsError::TooSmall { .. }));
        let ufs1 = NewfsParams { format: Format::Ufs1, volume_bytes: 1 << 45, ..base.clone() };
        assert!(matches!(wrong(ufs1), NewfsError::TooLarge { .. }));
        let dense = NewfsParams { density: Some(4096), volume_bytes: 1 << 45, ..base.clone() };
        assert!(matches!(wrong(dense), NewfsError::Density { .. }));
        let rotation = Some(Rotation { rotdelay_ms: 4, rps: 60, nsect: 32 });
        assert_eq!(wrong(NewfsParams { rotation, ..base }), NewfsError::Rotation);
    }

    #[test]
    fn volume_for_netbsd_has_nothing_where_netbsd_reads_something_else() {
        for format in [Format::Ufs1, Format::Ufs2] {
            for endian in [Endian::Little, Endian::Big] {
                let wanted = NewfsParams {
                    system: System::NetBsd,
                    endian,
                    softdep: true,
                    now: 7,
                    ..NewfsParams::new(format, 64 * MIB)
                };
                let sb = wanted.superblock().unwrap();
                assert_eq!((sb.dialect, sb.write_gate(), sb.hashes()), (crate::Dialect::NetBsd, Ok(()), 0));
                let bytes = sb.encode_copy(sb.at);
                let zero = |range: std::ops::Range<usize>| bytes[range].iter().all(|&byte| byte == 0);
                // Journal and quotas; FreeBSD's fields at the end of the spares; flags.
                assert!(zero(864..1000) && zero(1208..1316), "{format:?}, {endian:?}");
                let same = NewfsParams { system: System::FreeBsd, ..wanted }.superblock().unwrap().fields;
                let f = &sb.fields;
                assert_eq!(f.old_inodefmt, 2);
                assert_eq!(
                    (f.fpg, f.ipg, f.ncg, f.dsize, f.maxfilesize, f.sblockloc, f.maxsymlinklen),
                    (same.fpg, same.ipg, same.ncg, same.dsize, same.maxfilesize, same.sblockloc, same.maxsymlinklen)
                );
            }
        }
    }

    #[test]
    fn unfinished_volume_is_refused() {
        let sb = NewfsParams::new(Format::Ufs2, 4 * MIB).superblock().unwrap();
        let refused = Superblock::decode(&sb.encode_unfinished(), sb.at).unwrap_err();
        assert_eq!((refused.field, refused.found), ("fs_magic", MAGIC_UNFINISHED.into()));
    }
}
