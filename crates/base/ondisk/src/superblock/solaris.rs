//! Solaris's UFS1: 4.4BSD's superblock with a state of its own, a log, and other fields in its spare places.
//!
//! `fs_state` is what marks it: a constant less the time of the last write. On SPARC it is where 4.4BSD has
//! `fs_qbmask`, on x86 where it has `fs_npsect`, because there Solaris kept the places of SVR4. No volume of Solaris's
//! was at hand: all this is from its headers.

use super::MAGIC_MTB;
use super::fields::SbFields;
use crate::{Endian, Format};

/// `FSOKAY`: `fs_state` and `fs_time` make this.
const OKAY: u32 = 0x7c26_9d38;
/// `fs_clean`: unmounted, or mounted with nothing to write.
const CLEAN: [i8; 2] = [1, 2];
/// `fs_clean`: it has a log, and `fs_rolled` and the log tell the rest.
const LOGGED: i8 = -3;
/// `fs_rolled`: everything of the log is in its place.
const ALL_ROLLED: u32 = 1;
const ROLLED_AT: usize = 4;
const CLEAN_AT: usize = 209;
const LOGBNO_AT: usize = 1324;

/// Whether Solaris wrote this superblock.
pub(super) fn is_solaris(bytes: &[u8], f: &SbFields, format: Format, endian: Endian) -> bool {
    if format != Format::Ufs1 || f.maxbsize == f.bsize || f.old_postblformat != 1 {
        return false;
    }
    let at = match endian {
        Endian::Big => 1336,
        Endian::Little => 132,
    };
    let time = endian.get_u32(bytes, 32).unwrap_or(0);
    f.magic == MAGIC_MTB || endian.get_u32(bytes, at) == Some(OKAY.wrapping_sub(time))
}

/// Gives the fields the meaning that they have elsewhere, after the narrow ones were taken.
pub(super) fn settle(bytes: &[u8], f: &mut SbFields, endian: Endian) {
    // The places have a version, the log, and the state.
    (f.contigsumsize, f.maxsymlinklen, f.old_inodefmt) = (0, 0, 0);
    (f.qbmask, f.qfmask) = (i64::from(!f.bmask), i64::from(!f.fmask));
    // Its only flag says that there are large files.
    f.flags = 0;
    let is_clean = CLEAN.contains(&f.clean) || f.clean == LOGGED && !log_waits(bytes, endian);
    f.clean = i8::from(is_clean);
}

/// Whether Solaris has left changes in its log, in a superblock that it wrote.
pub(super) fn has_waiting_log(bytes: &[u8], endian: Endian) -> bool {
    endian.get_i8(bytes, CLEAN_AT) == Some(LOGGED) && log_waits(bytes, endian)
}

fn log_waits(bytes: &[u8], endian: Endian) -> bool {
    endian.get_u32(bytes, LOGBNO_AT) != Some(0) && endian.get_u32(bytes, ROLLED_AT) != Some(ALL_ROLLED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::superblock::newfs::NewfsParams;
    use crate::{ByteOff, Dialect, Refused, Superblock};

    /// A superblock as Solaris has it, from one of ours.
    fn solaris(endian: Endian, magic: u32, clean: u8, logbno: u32, rolled: u32) -> Vec<u8> {
        let p = NewfsParams { endian, bsize: 8192, fsize: 1024, ..NewfsParams::new(Format::Ufs1, 8 << 20) };
        let sb = p.superblock().unwrap();
        let mut bytes = sb.encode_copy(sb.at);
        bytes[860..1356].fill(0);
        let mut put = |at, value| endian.put_u32(&mut bytes, at, value).unwrap();
        let narrow = |n: i64| u32::try_from(n).unwrap();
        for (at, value) in [(36, sb.fields.size), (40, sb.fields.dsize), (152, sb.fields.csaddr)] {
            put(at, narrow(value));
        }
        for (at, value) in [(4, rolled), (32, 1_000_000_000), (1324, logbno), (1356, 1), (1372, magic)] {
            put(at, value);
        }
        put(if endian == Endian::Big { 1336 } else { 132 }, 0x7c26_9d38 - 1_000_000_000);
        (bytes[209], bytes[211]) = (clean, 1);
        bytes
    }

    #[test]
    fn it_is_known_by_its_state_and_never_written() {
        for endian in [Endian::Little, Endian::Big] {
            for magic in [0x0001_1954, 0x00de_cade] {
                let bytes = solaris(endian, magic, 1, 0, 0);
                let sb = Superblock::decode(&bytes, ByteOff(8192)).unwrap();
                assert_eq!((sb.dialect, sb.is_clean(), sb.features().unclean), (Dialect::Solaris, true, false));
                assert_eq!((sb.write_gate(), sb.fields.time), (Err(Refused::Solaris), 1_000_000_000));
                let g = sb.geometry();
                assert_eq!((g.old_dirent, g.maxsymlinklen, g.dirblksiz), (true, 57, 512));
            }
            let mut bytes = solaris(endian, 0x0001_1954, 1, 0, 0);
            bytes[35] ^= 1;
            let sb = Superblock::decode(&bytes, ByteOff(8192)).unwrap();
            assert_eq!(sb.dialect, Dialect::OldBsd, "without its state it is as 4.4BSD's");
        }
    }

    #[test]
    fn clean_is_what_its_states_say() {
        for (clean, logbno, rolled, right, waits) in [
            (0, 0, 0, false, false),
            (1, 0, 0, true, false),
            (2, 0, 0, true, false),
            (0xff, 0, 0, false, false),
            (0xfe, 0, 0, false, false),
            (0xfd, 64, 1, true, false),
            (0xfd, 64, 0, false, true),
            (0xfd, 64, 2, false, true),
            (0xfd, 0, 0, true, false),
        ] {
            let bytes = solaris(Endian::Big, 0x0001_1954, clean, logbno, rolled);
            let sb = Superblock::decode(&bytes, ByteOff(8192)).unwrap();
            let what = format!("{clean:#x} {logbno} {rolled}");
            assert_eq!((sb.is_clean(), sb.solaris_log_waits()), (right, waits), "{what}");
        }
    }
}
