//! The superblock of LFS: the parameters of the volume, and the checkpoint that it stands for.
//!
//! B1. A [`Superblock`] exists only if its geometry is consistent and its addresses are what the format says: every
//!     later shift, division and sum relies on it, and a superblock is written to where `sboffs` says, over whatever is
//!     there. Counts (free space, clean segments) may be wrong after a crash and are not judged here.
//! B2. Bytes without a meaning here are written back as they were read; encoding sets the checksum.
//! B3. OrdoFS stores a serial number in version 1, too, where the format has unused bytes: at version 2's places of
//!     serial number and identity, which holds a checksum there. Whatever other system writes the superblock keeps both
//!     and changes what the checksum covers: then there is no number, and no log to roll forward.
//! B4. Only copies 0 and 1 follow the checkpoints. The others keep the geometry of newfs.

mod check;
mod choose;
mod fields;
mod geometry;
mod magic;
mod raw;

pub(super) use check::{interval, least_segment};
pub use choose::{Choice, Copy, Unlike, choose};
pub use fields::Fields;
pub use magic::{MAGIC, MAGIC64, Magic, recognise};
pub use raw::{RawSb32, RawSb64, SIZE};

use super::{LABEL_PAD, SB_PAD, Version, cksum};
use crate::num::index;
use crate::{ByteOff, Corrupt, Endian, Rule, Structure};

/// Offset of the checksum.
const CKSUM_AT: usize = 508;
/// In `pflags`: the volume was unmounted orderly.
pub const PF_CLEAN: u16 = 1;

/// A superblock that was checked. See the module's invariants.
#[derive(Clone, PartialEq, Eq)]
pub struct Superblock {
    /// Version and width.
    pub version: Version,
    /// Byte order of the volume.
    pub endian: Endian,
    /// The fields, in version 2's meaning.
    pub fields: Fields,
    /// The bytes that it was decoded from.
    image: [u8; SIZE],
}

/// Without the bytes, which would fill pages.
impl std::fmt::Debug for Superblock {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut to = to.debug_struct("Superblock");
        to.field("version", &self.version).field("endian", &self.endian).field("fields", &self.fields);
        to.finish_non_exhaustive()
    }
}

impl Superblock {
    /// Decodes and checks the superblock at the start of `bytes`.
    ///
    /// # Errors
    /// The first rule that it breaks, which may be a wrong checksum.
    pub fn decode(bytes: &[u8]) -> Result<Superblock, Corrupt> {
        let sb = Superblock::decode_whatever_the_sum(bytes)?;
        let (stored, right) = (sb.stored_sum(), sb.right_sum(&sb.image));
        if stored != right {
            return Err(Corrupt::new(Structure::Superblock, "lfs_cksum", stored, Rule::IsHex(right)));
        }
        Ok(sb)
    }

    /// Decodes the superblock that was read from `at`, which must be one of the two that follow the checkpoints. A
    /// further copy is as newfs left it: a mount that took it for the second would begin with an empty volume.
    ///
    /// # Errors
    /// The first rule that it breaks; it says itself that it lies elsewhere.
    pub fn decode_at(bytes: &[u8], at: ByteOff) -> Result<Superblock, Corrupt> {
        let sb = Superblock::decode(bytes)?;
        let g = sb.geometry();
        if sb.fields.sboffs.iter().take(2).any(|copy| g.byte(*copy) == at) {
            return Ok(sb);
        }
        let [_, second, ..] = sb.fields.sboffs;
        let why = Rule::Words("while this copy lies elsewhere");
        Err(Corrupt::new(Structure::Superblock, "lfs_sboffs", second.0, why))
    }

    /// Like [`Superblock::decode`], without checking the checksum: kernels mount such a volume.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn decode_whatever_the_sum(bytes: &[u8]) -> Result<Superblock, Corrupt> {
        let short = || Corrupt::cut_short(Structure::Superblock, bytes.len());
        let Some(Magic { wide, endian }) = recognise(bytes) else {
            let found = Endian::Little.get_u32(bytes, 0).ok_or_else(short)?;
            return Err(Corrupt::new(Structure::Superblock, "lfs_magic", found, Rule::IsHex(MAGIC)));
        };
        let image: [u8; SIZE] = *bytes.first_chunk().ok_or_else(short)?;
        let number = endian.get_u32(&image, 4).ok_or_else(short)?;
        let version = match (wide, number) {
            (true, 2) => Version::Lfs64,
            (true, _) => return Err(Corrupt::new(Structure::Superblock, "lfs_version", number, Rule::Is(2))),
            (false, 1) => Version::V1,
            (false, 2) => Version::V2,
            (false, 0) => return Err(Corrupt::new(Structure::Superblock, "lfs_version", number, Rule::AtLeast(1))),
            (false, _) => return Err(Corrupt::new(Structure::Superblock, "lfs_version", number, Rule::AtMost(2))),
        };
        let fields = if wide {
            RawSb64::load(&image, endian).ok_or_else(short)?.fields()?
        } else {
            let raw = RawSb32::load(&image, endian).ok_or_else(short)?;
            let mut fields = raw.fields()?;
            if version == Version::V1 {
                from_version_1(&mut fields, &raw)?;
            }
            fields
        };
        check::check(&fields, version)?;
        check::derived(&image, endian, &fields, version)?;
        Ok(Superblock { version, endian, fields, image })
    }

    /// A superblock of a new volume; fields that follow from others are computed.
    ///
    /// # Errors
    /// The first rule that the fields break.
    pub fn fresh(version: Version, endian: Endian, fields: Fields) -> Result<Superblock, Corrupt> {
        check::check(&fields, version)?;
        let image = check::fresh_image(version, endian, &fields);
        Ok(Superblock { version, endian, fields, image })
    }

    /// The bytes to write: a block of 8192 bytes, with the checksum.
    pub fn encode(&self) -> Vec<u8> {
        let mut image = self.image;
        // Cannot fail: the image is 512 bytes.
        let _ = self.put_fields(&mut image);
        let sum = self.right_sum(&image);
        let _ = self.endian.put_u32(&mut image, CKSUM_AT, sum);
        let mut block = image.to_vec();
        block.resize(index(SB_PAD), 0);
        block
    }

    fn put_fields(&self, image: &mut [u8; SIZE]) -> Option<()> {
        if self.version.is_wide() {
            let mut raw = RawSb64::load(image, self.endian)?;
            raw.put(&self.fields);
            return raw.store(image, self.endian);
        }
        let mut raw = RawSb32::load(image, self.endian)?;
        let before = raw.clone();
        raw.put(&self.fields);
        if self.version == Version::V1 {
            to_version_1(&mut raw, &before, &self.fields);
        }
        raw.store(image, self.endian)
    }

    fn stored_sum(&self) -> u32 {
        self.endian.get_u32(&self.image, CKSUM_AT).unwrap_or(0)
    }

    fn right_sum(&self, image: &[u8; SIZE]) -> u32 {
        cksum(image.get(..CKSUM_AT).unwrap_or_default(), self.endian)
    }

    /// `true` if the log behind it can be rolled forward: in version 1, if OrdoFS wrote it (B3).
    pub fn has_serial(&self) -> bool {
        self.version != Version::V1 || self.fields.serial != super::Serial(0)
    }

    /// `true` if the volume was unmounted orderly.
    pub fn is_clean(&self) -> bool {
        self.fields.pflags & PF_CLEAN != 0
    }

    /// Sets whether the volume was unmounted orderly.
    pub fn set_clean(&mut self, clean: bool) {
        let rest = self.fields.pflags & !PF_CLEAN;
        self.fields.pflags = if clean { rest | PF_CLEAN } else { rest };
    }

    /// Where the second superblock is by the sizes that a damaged first one still has. They may be what is damaged, so
    /// what is there must be checked like any other.
    pub fn second_of_damaged(bytes: &[u8]) -> Option<ByteOff> {
        let Magic { wide, endian } = recognise(bytes)?;
        let (fsize, fsbpseg, nseg, s0addr) = if wide {
            let raw = RawSb64::load(bytes, endian)?;
            (raw.fsize, raw.fsbpseg, raw.nseg, u64::try_from(raw.s0addr).ok()?)
        } else {
            let raw = RawSb32::load(bytes, endian)?;
            let v1 = raw.version == Version::V1.number();
            let s0addr = if v1 { LABEL_PAD / 512 } else { u32::try_from(raw.s0addr).ok()? };
            (if v1 { 512 } else { raw.fsize }, raw.fsbpseg, raw.nseg, s0addr.into())
        };
        let segments = u64::from(check::interval(nseg)).checked_mul(fsbpseg.into())?;
        segments.checked_add(s0addr)?.checked_mul(fsize.into()).map(ByteOff)
    }
}

/// Version 2's meaning for the fields of version 1 (ondisk-lfs-3).
fn from_version_1(f: &mut Fields, raw: &RawSb32) -> Result<(), Corrupt> {
    let bytes = u64::from(raw.ssize).saturating_mul(raw.bsize.into());
    let why = Rule::Words("which is more blocks than a segment can have");
    f.ssize = u32::try_from(bytes).map_err(|_| Corrupt::new(Structure::Superblock, "lfs_ssize", raw.ssize, why))?;
    f.tstamp = raw.inopf.into();
    f.sumsize = 512;
    f.ibsize = raw.bsize;
    let [first, ..] = f.sboffs;
    f.s0addr = first;
    let known = raw.serial <= u64::MAX >> 2 && raw.ident == serial_sum(raw);
    f.serial = super::Serial(if known { raw.serial } else { 0 });
    f.ident = 0;
    Ok(())
}

/// The checksum by which a serial number of version 1 is known to be of this superblock (B3).
fn serial_sum(raw: &RawSb32) -> u32 {
    let position = [raw.offset, raw.curseg, raw.idaddr].map(i32::to_le_bytes).concat();
    let sum = crc32c::crc32c_append(crc32c::crc32c(&raw.serial.to_le_bytes()), &raw.inopf.to_le_bytes());
    crc32c::crc32c_append(sum, &position)
}

/// The fields of version 1 in its own meaning; `before` are those that it does not have.
fn to_version_1(raw: &mut RawSb32, before: &RawSb32, f: &Fields) {
    raw.ssize = f.ssize.checked_div(f.bsize).unwrap_or(0);
    raw.inopf = crate::num::low32(f.tstamp);
    (raw.sumsize, raw.ibsize, raw.s0addr) = (before.sumsize, before.ibsize, before.s0addr);
    raw.tstamp = before.tstamp;
    if f.serial == super::Serial(0) {
        (raw.serial, raw.ident) = (before.serial, before.ident);
    } else {
        raw.ident = serial_sum(raw);
    }
}

#[cfg(test)]
mod tests;
